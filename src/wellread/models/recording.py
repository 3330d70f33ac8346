"""Calls of models are recorded: wrappers around a language model, an embedder, and the like.

What is written down are counts, times and prices, and for a failure one of a few fixed phrases:
never a word of a question, of a source, or of what a server said.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from anyio import CancelScope, to_thread
from numpy.typing import NDArray

from wellread.calls import EMBED_PASSAGE, EMBED_QUERY, Call
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import (
    Closeable,
    Embedder,
    LanguageModel,
    ModelUsage,
    Prompt,
    Purpose,
    TextDelta,
)
from wellread.models.prices import (
    LISTED,
    Cost,
    Tariff,
    cost_of,
    named,
    prompt_tokens,
    tokens_of,
    warn_unpriced,
)
from wellread.models.reader import Case, Checking, Entailment, Excerpt, Ranking, Scores

Record = Callable[[Call], None]
T = TypeVar("T")
P = TypeVar("P", Ranking, Checking)

STOPPED = "stopped"  # the reader went away, or the program ended
FAILED = "failed"
TIMED_OUT = "timed out"
_ANSWERED = re.compile(r"\banswered ([1-5]\d\d)\b")
_PHRASES = (
    ("cannot be reached", "unreachable"),
    ("cut off", "cut off"),
    ("refused to answer", "refused"),
    ("content filter", "refused"),
    ("empty reply", "empty reply"),
)


class Ledger(Protocol):
    """Where calls are written down, and what says whether one may be made."""

    def begin(self, expected: Callable[[], Call]) -> int | None:
        """Set aside what a call is expected to cost at most; a number for ``end``, if any.

        ``expected`` is called only when there is a budget to keep.

        Raises:
            BudgetError: that is more than is left of a budget.
        """
        ...

    def end(self, ticket: int | None, call: Call) -> None:
        """Write down how the call that ``begin`` gave ``ticket`` to has ended."""
        ...


class RecordedModel:
    """Wraps a language model: every call is within the budget, priced, and written down.

    Tokens that the provider did not count are estimated where it has sent or read any, so that a
    reply that breaks off is paid for in the books as it is at the provider's.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: Ledger,
        *,
        purpose: str,
        max_tokens: int,
        tariff: Tariff = LISTED,
    ) -> None:
        """Wrap ``model``.

        Args:
            model: the model that is asked.
            ledger: keeps the books and the budget.
            purpose: what the calls are for.
            max_tokens: the most tokens that the model may write in one call.
            tariff: prices that the settings name.
        """
        self._model = model
        self._ledger = ledger
        self._purpose = purpose
        self._max_tokens = max_tokens
        self._tariff = tariff

    @property
    def identity(self) -> str:
        """That of the model inside."""
        return self._model.identity

    def expected(self, prompt: Prompt) -> Call:
        """What a call with ``prompt`` takes at most: all that may be written is written."""
        return self._call(prompt_tokens(prompt), self._max_tokens)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply of the model inside; its usage comes with tokens and cost filled in.

        Raises:
            BudgetError: what is left of the budget is less than the call may cost.
            ModelError: the model failed.
        """
        ticket = await to_thread.run_sync(self._ledger.begin, lambda: self._set_aside(prompt))
        meter = _Meter()
        try:
            async with AsyncExitStack() as stack:
                pieces: AsyncIterator[TextDelta | ModelUsage] = self._model.stream(prompt)
                if isinstance(pieces, AsyncGenerator):
                    await stack.enter_async_context(aclosing(pieces))
                async for piece in pieces:
                    if isinstance(piece, TextDelta):
                        meter.written.append(piece.text)
                        yield piece
                    else:
                        meter.usage = await to_thread.run_sync(self._filled, prompt, meter, piece)
                        meter.error = ""
                        yield meter.usage
        except ModelError as error:
            meter.error = kind_of(error)
            raise
        finally:
            # Also when the reader goes away: what was written until then is paid for.
            with CancelScope(shield=True):
                await to_thread.run_sync(self._end, ticket, prompt, meter)

    def _set_aside(self, prompt: Prompt) -> Call:
        call = self.expected(prompt)
        if not self.cost(1, 1).known:
            warn_unpriced(self.identity)
        return call

    def _filled(self, prompt: Prompt, meter: _Meter, usage: ModelUsage) -> ModelUsage:
        """``usage`` with the tokens that the provider did not count, and with its cost."""
        read = usage.input_tokens or prompt_tokens(prompt)
        written = usage.output_tokens or tokens_of("".join(meter.written))
        cost = usage.cost or self.cost(read, written, usage.model).dollars
        return replace(usage, input_tokens=read, output_tokens=written, cost=cost)

    def _end(self, ticket: int | None, prompt: Prompt, meter: _Meter) -> None:
        call = self._call(0, 0)
        usage = meter.usage
        if usage is not None:
            call = replace(
                call,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=usage.cost,
            )
        elif meter.written or meter.error in (TIMED_OUT, STOPPED):
            call = self._call(prompt_tokens(prompt), tokens_of("".join(meter.written)))
        seconds = round(time.monotonic() - meter.begun, 4)
        self._ledger.end(ticket, replace(call, seconds=seconds, error=meter.error))

    def _call(self, read: int, written: int) -> Call:
        provider, model = named(self.identity)
        return Call(
            purpose=self._purpose,
            provider=provider,
            model=model,
            input_tokens=read,
            output_tokens=written,
            cost=self.cost(read, written).dollars if read or written else 0.0,
        )

    def cost(self, read: int, written: int, reported: str = "") -> Cost:
        """What so many tokens cost, by the settings or the price list.

        Looked for under the name that the model is asked by, then under the one that the provider
        ``reported``.
        """
        cost = cost_of(self.identity, read, written, self._tariff)
        if cost.known or not reported:
            return cost
        provider, _ = named(self.identity)
        return cost_of(f"{reported}@{provider}", read, written)


@dataclass(slots=True)
class _Meter:
    """What one call has come to so far."""

    written: list[str] = field(default_factory=list)
    usage: ModelUsage | None = None
    error: str = STOPPED
    begun: float = field(default_factory=time.monotonic)


class RecordedEmbedder:
    """Wraps an embedder that costs something: one line for each call, however many texts."""

    def __init__(self, embedder: Embedder, record: Record, *, provider: str, model: str) -> None:
        self._embedder = embedder
        self._record = record
        self._provider = provider
        self._model = model

    @property
    def identity(self) -> str:
        """That of the embedder inside."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """That of the embedder inside."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """The vectors of the embedder inside.

        Raises:
            ModelError: it failed.
        """
        if not texts:
            return self._embedder.embed(texts, purpose)
        call = Call(
            purpose=EMBED_QUERY if purpose == "query" else EMBED_PASSAGE,
            provider=self._provider,
            model=self._model,
        )
        return _recorded(call, texts, self._record, lambda: self._embedder.embed(texts, purpose))

    def close(self) -> None:
        """Let go of the connections of the embedder inside, where it has any."""
        if isinstance(self._embedder, Closeable):
            self._embedder.close()


class _RecordedPart(Generic[P]):
    """A part of a reader that may cost something, and how its calls are written down."""

    def __init__(self, part: P, record: Record, *, purpose: str, provider: str, model: str) -> None:
        self._inside: P = part
        self._record = record
        self._call = Call(purpose=purpose, provider=provider, model=model)
        self.identity = part.identity

    def close(self) -> None:
        """Let go of the connections of the part inside, where it has any."""
        if isinstance(self._inside, Closeable):
            self._inside.close()


class RecordedRanking(_RecordedPart[Ranking]):
    """Wraps what reads a question with texts: one line for each call."""

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The scores of the one inside.

        Raises:
            ModelError: it failed.
        """
        return self._read(self._inside.relevance, question, texts)

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """The scores of the one inside.

        Raises:
            ModelError: it failed.
        """
        return self._read(self._inside.answers, question, sentences)

    def _read(
        self,
        method: Callable[[str, Sequence[Excerpt]], Scores],
        question: str,
        texts: Sequence[Excerpt],
    ) -> Scores:
        if not texts:
            return method(question, texts)
        read = [question, *(each.shown for each in texts)]
        return _recorded(self._call, read, self._record, lambda: method(question, texts))


