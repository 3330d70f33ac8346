"""Cuts an article into news items: the parts of which stories are made.

A news item is a whole article, unless the article is a digest (a newsletter, a weekly round-up):
then its top-level list items are news items, each with the paragraphs that follow it, and so are
its sections without a list, long ones cut at paragraphs. What only leads in ("this week's
newsletter summarises …"), contents lists, footnotes and stubs are no news.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from wellread.types import Document, HeadingMark, Span

SHORTEST = 45  # characters: below, a list item is a line of a contents list or a stub
LEAST_ITEMS = 3  # substantial list items that make a document a digest …
LEAST_SHARE = 0.4  # … when they hold this share of its text
LONGEST_PROSE = 2_000  # characters: longer prose without a list is cut at paragraphs
LONGEST_LEAD_IN = 600  # characters: paragraphs before a list that hold more are news themselves

_BLOCK = re.compile(r"\S.*?(?=\n\n|\Z)", re.DOTALL)
_BULLET = re.compile(r"^[-*•] +(?=\S)", re.MULTILINE)
# A list item that goes on with a sentence begun before the list.
_CONTINUES = re.compile(r"[a-z]+ ")
_NAMED_DIGEST = re.compile(
    r"\b(newsletter|digest|round-?up|briefing|bulletin|week in|weekly|year[- ]in[- ]review)\b",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(r"(footnotes?|notes|references|(table of )?contents)", re.IGNORECASE)

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of the text under one heading; ``listed``: a list item with what follows it."""

    span: Span
    section: Section
    listed: bool


def news_items(document: Document) -> list[Span]:
    """The news items of ``document``, in order; they do not overlap.

    An article that is no digest is one item. A digest in which nothing substantial is found
    is one item too, so that no article is lost.
    """
    parts = _parts(document)
    if _is_digest(document, parts):
        items = [part.span for part in _news(parts)]
        if items:
            return items
    text = document.text
    start = len(text) - len(text.lstrip())
    return [Span(start=start, end=max(start, len(text.rstrip())))]


def _parts(document: Document) -> list[_Part]:
    """The text as list items with what follows them, and as prose from its heading on."""
    parts: list[_Part] = []
    for span, section, listed in _pieces(document):
        last = parts[-1] if parts else None
        if last is None or last.section != section or listed or _full(last, span):
            parts.append(_Part(span=span, section=section, listed=listed))
        else:
            parts[-1] = replace(last, span=Span(start=last.span.start, end=span.end))
    return parts


def _full(part: _Part, more: Span) -> bool:
    return not part.listed and more.end - part.span.start > LONGEST_PROSE


def _pieces(document: Document) -> Iterator[tuple[Span, Section, bool]]:
    """Paragraphs and single list items in reading order; whether it opens a list item."""
    text = document.text
    headings = sorted(
        (mark for mark in document.marks if isinstance(mark, HeadingMark)),
        key=lambda mark: (mark.start, -mark.end),
    )
    section: Section = ()
    heading: int | None = None  # where the line of a heading begins, right above
    waiting = iter([*headings, None])
    following = next(waiting)
    for block in _BLOCK.finditer(text):
        while following and following.start <= block.start():
            section, following = following.path, next(waiting)
        if section and block.group().strip() == section[-1]:
            heading = block.start()
            continue
        starts = [found.start() for found in _BULLET.finditer(text, block.start(), block.end())]
        borders = sorted({block.start(), *starts, block.end()})
        for start, end in pairwise(borders):
            bullet = _BULLET.match(text, start) if start in starts else None
            begin = bullet.end() if bullet else start
            listed = bullet is not None and not _CONTINUES.match(text, begin)
            stop = begin + len(text[begin:end].rstrip())
            if heading is not None and bullet is None:
                begin = heading
            heading = None
            yield Span(start=begin, end=stop), section, listed


def _is_digest(document: Document, parts: list[_Part]) -> bool:
    if _NAMED_DIGEST.search(f"{document.title} {document.source_type}"):
        return len(parts) > 1
    listed = [len(part.span) for part in parts if part.listed and len(part.span) >= SHORTEST]
    return len(listed) >= LEAST_ITEMS and sum(listed) >= LEAST_SHARE * len(document.text)


def _news(parts: list[_Part]) -> Iterator[_Part]:
    """The parts that are news: no lead-in, no footnotes, no stub."""
    with_list = {part.section for part in parts if part.listed}
    for part in parts:
        leads_in = not part.section or (
            part.section in with_list and len(part.span) <= LONGEST_LEAD_IN
        )
        stub = len(part.span) < SHORTEST
        aside = bool(part.section and _NO_NEWS.fullmatch(part.section[-1]))
        if not stub and not aside and (part.listed or not leads_in):
            yield part
