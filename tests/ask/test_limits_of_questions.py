"""Limits that a question sets: joined with the asker's filters, and visibly let go of."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.conftest import MakeHome

from wellread.ask.retrieve.search import narrowed, search_within
from wellread.kb import KnowledgeBase
from wellread.types import Filters, Span
from wellread.values.question import Analysis, Constraint, ConstraintKind

HARBOUR = "---\ntitle: Harbour\ndate: 2024-05-02\nauthor: Ines Roth\n---\n\nThe harbour opened.\n"
MARKET = "---\ntitle: Market\ndate: 2025-03-01\nauthor: Tom Vale\n---\n\nThe market opened.\n"
TALK = (
    "WEBVTT - Talk\n\n"
    "00:01.000 --> 00:04.000\n<v Ines Roth>The harbour opened with a crane.\n\n"
    "00:05.000 --> 00:08.000\n<v Tom Vale>The market does without one.\n"
)


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(town={"harbour.md": HARBOUR, "market.md": MARKET, "talk.vtt": TALK})


def limit(kind: ConstraintKind, value: str, filters: Filters) -> Constraint:
    return Constraint(kind=kind, span=Span(start=0, end=1), value=value, filters=filters)


def year(number: int) -> Constraint:
    first = datetime(number, 1, 1, tzinfo=UTC)
    last = datetime(number, 12, 31, 23, 59, 59, tzinfo=UTC)
    within = Filters(published_from=first, published_to=last)
    return limit("time", f"{number}-01-01 to {number}-12-31", within)


def said_by(name: str) -> Constraint:
    return limit("speaker", name, Filters(speakers=(name,)))


def asking(*constraints: Constraint, filters: Filters | None = None) -> Analysis:
    return Analysis(
        question="what opened",
        type="factual",
        terms=("opened",),
        names=(),
        filters=filters or Filters(collections=("town",)),
        constraints=constraints,
    )


def titles(kb: KnowledgeBase, analysis: Analysis) -> set[str]:
    return {hit.document.title for hit in search_within(kb, analysis, "opened", 10).hits}


def test_a_limit_keeps_out_what_it_excludes(kb: KnowledgeBase) -> None:
    assert titles(kb, asking()) == {"Harbour", "Market", "Talk"}
    assert titles(kb, asking(year(2024))) == {"Harbour"}
    assert search_within(kb, asking(year(2024)), "opened", 10).relaxed == ()


def test_a_limit_that_matches_nothing_is_let_go_of_and_told(kb: KnowledgeBase) -> None:
    found = search_within(kb, asking(year(1999), said_by("Ines Roth")), "crane", 10)
    assert [hit.document.title for hit in found.hits] == ["Talk"]
    assert found.relaxed == (year(1999),)
    assert found.filters.speakers == ("Ines Roth",)
    assert found.filters.published_from is None


def test_the_askers_own_filters_are_never_let_go_of(kb: KnowledgeBase) -> None:
    own = Filters(collections=("town",), authors=("Nobody Known",))
    found = search_within(kb, asking(year(2024), filters=own), "opened", 10)
    assert found.hits == ()
    assert found.filters.authors == ("Nobody Known",)


def test_values_of_one_dimension_are_alternatives_and_dimensions_add_up() -> None:
    own = Filters(taxonomy=(("scale", "city"), ("scale", "region")))
    city = limit("taxonomy", "", Filters(taxonomy=(("scale", "city"),)))
    food = limit("taxonomy", "", Filters(taxonomy=(("sector", "food"),)))
    joined = narrowed(own, [city, food])
    assert joined is not None
    assert set(joined.taxonomy) == {("scale", "city"), ("sector", "food")}


days = st.datetimes(datetime(2020, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC))
some = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True).map(tuple)


@st.composite
def filters(draw: st.DrawFn) -> Filters:
    return Filters(
        authors=draw(some),
        speakers=draw(some),
        published_from=draw(st.none() | days),
        published_to=draw(st.none() | days),
    )


def lets_through(limits: Filters, author: str, at: datetime) -> bool:
    return (
        (not limits.authors or author in limits.authors)
        and (limits.published_from is None or at >= limits.published_from)
        and (limits.published_to is None or at <= limits.published_to)
    )


@given(filters(), filters(), st.sampled_from(["a", "b", "c"]), days)
def test_what_passes_both_passes_the_joined_and_nothing_else(
    one: Filters, other: Filters, author: str, at: datetime
) -> None:
    joined = narrowed(one, [limit("time", "", other)])
    passes = lets_through(one, author, at) and lets_through(other, author, at)
    if joined is None:
        # No document can pass both, or one without a speaker could only by chance.
        assert not passes or (one.speakers and other.speakers)
    else:
        assert lets_through(joined, author, at) == passes
