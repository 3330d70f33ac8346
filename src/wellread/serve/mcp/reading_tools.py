"""The MCP tools ``search`` and ``fetch``, which find and return documents.

A citation's ``source`` names a place: ``doc_…:120-180:3f09c2d1`` is a range of characters and the
prefix of the version. Without the version, a changed document would show another sentence.
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
from wellread.library.named_things import load_document
from wellread.library.searches import Result, around, find
from wellread.serve.mcp.tool_calls import (
    BUDGETS,
    Call,
    Collection,
    Facts,
    Kinds,
    NonEmptyText,
    ServedContext,
    Since,
    Speakers,
    Until,
    as_result,
    fit_result,
    library_tool,
)
from wellread.serve.views import address_of, source_link, view_url
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.text.sentences import shorten
from wellread.types import Document, Locator, Span
from wellread.values.locators import Marks

MAX_RESULTS = 30
SNIPPET_CHARS = 300
SEARCH_FACTOR = 3  # passages searched per result, because passages within one fetch are merged
CONTEXT_TOKENS = 1_200  # tokens of text around a citation
SHARE_BEFORE = 4  # one part in so many of a page comes before the passage
VERSION_DIGITS = 8  # hex digits that identify a version
CHARACTERS_PER_TOKEN = 4
_SOURCE = re.compile(r"(doc_[0-9a-f]+):(\d+)-(\d+):([0-9a-f]+)")
_PASSAGE = "psg_"
_BREAK_MARKS = ("\n\n", "\n", ". ", " ")  # where a page may break, best first


@library_tool("Search the library")
def search(  # noqa: PLR0913 - the SDK reads the arguments from the signature
    context: ServedContext,
    query: Annotated[NonEmptyText, Field(description="what to look for")],
    collection: Collection = None,
    kinds: Kinds = (),
    speakers: Speakers = (),
    since: Since = "",
    until: Until = "",
    limit: Annotated[int, Field(ge=1, le=MAX_RESULTS, description="most results")] = 10,
) -> CallToolResult:
    """Finds documents in the user's library by words and by meaning, best first: title, snippet,
    place, date, and the id for fetch. To get an answer with proof, use ask instead."""
    call = Call(context)
    limits = call.filters(collection, kinds, speakers, since, until)
    results = find(call.kb, query, limits, limit=limit * SEARCH_FACTOR).results
    return as_result({"results": list(map(_result_facts, _distinct(results)[:limit]))})


def _distinct(results: Sequence[Result]) -> list[Result]:
    """Drop passages that the same fetch would show together with a better one."""
    distance = BUDGETS[0] * CHARACTERS_PER_TOKEN // SHARE_BEFORE
    distinct: list[Result] = []
    for result in results:
        document_id = result.hit.document.id
        starts = [other.span.start for other in distinct if other.hit.document.id == document_id]
        if all(abs(start - result.span.start) > distance for start in starts):
            distinct.append(result)
    return distinct


def _result_facts(result: Result) -> Facts:
    document, words = result.hit.document, " ".join(result.text.split())
    return {
        "id": result.hit.passage.id,
        "title": document.title,
        "snippet": shorten(words, SNIPPET_CHARS),
        "place": result.locator.label,
        "publishedAt": document.published_at,
        "url": source_link(document, result.locator, result.text),
    }


@library_tool("Fetch a document")
def fetch(
    context: ServedContext,
    id: Annotated[
        NonEmptyText,
        Field(
            description="id of a search result, source of a citation (doc_…:120-180:…), or the id "
            "or title of a document"
        ),
    ],
) -> CallToolResult:
    """Returns the text of a document: all of it or, if it is long, the part around the passage
    found; search again for other parts. For the source of a citation, returns the quoted words in
    the text around them, with page, minute and speaker, or heading."""
    call = Call(context)
    place = resolve_place(call, id)
    call.note_opened(place.listed.facts.id)
    return fit_result(partial(_fetched, call, id, place))


def _fetched(call: Call, name: str, place: Place, tokens: int) -> CallToolResult:
    text, facts = place.document.text, place.listed.facts
    if place.cited:
        tokens = min(tokens, CONTEXT_TOKENS)
    start = 0
    if place.span is not None and page_end(text, 0, tokens) < len(text):
        start = page_start(text, place.span.start, tokens // SHARE_BEFORE)
    page = Span(start=start, end=page_end(text, start, tokens))
    locator = place.locator(place.span or page)
    metadata = {
        "documentId": facts.id,
        "kind": facts.kind,
        "collection": facts.collection,
        "locator": locator.label,
        "authors": ", ".join(facts.authors) or None,
        "publishedAt": facts.published_at,
        "language": facts.language or None,
        "start": page.start,
        "end": page.end,
        "characters": len(text),
        "quote": place.span.of(text) if place.cited and place.span else None,
        "viewUrl": call.view_url(view_url(facts.id, facts.version, place.span or page)),
    }
    return as_result(
        {
            "id": name,
            "title": facts.title,
            "text": readable_text(place.document, page),
            "url": place.link(place.span or Span(start=start, end=start), locator),
            "metadata": metadata,
        }
    )


# --- places in documents and pages of text ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A document and a ``span`` of it (None: all of it); ``cited`` if a citation named the span."""

    listed: ListedDocument
    document: Document
    span: Span | None
    cited: bool

    def locator(self, span: Span) -> Locator:
        """Return the locator of ``span``."""
        return Marks(self.document.marks).locate(span)

    def link(self, span: Span, locator: Locator) -> str:
        """Return the URL that opens the source at ``span``."""
        facts = self.listed.facts
        text = span.of(self.document.text)
        return source_link(facts, locator, text) if text else address_of(facts)


