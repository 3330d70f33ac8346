"""Reports of one event: their counts are held against each other, others' are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import NamedTuple

from tests.doubles.evidence import evidence_of

from wellread.answers import Evidence, Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts.disputes import Dispute, with_disputes
from wellread.ask.write.drafting import by_extraction
from wellread.ask.write.extract import PASSAGES
from wellread.ask.write.passage_reading import Chooser
from wellread.ask.write.source_subjects import with_further_reports
from wellread.models.readers.lexical import LexicalReader
from wellread.questions import Analysis
from wellread.testing.embedding import ReadableEmbedder

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


class Told(NamedTuple):
    """A draft with every view, and what is disputed."""

    text: str
    disputes: tuple[Dispute, ...]


def told(question: str, evidence: Sequence[Evidence]) -> Told:
    """What is extracted for a question."""
    draft = by_extraction(
        read(question), evidence, Chooser(sentences=LexicalReader(ReadableEmbedder)), 3
    )
    written, disputes = with_disputes(read(question), evidence, draft)
    return Told(written.text, disputes)


def views(question: str, evidence: Sequence[Evidence]) -> list[str]:
    return [claim.text for one in told(question, evidence).disputes for claim in one.views]


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


def test_further_reports_of_the_best_passages_event_are_read_too() -> None:
    fill = [f"The baker of Halden has bread number {number}." for number in range(PASSAGES)]
    evidence = reports(COURIER, *fill, GAZETTE)
    assert with_further_reports(evidence, PASSAGES) == [*evidence[:PASSAGES], evidence[-1]]
    undated = reports(COURIER, *fill, GAZETTE, days=["2025-03-05"] + [""] * (PASSAGES + 1))
    assert with_further_reports(undated, PASSAGES) == undated[:PASSAGES]
    assert with_further_reports([], PASSAGES) == []
