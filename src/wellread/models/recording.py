"""Calls of models are recorded: wrappers around a language model and an embedder.

What is written down are counts, times and prices, and for a failure one of a few fixed phrases:
never a word of a question, of a source, or of what a server said.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from anyio import CancelScope, to_thread
from numpy.typing import NDArray

from wellread.config import GenerationSettings, Role
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import (
    Closeable,
    Embedder,
    LanguageModel,
    ModelUsage,
    Piece,
    Prompt,
    Purpose,
    TextDelta,
    ToolCall,
    streaming,
    takes_tools,
)
from wellread.models.word_pieces import count_tokens
from wellread.values.calls import EMBED_PASSAGE, EMBED_QUERY, Call

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4  # of English; where word pieces are fewer, this guess counts

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """US dollars for a million tokens, as the settings say; None: as the price list says."""

    read: float | None = None
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars; 0 when the price is not ``known``."""

    dollars: float
    known: bool = True


LISTED = Tariff()
SET_PRICES = "set generation.input_price and generation.output_price"


def tariff_of(settings: GenerationSettings, role: Role = "model") -> Tariff:
    """What the settings say of the price of the model in that role."""
    if role != "model":
        return LISTED
    return Tariff(read=settings.input_price, written=settings.output_price)


def named(identity: str) -> tuple[str, str]:
    """Provider and model of an identity: ``openai:gpt-4o``, ``llama3.2@localhost:11434``."""
    model, at, host = identity.rpartition("@")
    if at:
        return host, model
    provider, _, model = identity.partition(":")
    return provider, model


def cost_of(identity: str, read: int, written: int, tariff: Tariff = LISTED) -> Cost:
    """What reading and writing so many tokens costs.

    A side that the tariff leaves open costs what the list says, or nothing where the tariff has
    the other side and the list knows neither.
    """
    own = (read * (tariff.read or 0.0) + written * (tariff.written or 0.0)) / MILLION
    listed = None
    if tariff.read is None or tariff.written is None:
        open_read = read if tariff.read is None else 0
        open_written = written if tariff.written is None else 0
        listed = _listed(*named(identity), open_read, open_written)
    return Cost(dollars=own + (listed or 0.0), known=listed is not None or tariff != LISTED)


def is_listed(provider: str, model: str) -> bool:
    """Whether the price list has the model."""
    return _listed(provider, model, 1, 1) is not None


