"""The seams to models: one that turns text into vectors, one that writes text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["query", "passage"]


@runtime_checkable
class Closeable(Protocol):
    """What holds connections."""

    def close(self) -> None:
        """Let go of them."""
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
class Prompt:
    """What a language model is asked: instructions, and the user's part with the evidence.

    Attributes:
        session: the conversation it belongs to, for models that keep conversations themselves
            (the command line); empty: none. The others ignore it.
        temperature: stands above the settings' where it is given (0 for verdicts).
    """

    system: str
    user: str
    session: str = ""
    temperature: float | None = None


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


class LanguageModel(Protocol):
    """Writes text, streamed. Retries, time limits and recording wrap around it."""

    @property
    def identity(self) -> str:
        """Provider and model, as shown to the reader ("openai:gpt-4o-mini")."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta | ModelUsage]:
        """The reply in pieces, then one ``ModelUsage``.

        Raises:
            ModelError: refused, unreachable, or cut off (``retryable`` says whether to try again).
            ModelTimeoutError: no end within the time limit.
        """
        ...


@asynccontextmanager
async def streaming(
    model: LanguageModel, prompt: Prompt
) -> AsyncIterator[AsyncIterator[TextDelta | ModelUsage]]:
    """The pieces of ``model``'s reply; a reader that leaves early ends the call."""
    pieces = model.stream(prompt)
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
