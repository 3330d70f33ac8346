"""The seams to models: what turns texts into vectors, ranks or reads them, and writes text."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, Self, TypeVar, overload, runtime_checkable

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


Head = Literal["relevance", "answers"]
"""What a reader is wanted for: a ``Ranking``, or a ``PassageReader``."""
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A text that is read, and what stands above it (title and headings)."""

    text: str
    title: str = ""

    @property
    def shown(self) -> str:
        """What a model is given to read."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def excerpts(*texts: str) -> tuple[Excerpt, ...]:
    """Texts that nothing stands above."""
    return tuple(Excerpt(text=text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in one text for a question.

    Attributes:
        answers: log odds that the text answers it.
        sentences: log probability of each sentence to be the one that does, together 1; minus
            infinity for a sentence that was not read. Shape ``(sentences,)``.
    """

    answers: float
    sentences: Scores


@runtime_checkable
class PassageReader(Protocol):
    """Reads whole passages for a question, sentence by sentence in their context."""

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader."""
        ...

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> Sequence[Reading]:
        """What each text, given as its sentences, holds for ``question``, in order.

        Raises:
            ModelError: the model cannot be run.
        """
        ...


@runtime_checkable
class Ranking(Protocol):
    """Says how well texts fit a question.

    Every number hangs on the two alone, hardly on what else is asked. Long texts are cut, never
    refused, and a text without a word gets a number too. Calls may come from several threads; they
    are sync and may take as long as a model does, so async callers go through a worker thread.
    ``ModelTimeoutError`` is raised when the model takes longer than its time limit, and
    ``ModelError`` when it cannot be run or reached, or replies with nonsense.
    """

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader ("trained:5ee00eb8")."""
        ...

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """One finite score for each text, in order; larger is better, on no fixed scale.

        No texts give shape ``(0,)``, and no model is asked.
        """
        ...


class Reader(Ranking, Protocol):
    """A ranking that says whether it knows more than a search, which has counted words already."""

    @property
    def reranks(self) -> bool:
        """Whether the best passages of a search are put in its order."""
        ...


def chance(odds: Scores) -> Scores:
    """Probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))


T = TypeVar("T")


class opened_once(Generic[T]):  # noqa: N801 - written as @property is
    """Decorates a method without arguments; ``del`` and ``__dict__`` work as for the standard one.

    Threads that come while it is worked out wait, whichever object they ask.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._lock = threading.RLock()
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        kept = vars(instance)
        with self._lock:  # once it is kept, Python does not come here
            if self._name not in kept:
                kept[self._name] = self._work_out(instance)
            made: T = kept[self._name]
            return made
