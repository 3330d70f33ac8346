"""The seams to models: one that turns text into vectors, one that writes text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["query", "passage"]


@runtime_checkable
class Closeable(Protocol):
    """What holds connections."""

    def close(self) -> None:
        """Let go of them."""
        ...


@runtime_checkable
class Preparable(Protocol):
    """What loads something at its first use that takes a while."""

    def prepare(self) -> None:
        """Load it now.

        Raises:
            ModelError: it cannot be loaded.
        """
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors.

    The same text gives the same vector (within 1e-3 of cosine) whatever else is in the call.
    ``identity`` names everything that shapes a vector - model, its hash, precision, prefix - and
    is part of the index fingerprint: two embedders with one identity are interchangeable.
    """

    @property
    def identity(self) -> str:
        """Names everything that shapes a vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Vectors of ``texts``, in order, shape ``(len(texts), dimensions)``, L2 norm 1.

        No texts give shape ``(0, dimensions)``. A text without a word gives a valid vector too.

        Raises:
            ModelError: the model could not be run or reached.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may ask for; ``parameters`` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model asks for a tool; sent whole, before the usage.

    Attributes:
        id: by which the result is told apart from those of other calls.
        arguments: JSON as the model wrote it, so it may be broken.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a model replied before, and what it was told then.

    Attributes:
        results: of its calls, one for each, in their order.
        told: words that follow the results; may be empty where there are calls.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()
    told: str = ""

    @property
    def heard(self) -> str:
        """All that the model was told, for one that takes text alone."""
        return "\n\n".join(part for part in (*self.results, self.told) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a language model is asked: instructions, and the user's part with the evidence.

    Attributes:
        session: the conversation it belongs to, for models that keep conversations themselves
            (the command line); empty: none. The others ignore it.
        temperature: stands above the settings' where it is given (0 for verdicts).
        tools: that it may call; models that take none ignore them (``takes_tools``).
        history: the exchanges after ``user``, in order; the last one's results are the news.
        shared: how many characters of ``user`` begin other prompts of the same answer too: what a
            server may keep read. 0: none.
        schema: JSON schema of the object that the reply has to be; servers that know none ignore
            it, so the words of the prompt have to say it too.
    """

    system: str
    user: str
    session: str = ""
    temperature: float | None = None
    tools: tuple[Tool, ...] = ()
    history: tuple[Exchange, ...] = ()
    shared: int = 0
    schema: Mapping[str, Any] | None = None

    @property
    def as_text(self) -> str:
        """All but the tools as one text, for programs that take nothing else."""
        since = (part for one in self.history for part in (f"You said:\n{one.text}", one.heard))
        return "\n\n".join((self.system, self.user, *since))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next piece of text of a streamed reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What one reply cost; sent once, at its end."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


Piece = TextDelta | ToolCall | ModelUsage
"""What a streamed reply consists of."""


class LanguageModel(Protocol):
    """Writes text, streamed. Retries, time limits and recording wrap around it."""

    @property
    def identity(self) -> str:
        """Provider and model, as shown to the reader ("openai:gpt-4o-mini")."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The reply: pieces of text, calls of the prompt's tools, then one ``ModelUsage``.

        Raises:
            ModelError: refused, unreachable, or cut off (``retryable`` says whether to try again).
            ModelTimeoutError: no end within the time limit.
        """
        ...


@runtime_checkable
class ToolUser(Protocol):
    """A language model that says whether it takes tools; one that does not say takes none."""

    @property
    def takes_tools(self) -> bool:
        """Whether it calls the tools of a prompt. May change when a server refuses them."""
        ...


def takes_tools(model: LanguageModel) -> bool:
    """Whether ``model`` calls the tools of a prompt."""
    return isinstance(model, ToolUser) and model.takes_tools


@asynccontextmanager
async def streaming(model: LanguageModel, prompt: Prompt) -> AsyncIterator[AsyncIterator[Piece]]:
    """The pieces of ``model``'s reply; a reader that leaves early ends the call."""
    pieces = model.stream(prompt)
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def replied(model: LanguageModel, prompt: Prompt) -> tuple[str, ModelUsage]:
    """The whole text of ``model``'s reply, and what it cost.

    Raises:
        ModelError: as ``LanguageModel.stream``.
    """
    text: list[str] = []
    usage = ModelUsage(model=model.identity)
    async with streaming(model, prompt) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextDelta):
                text.append(piece.text)
            elif isinstance(piece, ModelUsage):
                usage = piece
    return "".join(text), usage
