"""The interfaces of models: embedders, rankers and readers of passages, and language models."""

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
    """An object with connections to close."""

    def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class Preparable(Protocol):
    """An object that loads something slow on first use."""

    def prepare(self) -> None:
        """Load it now instead.

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
        """Return unit vectors of ``texts`` in order, shape ``(len(texts), dimensions)``.

        No texts give shape ``(0, dimensions)``. A text without a word gives a valid vector too.

        Raises:
            ModelError: the model could not be run or reached.
        """
        ...


@runtime_checkable
class ScriptReader(Protocol):
    """An embedder that knows which scripts it can read."""

    def reads(self, text: str) -> bool:
        """Whether the vector of ``text`` tells what it is about."""
        ...


def reads(embedder: Embedder, text: str) -> bool:
    """Whether ``embedder`` can read ``text``; one that does not say so reads everything."""
    return not isinstance(embedder, ScriptReader) or embedder.reads(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call; ``parameters`` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool by a model; sent complete, before the usage.

    Attributes:
        id: identifies the call, so that its result can be matched to it.
        arguments: JSON written by the model, so it may be invalid.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier reply of a model, and the messages sent to it in return.

    Attributes:
        results: the results of its calls, in the order of the calls.
        told: the text after the results; may be empty when there are calls.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()
    told: str = ""

    @property
    def heard(self) -> str:
        """The results and the following text as one text, for models without tools."""
        return "\n\n".join(part for part in (*self.results, self.told) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The input of a language model: instructions, and the user's message with the evidence.

    Attributes:
        session: the conversation it belongs to, for models that store conversations themselves
            (the command line); may be empty. Other models ignore it.
        temperature: overrides the settings when given (0 for verdicts).
        tools: the tools it may call; models without tool support ignore them (``takes_tools``).
        history: the exchanges after ``user`` in order, the newest last.
        shared: the length of the prefix of ``user`` shared with other prompts of the same answer,
            in characters, which a server may cache; 0 for none.
        schema: the JSON schema that the reply must follow; servers without support ignore it, so
            the prompt's text must describe it too.
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
        """Everything except the tools as one text, for programs that accept only text."""
        past = (text for turn in self.history for text in (f"You said:\n{turn.text}", turn.heard))
        return "\n\n".join((self.system, self.user, *past))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next text of a streamed reply."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """Tokens and cost (US dollars) of a reply; sent once, at its end."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


Piece = TextDelta | ToolCall | ModelUsage
"""An event of a streamed reply."""


class LanguageModel(Protocol):
    """Streams a reply to a prompt. Wrappers add retries, time limits and recording."""

    @property
    def identity(self) -> str:
        """Provider and model, as shown to the reader ("openai:gpt-4o-mini")."""
        ...

    def stream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """Yield the reply: text, calls of the prompt's tools, then one ``ModelUsage``.

        Raises:
            ModelError: the model refused, is unreachable or was cut off; see ``retryable``.
            ModelTimeoutError: the reply did not end within the time limit.
        """
        ...


@runtime_checkable
class ToolUser(Protocol):
    """A language model that may support tools; models without this property do not."""

    @property
    def takes_tools(self) -> bool:
        """Whether the model calls the tools of a prompt; may change when a server refuses them."""
        ...


def takes_tools(model: LanguageModel) -> bool:
    """Whether ``model`` calls the tools of a prompt."""
    return isinstance(model, ToolUser) and model.takes_tools


@asynccontextmanager
async def streaming(model: LanguageModel, prompt: Prompt) -> AsyncIterator[AsyncIterator[Piece]]:
    """Open a stream of ``model``'s reply; leaving the context early ends the call."""
    pieces = model.stream(prompt)
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def complete_reply(model: LanguageModel, prompt: Prompt) -> tuple[str, ModelUsage]:
    """Return the complete text of ``model``'s reply, and its usage.

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
"""The use of a reader: as a ``Ranking``, or as a ``PassageReader``."""
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A text to read, with its title and headings."""

    text: str
    title: str = ""

    @property
    def shown(self) -> str:
        """Title and text as one text for a model."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def excerpts(*texts: str) -> tuple[Excerpt, ...]:
    """Return texts as excerpts without a title."""
    return tuple(Excerpt(text=text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A reader's result for one text and one question.

    Attributes:
        answers: log odds that the text answers the question.
        sentences: log probability that each sentence is the answer (the probabilities sum to 1);
            minus infinity for a sentence that was not read. Shape ``(sentences,)``.
    """

    answers: float
    sentences: Scores


@runtime_checkable
class PassageReader(Protocol):
    """Finds the answer to a question in passages, sentence by sentence in context."""

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader."""
        ...

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> Sequence[Reading]:
        """Return a result for each text, which is given as its sentences, in order.

        Raises:
            ModelError: the model cannot be run.
        """
        ...


@runtime_checkable
class Ranking(Protocol):
    """Scores how well texts fit a question.

    A score depends on the question and the text, hardly on the other texts of the call. Long texts
    are truncated, never refused, and a text without a word gets a score too. Implementations are
    thread-safe and synchronous, and may be as slow as a model, so async callers use a worker
    thread. They raise ``ModelTimeoutError`` when the model exceeds its time limit, and
    ``ModelError`` when it cannot be run or reached, or its reply is invalid.
    """

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader ("trained:5ee00eb8")."""
        ...

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """Return a finite score for each text in order; larger is better, without a fixed scale.

        No texts give shape ``(0,)`` without a call of the model.
        """
        ...


class Reader(Ranking, Protocol):
    """A ranking that may improve on the order of a search."""

    @property
    def reranks(self) -> bool:
        """Whether the best passages of a search should be reordered by this ranking."""
        ...


def probability(odds: Scores) -> Scores:
    """Convert log odds to probabilities."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))


T = TypeVar("T")


class opened_once(Generic[T]):  # noqa: N801 - written as @property is
    """A thread-safe ``functools.cached_property``, which ``del`` and ``__dict__`` treat alike.

    Other threads wait while the value is computed, even those that use another object.
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
        cached = vars(instance)
        with self._lock:  # once the value is stored, Python no longer calls this method
            if self._name not in cached:
                cached[self._name] = self._work_out(instance)
            value: T = cached[self._name]
            return value
