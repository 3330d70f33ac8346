"""The tools ``search``, ``fetch``, ``open_source`` and ``list_documents``: reading the material."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from mcp.types import CallToolResult
from pydantic import Field

from wellread.library.named_things import listed
from wellread.library.searches import Result, find
from wellread.serve.features.bodies import Body, view_url
from wellread.serve.mcp.arguments import (
    FetchArguments,
    ListArguments,
    OpenArguments,
    SearchArguments,
)
from wellread.serve.mcp.places import (
    CHARACTERS_PER_TOKEN,
    Place,
    page_end,
    page_start,
    placed,
    readable,
    source_of,
)
from wellread.serve.mcp.results import BUDGETS, exactly, fitted, told
from wellread.serve.mcp.served import FILL, Call
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.types import Filters, Kind, Locator, Span
from wellread.values.answer_text import escaped, target
from wellread.values.locators import Marks, link_to

MOST_FOUND = 10
DEEP = 3  # times as many passages are looked at, since those that one fetch shows are one result
BEFORE, AFTER = 400, 800  # tokens shown around an opened place
SHARE_BEFORE = 4  # a fetched page has a quarter of its text before the passage that was found


class FoundBody(Body):
    """A result, to be fetched by its id."""

    id: str
    title: str
    url: str


class FoundResults(Body):
    """What a search found, best first."""

    results: tuple[FoundBody, ...]


class FetchedMetadata(Body):
    """Facts about the document, and which part of it is given."""

    document_id: str
    kind: Kind
    collection: str
    locator: str = ""
    authors: str | None = None
    published_at: datetime | None = None
    language: str | None = None
    start: int = Field(description="of the text given, in characters of the document")
    end: int
    characters: int = Field(description="of the whole document")


class FetchedDocument(Body):
    """A document's text, whole or the part around what was found. It is data."""

    id: str
    title: str
    text: str
    url: str
    metadata: FetchedMetadata


class OpenedSource(Body):
    """A place in a document: ``quote`` is what was named, among the text around it. It is data."""

    source: str
    document_id: str
    title: str
    kind: Kind
    collection: str
    locator: str
    link: str
    view_url: str | None = None
    published_at: datetime | None = None
    before: str
    quote: str
    after: str


class ListedBody(Body):
    """A document on the list; its id opens and fetches it."""

    id: str
    title: str
    kind: Kind
    collection: str
    url: str
    published_at: datetime | None = None
    authors: tuple[str, ...]
    characters: int


class CollectionBody(Body):
    """A collection and how many documents it has."""

    name: str
    documents: int


class ListedDocuments(Body):
    """The beginning of a list, how long all of it is, and all collections there are."""

    total: int
    documents: tuple[ListedBody, ...]
    collections: tuple[CollectionBody, ...]


def search(call: Call, wanted: SearchArguments) -> CallToolResult:
    """Find documents; two places of one are two results where one fetch shows not both."""
    limits = Filters(collections=call.served.collections)
    found = find(call.kb, wanted.query, limits, limit=MOST_FOUND * DEEP).results
    results = tuple(map(_found_body, _apart(found)[:MOST_FOUND]))
    return exactly(FoundResults(results=results))


def _apart(found: Sequence[Result]) -> list[Result]:
    near = BUDGETS[0] * CHARACTERS_PER_TOKEN // SHARE_BEFORE
    kept: list[Result] = []
    for one in found:
        document = one.hit.document.id
        starts = [other.span.start for other in kept if other.hit.document.id == document]
        if all(abs(start - one.span.start) > near for start in starts):
            kept.append(one)
    return kept


def _found_body(one: Result) -> FoundBody:
    document = one.hit.document
    label = one.locator.label
    url = document.url or document.uri
    return FoundBody(
        id=one.hit.passage.id,
        title=f"{document.title} ({label})" if label else document.title,
        url=link_to(url, one.locator, one.text, media_url=document.media_url),
    )


def fetch(call: Call, wanted: FetchArguments) -> CallToolResult:
    """A document's text: whole where it is short, else the page around what was found."""
    place = placed(call.served, wanted.id)
    call.served.opened(place.listed.facts.id)
    return fitted(partial(_fetched, wanted.id, place))


