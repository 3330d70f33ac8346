"""Locates a span by page, time, speaker, heading or line, using the document's marks.

The same code serves every kind of source. ``Marks`` is built once per document and answers each
lookup in logarithmic time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import Generic, TypeVar
from urllib.parse import quote, urlsplit

from wellread.types import (
    Box,
    HeadingMark,
    LineMark,
    Locator,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TableMark,
    TimeMark,
    Turn,
)

FRAGMENT_WORDS = 6  # words at each end of a long quotation in a link to it

M = TypeVar("M", bound=Mark)


class Marks:
    """The marks of one document, indexed for lookups."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        marks = tuple(marks)
        self._pages = _MarkIndex([mark for mark in marks if isinstance(mark, PageMark)])
        self._labels = {
            mark.page: mark.label for mark in marks if isinstance(mark, PageMark) and mark.label
        }
        self._times = _MarkIndex([mark for mark in marks if isinstance(mark, TimeMark)])
        self._speakers = _MarkIndex([mark for mark in marks if isinstance(mark, SpeakerMark)])
        self._headings = _MarkIndex([mark for mark in marks if isinstance(mark, HeadingMark)])
        self._lines = _MarkIndex([mark for mark in marks if isinstance(mark, LineMark)])
        self._tables = _MarkIndex([mark for mark in marks if isinstance(mark, TableMark)])

    def locate(self, span: Span) -> Locator:
        """The place of the first character of ``span``, with all facts from the marks."""
        page = self._pages.at(span.start)
        time = self._times.at(span.start)
        speaker = self._speakers.at(span.start)
        heading = self._headings.at(span.start)
        line = self._lines.at(span.start)
        locator = Locator(
            label="",
            page=page.page if page else None,
            box=self._box(span, page) if page else None,
            begin=time.begin if time else None,
            speaker=speaker.speaker if speaker else None,
            heading=heading.path if heading else (),
            line=line.line if line else None,
        )
        printed = self._labels.get(page.page, str(page.page)) if page else ""
        return replace(locator, label=_label(locator, printed))

    def _box(self, span: Span, page: PageMark) -> Box | None:
        """The box around all boxes of ``span`` on the page where it starts."""
        boxes = [mark.box for mark in self._pages.over(span) if mark.box and mark.page == page.page]
        if not boxes:
            return None
        return Box(
            left=min(box.left for box in boxes),
            top=min(box.top for box in boxes),
            right=max(box.right for box in boxes),
            bottom=max(box.bottom for box in boxes),
        )

    def pages_over(self, span: Span) -> list[PageMark]:
        """The page marks that ``span`` touches, in order."""
        return self._pages.over(span)

    def speakers(self, span: Span) -> tuple[str, ...]:
        """The speakers in ``span``, in order, without repeats."""
        return tuple(dict.fromkeys(mark.speaker for mark in self._speakers.over(span)))

    def turns(self, span: Span) -> tuple[Turn, ...]:
        """The speaker turns within ``span``, in order; text without a speaker mark is skipped."""
        turns: list[Turn] = []
        for mark in self._speakers.over(span):
            start, end = max(mark.start, span.start), min(mark.end, span.end)
            if turns and turns[-1].speaker == mark.speaker:
                start = turns.pop().span.start
            turns.append(Turn(speaker=mark.speaker, span=Span(start=start, end=end)))
        return tuple(turns)

    def heading(self, span: Span) -> tuple[str, ...]:
        """The heading path over the first character of ``span``."""
        mark = self._headings.at(span.start)
        return mark.path if mark else ()

    def columns(self, span: Span) -> tuple[str, ...]:
        """The column names of the table row that ``span`` begins in; empty outside tables."""
        mark = self._tables.at(span.start)
        return mark.columns if mark else ()

    def tables(self, span: Span) -> tuple[TableMark, ...]:
        """The tables whose rows ``span`` touches, in order."""
        return tuple(self._tables.over(span))


class _MarkIndex(Generic[M]):
    """Marks of one type, sorted by start. If several cover a position, the last one wins."""

    def __init__(self, marks: list[M]) -> None:
        self._marks = sorted(marks, key=lambda mark: (mark.start, -mark.end))
        self._starts = [mark.start for mark in self._marks]
        self._reach: list[int] = []  # the largest end so far: where a search to the left may stop
        reach = -1
        for mark in self._marks:
            reach = max(reach, mark.end)
            self._reach.append(reach)

    def at(self, position: int) -> M | None:
        index = bisect_right(self._starts, position) - 1
        while index >= 0 and self._reach[index] > position:
            if self._marks[index].end > position:
                return self._marks[index]
            index -= 1
        return None

    def over(self, span: Span) -> list[M]:
        index = bisect_right(self._starts, max(span.start, span.end - 1)) - 1
        marks: list[M] = []
        while index >= 0 and self._reach[index] > span.start:
            if self._marks[index].end > span.start:
                marks.append(self._marks[index])
            index -= 1
        return marks[::-1]


RECORDINGS = (".mp3", ".m4a", ".ogg", ".oga", ".opus", ".wav", ".flac", ".mp4", ".m4v", ".webm")
SLIDES = (".pptx", ".pptm", ".ppsx", ".ppsm")  # their programs do not support page links


def format_time(seconds: float) -> str:
    """``MM:SS``, or ``H:MM:SS`` from one hour on."""
    total = int(seconds)
    hours, remainder = divmod(total, 3600)
    minutes, seconds_left = divmod(remainder, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes:02}:{seconds_left:02}"


def link_to(url: str, locator: Locator, quoted: str, *, media_url: str = "") -> str:
    """A link that opens the source at the place.

    ``t=`` for a page with a recording, ``#t=`` for the recording's own file (W3C Media Fragments),
    ``#page=`` for a PDF, a text fragment for a web or local HTML page; other files are linked
    without a position.
    """
    if locator.begin is not None and media_url:
        if urlsplit(media_url).path.lower().endswith(RECORDINGS):
            return f"{media_url.partition('#')[0]}#t={int(locator.begin)}"
        joiner = "&" if urlsplit(media_url).query else "?"
        return f"{media_url}{joiner}t={int(locator.begin)}s"
    if not url:
        return ""
    bare = url.partition("#")[0]
    if locator.page is not None and not bare.lower().endswith(SLIDES):
        return f"{bare}#page={locator.page}"
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https") or bare.lower().endswith((".html", ".htm")):
        return f"{bare}#:~:text={_fragment(quoted)}"
    return url


def _fragment(quoted: str) -> str:
    words = quoted.split()
    if len(words) <= 2 * FRAGMENT_WORDS:
        return _escape(" ".join(words))
    return (
        f"{_escape(' '.join(words[:FRAGMENT_WORDS]))},{_escape(' '.join(words[-FRAGMENT_WORDS:]))}"
    )


def _escape(text: str) -> str:
    # A hyphen separates prefixes and suffixes in a text fragment, so it is escaped too.
    return quote(text, safe="").replace("-", "%2D")


def _label(locator: Locator, page: str) -> str:
    parts = [f"p. {page}"] if page else []
    if locator.begin is not None:
        parts.append(format_time(locator.begin))
    if locator.speaker is not None:
        parts.append(locator.speaker)
    if locator.heading and locator.begin is None:
        parts.append("§ " + " › ".join(locator.heading))
    if not parts and locator.line is not None:
        parts.append(f"line {locator.line}")
    return " · ".join(parts)
