"""Places of the material that a tool call names, and pages of text around them.

A citation's ``source`` is such a name: ``doc_…:120-180:3f09c2d1`` is that range of characters of
the version that begins so. A range alone would show another sentence after the document changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wellread.errors import RequestError, UnknownNameError
from wellread.library.named_things import whole
from wellread.library.searches import around
from wellread.models.word_pieces import count_tokens
from wellread.serve.mcp.served import Served
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.types import Document, Span
from wellread.values.locators import Marks

VERSION = 8  # hex digits of a version that tell it apart
CHARACTERS_PER_TOKEN = 4
_SOURCE = re.compile(r"(doc_[0-9a-f]+):(\d+)-(\d+):([0-9a-f]+)")
_PASSAGE = "psg_"
# Where a page may end, the best first.
_BREAKS = ("\n\n", "\n", ". ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A document, and what was named in it (``span``; None: all of it)."""

    listed: ListedDocument
    document: Document
    span: Span | None


def source_of(document_id: str, version: str, span: Span) -> str:
    """The name of a place."""
    return f"{document_id}:{span.start}-{span.end}:{_short(version)}"


def placed(served: Served, name: str) -> Place:
    """What ``name`` stands for: a citation's source, a passage's or document's id, or a title.

    Raises:
        UnknownNameError: there is nothing of that name in what is served.
        RequestError: its document has changed since.
    """
    named = _SOURCE.fullmatch(name)
    if named:
        document_id, start, end, version = named.groups()
        found = whole(served.kb, document_id, served.collections, entities=0)
        if _short(found.listed.facts.version) != version:
            raise _changed()
        if not int(start) <= int(end) <= len(found.document.text):
            raise UnknownNameError(f"there is no place {name!r}", hint="use a citation's source")
        span = Span(start=int(start), end=int(end))
        return Place(listed=found.listed, document=found.document, span=span)
    if name.startswith(_PASSAGE):
        near = around(served.kb, name, 0, 0, served.collections)
        found = whole(served.kb, near.document.id, served.collections, entities=0)
        span = near.results[0].span
        return Place(listed=found.listed, document=found.document, span=span)
    found = whole(served.kb, name, served.collections, entities=0)
    return Place(listed=found.listed, document=found.document, span=None)


def page_end(text: str, start: int, tokens: int) -> int:
    """Where a page of about ``tokens`` that begins at ``start`` ends."""
    size = tokens * CHARACTERS_PER_TOKEN
    end = min(len(text), start + size)
    while end - start > CHARACTERS_PER_TOKEN and count_tokens(text[start:end]) > tokens:
        end = start + (end - start) * 3 // 4
    if end == len(text):
        return end
    for mark in _BREAKS:
        found = text.rfind(mark, start + (end - start) // 2, end)
        if found >= 0:
            return found + len(mark)
    return end


def page_start(text: str, end: int, tokens: int) -> int:
    """Where a page of about ``tokens`` that ends at ``end`` begins."""
    start = max(0, end - tokens * CHARACTERS_PER_TOKEN)
    while end - start > CHARACTERS_PER_TOKEN and count_tokens(text[start:end]) > tokens:
        start = end - (end - start) * 3 // 4
    if not start:
        return start
    for mark in _BREAKS:
        found = text.find(mark, start, start + (end - start) // 2)
        if found >= 0:
            return found + len(mark)
    return start


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


def _short(version: str) -> str:
    return version.rpartition("_")[2][:VERSION]


def _changed() -> RequestError:
    return RequestError(
        "the document has changed since this was given out", hint="search or ask again"
    )
