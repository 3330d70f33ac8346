"""The base of every JSON body, and the parts that many of them hold: spans, places, sources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic.alias_generators import to_camel

from wellread.text.words import harmless
from wellread.types import DocumentFacts, Kind, Locator, Span
from wellread.values.locators import link_to


class PlainBody(BaseModel):
    """A body whose fields are snake_case in JSON; they are read from the values behind it."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    @field_validator("*", mode="after")
    @classmethod
    def _harmless(cls, value: Any) -> Any:
        """What drives a terminal or turns the order of letters leaves in no body."""
        return _each_harmless(value)

    @classmethod
    def of(cls, *values: object, **named: object) -> Self:
        """The body of ``values``.

        A field is the one ``named``, else the attribute of its name of the first value with one.
        """
        return cls.model_validate(_Joined(values, named))


def _each_harmless(value: Any) -> Any:
    if type(value) is str:
        return harmless(value)
    if isinstance(value, dict):
        return {_each_harmless(key): _each_harmless(one) for key, one in value.items()}
    return type(value)(map(_each_harmless, value)) if type(value) in (tuple, list) else value


class Body(PlainBody):
    """A body whose fields are camelCase in JSON."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True
    )


class _Joined:
    """Several values and some named attributes seen as one value."""

    __slots__ = ("_named", "_values")

    def __init__(self, values: tuple[object, ...], named: Mapping[str, object]) -> None:
        self._values = values
        self._named = named

    def __getattr__(self, name: str) -> Any:
        if name in self._named:
            return self._named[name]
        for value in self._values:
            if hasattr(value, name):
                return getattr(value, name)
        raise AttributeError(name)


class ErrorBody(Body):
    """Every error looks like this."""

    error: str
    detail: str
    hint: str


class SpanBody(Body):
    """Half-open range of characters (Unicode code points)."""

    start: int
    end: int


class BoxBody(Body):
    """A rectangle on a page as shares of its width and height, origin at the top left."""

    left: float
    top: float
    right: float
    bottom: float


class PlaceBody(Body):
    """The facts behind a locator, where known (``begin`` in seconds)."""

    page: int | None = None
    box: BoxBody | None = None
    begin: float | None = None
    speaker: str | None = None
    heading: tuple[str, ...] = ()
    line: int | None = None


class RankBody(Body):
    """Where a passage stood in one ranked list (counted from 1)."""

    name: str
    rank: int
    score: float


class SourceBody(Body):
    """A quoted place of a document. ``link`` opens the source, ``viewUrl`` the built-in viewer."""

    document_id: str
    title: str
    url: str
    link: str
    view_url: str
    kind: Kind
    source_type: str
    published_at: datetime | None
    locator: str
    place: PlaceBody
    quote: str
    source_span: SpanBody

    @classmethod
    def at(
        cls,
        document: DocumentFacts,
        span: Span,
        text: str,
        locator: Locator,
        *values: object,
        **named: object,
    ) -> Self:
        """``text`` at ``span`` of ``document``; further fields as in ``of``."""
        url = document.url or document.uri
        return cls.of(
            document,
            *values,
            document_id=document.id,
            url=url,
            link=link_to(url, locator, text, media_url=document.media_url),
            view_url=view_url(document.id, document.version, span),
            locator=locator.label,
            place=locator,
            quote=text,
            source_span=span,
            **named,
        )


def view_url(document_id: str, version: str, span: Span) -> str:
    """Where the built-in viewer shows ``span`` of that version of the document."""
    query = urlencode({"start": span.start, "end": span.end, "version": version})
    return f"{document_view(document_id)}?{query}#cited"


def document_view(document_id: str) -> str:
    """Where the built-in viewer shows the document."""
    return f"/view/{quote(document_id, safe='')}"
