"""What a scripted model server may be told to say, in no wire format yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal

Finish = Literal["stop", "length", "content_filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One chat request that a server got; header names in lower case.

    Attributes:
        prompt: its words, the parts joined by blank lines.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A good reply; ``thoughts`` are what the model thinks before, in a field of their own."""

    text: str
    finish: Finish = "stop"
    input_tokens: int = 11
    output_tokens: int = 7
    thoughts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The model calls a tool, after ``text``; ``more`` are further calls in the same reply."""

    text: str = ""
    name: str = "search"
    arguments: Mapping[str, Any] = field(default_factory=lambda: {"query": "colour of the sky"})
    more: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def numbered(self) -> list[tuple[int, str, Mapping[str, Any]]]:
        """Every call: its number from 0, name, arguments."""
        calls = [(self.name, self.arguments), *self.more]
        return [(place, name, arguments) for place, (name, arguments) in enumerate(calls)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The model declines, in the field that the wire format has for it."""

    text: str = "I can't help with that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An HTTP error with the body that the provider sends."""

    status: int
    message: str
    code: str = ""
    retry_after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Sends ``text``, then nothing more until the server closes."""

    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Sends ``text``, waits until ``go`` is set, and sends the rest."""

    text: str
    go: Event
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Sends ``text`` and ends; ``cleanly``: with the HTTP body, instead of in its middle."""

    text: str = ""
    cleanly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """Sends ``text``, then an event of that name that is not JSON, or not what it should be."""

    text: str = ""
    data: str = '{"choices": [{"delta"'
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent:
    """Sends ``text``, then an error inside the stream, as overloaded servers do."""

    text: str = ""
    message: str = "The server had an error while processing your request"
    code: str = "server_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Answers 200 with a web page, as a server does at a wrong address."""

    html: str = "<!doctype html><title>Welcome</title>"


Said = Text | Calls | Refusal
Scripted = Said | Failure | Hang | Held | CutOff | Malformed | ErrorEvent | Page
Reply = Scripted | Callable[[Request], Scripted]

EMPTY = Text(text="", output_tokens=0)
