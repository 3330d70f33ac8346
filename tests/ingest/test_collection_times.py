"""Which heading gets which minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.settings.collection import TimesRule
from wellread.ingest.settings.segments import (
    MOST_PARTS,
    TimedTitle,
    marked_titles,
    match,
    normal,
    timed,
)
from wellread.types import Document, HeadingMark, TimeMark

RULE = TimesRule(find=r"\(at (?P<time>[\d:]+)\)", key="k")


def times(*given_times: tuple[float, str]) -> list[TimedTitle]:
    return [TimedTitle(begin=begin, titles=(normal(title),)) for begin, title in given_times]


def heads(*titles: str) -> list[tuple[int, str]]:
    return [(1, title) for title in titles]


def test_a_heading_is_the_beginning_of_an_item() -> None:
    found = match(
        heads("Ropes #12 and #14", "`PAINT_2` is here"),
        times((5, "[Ropes #12][] and [#14][ropes #14] were cut"), (9, "PAINT_2 is here again")),
    )
    assert found == [5, 9]


def test_equal_headings_go_by_order() -> None:
    assert match(
        heads("Ropes", "Paint", "Ropes"), times((5, "Ropes"), (7, "Paint"), (9, "Ropes"))
    ) == [5, 7, 9]


def test_a_changed_title_between_two_others_goes_by_order() -> None:
    given_times = times((1, "Ropes"), (4, "Something else"), (8, "Piers"))
    assert match(heads("Ropes", "Lost and found", "Piers"), given_times) == [1, 4, 8]
    assert match(heads("Ropes", "Lost", "Found", "Piers"), given_times) == [1, None, None, 8]


def test_another_depth_takes_no_time_by_order() -> None:
    found = match([(1, "The talk"), (2, "Ropes")], times((0, "Welcome"), (4, "Ropes")))
    assert found == [None, 4]


def test_an_equal_title_out_of_order_still_counts() -> None:
    found = match(heads("Ropes", "Paint", "Piers"), times((9, "Ropes"), (2, "Paint"), (3, "Piers")))
    assert found == [9, 2, 3]


def test_the_nearer_title_wins() -> None:
    near = TimedTitle(begin=2, titles=("piers",))
    far = TimedTitle(begin=1, titles=("ropes", "piers"))
    assert match(heads("Piers"), [far, near]) == [2]


def test_times_may_come_in_any_order() -> None:
    assert match(heads("Ropes", "Ropes"), times((9, "Ropes"), (5, "Ropes"))) == [5, 9]


def test_nothing_alike_gets_nothing() -> None:
    assert match(heads("Ropes", "Paint"), times((1, "Weather"), (2, "Moon"))) == [None, None]


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=12),
    st.sets(st.integers(0, 30), max_size=6),
)
def test_every_title_with_a_heading_is_found(numbers: list[int], without: set[int]) -> None:
    numbers.sort()
    given_times = times(*((float(n), f"Pull request {n} adds ropes") for n in numbers))
    asked = [n for n in numbers if n not in without]
    found = match(heads(*(f"Pull request {n}" for n in asked)), given_times)
    assert found == [float(n) for n in asked]


def test_a_time_belongs_to_what_it_stands_in() -> None:
    text = """# All

## News

- **Ropes:** long
  story. (at 0:10)

  - *Details:* more

  - *Rest:* the end. (at 0:20)

- **Paint:** told in parts:

  - *Blue:* some

  - *Red:* more. (at 0:30)

## Piers

A word. (at 1:00:00)

[The gull][] sat there.
It went. (at 99)
"""
    found = marked_titles(text, RULE)
    assert [one.begin for one in found] == [10.0, 20.0, 30.0, 3600.0]
    assert [one.titles[0].split()[0] for one in found] == ["ropes", "rest", "paint", "a"]
    assert "piers" in found[3].titles


def test_a_title_of_its_own_wins() -> None:
    rule = TimesRule(find=r'time="(?P<time>[\d:]+)" title="(?P<title>[^"]+)"', key="k")
    (found,) = marked_titles('- x {time="1:02" title="Why *ropes*?"}', rule)
    assert (found.begin, found.titles) == (62.0, ("why ropes",))


def talk(*titles: str) -> Document:
    text = "".join(f"{title}\nWords.\n" for title in titles)
    starts = [text.index(f"{title}\n") for title in titles]
    marks = [
        HeadingMark(start=start, end=end, path=(title,))
        for start, end, title in zip(starts, [*starts[1:], len(text)], titles, strict=True)
    ]
    return Document(
        uri="u", collection="c", kind="transcript", title="t", text=text, marks=tuple(marks)
    )


def test_a_talk_none_of_whose_headings_has_a_time_stays_as_it_is() -> None:
    plain = talk("Ropes", "Paint")
    assert timed(plain, times((1, "Weather"))) == plain


def test_of_a_very_long_talk_the_first_parts_get_times() -> None:
    long = talk(*(f"Part {number}" for number in range(MOST_PARTS + 1)))
    marks = timed(long, times((7, "Part 0"))).marks
    assert [mark.begin for mark in marks if isinstance(mark, TimeMark)] == [7]