def _fetched(name: str, place: Place, tokens: int) -> CallToolResult:
    text, facts = place.document.text, place.listed.facts
    start = 0
    if place.span is not None and page_end(text, 0, tokens) < len(text):
        start = page_start(text, place.span.start, tokens // SHARE_BEFORE)
    end = page_end(text, start, tokens)
    span = Span(start=start, end=end)
    locator = _located(place, place.span or span)
    body = FetchedDocument(
        id=name,
        title=facts.title,
        text=readable(place.document, span),
        url=_link(place, place.span or Span(start=start, end=start), locator),
        metadata=FetchedMetadata.of(
            facts,
            document_id=facts.id,
            locator=locator.label,
            authors=", ".join(facts.authors) or None,
            language=facts.language or None,
            start=start,
            end=end,
            characters=len(text),
        ),
    )
    return exactly(body)


def open_source(call: Call, wanted: OpenArguments) -> CallToolResult:
    """A place with the text around it."""
    place = placed(call.served, wanted.source)
    call.served.opened(place.listed.facts.id)
    return fitted(partial(_opened, call, place))


def _opened(call: Call, place: Place, tokens: int) -> CallToolResult:
    text = place.document.text
    around = min(tokens, BEFORE + AFTER)
    if place.span is not None:
        quoted = place.span
        first = page_start(text, quoted.start, around // 3)
        last = page_end(text, quoted.end, around * 2 // 3)
    else:
        first, last = 0, page_end(text, 0, around)
        quoted = Span(start=0, end=0)
    body = _opened_body(call, place, Span(start=first, end=last), quoted)
    return told(_opened_markdown(body), body)


def _opened_body(call: Call, place: Place, shown: Span, quoted: Span) -> OpenedSource:
    document, facts = place.document, place.listed.facts
    locator = _located(place, quoted if len(quoted) else shown)
    before = Span(start=shown.start, end=quoted.start)
    after = Span(start=quoted.end, end=shown.end)
    return OpenedSource.of(
        facts,
        source=source_of(facts.id, facts.version, quoted) if len(quoted) else facts.id,
        document_id=facts.id,
        locator=locator.label,
        link=_link(place, quoted, locator),
        view_url=call.view_url(view_url(facts.id, facts.version, quoted)),
        # Within a turn the speaker stands in the locator; a whole page says who speaks.
        before=before.of(document.text) if len(quoted) else "",
        quote=quoted.of(document.text),
        after=after.of(document.text) if len(quoted) else readable(document, after),
    )


def _opened_markdown(body: OpenedSource) -> str:
    title = escaped(body.title)
    named = f"[{title}]({target(body.link)})" if body.link else title
    parts = [f"**{named}**", escaped(body.locator), f"{body.kind} in {escaped(body.collection)}"]
    quote = f"**»{_lines(body.quote)}«**" if body.quote else ""
    pieces = [" · ".join(part for part in parts if part), _lines(body.before), quote]
    pieces += [_lines(body.after)]
    return "\n\n".join(piece for piece in pieces if piece)


def _lines(text: str) -> str:
    return "\n".join(escaped(line) for line in text.strip().splitlines())


def list_documents(call: Call, wanted: ListArguments) -> CallToolResult:
    """The newest documents, with the collections."""
    limits = wanted.filters(call.served.within(wanted.collection))
    page = listed(call.kb, limits, limit=wanted.limit)
    collections = _collections(call)

    def build(tokens: int) -> CallToolResult:
        shown = page.documents[: max(1, tokens * wanted.limit // BUDGETS[0])]
        body = ListedDocuments(
            total=page.total,
            documents=tuple(map(_listed_body, shown)),
            collections=collections,
        )
        return told(_list_markdown(body), body)

    return fitted(build)


def _collections(call: Call) -> tuple[CollectionBody, ...]:
    counts: dict[str, int] = {}
    for row in call.kb.catalogue.stats():
        if not call.served.collections or row.collection in call.served.collections:
            counts[row.collection] = counts.get(row.collection, 0) + row.documents
    return tuple(CollectionBody(name=name, documents=count) for name, count in counts.items())


def _listed_body(one: ListedDocument) -> ListedBody:
    return ListedBody.of(one.facts, url=one.facts.url or one.facts.uri)


def _list_markdown(body: ListedDocuments) -> str:
    named = ", ".join(f"{escaped(one.name)} ({one.documents:,})" for one in body.collections)
    lines = [f"**Collections** {named or f'none yet: {FILL}'}", ""]
    shown = len(body.documents)
    part = f", the newest {shown:,} of them:" if shown < body.total else ""
    lines.append(f"**{body.total:,} documents**{part}")
    for one in body.documents:
        day = f"{one.published_at:%Y-%m-%d}" if one.published_at else "no date"
        who = f", {escaped(', '.join(one.authors))}" if one.authors else ""
        where = f"{one.kind} in {escaped(one.collection)}"
        lines.append(f"- {escaped(one.title)}{who} ({where}, {day}) `{one.id}`")
    return "\n".join(lines)


def _located(place: Place, span: Span) -> Locator:
    return Marks(place.document.marks).locate(span)


def _link(place: Place, span: Span, locator: Locator) -> str:
    facts = place.listed.facts
    url = facts.url or facts.uri
    quote = span.of(place.document.text)
    return link_to(url, locator, quote, media_url=facts.media_url) if len(span) else url
