"""What a plan is made of: periods that hold each dated document once, parts of a document."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.research.planning import MAX_PERIODS, MIN_DATED_DOCUMENTS, periods_of
from wellread.research.research import plan_research
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question
from wellread.values.reports import ResearchRequest

FIRST, LAST = datetime(1890, 1, 1), datetime(2090, 12, 31)
DATES = st.lists(st.datetimes(FIRST, LAST, timezones=st.just(UTC)), max_size=40).map(sorted)


@given(DATES)
def test_periods_follow_each_other_and_hold_each_date_once(dates: list[datetime]) -> None:
    periods = periods_of(dates)
    assert len(periods) != 1
    assert len(periods) <= MAX_PERIODS
    assert not periods or len(dates) >= MIN_DATED_DOCUMENTS
    windows = []
    for _, window, _ in periods:
        assert window.published_from is not None
        assert window.published_to is not None
        windows.append((window.published_from, window.published_to))
    assert all(one[1] < other[0] for one, other in pairwise(windows))
    held = [[day for day in dates if since <= day <= until] for since, until in windows]
    assert [len(days) for days in held] == [count for _, _, count in periods]
    assert not periods or sum(map(len, held)) == len(dates)
    assert all(held)


@pytest.mark.parametrize(
    ("months", "titles"),
    [
        ([(2025, 1)] * 5, []),
        ([(2025, 1)] * 9, []),
        ([(2025, 1)] * 5 + [(2025, 2)] * 4, ["2025-01", "2025-02"]),
        ([(2025, month) for month in range(1, 13)], ["2025-01 to 2025-03", "2025-04 to 2025-06",
          "2025-07 to 2025-09", "2025-10 to 2025-12"]),
        ([(year, 5) for year in range(2001, 2010)], ["2001–2003", "2004–2006", "2007–2009"]),
    ],
)  # fmt: skip
def test_periods_are_the_shortest_of_the_calendar_of_which_there_are_few(
    months: list[tuple[int, int]], titles: list[str]
) -> None:
    dates = [datetime(year, month, 7, tzinfo=UTC) for year, month in months]
    assert [title for title, _, _ in periods_of(dates)] == titles


def test_a_talk_without_headings_is_cut_in_stretches_called_by_when_and_their_words(
    tmp_path: Path,
) -> None:
    turns = [
        f"00:{minute:02}:00.000 --> 00:{minute:02}:50.000\n<v Ana>"
        + " ".join(f"The {topic} of pier {minute}{n} was lit." for n in range(40))
        for minute, topic in enumerate(["lantern"] * 6 + ["kayak"] * 6)
    ]
    (tmp_path / "talk.vtt").write_text("WEBVTT\n\n" + "\n\n".join(turns) + "\n")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "talk.vtt")])
        asked = ResearchRequest(question=Question(text="Summarize the whole recording."))
        plan = asyncio.run(plan_research(kb, asked))
    assert {one.kind for one in plan.facets} == {"section"}
    assert plan.facets[0].title.startswith("00:00 · Lantern")
    assert "Kayak" in plan.facets[-1].title
    named = [known for facet in plan.facets for known in facet.passages]
    assert len(named) == len({*named}), "each passage is in one part"
