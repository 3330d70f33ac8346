"""What is written down of calls: counts, times, prices, and no word of what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from wellread.errors import BudgetError, ModelError, ModelTimeoutError
from wellread.models.base import (
    Embedder,
    Exchange,
    LanguageModel,
    ModelUsage,
    Piece,
    Prompt,
    Purpose,
    TextDelta,
    Tool,
    ToolCall,
)
from wellread.models.recording import (
    RecordedEmbedder,
    RecordedModel,
    Tariff,
    estimate_prompt_tokens,
    failure_phrase,
)
from wellread.testing.embedding import EmbedderContract, ReadableEmbedder
from wellread.testing.llm import Broken, Calling, LanguageModelContract, ScriptedModel, collect
from wellread.values.calls import Call

PROMPT = Prompt(system="Be brief.", user="the secret question about ferries")


class Books:
    """A ledger in memory; refuses when told to."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse = refuse
        self.expected: list[Call] = []
        self.calls: list[Call] = []

    def begin(self, expected: Callable[[], Call]) -> int | None:
        self.expected.append(expected())
        if self.refuse:
            raise BudgetError("nothing left")
        return len(self.expected)

    def end(self, ticket: int | None, call: Call) -> None:
        assert ticket == len(self.expected)
        self.calls.append(call)


class Uncounted(ScriptedModel):
    """A server that counts no tokens."""

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        async for piece in super().stream(prompt):
            yield ModelUsage(model="any") if isinstance(piece, ModelUsage) else piece


def recorded(model: LanguageModel, books: Books, tariff: Tariff | None = None) -> RecordedModel:
    tariff = tariff or Tariff(read=1.0, written=10.0)
    return RecordedModel(model, books, purpose="answer", max_tokens=100, tariff=tariff)


class TestRecordedModel(LanguageModelContract):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return recorded(ScriptedModel(["Blue, I think."] * 3), Books())

    @pytest.fixture
    def failing_model(self) -> LanguageModel:
        return recorded(ScriptedModel([ModelError("no")]), Books())


class TestRecordedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return RecordedEmbedder(ReadableEmbedder(), lambda _: None, provider="h", model="m")


async def test_a_call_is_priced_and_written_down() -> None:
    books = Books()
    _, pieces = await collect(recorded(ScriptedModel(["three words here"]), books), PROMPT)
    usage = pieces[-1]
    assert isinstance(usage, ModelUsage)
    assert (usage.input_tokens, usage.output_tokens) == (7, 3)
    assert usage.cost == pytest.approx(37 / 1_000_000)
    (call,) = books.calls
    assert (call.purpose, call.provider, call.model) == ("answer", "scripted", "model")
    assert (call.input_tokens, call.output_tokens, call.error) == (7, 3, "")
    assert call.cost == pytest.approx(usage.cost)
    assert call.seconds >= 0
    (expected,) = books.expected
    assert expected.output_tokens == 100
    assert expected.cost > call.cost


async def test_tokens_that_nobody_counted_are_estimated() -> None:
    books = Books()
    _, pieces = await collect(recorded(Uncounted(["three words here"]), books), PROMPT)
    usage = pieces[-1]
    assert isinstance(usage, ModelUsage)
    assert 6 <= usage.input_tokens <= 12
    assert 3 <= usage.output_tokens <= 5
    assert books.calls[0].input_tokens == usage.input_tokens


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelTimeoutError("m did not finish within 3 s"), "timed out"),
        (ModelError("m at h answered 429: the secret question"), "answered 429"),
        (ModelError("m at h cannot be reached: refused"), "unreachable"),
        (ModelError("m at h was cut off in the middle of its reply: eof"), "cut off"),
        (ModelError("m at h refused to answer: the secret question"), "refused"),
        (ModelError("m at h: the server's content filter stopped the reply"), "refused"),
        (ModelError("m gave an empty reply"), "empty reply"),
        (ModelError("the secret question"), "failed"),
    ],
)
async def test_a_failure_is_told_in_fixed_words(error: ModelError, kind: str) -> None:
    books = Books()
    with pytest.raises(type(error)):
        await collect(recorded(ScriptedModel([error]), books), PROMPT)
    (call,) = books.calls
    assert call.error == failure_phrase(error) == kind
    # Only what the server was at work on is paid for.
    assert bool(call.input_tokens) == (kind == "timed out")