class RecordedChecking(_RecordedPart[Checking]):
    """Wraps what rules on claims: one line for all cases that it is asked at once."""

    def entails(self, cases: Sequence[Case]) -> Sequence[Entailment]:
        """What the one inside says.

        Raises:
            ModelError: it failed.
        """
        if not cases:
            return self._inside.entails(cases)
        texts = [text for each in cases for text in (each.claim, *(p.text for p in each.passages))]
        return _recorded(self._call, texts, self._record, lambda: self._inside.entails(cases))


def _recorded(call: Call, texts: Sequence[str], record: Record, work: Callable[[], T]) -> T:
    """What ``work`` gives; the call is written down whether it fails or not.

    These servers' replies are read without their token counts, so the tokens are estimated.
    """
    begun = time.monotonic()
    error = STOPPED
    try:
        result = work()
        error = ""
    except ModelError as raised:
        error = kind_of(raised)
        raise
    finally:
        read = 0 if error else sum(tokens_of(text) for text in texts)
        cost = cost_of(f"{call.model}@{call.provider}", read, 0).dollars
        seconds = round(time.monotonic() - begun, 4)
        record(replace(call, input_tokens=read, cost=cost, seconds=seconds, error=error))
    return result


def kind_of(error: ModelError) -> str:
    """Why a call failed, in a few fixed words: a server's own may quote the question."""
    if isinstance(error, ModelTimeoutError):
        return TIMED_OUT
    said = str(error)
    if status := _ANSWERED.search(said):
        return status.group()
    return next((kind for phrase, kind in _PHRASES if phrase in said), FAILED)