def source_of(document_id: str, version: str, span: Span) -> str:
    """Return the ``source`` of a citation, in the form that the module's docstring explains."""
    return f"{document_id}:{span.start}-{span.end}:{_version_prefix(version)}"


def _version_prefix(version: str) -> str:
    return version.rpartition("_")[2][:VERSION_DIGITS]


def resolve_place(call: Call, name: str) -> Place:
    """Resolve a citation's source, the id of a passage or document, or a title."""
    kb, collections = call.kb, call.served.collections
    source = _SOURCE.fullmatch(name)
    document_id, span = source[1] if source else name, None
    if name.startswith(_PASSAGE):
        surroundings = around(kb, name, 0, 0, collections)
        document_id, span = surroundings.document.id, surroundings.results[0].span
    document = load_document(kb, document_id, collections, entities=0)
    if source:
        if _version_prefix(document.listed.facts.version) != source[4]:
            detail = "the document has changed since this source was returned"
            raise RequestError(detail, hint="search or ask again")
        start, end = int(source[2]), int(source[3])
        if not start <= end <= len(document.document.text):
            raise UnknownNameError(f"there is no place {name!r}", hint="give a citation's source")
        span = Span(start=start, end=end)
    return Place(listed=document.listed, document=document.document, span=span, cited=bool(source))


def page_end(text: str, start: int, tokens: int) -> int:
    """Return the end of a page of about ``tokens`` that begins at ``start``."""
    end = min(len(text), start + tokens * CHARACTERS_PER_TOKEN)
    if end == len(text):
        return end
    breaks = ((text.rfind(mark, (start + end) // 2, end), mark) for mark in _BREAK_MARKS)
    return next((position + len(mark) for position, mark in breaks if position >= 0), end)


def page_start(text: str, end: int, tokens: int) -> int:
    """Return the start of a page of about ``tokens`` that ends at ``end``."""
    start = max(0, end - tokens * CHARACTERS_PER_TOKEN)
    if not start:
        return start
    breaks = ((text.find(mark, start, (start + end) // 2), mark) for mark in _BREAK_MARKS)
    return next((position + len(mark) for position, mark in breaks if position >= 0), start)


def readable_text(document: Document, span: Span) -> str:
    """Return the text of ``span``; transcripts with the speaker and time of each turn."""
    marks = Marks(document.marks)
    turns = marks.turns(span)
    if not turns:
        return span.of(document.text)
    lines: list[str] = []
    end = span.start
    for turn in turns:
        lines.append(document.text[end : turn.span.start].strip())
        label = marks.locate(turn.span).label or turn.speaker
        lines.append(f"{label}: {turn.span.of(document.text).strip()}")
        end = turn.span.end
    lines.append(document.text[end : span.end].strip())
    return "\n\n".join(line for line in lines if line)
