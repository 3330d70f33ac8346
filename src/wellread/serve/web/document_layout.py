"""A document cut into blocks at its landmarks, with the cited spans marked.

``page_of`` is pure: nothing of the text is lost or added. The pieces of all blocks, joined, are the
document's text; the marked ones, joined, are the span.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeVar
from urllib.parse import urlsplit

from wellread.types import (
    Document,
    HeadingMark,
    Locator,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TimeMark,
)
from wellread.values.locators import Marks, format_time, link_to

SECONDS_BETWEEN_TIMES = 30.0

M = TypeVar("M", bound=Mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place that a reader knows: a page, a speaker with the time, a heading path.

    Attributes:
        link: opens the source at the place, where that is possible.
        begin: the second at which it is said.
    """

    kind: str
    label: str
    link: str = ""
    begin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text; ``first`` is set on the first piece of the cited span.

    ``citations`` are the numbers of the answer's other citations that cover it.
    """

    text: str
    cited: bool = False
    first: bool = False
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text from one landmark to the next; ``begin`` is the second at which it is said."""

    landmarks: tuple[Landmark, ...]
    pieces: tuple[Piece, ...]
    begin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as the viewer shows it.

    Attributes:
        locator: where the cited span stands; None when nothing is cited.
        link: opens the source, at the cited place if there is one; empty when it is no web page.
    """

    title: str
    blocks: tuple[Block, ...]
    locator: Locator | None
    link: str


def page_of(
    document: Document, span: Span | None, others: Mapping[int, Span] | None = None
) -> Page:
    """Lay out ``document``; ``span`` is marked when it is given (it must lie in the text).

    Args:
        others: citations of the same answer by number; what they cover is marked as well.
    """
    landmarks = _landmarks(document)
    starts = sorted({0, *(place for place in landmarks if place < len(document.text))})
    ends = [*starts[1:], len(document.text)]
    spans = dict(others or {})
    blocks = tuple(
        Block(
            landmarks=tuple(landmarks.get(start, ())),
            pieces=tuple(_pieces(document.text, Span(start=start, end=end), span, spans)),
            begin=next(
                (one.begin for one in landmarks.get(start, ()) if one.begin is not None), None
            ),
        )
        for start, end in zip(starts, ends, strict=True)
    )
    locator = Marks(document.marks).locate(span) if span else None
    link = link_to(
        document.url or document.uri,
        locator or Locator(label=""),
        span.of(document.text) if span else "",
        media_url=document.media_url,
    )
    return Page(title=document.title, blocks=blocks, locator=locator, link=web_only(link))


def _pieces(
    text: str, block: Span, span: Span | None, others: Mapping[int, Span]
) -> Iterator[Piece]:
    """The text of one block, cut where a cited span begins or ends."""
    marked = [one for one in (span, *others.values()) if one is not None and len(one)]
    cuts = {block.start, block.end}
    for one in marked:
        cuts |= {place for place in (one.start, one.end) if block.start < place < block.end}
    if block.start == block.end:
        yield Piece(text="")
    for begin, end in pairwise(sorted(cuts)):
        here = Span(start=begin, end=end)
        cited = span is not None and len(span) > 0 and here.overlaps(span)
        yield Piece(
            text=here.of(text),
            cited=cited,
            first=cited and span is not None and begin == span.start,
            citations=tuple(number for number, one in others.items() if here.overlaps(one)),
        )


def _landmarks(document: Document) -> dict[int, list[Landmark]]:
    """Landmarks by the place in the text where they stand: page, then heading, then speech."""
    found: dict[int, list[Landmark]] = {}
    pages = _changes(document, PageMark, lambda mark: mark.page)
    headings = _changes(document, HeadingMark, lambda mark: mark.path)
    marks = [
        *((mark.start, Landmark(kind="page", label=f"p. {mark.page}")) for mark in pages),
        *(
            (mark.start, Landmark(kind="heading", label="§ " + " › ".join(mark.path)))
            for mark in headings
        ),
        *_speech(document),
    ]
    for place, mark in marks:
        found.setdefault(place, []).append(mark)
    return found


def _speech(document: Document) -> list[tuple[int, Landmark]]:
    """Who speaks and when: at every change of speaker, and now and then in a long turn."""
    times = _in_order(document, TimeMark)
    turns = _changes(document, SpeakerMark, lambda mark: mark.speaker)
    names = {turn.start: turn.speaker for turn in turns}
    found: list[tuple[int, Landmark]] = []
    told: float | None = None
    for start in sorted({*names, *(mark.start for mark in times)}):
        time = _time_at(times, start)
        due = time and (told is None or time.begin - told >= SECONDS_BETWEEN_TIMES)
        if start in names or due:
            found.append((start, _spoken(document, names.get(start, ""), time)))
            told = time.begin if time else told
    return found


def _in_order(document: Document, sort: type[M]) -> list[M]:
    marks = [mark for mark in document.marks if isinstance(mark, sort)]
    return sorted(marks, key=lambda mark: (mark.start, -mark.end))


def _changes(document: Document, sort: type[M], value: Callable[[M], object]) -> list[M]:
    """The marks at which ``value`` is another than before; a page may have many, one a box."""
    groups = groupby(_in_order(document, sort), key=value)
    return [next(group) for known, group in groups if known]


def _time_at(times: list[TimeMark], place: int) -> TimeMark | None:
    index = bisect_right(times, place, key=lambda mark: mark.start) - 1
    return times[index] if index >= 0 and times[index].end > place else None


def _spoken(document: Document, speaker: str, time: TimeMark | None) -> Landmark:
    parts = [format_time(time.begin) if time else "", speaker]
    link = ""
    if time and document.media_url:
        place = Locator(label="", begin=time.begin)
        link = web_only(link_to(document.url, place, "", media_url=document.media_url))
    return Landmark(
        kind="speech",
        label=" · ".join(part for part in parts if part),
        link=link,
        begin=time.begin if time else None,
    )


def web_only(link: str) -> str:
    """``link`` when a browser may follow it from a page of ours; a script or a file may not."""
    return link if urlsplit(link).scheme in ("http", "https") else ""
