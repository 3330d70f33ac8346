"""The tools ``search``, ``fetch`` and ``list_documents``: reading the material.

A citation's ``source`` names a place: ``doc_…:120-180:3f09c2d1`` is that range of characters of the
version that begins so. A range alone would show another sentence after the document changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from wellread.errors import RequestError, UnknownNameError
from wellread.library.named_things import listed, whole
from wellread.library.searches import Result, around, find
from wellread.serve.mcp.tool_calls import (
    BUDGETS,
    EMPTY_HINT,
    Call,
    Collection,
    Facts,
    Kinds,
    ServedContext,
    Since,
    Speakers,
    Until,
    Words,
    as_result,
    fitted,
    library_tool,
)
from wellread.serve.views import view_url
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.types import Document, Filters, Locator, Span
from wellread.values.locators import Marks, link_to

MOST_FOUND = 10
DEEP = 3  # times as many passages are looked at, since those that one fetch shows are one result
AROUND = 1_200  # tokens shown of the text around a citation
SHARE_BEFORE = 4  # a fetched page has a quarter of its text before the passage that was found
VERSION = 8  # hex digits of a version that tell it apart
CHARACTERS_PER_TOKEN = 4
_SOURCE = re.compile(r"(doc_[0-9a-f]+):(\d+)-(\d+):([0-9a-f]+)")
_PASSAGE = "psg_"
_BREAKS = ("\n\n", "\n", ". ", " ")  # where a page may end, the best first


@library_tool("Search the library")
def search(
    context: ServedContext, query: Annotated[Words, Field(description="what to look for")]
) -> CallToolResult:
    """Finds documents in the user's library by words and by meaning, best first. Gives ids for
    fetch. To get an answer with proof, use ask instead."""
    call = Call(context)
    limits = Filters(collections=call.served.collections)
    found = find(call.kb, query, limits, limit=MOST_FOUND * DEEP).results
    return as_result({"results": [_result_facts(one) for one in _apart(found)[:MOST_FOUND]]})


def _apart(found: Sequence[Result]) -> list[Result]:
    """Two places of one document are two results where one fetch shows not both."""
    near = BUDGETS[0] * CHARACTERS_PER_TOKEN // SHARE_BEFORE
    kept: list[Result] = []
    for result in found:
        document = result.hit.document.id
        starts = [other.span.start for other in kept if other.hit.document.id == document]
        if all(abs(start - result.span.start) > near for start in starts):
            kept.append(result)
    return kept


def _result_facts(result: Result) -> Facts:
    document, label = result.hit.document, result.locator.label
    url = document.url or document.uri
    return {
        "id": result.hit.passage.id,
        "title": f"{document.title} ({label})" if label else document.title,
        "url": link_to(url, result.locator, result.text, media_url=document.media_url),
    }


@library_tool("Fetch a document")
def fetch(
    context: ServedContext,
    id: Annotated[
        Words,
        Field(
            description="id of a search result, source of a citation (doc_…:120-180:…), or the id "
            "or title of a document"
        ),
    ],
) -> CallToolResult:
    """Gives the text of a document: all of it, or of a long one the part around what was found;
    search for what else it may hold. Opens a citation at its place: the quoted words among the
    text around them, with page, minute and speaker, or heading."""
    call = Call(context)
    place = placed(call, id)
    call.note_opened(place.listed.facts.id)
    return fitted(partial(_fetched, call, id, place))


def _fetched(call: Call, name: str, place: Place, tokens: int) -> CallToolResult:
    text, facts = place.document.text, place.listed.facts
    if place.cited:
        tokens = min(tokens, AROUND)
    start = 0
    if place.span is not None and page_end(text, 0, tokens) < len(text):
        start = page_start(text, place.span.start, tokens // SHARE_BEFORE)
    shown = Span(start=start, end=page_end(text, start, tokens))
    locator = place.locator(place.span or shown)
    metadata = {
        "documentId": facts.id,
        "kind": facts.kind,
        "collection": facts.collection,
        "locator": locator.label,
        "authors": ", ".join(facts.authors) or None,
        "publishedAt": facts.published_at,
        "language": facts.language or None,
        "start": shown.start,
        "end": shown.end,
        "characters": len(text),
        "quote": place.span.of(text) if place.cited and place.span else None,
        "viewUrl": call.view_url(view_url(facts.id, facts.version, place.span or shown)),
    }
    return as_result(
        {
            "id": name,
            "title": facts.title,
            "text": readable(place.document, shown),
            "url": place.link(place.span or Span(start=start, end=start), locator),
            "metadata": metadata,
        }
    )


@library_tool("List documents", alone=True)
def list_documents(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    limit: Annotated[int, Field(ge=1, le=200, description="most of them")] = 50,
) -> CallToolResult:
    """Lists the documents of the library, newest first, and its collections. To count documents,
    ask."""
    call = Call(context)
    page = listed(call.kb, call.filters(collection, kinds, speakers, since, until), limit=limit)
    counts: dict[str, int] = {}
    for row in call.kb.catalogue.stats():
        if not call.served.collections or row.collection in call.served.collections:
            counts[row.collection] = counts.get(row.collection, 0) + row.documents

    def build(tokens: int) -> CallToolResult:
        shown = page.documents[: max(1, tokens * limit // BUDGETS[0])]
        facts = {
            "total": page.total,
            "documents": [_listed_facts(document) for document in shown],
            "collections": [{"name": name, "documents": count} for name, count in counts.items()],
        }
        return as_result(facts if counts else facts | {"hint": EMPTY_HINT})

    return fitted(build)


def _listed_facts(document: ListedDocument) -> Facts:
    facts = document.facts
    return {
        "id": facts.id,
        "title": facts.title,
        "kind": facts.kind,
        "collection": facts.collection,
        "url": facts.url or facts.uri,
        "publishedAt": facts.published_at,
        "authors": facts.authors,
        "characters": facts.characters,
    }


# --- places of the material, and pages of text around them -----------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A document, and what was named in it (``span``; None: all of it) or ``cited`` of it."""

    listed: ListedDocument
    document: Document
    span: Span | None
    cited: bool

    def locator(self, span: Span) -> Locator:
        """What ``span`` looks like to a person."""
        return Marks(self.document.marks).locate(span)

    def link(self, span: Span, locator: Locator) -> str:
        """Where ``span`` opens in its source."""
        facts = self.listed.facts
        url = facts.url or facts.uri
        if not len(span):
            return url
        return link_to(url, locator, span.of(self.document.text), media_url=facts.media_url)


