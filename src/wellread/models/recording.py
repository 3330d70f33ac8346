"""Records model calls with their tokens and cost: wrappers of a language model and an embedder.

Records hold counts, times, prices and, for a failure, one of a few fixed phrases: never a word of a
question, a source or a server's message.
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
CHARACTERS_PER_TOKEN = 4  # in English; the minimum estimate when there are fewer word pieces

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """The settings' prices in US dollars per million tokens; None uses the price list."""

    read: float | None = None
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A cost in US dollars; 0 when the price is not ``known``."""

    dollars: float
    known: bool = True


LISTED = Tariff()
SET_PRICES = "set generation.input_price and generation.output_price"


def tariff_of(settings: GenerationSettings, role: Role = "model") -> Tariff:
    """Return the prices in the settings for the model of ``role``."""
    if role != "model":
        return LISTED
    return Tariff(read=settings.input_price, written=settings.output_price)


def split_identity(identity: str) -> tuple[str, str]:
    """Split an identity (``openai:gpt-4o``, ``llama3.2@localhost:11434``) into provider, model."""
    model, at, host = identity.rpartition("@")
    if at:
        return host, model
    provider, _, model = identity.partition(":")
    return provider, model


def cost_of(identity: str, read: int, written: int, tariff: Tariff = LISTED) -> Cost:
    """Return the cost of reading and writing that many tokens.

    A price missing in the tariff is taken from the price list, or is 0 when the list lacks the
    model and the tariff has the other price.
    """
    set_price = (read * (tariff.read or 0.0) + written * (tariff.written or 0.0)) / MILLION
    listed = None
    if tariff.read is None or tariff.written is None:
        open_read = read if tariff.read is None else 0
        open_written = written if tariff.written is None else 0
        listed = _list_price(*split_identity(identity), open_read, open_written)
    return Cost(dollars=set_price + (listed or 0.0), known=listed is not None or tariff != LISTED)


def is_listed(provider: str, model: str) -> bool:
    """Whether the price list has the model."""
    return _list_price(provider, model, 1, 1) is not None


def estimate_tokens(text: str) -> int:
    """Estimate the tokens in ``text``; models differ by 10 to 20 %."""
    return max(count_tokens(text), len(text) // CHARACTERS_PER_TOKEN)


def estimate_prompt_tokens(prompt: Prompt) -> int:
    """Estimate the tokens in ``prompt``."""
    tools = (
        f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in prompt.tools
    )
    called = (
        f"{item.name} {item.arguments}" for exchange in prompt.history for item in exchange.calls
    )
    texts_of_history = (text for item in prompt.history for text in (item.text, item.heard))
    texts = (prompt.system, prompt.user, *tools, *called, *texts_of_history)
    return sum(estimate_tokens(text) for text in texts)


@cache
def warn_unpriced(identity: str) -> None:
    """Log once that calls of a model do not count towards the budget."""
    logger.warning(
        "price unknown: %s; its calls do not count in the budget (%s)", identity, SET_PRICES
    )


def _list_price(provider: str, model: str, read: int, written: int) -> float | None:
    """Return the cost in US dollars by the price list; None when it lacks the model."""
    if not model or not _installed():
        return None
    # Slow to import (a quarter of a second), and installed only with the extra.
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

STOPPED = "stopped"  # the consumer left, or the program ended
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
    """Records calls, and refuses those that would exceed the budget."""

    def begin(self, expected: Callable[[], Call]) -> int | None:
        """Reserve the maximum cost of a call; return a ticket for ``end`` if a budget applies.

        ``expected`` is called only when there is a budget.

        Raises:
            BudgetError: the cost exceeds what is left of a budget.
        """
        ...

    def end(self, ticket: int | None, call: Call) -> None:
        """Record the outcome of the call that ``begin`` gave ``ticket`` to."""
        ...


class RecordedModel:
    """Wraps a language model: checks every call against the budget, prices and records it.

    Missing token counts are estimated when the provider read or sent any, so that an interrupted
    reply is recorded with the cost that the provider charges.
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
        self._model = model
        self._ledger = ledger
        self._purpose = purpose
        self._max_tokens = max_tokens
        self._tariff = tariff

    @property
    def identity(self) -> str:
        """The identity of the wrapped model."""
        return self._model.identity

    @property
    def takes_tools(self) -> bool:
        """Whether the wrapped model calls tools."""
        return takes_tools(self._model)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Yield the wrapped model's reply, with tokens and cost filled into its usage.

        Raises:
            BudgetError: the call may cost more than is left of the budget.
            ModelError: the model failed; ``cost`` is what the failed call cost.
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
            error = failure_phrase(raised)
            raised.cost = self._ended(prompt, written, usage, error).cost
            raise
        finally:

            def end() -> None:
                call = self._ended(prompt, written, usage, error)
                seconds = round(time.monotonic() - begun, 4)
                self._ledger.end(ticket, replace(call, seconds=seconds, error=error))

            # Even when the consumer leaves: what was written until then is charged.
            with CancelScope(shield=True):
                await to_thread.run_sync(end)

    def _expected(self, prompt: Prompt) -> Call:
        if not self.cost(1, 1).known:
            warn_unpriced(self.identity)
        return self._call(estimate_prompt_tokens(prompt), self._max_tokens)

    def _filled(self, prompt: Prompt, texts: Sequence[str], usage: ModelUsage) -> ModelUsage:
        read = usage.input_tokens or estimate_prompt_tokens(prompt)
        written = usage.output_tokens or estimate_tokens("".join(texts))
        cost = usage.cost or self.cost(read, written, usage.model).dollars
        return replace(usage, input_tokens=read, output_tokens=written, cost=cost)

    def _ended(
        self, prompt: Prompt, texts: Sequence[str], usage: ModelUsage | None, error: str
    ) -> Call:
        if usage is not None:
            return replace(self._call(usage.input_tokens, usage.output_tokens), cost=usage.cost)
        if texts or error in (TIMED_OUT, STOPPED):
            return self._call(estimate_prompt_tokens(prompt), estimate_tokens("".join(texts)))
        return self._call(0, 0)

    def _call(self, read: int, written: int) -> Call:
        provider, model = split_identity(self.identity)
        return Call(
            purpose=self._purpose,
            provider=provider,
            model=model,
            input_tokens=read,
            output_tokens=written,
            cost=self.cost(read, written).dollars if read or written else 0.0,
        )

    def cost(self, read: int, written: int, reported: str = "") -> Cost:
        """Return the cost of that many tokens, by the settings or the price list.

        The list is searched for the model's configured name, then for the name that the provider
        ``reported``.
        """
        cost = cost_of(self.identity, read, written, self._tariff)
        if cost.known or not reported:
            return cost
        provider, _ = split_identity(self.identity)
        return cost_of(f"{reported}@{provider}", read, written)


