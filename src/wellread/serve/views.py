"""Defines how values appear in JSON replies and templates, and builds viewer URLs.

A reply is a value or a ``Shape`` that combines values. ``FACES`` lists the values that may be
shown, with the fields that are omitted (owners), renamed or added (links). Field names are in
camelCase, except in a ``PlainShape``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self, dataclass_transform
from urllib.parse import quote, urlencode

from wellread.shapes import Computed, View
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.types import AppliedLimit, Box, DocumentFacts, Filters, ListRank, Locator, Span
from wellread.values.answers import (
    Citation,
    Confidence,
    Conflict,
    Related,
    Sentence,
    Step,
    Table,
    TokenEvent,
    Usage,
)
from wellread.values.answers import View as Side
from wellread.values.locators import link_to

_LINES: dict[type, tuple[str, Mapping[str, Computed]]] = {}
FACES = View(camel=True, lines=_LINES)
PLAIN = View(camel=False, lines=_LINES)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Shape:
    """The base class of replies that combine values; each is a frozen dataclass."""

    def __init_subclass__(cls, *, line: str = "*", **computed: Computed) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)
        FACES.show(cls, line, **computed)

    @classmethod
    def of(cls, *values: object, **named: object) -> Self:
        """Build the shape from ``values``.

        Each field is taken from ``named``, else from the first value with an attribute of that
        name, else it has its default.
        """
        fields = dict(named)
        for name in cls.__dataclass_fields__:
            source = next((value for value in values if hasattr(value, name)), None)
            if name not in fields and source is not None:
                fields[name] = getattr(source, name)
        return cls(**fields)

    __dataclass_fields__: ClassVar[dict[str, Any]]


class PlainShape(Shape):
    """A reply shape whose JSON keys equal its field names."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)


_PLAIN: set[type] = set()


def show_plain(kind: type, line: str = "*", **computed: Computed) -> None:
    """Register values of ``kind`` as replies whose JSON keys equal their field names."""
    FACES.show(kind, line, **computed)
    _PLAIN.add(kind)


def view_of(kind: Any) -> View:
    """The view that serialises this kind of reply."""
    plain = kind in _PLAIN or (isinstance(kind, type) and issubclass(kind, PlainShape))
    return PLAIN if plain else FACES


def json_of(value: object) -> Any:
    """The JSON of a reply."""
    return view_of(type(value)).json(value)


def look_at(value: object) -> Any:
    """Return a reply as templates see it."""
    return FACES.look(value)


# --- URLs of documents and places ------------------------------------------------------------


def view_url(document_id: str, version: str, span: Span) -> str:
    """The viewer URL of ``span`` in this version of the document."""
    query = urlencode({"start": span.start, "end": span.end, "version": version})
    return f"{document_view(document_id)}?{query}#cited"


def document_view(document_id: str) -> str:
    """The viewer URL of the document."""
    return f"/view/{quote(document_id, safe='')}"


def view_url_of_span(document: DocumentFacts, span: Span) -> str:
    """The viewer URL of ``span`` in the current version of the document."""
    return view_url(document.id, document.version, span)


def view_url_of_citation(citation: Citation) -> str:
    """The viewer URL of the cited place; empty when it is not in a stored document."""
    if not citation.document_id:
        return ""
    return view_url(citation.document_id, citation.version, citation.source_span)


def source_link(document: DocumentFacts, locator: Locator, text: str) -> str:
    """The URL of the source itself, at ``locator``."""
    return link_to(address_of(document), locator, text, media_url=document.media_url)


def address_of(document: DocumentFacts) -> str:
    """The URL or file address at which a reader opens the document."""
    return document.url or document.uri


QUOTED = """document_id={0}.id title={0}.title url link view_url kind={0}.kind
    source_type={0}.source_type published_at={0}.published_at locator=locator.label place=locator
    quote=text source_span=span"""


def show_quoted(kind: type, path: str, more: str = "", **computed: Computed) -> None:
    """Register values that quote ``text`` at ``span`` of the document at attribute ``path``."""
    document = attrgetter(path)
    FACES.show(
        kind,
        f"{QUOTED.format(path)} {more}",
        url=(str, lambda value: address_of(document(value))),
        link=(str, lambda value: source_link(document(value), value.locator, value.text)),
        view_url=(str, lambda value: view_url_of_span(document(value), value.span)),
        **computed,
    )


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A quoted place in a document. ``link`` opens the source, ``viewUrl`` the built-in viewer."""

    document: DocumentFacts
    span: Span
    text: str
    locator: Locator


show_quoted(Quoted, "document")


# --- the values of an answer -----------------------------------------------------------------


FACES.show_whole(
    AppliedLimit, Box, Confidence, Conflict, ListRank, Related, Side, Span, Step, Table
)
FACES.show(TokenEvent)
FACES.show(Locator, "* -label")
FACES.show(
    Filters,
    """collections kinds speakers authors languages source_types taxonomy published_from
    published_to""",
    taxonomy=(
        tuple[str, ...],
        lambda limits: [f"{name}={value}" for name, value in limits.taxonomy],
    ),
)
FACES.show(
    Usage,
    "clusters_retrieved=clusters tokens_used cost",
    tokens_used=(
        dict[str, int],
        lambda usage: {"input": usage.input_tokens, "output": usage.output_tokens},
    ),
)
FACES.show(
    Sentence,
    """text start=span.start end=span.end verdict=verdict.name method=verdict.method
    score=verdict.score reason=verdict.reason citations marked""",
)
FACES.show(
    Citation,
    """document_id title url link view_url kind source_type published_at locator=locator.label
    place=locator quote source_span""",
    view_url=(str, lambda cited: view_url_of_citation(cited)),
)


FACES.show(
    EntityNode,
    "collection id type title document_id view_url",
    view_url=(str, lambda node: document_view(node.document_id)),
)