def source_of(document_id: str, version: str, span: Span) -> str:
    """The name of a place."""
    return f"{document_id}:{span.start}-{span.end}:{_short(version)}"


def _short(version: str) -> str:
    return version.rpartition("_")[2][:VERSION]


def placed(call: Call, name: str) -> Place:
    """What ``name`` stands for: a citation's source, a passage's or document's id, or a title."""
    kb, collections = call.kb, call.served.collections
    named = _SOURCE.fullmatch(name)
    document_id, span = named[1] if named else name, None
    if name.startswith(_PASSAGE):
        near = around(kb, name, 0, 0, collections)
        document_id, span = near.document.id, near.results[0].span
    found = whole(kb, document_id, collections, entities=0)
    if named:
        if _short(found.listed.facts.version) != named[4]:
            detail = "the document has changed since this was given out"
            raise RequestError(detail, hint="search or ask again")
        start, end = int(named[2]), int(named[3])
        if not start <= end <= len(found.document.text):
            raise UnknownNameError(f"there is no place {name!r}", hint="give a citation's source")
        span = Span(start=start, end=end)
    return Place(listed=found.listed, document=found.document, span=span, cited=bool(named))


def page_end(text: str, start: int, tokens: int) -> int:
    """Where a page of about ``tokens`` that begins at ``start`` ends."""
    end = min(len(text), start + tokens * CHARACTERS_PER_TOKEN)
    if end == len(text):
        return end
    places = ((text.rfind(mark, (start + end) // 2, end), mark) for mark in _BREAKS)
    return next((place + len(mark) for place, mark in places if place >= 0), end)


def page_start(text: str, end: int, tokens: int) -> int:
    """Where a page of about ``tokens`` that ends at ``end`` begins."""
    start = max(0, end - tokens * CHARACTERS_PER_TOKEN)
    if not start:
        return start
    places = ((text.find(mark, start, (start + end) // 2), mark) for mark in _BREAKS)
    return next((place + len(mark) for place, mark in places if place >= 0), start)


def readable(document: Document, span: Span) -> str:
    """The text of ``span``; where people speak, who says what and when."""
    marks = Marks(document.marks)
    turns = marks.turns(span)
    if not turns:
        return span.of(document.text)
    lines: list[str] = []
    place = span.start
    for turn in turns:
        lines.append(document.text[place : turn.span.start].strip())
        label = marks.locate(turn.span).label or turn.speaker
        lines.append(f"{label}: {turn.span.of(document.text).strip()}")
        place = turn.span.end
    lines.append(document.text[place : span.end].strip())
    return "\n\n".join(line for line in lines if line)
