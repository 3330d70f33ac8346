"""What a model wrote, after a second look: verdicts with quotations, conflicts, and no errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ask.conftest import MakeHome
from tests.doubles.recorded_calls import forget_calls

from wellread.ask.answer import answer, final
from wellread.ask.verify.check_claims import SCHEMA
from wellread.errors import ModelError
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Judge, ScriptedModel, agreeing, judging
from wellread.values.answers import Answer, FinalEvent, Question, SentenceEvent, TokenEvent
from wellread.values.calls import Call

TEXTS = {
    "ferry": "The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety people.",
    "pier": "The ferry Osprey lands at the north pier. The ferry Osprey cost 3.1 million euros.",
}
ASKED = "What did the ferry Osprey cost?"
PRICE = "The council paid 2.6 million euros for the Osprey [FERRY]."
QUOTE = "was bought for 2.6 million euros in 2021"
OTHER = "The ferry Osprey cost 3.1 million euros."


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(town={f"{name}.md": text for name, text in TEXTS.items()})


class Writing(ScriptedModel):
    """Writes ``reply``, in which the names of the files stand for the keys of their passages."""

    def __init__(self, reply: str, judge: Judge | None = None, **given: Any) -> None:
        super().__init__([], judge=judge, **given)
        self._said = reply

    def stream(self, prompt: Any) -> Any:
        said = self._said
        for name, text in TEXTS.items():
            key = prompt.user.partition(text)[0].rpartition('key="')[2].partition('"')[0]
            said = said.replace(name.upper(), key)
        self._replies = [said] * (len(self.prompts) + 1)
        return super().stream(prompt)


async def asked(
    home: Path, model: ScriptedModel, question: Question | None = None, **sections: Any
) -> Answer:
    given = sections.pop("judge_model", None)
    overrides = {"cache": {"answers": False}, **sections}
    embedder = ReadableEmbedder()
    with open_kb(
        home, overrides=overrides, embedder=embedder, model=model, judge_model=given
    ) as kb:
        forget_calls(kb.catalogue)
        return await final(answer(kb, question or Question(text=ASKED)))


def entry(verdict: str, quote: str = "", **more: object) -> dict[str, object]:
    return {"number": 1, "verdict": verdict, "key": "", "quote": quote, "missing": "", **more}


@pytest.mark.parametrize(
    ("given", "name", "method"),
    [
        (entry("supported", QUOTE), "supported", "judge"),
        (entry("partial", QUOTE, missing="that the council paid"), "partial", "judge"),
        (entry("unsupported", QUOTE), "unsupported", "judge"),
        (entry("supported", "was bought for nothing in 2021"), "not_checked", "nearest"),
        (entry("supported"), "not_checked", "nearest"),
        (entry("splendid", QUOTE), "not_checked", "nearest"),
        ({**entry("supported", QUOTE), "number": 7}, "not_checked", "nearest"),
    ],
)
async def test_a_verdict_counts_with_a_quotation_that_stands_there(
    home: Path, given: dict[str, object], name: str, method: str
) -> None:
    (sentence,) = (await asked(home, Writing(PRICE, judging(given)))).sentences
    assert (sentence.verdict.name, sentence.verdict.method) == (name, method)
    assert sentence.citations, "what a model wrote with a citation is shown with it"
    if given.get("missing"):
        assert sentence.verdict.reason == given["missing"]


async def test_all_sentences_are_judged_in_one_call_that_begins_as_the_writers(home: Path) -> None:
    reply = f"Here is what I found:\n\n- {PRICE}\n- It seats ninety [FERRY]. so it is big [FERRY]."
    model = Writing(reply, agreeing)
    given = await asked(home, model)
    ((written,), (judged,)) = model.prompts, model.judged
    assert judged.system == written.system
    assert judged.user[: judged.shared] == written.user[: written.shared]
    assert OTHER in judged.user[: judged.shared], "also what was not cited"
    assert (judged.temperature, judged.schema) == (0.0, SCHEMA)
    asked_of = judged.user[judged.shared :]
    assert "2. [e" in asked_of
    assert "(under: Here is what I found:)" in asked_of
    assert "4. [e" in asked_of, "split behind a marker, also before lower case"
    names = [one.verdict.name for one in given.sentences]
    assert names == ["uncited", "supported", "supported", "supported"]


async def test_a_sentence_without_a_citation_gets_the_one_that_bears_it_out(home: Path) -> None:
    judge = judging(entry("supported", QUOTE))
    given = await asked(home, Writing("The price was 2.6 million euros.", judge))
    assert given.sentences[0].verdict.name == "supported"
    assert given.citations[0].title == "Ferry"
    assert given.repaired_citations == 1


@pytest.mark.parametrize(
    ("reply", "judge", "name"),
    [
        ("It carries ninety people [FERRY].", judging(entry("unsupported", QUOTE)), "quoted"),
        ("It took 4.5 million euros [FERRY].", judging(), "partial"),
        ("It took 4.5 million euros [FERRY].", judging(entry("supported", QUOTE)), "supported"),
        ("It took about 2,600,000 euros [FERRY].", judging(), "not_checked"),
    ],
)
async def test_what_is_known_without_a_judge(
    home: Path, reply: str, judge: Judge, name: str
) -> None:
    (sentence,) = (await asked(home, Writing(reply, judge))).sentences
    assert sentence.verdict.name == name
    assert sentence.verdict.source is not None


async def test_a_passage_with_another_value_is_a_conflict_with_both_quotations(home: Path) -> None:
    rival = {"number": 1, "key": "", "quote": OTHER, "about": "the price", "reason": "a later date"}
    judge = judging(entry("supported", QUOTE), conflicts=[rival, {**rival, "quote": "made up"}])
    given = await asked(home, Writing(PRICE, judge))
    (conflict,) = given.conflicts
    assert (conflict.about, conflict.reason) == ("the price", "a later date")
    assert [view.text for view in conflict.views] == [QUOTE, OTHER.rstrip(".")]
    cited = {one.id: one.title for one in given.citations}
    assert [cited[number] for view in conflict.views for number in view.citations] == [
        "Ferry",
        "Pier",
    ]
    assert given.confidence.score <= 0.6


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (lambda _: ModelError("on fire"), "on fire"),
        (lambda _: '{"verdicts": []}', "cannot be read"),
        (lambda _: "", "cannot be read"),
    ],
)
async def test_a_judge_that_fails_leaves_a_note_and_no_verdict(
    home: Path, judge: Judge, said: str
) -> None:
    given = await asked(home, Writing(PRICE, judge))
    assert [one.verdict.name for one in given.sentences] == ["not_checked"]
    (failure,) = given.failures
    assert failure.startswith("the sentences were not judged: ")
    assert said in failure
    assert failure in given.notes
    assert given.confidence.band != "none"


async def test_the_judge_is_dropped_first_when_money_is_short(home: Path) -> None:
    model = Writing(PRICE, agreeing)
    overrides: Any = {
        "cache": {"answers": False},
        "generation": {"input_price": 1.0, "output_price": 1.0},
        "budget": {"daily": 1.0},
    }
    with open_kb(home, overrides=overrides, embedder=ReadableEmbedder(), model=model) as kb:
        forget_calls(kb.catalogue)
        kb.catalogue.calls.record(Call(purpose="answer", provider="p", model="m", cost=0.9))
        given = await final(answer(kb, Question(text=ASKED)))
    assert given.answered_by == "scripted:model"
    assert not model.judged
    assert "is left of the budget" in given.failures[0]


async def test_the_answer_is_readable_before_it_is_judged(home: Path) -> None:
    seen: list[str] = []

    def judge(prompt: Any) -> str:
        seen.append("judged")
        return agreeing(prompt)

    with open_kb(
        home,
        overrides={"cache": {"answers": False}},
        embedder=ReadableEmbedder(),
        model=Writing(PRICE, judge),
    ) as kb:
        async for event in answer(kb, Question(text=ASKED)):
            if isinstance(event, TokenEvent | SentenceEvent | FinalEvent):
                seen.append(type(event).__name__)
    assert list(dict.fromkeys(seen)) == ["TokenEvent", "judged", "SentenceEvent", "FinalEvent"]


async def test_strict_shows_nothing_before_and_drops_what_is_unsupported(home: Path) -> None:
    verdicts = [entry("supported", QUOTE), entry("unsupported", QUOTE, number=2)]
    model = Writing(f"{PRICE} It was a gift [FERRY].", judging(*verdicts))
    embedder = ReadableEmbedder()
    with open_kb(
        home, overrides={"cache": {"answers": False}}, embedder=embedder, model=model
    ) as kb:
        events = [event async for event in answer(kb, Question(text=ASKED, strict=True))]
    assert not any(isinstance(event, TokenEvent) for event in events)
    last = events[-1]
    assert isinstance(last, FinalEvent)
    assert [one.verdict.name for one in last.answer.sentences] == ["supported"]
    assert last.answer.dropped_sentences == 1
    assert "gift" not in last.answer.text


@pytest.mark.parametrize(
    ("reply", "by"),
    [
        (f'{PRICE}\n---\n{{"answered": "no"}}', "scripted:model"),
        ('The sources do not say.\n---\n{"answered": "no"}', "none"),
        ("The sources do not say.", "none"),
        ('It cost much.\n---\n{"answered": "yes"}', "scripted:model"),
        ('---\n{"answered": "no"}', "extractive"),
        ('{"answer": "The Osprey cost 2.6 million [Ferry].", "confidence": 0.9}', "scripted:model"),
        ('{"answer": "It was 2.6 million.", "citations": ["Ferry, p. 5"]}', "scripted:model"),
        ("The Osprey cost 2.6 million [Source: ferry].", "scripted:model"),
        ("The Osprey cost 2.6 million [Ferry @ 12:14].", "scripted:model"),
    ],
)
async def test_a_model_is_asked_and_what_it_wrote_with_a_citation_is_shown(
    home: Path, reply: str, by: str
) -> None:
    given = await asked(home, Writing(reply), qa={"confidence_threshold": 0.9})
    if by != "extractive":
        assert given.answered_by == by
    else:
        assert "gave an empty reply" in given.fallback
    assert given.usage.output_tokens > 0 or by == "extractive"
    if "2.6" in reply:
        assert given.citations[0].title == "Ferry"
