"""Who writes an answer: the model, its fallback, the cheap one, nobody but the sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome
from tests.doubles.recorded_calls import forget_calls, newest_calls

from wellread.ask.answer import answer, final
from wellread.errors import ModelError, ModelTimeoutError
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Broken, ScriptedModel
from wellread.values.answers import Answer, FinalEvent, Question, TokenEvent
from wellread.values.calls import ANSWER, Call

FERRY = "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021.\n"
ASKED = "How much was paid for the ferry Osprey?"
GOOD = "The Osprey was bought for 2.6 million euros [e1]."
CHEAP = "Bought for 2.6 million euros in 2021 was the ferry Osprey [e1]."
DOLLARS = {"input_price": 100.0, "output_price": 100.0, "max_tokens": 100}

Opened = Callable[..., KnowledgeBase]


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(default={"ferry.md": FERRY})


@pytest.fixture
def opened(home: Path) -> Opened:
    """Opens the home without a memory of earlier tests' calls."""

    def open_it(
        model: ScriptedModel | None = None,
        fallback: ScriptedModel | None = None,
        cheap: ScriptedModel | None = None,
        **sections: dict[str, object],
    ) -> KnowledgeBase:
        overrides: dict[str, dict[str, object]] = {
            "qa": {"confidence_threshold": 0.05},
            "cache": {"answers": False},
            "verification": {"by": "off"},
            **sections,
        }
        kb = open_kb(
            home,
            overrides=overrides,
            embedder=ReadableEmbedder(),
            model=model,
            fallback_model=fallback,
            cheap_model=cheap,
        )
        forget_calls(kb.catalogue)
        return kb

    return open_it


async def ask(kb: KnowledgeBase) -> Answer:
    return await final(answer(kb, Question(text=ASKED)))


def scripted(name: str, *replies: str | Exception | Broken) -> ScriptedModel:
    return ScriptedModel(list(replies), identity=f"{name}:model")


def spend(kb: KnowledgeBase, cost: float, purpose: str = ANSWER) -> None:
    kb.catalogue.calls.record(Call(purpose=purpose, provider="p", model="m", cost=cost))


async def test_a_failure_is_followed_by_the_fallback_model(opened: Opened) -> None:
    with opened(scripted("one", ModelError("on fire")), scripted("two", GOOD)) as kb:
        given = await ask(kb)
        (failed, wrote) = newest_calls(kb.catalogue, 2)[::-1]
    assert given.answered_by == "two:model"
    assert given.fallback == "one:model failed: on fire"
    assert (failed.provider, failed.error) == ("one", "failed")
    assert (wrote.provider, wrote.error) == ("two", "")


async def test_when_all_fail_sentences_are_extracted_and_every_failure_is_named(
    opened: Opened,
) -> None:
    first, second = ModelError("on fire"), ModelTimeoutError("asleep", hint="wait")
    with opened(scripted("one", first), scripted("two", second)) as kb:
        given = await ask(kb)
    assert given.answered_by == "extractive"
    assert given.fallback == "one:model failed: on fire; two:model failed: asleep (wait)"
    assert given.citations


async def test_what_was_streamed_before_a_failure_is_void(opened: Opened) -> None:
    myth = "The Osprey is a myth [e1]. Nobody saw it [e1]. It never sailed [e1]. "
    broken = Broken(text=myth, error=ModelError("gone"))
    with opened(scripted("one", broken), scripted("two", GOOD)) as kb:
        events = [event async for event in answer(kb, Question(text=ASKED))]
        spent = newest_calls(kb.catalogue, 2)[1]
    streamed = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert "myth" in streamed
    last = events[-1]
    assert isinstance(last, FinalEvent)
    assert "myth" not in last.answer.text
    assert "The Osprey was bought for 2.6 million euros. [1]" in last.answer.text
    assert last.answer.usage.output_tokens == len(GOOD.split())
    assert (spent.provider, spent.error) == ("one", "failed")
    assert spent.output_tokens >= 6  # what it wrote until then is in the books
    assert spent.input_tokens > 100


async def test_a_call_is_priced_by_the_settings_and_the_answer_says_so(opened: Opened) -> None:
    model = scripted("one", GOOD)
    with opened(model, generation=DOLLARS) as kb:
        given = await ask(kb)
        (call,) = newest_calls(kb.catalogue, 5)
    tokens = given.usage.input_tokens + given.usage.output_tokens
    assert given.usage.cost == pytest.approx(tokens * 100 / 1_000_000)
    assert (call.purpose, call.provider, call.model, call.error) == ("answer", "one", "model", "")
    assert call.cost == pytest.approx(given.usage.cost)
    assert call.input_tokens == given.usage.input_tokens


async def test_a_low_budget_takes_the_cheap_model_and_says_so(opened: Opened) -> None:
    one, cheap = scripted("one", GOOD), scripted("cheap", CHEAP)
    with opened(one, cheap=cheap, generation=DOLLARS, budget={"daily": 1.0}) as kb:
        spend(kb, 0.85)
        given = await ask(kb)
    assert given.answered_by == "cheap:model"
    assert given.fallback == "$0.15 is left of the budget of $1.00 a day"
    assert one.prompts == []


@pytest.mark.parametrize("budget", [{"daily": 1.0}, {"monthly": 1.0}, {"daily": 9, "monthly": 1}])
async def test_an_empty_budget_leaves_the_sources_sentences(
    opened: Opened, budget: dict[str, object]
) -> None:
    one, two, cheap = scripted("one", GOOD), scripted("two", GOOD), scripted("cheap", CHEAP)
    with opened(one, two, cheap, budget=budget) as kb:
        spend(kb, 1.0)
        given = await ask(kb)
        assert len(newest_calls(kb.catalogue, 5)) == 1
    period = "month" if "monthly" in budget else "day"
    assert given.answered_by == "extractive"
    assert given.fallback == f"the budget of $1.00 a {period} is spent"
    assert not one.prompts + two.prompts + cheap.prompts


async def test_a_call_that_may_cost_more_than_is_left_is_not_made(opened: Opened) -> None:
    one = scripted("one", GOOD)
    generation = {**DOLLARS, "max_tokens": 20_000}
    with opened(one, generation=generation, budget={"daily": 1.0}) as kb:
        given = await ask(kb)
    assert one.prompts == []
    assert given.answered_by == "extractive"
    assert given.fallback.startswith(
        "one:model was not called: $1.00 is left of the budget of $1.00 a day, and the call may"
    )
