"""Reports of one event: their counts are held against each other, others' are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from tests.doubles.evidence import evidence_of

from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts import find_dispute
from wellread.values.answers import Evidence, Question
from wellread.values.question import Analysis

GAZETTE = (
    "Nearly 90 cellars in Fernhill stood under water on Monday, 3 March, after a fault at the "
    "Alder weir. The library closed for the day, because its boiler was wet. "
    "A worker told the Gazette that a bolt in the weir gate had broken, so that it jammed open."
)
COURIER = (
    "On Monday, 3 March, the river came into the streets of Fernhill before dawn. "
    "By the count of the fire brigade, 60 cellars were affected. "
    "Early reports spoke of the weir. The log of the lock keeper holds a different story: an "
    "electric pump in Mill Lane tripped first, and the culvert burst because nobody came."
)
CELLARS = "How many cellars did the flood fill in Fernhill?"


def reports(*texts: str, days: Sequence[str] = ()) -> list[Evidence]:
    """Articles of early March 2025, or of ``days``; an empty day is no date."""
    found = []
    for number, piece in enumerate(evidence_of(*texts)):
        day = days[number] if days else f"2025-03-0{4 + min(number, 5)}"
        published = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
        title = f"Report {number}"
        document = replace(piece.hit.document, published_at=published, kind="article", title=title)
        found.append(replace(piece, hit=replace(piece.hit, document=document)))
    return found


def read(question: str) -> Analysis:
    return analyse(Question(text=question), Vocabulary(), date(2025, 6, 1))


def views(question: str, evidence: Sequence[Evidence]) -> list[str]:
    return [view.text for view in find_dispute(read(question), evidence)]


def test_counts_of_one_event_differ_whatever_words_tell_of_it() -> None:
    flood = COURIER.replace("the river came into", "the flood was in")
    found = views(CELLARS, reports(flood, GAZETTE))
    assert {text[:12] for text in found} == {"By the count", "Nearly 90 ce"}


def test_counts_of_two_events_do_not_differ() -> None:
    flood = COURIER.replace("the river came into", "the flood was in")
    other_day = GAZETTE.replace("3 March", "21 February")
    other_place = GAZETTE.replace("Fernhill", "Skerrick").replace("Alder", "Birch")
    for other in (other_day, other_place):
        assert not views(CELLARS, reports(flood, other))
    assert not views(CELLARS, reports(flood, GAZETTE, days=["2025-03-05", "2024-03-05"]))
    assert not views(CELLARS, reports(flood, GAZETTE, days=["2025-03-05", ""]))
