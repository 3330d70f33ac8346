"""Look-ups of marks against the plain reading of the rule, and the words shown to people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
)
from wellread.values.locators import Marks, format_time, link_to

LENGTH = 7  # short, so that marks meet, nest and end where a span begins


SORTS = ("page", "boxed", "time", "speaker", "heading", "line")


@st.composite
def any_mark(draw: st.DrawFn, sorts: tuple[str, ...] = SORTS) -> Mark:
    start = draw(st.integers(0, LENGTH - 1))
    end = draw(st.integers(start + 1, LENGTH))
    sort = draw(st.sampled_from(sorts))
    value = draw(st.integers(1, 9))
    if sort == "page":
        return PageMark(start=start, end=end, page=value)
    if sort == "boxed":
        box = Box(left=value / 20, top=value / 30, right=value / 15, bottom=value / 10)
        return PageMark(start=start, end=end, page=value, box=box)
    if sort == "time":
        return TimeMark(start=start, end=end, begin=float(value))
    if sort == "speaker":
        return SpeakerMark(start=start, end=end, speaker=f"s{value}")
    if sort == "heading":
        return HeadingMark(start=start, end=end, path=(f"h{value}",))
    return LineMark(start=start, end=end, line=value)


@st.composite
def any_span(draw: st.DrawFn) -> Span:
    start = draw(st.integers(0, LENGTH))
    return Span(start=start, end=draw(st.integers(start + 1, LENGTH + 1)))


def covering(marks: list[Mark], sort: type, place: int) -> Mark | None:
    """The rule, read plainly: of the marks over a place, the latest start, then the shortest."""
    over = [m for m in marks if isinstance(m, sort) and m.start <= place < m.end]
    return max(over, key=lambda m: (m.start, -m.end), default=None)


def same_range(found: Mark | None, marks: list[Mark], sort: type) -> list[Mark]:
    """Every mark that the rule does not tell from ``found``."""
    if found is None:
        return []
    bounds = (found.start, found.end)
    return [m for m in marks if isinstance(m, sort) and (m.start, m.end) == bounds]


@given(marks=st.lists(any_mark(), max_size=20), span=any_span())
def test_a_place_is_found_as_by_reading_every_mark(marks: list[Mark], span: Span) -> None:
    locator = Marks(marks).locate(span)
    for sort, name, value in (
        (PageMark, "page", locator.page),
        (TimeMark, "begin", locator.begin),
        (SpeakerMark, "speaker", locator.speaker),
        (HeadingMark, "path", locator.heading or None),
        (LineMark, "line", locator.line),
    ):
        rule = covering(marks, sort, span.start)
        allowed = [getattr(mark, name) for mark in same_range(rule, marks, sort)]
        assert value in (allowed or [None])


@given(marks=st.lists(any_mark(("page", "boxed")), max_size=6), span=any_span())
def test_the_box_holds_every_box_of_the_span_on_its_first_page(
    marks: list[Mark], span: Span
) -> None:
    located = Marks(marks).locate(span)
    boxes = [
        mark.box
        for mark in marks
        if isinstance(mark, PageMark)
        and mark.box
        and mark.page == located.page
        and mark.start < span.end
        and span.start < mark.end
    ]
    box = located.box
    if covering(marks, PageMark, span.start) is None or not boxes:
        assert box is None
        return
    assert box is not None
    assert box.left == min(one.left for one in boxes)
    assert box.top == min(one.top for one in boxes)
    assert box.right == max(one.right for one in boxes)
    assert box.bottom == max(one.bottom for one in boxes)


@given(seconds=st.floats(0, 10**6))
def test_a_time_reads_back_as_its_whole_seconds(seconds: float) -> None:
    parts = [int(part) for part in format_time(seconds).split(":")]
    total = 0
    for part in parts:
        total = total * 60 + part
    assert total == int(seconds)
    assert all(part < 60 for part in parts[1:])


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "00:00"), (59.99, "00:59"), (734, "12:14"), (3599, "59:59"), (3600, "1:00:00")],
)
def test_times_are_shown_as_people_write_them(seconds: float, shown: str) -> None:
    assert format_time(seconds) == shown


def test_labels_name_the_page_the_time_the_speaker_the_section_or_the_line() -> None:
    line = LineMark(start=0, end=9, line=12)
    heading = HeadingMark(start=0, end=9, path=("Setup", "Windows"))
    span = Span(start=2, end=4)
    assert Marks([line]).locate(span).label == "line 12"
    assert Marks([line, heading]).locate(span).label == "§ Setup › Windows"
    page = PageMark(start=0, end=9, page=5)
    assert Marks([line, page]).locate(span).label == "p. 5"
    time = TimeMark(start=0, end=9, begin=734.0)
    speaker = SpeakerMark(start=0, end=9, speaker="John")
    assert Marks([time, speaker]).locate(span).label == "12:14 · John"
    assert Marks([]).locate(span).label == ""


@pytest.mark.parametrize(
    ("url", "locator", "media", "link"),
    [
        ("file:///a.pdf", Locator(label="", page=5), "", "file:///a.pdf#page=5"),
        (
            "https://a.example/p#top",
            Locator(label=""),
            "",
            "https://a.example/p#:~:text=two%20words",
        ),
        ("file:///a/p.html", Locator(label=""), "", "file:///a/p.html#:~:text=two%20words"),
        ("file:///a/p.md", Locator(label="", line=3), "", "file:///a/p.md"),
        ("", Locator(label=""), "", ""),
        (
            "file:///a.vtt",
            Locator(label="", begin=734.9),
            "https://v.example/w?v=1",
            "https://v.example/w?v=1&t=734s",
        ),
        (
            "file:///a.vtt",
            Locator(label="", begin=5.0),
            "https://v.example/w",
            "https://v.example/w?t=5s",
        ),
        ("file:///a.vtt", Locator(label="", begin=5.0), "", "file:///a.vtt"),
    ],
)
def test_a_link_opens_the_source_at_the_place(
    url: str, locator: Locator, media: str, link: str
) -> None:
    assert link_to(url, locator, "two words", media_url=media) == link
