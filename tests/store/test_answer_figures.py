"""The small rows of answers: written with them, gone with them, made later for old ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from sqlalchemy import select
from tests.learning.ledger import NOW, cited, rated, sentence, unanswered

from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.answer_figures import TimeRange
from wellread.store.schema.tables import answer_facts, answer_steps, answer_topics
from wellread.values.answers import VerdictName

ALL = TimeRange()


def rows(catalogue: Catalogue) -> list[int]:
    tables = (answer_facts, answer_steps, answer_topics)
    return [len(catalogue.figures._rows(select(table))) for table in tables]


def test_an_answer_is_counted_once_however_often_it_is_recorded(catalogue: Catalogue) -> None:
    catalogue.record_answer(cited("ans_1"))
    said = (VerdictName.QUOTED, VerdictName.SUPPORTED, VerdictName.PARTIAL)
    catalogue.record_answer(cited("ans_1", 0.4, sentences=tuple(map(sentence, said))))
    sums = catalogue.figures.sums(ALL)
    assert (sums.asked, sums.cited, sums.citations) == (1, 1, 1)
    assert (sums.quoted, sums.supported, sums.partial, sums.unsupported) == (1, 1, 1, 0)
    assert (sums.high, sums.medium, sums.low) == (0, 0, 1)
    assert (sums.confidence, sums.cost) == (0.4, 0.5)
    assert (sums.input_tokens, sums.output_tokens) == (7, 3)


def test_what_came_of_a_question_is_one_of_four(catalogue: Catalogue) -> None:
    catalogue.record_answer(cited("ans_1", rewritten=True))
    catalogue.record_answer(cited("ans_2", citations=(), answered_by="catalogue"))
    catalogue.record_answer(unanswered("ans_3"))
    catalogue.record_answer(cited("ans_4", citations=(), sentences=(), answered_by="none"))
    catalogue.record_answer(cited("ans_5", cached=True))
    sums = catalogue.figures.sums(ALL)
    assert (sums.cited, sums.uncited, sums.unanswered, sums.asked_back) == (2, 1, 1, 1)
    assert (sums.asked, sums.follow_ups, sums.cached) == (5, 1, 1)
    # A refusal has a score, too; it is not how sure an answer was.
    assert sums.confidence == pytest.approx(0.8)
    assert catalogue.figures.by_answerer_and_type(ALL) == [
        ("catalogue", "factual", 1, 0),
        ("extractive", "factual", 2, 0),
        ("none", "factual", 2, 1),
    ]


def test_a_step_taken_twice_counts_as_the_sum(catalogue: Catalogue) -> None:
    catalogue.record_answer(cited("ans_1"))
    found = {one.name: one for one in catalogue.figures.latencies(ALL)}
    assert found["draft"].seconds == pytest.approx(0.8)
    assert found["total"].percentiles == pytest.approx((1.0,) * 4)
    assert set(found) == {"draft", "retrieval", "total"}


def test_percentiles_are_values_that_were_taken(catalogue: Catalogue) -> None:
    for number in range(1, 11):
        step = replace(cited("x").steps[0], seconds=float(number))
        catalogue.record_answer(cited(f"ans_{number}", steps=(step,)))
    (retrieval,) = [one for one in catalogue.figures.latencies(ALL) if one.name == "retrieval"]
    assert retrieval.percentiles == (5.0, 9.0, 10.0, 10.0)
    assert catalogue.figures.histogram((2.0, 5.5))["retrieval"] == ([2, 3, 5], 55.0)


def test_a_time_begins_with_its_first_moment_and_ends_before_its_last(
    catalogue: Catalogue,
) -> None:
    for number in range(3):
        with time_machine.travel(NOW + timedelta(hours=number), tick=False):
            catalogue.record_answer(cited(f"ans_{number}"))
    hour = TimeRange(since=NOW + timedelta(hours=1), until=NOW + timedelta(hours=2))
    assert catalogue.figures.sums(hour).asked == 1
    assert [one.answers for one in catalogue.figures.latencies(hour)] == [1, 1, 1]
    assert catalogue.figures.first() == NOW
    by_hour = catalogue.figures.over_time(ALL, "hour")
    assert [(one.start, one.asked) for one in by_hour] == [
        ("2026-03-18 12", 1),
        ("2026-03-18 13", 1),
        ("2026-03-18 14", 1),
    ]
    assert [one.start for one in catalogue.figures.over_time(ALL, "day")] == ["2026-03-18"]


def test_words_of_questions_are_topics(catalogue: Catalogue) -> None:
    catalogue.record_answer(cited("ans_1", question="Which ferries leave the harbour on Sunday?"))
    catalogue.record_answer(
        replace(unanswered("ans_2"), question="And it?", standalone="How old is the ferry?")
    )
    found = catalogue.figures.topics(ALL, "word", 5)
    assert (found[0].topic, found[0].asked, found[0].unanswered) == ("ferry", 2, 1)
    assert {"harbour", "sunday"} <= {one.topic for one in found}
    assert not {"which", "the", "and", "how"} & {one.topic for one in found}


def test_the_rows_go_with_the_answer(catalogue: Catalogue) -> None:
    catalogue.record_answer(cited("ans_1"))
    catalogue.record_answer(cited("ans_2", session_id="ses_2"))
    assert min(rows(catalogue)) >= 2
    catalogue.sessions.remove("ses_1", "")
    catalogue.sessions.remove("ses_2", "")
    assert rows(catalogue) == [0, 0, 0]


def test_a_rewritten_answer_has_other_figures_and_the_same_moment(catalogue: Catalogue) -> None:
    with time_machine.travel(NOW, tick=False):
        catalogue.record_answer(cited("ans_1"))
    catalogue.sessions.rewrite(cited("ans_1", 0.3, sentences=()), stale=True)
    assert catalogue.figures.sums(TimeRange(until=NOW + timedelta(seconds=1))).low == 1
    assert catalogue.figures.sums(ALL).supported == 0


def test_ratings_that_count_are_counted_with_their_mean(catalogue: Catalogue) -> None:
    for name in ("ans_1", "ans_2", "ans_3", "ans_4"):
        catalogue.record_answer(cited(name))
    catalogue.record_answer(unanswered("ans_5"))
    for given in (
        rated("ans_1", 100),
        rated("ans_1", 40, "ben"),
        rated("ans_2", 0),  # a rating too
        rated("ans_3", 30),
        rated("ans_4", None),  # only sentences were rated
        rated("ans_4", 90, "ben", expired="its source changed"),
        rated("ans_5", 100),
    ):
        catalogue.feedback.put(given)
    assert catalogue.figures.ratings(ALL) == (5, 54.0)


def test_a_counter_never_goes_down(catalogue: Catalogue) -> None:
    counters = catalogue.counters
    assert counters.monotonic({"a": 10.0, "b": 1.0}) == {"a": 10.0, "b": 1.0}
    assert counters.monotonic({"a": 4.0, "b": 1.0}) == {"a": 10.0, "b": 1.0}
    assert counters.monotonic({"a": 5.0, "b": 1.0}) == {"a": 11.0, "b": 1.0}
    assert counters.monotonic({"b": 2.0}) == {"a": 11.0, "b": 2.0}
    assert counters.monotonic({"a": 2.0, "b": 2.0}) == {"a": 13.0, "b": 2.0}