def _words_of(piece: TextDelta | ToolCall) -> str:
    return piece.text if isinstance(piece, TextDelta) else f"{piece.name} {piece.arguments}"


class RecordedEmbedder:
    """Wraps an embedder that may cost money, and records each call.

    Servers' token counts are not read, so the tokens are estimated.
    """

    def __init__(self, embedder: Embedder, record: Record, *, provider: str, model: str) -> None:
        self._embedder = embedder
        self._record = record
        self._provider, self._model = provider, model

    @property
    def identity(self) -> str:
        """The identity of the wrapped embedder."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return self._embedder.dimensions

    def close(self) -> None:
        """Close the connections of the wrapped embedder, if it has any."""
        if isinstance(self._embedder, Closeable):
            self._embedder.close()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Return the wrapped embedder's vectors, and record the call even if it fails."""
        if not texts:
            return self._embedder.embed(texts, purpose)
        begun = time.monotonic()
        error = STOPPED
        try:
            vectors = self._embedder.embed(texts, purpose)
            error = ""
        except ModelError as raised:
            error = failure_phrase(raised)
            raise
        finally:
            read = 0 if error else sum(estimate_tokens(text) for text in texts)
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


def failure_phrase(error: ModelError) -> str:
    """Return the failure as a fixed phrase, because a server's message may quote the question."""
    if isinstance(error, ModelTimeoutError):
        return TIMED_OUT
    message = str(error)
    if status := _ANSWERED.search(message):
        return status.group()
    return next((kind for phrase, kind in _PHRASES if phrase in message), FAILED)