async def test_a_reply_that_breaks_off_is_paid_for() -> None:
    books = Books()
    broken = Broken(text="two words", error=ModelError("was cut off"))
    with pytest.raises(ModelError):
        await collect(recorded(ScriptedModel([broken]), books), PROMPT)
    (call,) = books.calls
    assert (call.error, call.output_tokens) == ("cut off", 2)
    assert call.input_tokens >= 6
    assert call.cost > 0


def test_a_reader_that_goes_away_has_read_what_he_has_read() -> None:
    books = Books()
    model = recorded(ScriptedModel(["one two three four five six"], chunk=4), books)

    async def leave() -> None:
        async with aclosing(model.stream(PROMPT)) as pieces:
            await anext(pieces)

    asyncio.run(leave())
    (call,) = books.calls
    assert call.error == "stopped"
    assert (call.output_tokens, call.input_tokens > 0) == (1, True)


def test_a_cancelled_call_is_written_down() -> None:
    books = Books()
    begun = asyncio.Event()

    class Endless(ScriptedModel):
        async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
            yield TextDelta(text="Well, ")
            begun.set()
            await asyncio.Event().wait()

    async def cancelled() -> None:
        task = asyncio.create_task(collect(recorded(Endless([]), books), PROMPT))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [call.error for call in books.calls] == ["stopped"]


async def test_a_call_that_is_not_allowed_is_not_made() -> None:
    books = Books(refuse=True)
    model = ScriptedModel(["never"])
    with pytest.raises(BudgetError):
        await collect(recorded(model, books), PROMPT)
    assert (model.prompts, books.calls) == ([], [])


# --- embedders -------------------------------------------------------------------------------


class Failing(ReadableEmbedder):
    """A server that is gone."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        raise ModelError("h cannot be reached")


def test_a_batch_of_texts_is_one_call() -> None:
    calls: list[Call] = []
    embedder = RecordedEmbedder(ReadableEmbedder(), calls.append, provider="h", model="m")
    embedder.embed(["one two three", "four five"], "passage")
    embedder.embed(["one"], "query")
    embedder.embed([], "passage")
    assert [(call.purpose, call.input_tokens, call.error) for call in calls] == [
        ("embed passage", 5, ""),
        ("embed query", 1, ""),
    ]


def test_an_embedder_s_failure_is_written_down_and_goes_on() -> None:
    calls: list[Call] = []
    embedder = RecordedEmbedder(Failing(), calls.append, provider="h", model="m")
    with pytest.raises(ModelError, match="cannot be reached"):
        embedder.embed(["one"], "query")
    assert [(call.error, call.input_tokens) for call in calls] == [("unreachable", 0)]


async def test_tools_calls_and_what_they_gave_are_counted() -> None:
    books = Books()
    call = ToolCall(id="1", name="search", arguments='{"query": "ferries"}')
    looked = Exchange(text="", calls=(call,), results=("The ferry leaves at six. " * 20,))
    tool = Tool(name="search", description="Searches. " * 20, parameters={"type": "object"})
    model = Uncounted([Calling(calls=(("search", '{"query": "harbours"}'),))], takes_tools=True)
    wrapped = recorded(model, books)
    assert wrapped.takes_tools
    assert not recorded(ScriptedModel([]), books).takes_tools
    _, pieces = await collect(wrapped, replace(PROMPT, tools=(tool,), history=(looked,)))
    assert [type(piece) for piece in pieces] == [ToolCall, ModelUsage]
    plain = estimate_prompt_tokens(PROMPT)
    assert books.expected[0].input_tokens > plain + 150, "the budget counts all that is read"
    (call_made,) = books.calls
    assert call_made.input_tokens == books.expected[0].input_tokens
    assert call_made.output_tokens > 3, "what it called is what it wrote"