def tokens_of(text: str) -> int:
    """About how many tokens a model counts in ``text``: models differ by a tenth or two."""
    return max(count_tokens(text), len(text) // CHARACTERS_PER_TOKEN)


def prompt_tokens(prompt: Prompt) -> int:
    """About how many tokens a model reads of ``prompt``."""
    offered = (f"{one.name} {one.description} {json.dumps(one.parameters)}" for one in prompt.tools)
    called = (
        f"{one.name} {one.arguments}" for exchange in prompt.history for one in exchange.calls
    )
    said = (text for one in prompt.history for text in (one.text, one.heard))
    texts = (prompt.system, prompt.user, *offered, *called, *said)
    return sum(tokens_of(text) for text in texts)


@cache
def warn_unpriced(identity: str) -> None:
    """Tell the log, once, that calls of a model count nothing in the budget."""
    logger.warning(
        "price unknown: %s; its calls count nothing in the budget (%s)", identity, SET_PRICES
    )


def _listed(provider: str, model: str, read: int, written: int) -> float | None:
    """US dollars by the price list; None when it does not know."""
    if not model or not _installed():
        return None
    # Heavy (a quarter of a second), and only there with the extra.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    usage = Usage(input_tokens=read, output_tokens=written)
    try:
        if "." in provider or ":" in provider or provider == "localhost":  # a host, not a name
            price = calc_price(usage, model, provider_api_url=f"https://{provider}/v1")
        else:
            price = calc_price(usage, model, provider_id=provider)
    except (LookupError, ValueError) as error:
        logger.debug("no price for %s of %s: %s", model, provider, error)
        return None
    return float(price.total_price)


@cache
def _installed() -> bool:
    return find_spec("genai_prices") is not None


Record = Callable[[Call], None]

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
        """Wrap ``model``."""
        self._model = model
        self._ledger = ledger
        self._purpose = purpose
        self._max_tokens = max_tokens
        self._tariff = tariff

    @property
    def identity(self) -> str:
        """That of the model inside."""
        return self._model.identity

    @property
    def takes_tools(self) -> bool:
        """Whether the model inside does."""
        return takes_tools(self._model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """The reply of the model inside; its usage comes with tokens and cost filled in.

        Raises:
            BudgetError: what is left of the budget is less than the call may cost.
            ModelError: the model failed; its ``cost`` is what that cost all the same.
        """
        ticket = await to_thread.run_sync(self._ledger.begin, lambda: self._expected(prompt))
        begun = time.monotonic()
        written: list[str] = []
        usage: ModelUsage | None = None
        error = STOPPED
        try:
            async with streaming(self._model, prompt) as pieces:
                async for piece in pieces:
                    if isinstance(piece, TextDelta | ToolCall):
                        written.append(_words_of(piece))
                        yield piece
                    else:
                        usage = await to_thread.run_sync(self._filled, prompt, written, piece)
                        error = ""
                        yield usage
        except ModelError as raised:
            error = kind_of(raised)
            raised.cost = self._ended(prompt, written, usage, error).cost
            raise
        finally:

            def end() -> None:
                call = self._ended(prompt, written, usage, error)
                seconds = round(time.monotonic() - begun, 4)
                self._ledger.end(ticket, replace(call, seconds=seconds, error=error))

            # Also when the reader goes away: what was written until then is paid for.
            with CancelScope(shield=True):
                await to_thread.run_sync(end)

    def _expected(self, prompt: Prompt) -> Call:
        """What a call with ``prompt`` takes at most: all that may be written is written."""
        if not self.cost(1, 1).known:
            warn_unpriced(self.identity)
        return self._call(prompt_tokens(prompt), self._max_tokens)

    def _filled(self, prompt: Prompt, texts: Sequence[str], usage: ModelUsage) -> ModelUsage:
        """``usage`` with the tokens that the provider did not count, and with its cost."""
        read = usage.input_tokens or prompt_tokens(prompt)
        written = usage.output_tokens or tokens_of("".join(texts))
        cost = usage.cost or self.cost(read, written, usage.model).dollars
        return replace(usage, input_tokens=read, output_tokens=written, cost=cost)

    def _ended(
        self, prompt: Prompt, texts: Sequence[str], usage: ModelUsage | None, error: str
    ) -> Call:
        if usage is not None:
            return replace(self._call(usage.input_tokens, usage.output_tokens), cost=usage.cost)
        if texts or error in (TIMED_OUT, STOPPED):
            return self._call(prompt_tokens(prompt), tokens_of("".join(texts)))
        return self._call(0, 0)

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


def _words_of(piece: TextDelta | ToolCall) -> str:
    return piece.text if isinstance(piece, TextDelta) else f"{piece.name} {piece.arguments}"


class RecordedEmbedder:
    """Wraps an embedder that may cost something: one line in the books for each call.

    Servers' replies are read without their token counts, so the tokens are estimated.
    """

    def __init__(self, inside: Embedder, record: Record, *, provider: str, model: str) -> None:
        self._inside = inside
        self._record = record
        self._provider, self._model = provider, model

    @property
    def identity(self) -> str:
        """That of the embedder inside."""
        return self._inside.identity

    @property
    def dimensions(self) -> int:
        """That of the embedder inside."""
        return self._inside.dimensions

    def close(self) -> None:
        """Let go of the connections of the embedder inside, where it has any."""
        if isinstance(self._inside, Closeable):
            self._inside.close()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """The vectors of the embedder inside; the call is written down whether it fails or not."""
        if not texts:
            return self._inside.embed(texts, purpose)
        begun = time.monotonic()
        error = STOPPED
        try:
            vectors = self._inside.embed(texts, purpose)
            error = ""
        except ModelError as raised:
            error = kind_of(raised)
            raise
        finally:
            read = 0 if error else sum(tokens_of(text) for text in texts)
            self._record(
                Call(
                    purpose=EMBED_QUERY if purpose == "query" else EMBED_PASSAGE,
                    provider=self._provider,
                    model=self._model,
                    input_tokens=read,
                    cost=cost_of(f"{self._model}@{self._provider}", read, 0).dollars,
                    seconds=round(time.monotonic() - begun, 4),
                    error=error,
                )
            )
        return vectors


def kind_of(error: ModelError) -> str:
    """Why a call failed, in a few fixed words: a server's own may quote the question."""
    if isinstance(error, ModelTimeoutError):
        return TIMED_OUT
    said = str(error)
    if status := _ANSWERED.search(said):
        return status.group()
    return next((kind for phrase, kind in _PHRASES if phrase in said), FAILED)
