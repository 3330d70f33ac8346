"""Reports of one event: their counts and causes are held against each other, others' are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import NamedTuple

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Evidence, Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts.disputes import Dispute, with_disputes
from wellread.ask.write.drafting import Written, by_extraction
from wellread.ask.write.extract import PASSAGES
from wellread.ask.write.parse_draft import Draft, parse_draft
from wellread.ask.write.passage_reading import Chooser
from wellread.ask.write.source_subjects import with_further_reports
from wellread.models.readers.lexical import LexicalReader
from wellread.questions import Analysis
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Span

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
WHY = "Why did the river come into Fernhill?"
CAUSE = "What caused the flood of 3 March?"


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


def completed(question: str, evidence: Sequence[Evidence], draft: Draft) -> Told:
    """What becomes of a model's draft."""
    by_model = Written(text=draft.text, claims=draft.claims, by="scripted:model")
    written, disputes = with_disputes(read(question), evidence, by_model)
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


@pytest.mark.parametrize("question", [WHY, CAUSE, "What caused the flood in Fernhill?"])
def test_causes_of_one_event_are_both_shown(question: str) -> None:
    found = told(question, reports(COURIER, GAZETTE))
    (dispute,) = found.disputes
    assert [claim.text.split()[2] for claim in dispute.views] == ["of", "told"]
    assert "pump" in dispute.views[0].text
    assert "bolt" in dispute.views[1].text
    assert "4 March 2025" in dispute.reason


def test_causes_are_no_conflict_where_no_report_speaks_against_another() -> None:
    quiet = COURIER.replace("Early reports spoke of the weir. ", "")
    quiet = quiet.replace("holds a different story:", "says that")
    assert not views(WHY, reports(quiet, GAZETTE))


def test_the_same_cause_told_twice_is_no_conflict() -> None:
    blamed = "a bolt in the weir gate had broken, so that it jammed open."
    same = COURIER.partition("an electric")[0] + blamed
    assert not views(WHY, reports(same, GAZETTE))


@pytest.mark.parametrize(
    "question",
    [
        "Why was the library in Fernhill closed on 3 March?",
        "Why did the river come into Skerrick?",
        "What caused the flood of 9 March?",
        "Why does the fire brigade of Fernhill count cellars?",
        "Why did the river come into the streets?",
    ],
)
def test_what_else_is_asked_about_a_report_is_no_question_for_its_cause(question: str) -> None:
    assert not views(question, reports(COURIER, GAZETTE))


def test_causes_of_two_events_are_no_conflict() -> None:
    assert not views(WHY, reports(COURIER, GAZETTE.replace("3 March", "21 February")))
    elsewhere = GAZETTE.replace("Fernhill", "Skerrick").replace("Monday, ", "")
    assert not views(CAUSE, reports(COURIER.replace("Monday, ", ""), elsewhere))


@pytest.mark.parametrize("days", [("03-05", "03-28"), ("03-05", "08-05"), ("08-05", "08-06")])
def test_reports_far_from_the_day_or_from_each_other_are_of_no_one_event(
    days: tuple[str, str],
) -> None:
    assert not views(CAUSE, reports(COURIER, GAZETTE, days=[f"2025-{day}" for day in days]))


def test_the_lead_of_a_report_may_stand_below_a_heading() -> None:
    assert len(views(WHY, reports(f"What we know\n\n{COURIER}", f"Wet day.\n\n{GAZETTE}"))) == 2


def test_what_a_report_mentions_further_down_is_not_what_it_reports() -> None:
    one, other = reports(COURIER, GAZETTE)
    span = Span(start=900, end=900 + len(other.text))
    passage = replace(other.hit.passage, span=span)
    later = replace(other, span=span, hit=replace(other.hit, passage=passage))
    assert not views(WHY, [one, later])


def test_a_date_that_no_year_has_is_no_day_of_an_event() -> None:
    never = [text.replace("3 March", "31 February") for text in (COURIER, GAZETTE)]
    assert not views("What caused the flood of 31 February in Fernhill?", reports(*never))


def test_an_event_of_december_is_reported_in_january() -> None:
    late = [text.replace("3 March", "30 December") for text in (COURIER, GAZETTE)]
    evidence = reports(*late, days=["2025-01-02", "2025-01-04"])
    assert len(views("What caused the flood of 30 December?", evidence)) == 2


def test_further_reports_of_the_best_passages_event_are_read_too() -> None:
    fill = [f"The baker of Halden has bread number {number}." for number in range(PASSAGES)]
    evidence = reports(COURIER, *fill, GAZETTE)
    assert with_further_reports(evidence, PASSAGES) == [*evidence[:PASSAGES], evidence[-1]]
    assert len(views(WHY, evidence)) == 2
    undated = reports(COURIER, *fill, GAZETTE, days=["2025-03-05"] + [""] * (PASSAGES + 1))
    assert with_further_reports(undated, PASSAGES) == undated[:PASSAGES]
    assert with_further_reports([], PASSAGES) == []


def test_a_draft_that_blames_one_thing_gets_the_other() -> None:
    draft = parse_draft("A bolt of the gate broke. [e2]", {"e1", "e2"})
    whole = completed(WHY, reports(COURIER, GAZETTE), draft)
    assert "pump in Mill Lane" in whole.text
    assert len(whole.disputes[0].views) == 2


def test_where_a_number_is_asked_for_what_gives_none_is_no_other_meaning() -> None:
    question = "How many people live in Fernhill?"
    county = "Fernhill, Merrow County is a village. In Fernhill 812 people live all year."
    other = "Fernhill, Halden County is a town. Many people live well in Fernhill."
    assert not views(question, evidence_of(county, other))
    assert len(views(question, evidence_of(county, other.replace("Many", "4,310")))) == 2
