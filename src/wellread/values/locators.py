"""Where a span stands: page, time, speaker, heading or line, looked up from a document's marks.

One piece of code for every kind of source. ``Marks`` is built once per document and answers many
look-ups in logarithmic time.
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
    TimeMark,
    Turn,
)

FRAGMENT_WORDS = 6

M = TypeVar("M", bound=Mark)


class Marks:
    """The marks of one document, ready for look-ups."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        marks = tuple(marks)
        self._pages = _Lane([mark for mark in marks if isinstance(mark, PageMark)])
        self._times = _Lane([mark for mark in marks if isinstance(mark, TimeMark)])
        self._speakers = _Lane([mark for mark in marks if isinstance(mark, SpeakerMark)])
        self._headings = _Lane([mark for mark in marks if isinstance(mark, HeadingMark)])
        self._lines = _Lane([mark for mark in marks if isinstance(mark, LineMark)])

    def locate(self, span: Span) -> Locator:
        """The place of ``span``'s first character, with every fact that the marks give."""
        page = self._pages.at(span.start)
        time = self._times.at(span.start)
        speaker = self._speakers.at(span.start)
        heading = self._headings.at(span.start)
        line = self._lines.at(span.start)
        place = Locator(
            label="",
            page=page.page if page else None,
            box=self._box(span, page) if page else None,
            begin=time.begin if time else None,
            speaker=speaker.speaker if speaker else None,
            heading=heading.path if heading else (),
            line=line.line if line else None,
        )
        return replace(place, label=_label(place))

    def _box(self, span: Span, page: PageMark) -> Box | None:
        """What holds all boxes of ``span`` on the page where it begins."""
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
        """The marks of pages that ``span`` touches, in order."""
        return self._pages.over(span)

    def speakers(self, span: Span) -> tuple[str, ...]:
        """Who speaks in ``span``, in order, without repeats."""
        return tuple(dict.fromkeys(mark.speaker for mark in self._speakers.over(span)))

    def turns(self, span: Span) -> tuple[Turn, ...]:
        """Who says which part of ``span``, in order; what nobody is marked for is left out."""
        found: list[Turn] = []
        for mark in self._speakers.over(span):
            start, end = max(mark.start, span.start), min(mark.end, span.end)
            if found and found[-1].speaker == mark.speaker:
                start = found.pop().span.start
            found.append(Turn(speaker=mark.speaker, span=Span(start=start, end=end)))
        return tuple(found)

    def heading(self, span: Span) -> tuple[str, ...]:
        """The heading path over the first character of ``span``."""
        mark = self._headings.at(span.start)
        return mark.path if mark else ()


class _Lane(Generic[M]):
    """Marks of one sort, by start. Where several cover a place, the latest start wins."""

    def __init__(self, marks: list[M]) -> None:
        self._marks = sorted(marks, key=lambda mark: (mark.start, -mark.end))
        self._starts = [mark.start for mark in self._marks]
        self._reach: list[int] = []  # the largest end so far: where a walk to the left may stop
        reach = -1
        for mark in self._marks:
            reach = max(reach, mark.end)
            self._reach.append(reach)

    def at(self, place: int) -> M | None:
        index = bisect_right(self._starts, place) - 1
        while index >= 0 and self._reach[index] > place:
            if self._marks[index].end > place:
                return self._marks[index]
            index -= 1
        return None

    def over(self, span: Span) -> list[M]:
        index = bisect_right(self._starts, max(span.start, span.end - 1)) - 1
        found: list[M] = []
        while index >= 0 and self._reach[index] > span.start:
            if self._marks[index].end > span.start:
                found.append(self._marks[index])
            index -= 1
        return found[::-1]


RECORDINGS = (".mp3", ".m4a", ".ogg", ".oga", ".opus", ".wav", ".flac", ".mp4", ".m4v", ".webm")
SLIDES = (".pptx", ".pptm", ".ppsx", ".ppsm")  # programs that open them know no page in a link


def format_time(seconds: float) -> str:
    """``MM:SS``, or ``H:MM:SS`` from an hour on."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes:02}:{left:02}"


def link_to(url: str, locator: Locator, quoted: str, *, media_url: str = "") -> str:
    """A link that opens the source at the place.

    ``t=`` for a page with a recording, ``#t=`` for the recording's own file (W3C Media Fragments),
    ``#page=`` for a PDF, a text fragment for a web or local HTML page; other files are linked as
    they are, since the line is in the locator.
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
    """First and last words of the quotation, as a text fragment (WICG Text Fragments)."""
    words = quoted.split()
    if len(words) <= 2 * FRAGMENT_WORDS:
        return _escape(" ".join(words))
    return (
        f"{_escape(' '.join(words[:FRAGMENT_WORDS]))},{_escape(' '.join(words[-FRAGMENT_WORDS:]))}"
    )


def _escape(words: str) -> str:
    # A hyphen separates prefixes and suffixes in a text fragment, so it is escaped too.
    return quote(words, safe="").replace("-", "%2D")


def _label(place: Locator) -> str:
    parts: list[str] = []
    if place.page is not None:
        parts.append(f"p. {place.page}")
    if place.begin is not None:
        parts.append(format_time(place.begin))
    if place.speaker is not None:
        parts.append(place.speaker)
    if place.heading and place.begin is None:
        parts.append("§ " + " › ".join(place.heading))
    if not parts and place.line is not None:
        parts.append(f"line {place.line}")
    return " · ".join(parts)
