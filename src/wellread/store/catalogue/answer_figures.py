"""Computes usage statistics of answers, feedback, gaps and model calls in the database.

Counters never decrease: removing a conversation removes its answers, and a metrics collector would
mistake the lower number for a restart and add the whole count again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Literal

from sqlalchemy import ColumnElement, String, case, func, literal_column, or_, select, text

from wellread.store.catalogue.asking.answer_rows import MENTIONED
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.run_logs import usage_totals
from wellread.store.schema.database import CataloguePart, rows_to_values
from wellread.store.schema.stored_values import (
    AnswersPerPeriod,
    AnswerTotals,
    GapCount,
    Latency,
    ModelUsageTotal,
    Topic,
)
from wellread.store.schema.tables import (
    answer_citations,
    answer_facts,
    answer_steps,
    answer_topics,
    answers,
    documents,
    feedback,
    gaps,
    provider_calls,
)
from wellread.values.answers import NOBODY, VerdictName

Unit = Literal["hour", "day"]
Taxonomy = Mapping[str, Sequence[str]]
PERCENTILES = (0.5, 0.9, 0.95, 0.99)
# How to cut a timestamp to its hour or day: number of characters (SQLite), format (PostgreSQL).
_FORMAT: dict[Unit, tuple[int, str]] = {"hour": (13, "YYYY-MM-DD HH24"), "day": (10, "YYYY-MM-DD")}
_CALL_COLUMNS = ("purpose", "provider", "model")
_FACTS = answer_facts.c
_UNANSWERED = _FACTS.gap
_ANSWERED = (_FACTS.answered_by != NOBODY) & ~_FACTS.gap


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A period from ``since`` (inclusive) to ``until`` (exclusive); None means unlimited."""

    since: datetime | None = None
    until: datetime | None = None

    def of(self, column: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
        """The conditions that ``column`` lies in the period."""
        conditions = [] if self.since is None else [column >= self.since]
        return conditions if self.until is None else [*conditions, column < self.until]


class AnswerFigures(CataloguePart):
    """Statistics over the answers of all users."""

    def sums(self, within: TimeRange) -> AnswerTotals:
        """The totals of the answers in the period."""
        statement = select(*_total_columns()).where(*within.of(_FACTS.at))
        return AnswerTotals(**self._rows(statement)[0]._mapping)

    def over_time(self, within: TimeRange, unit: Unit) -> list[AnswersPerPeriod]:
        """The totals for each hour or day that has answers, oldest first."""
        start = self._period_start(unit).label("start")
        counts = [_total(_as_int(test), name) for name, test in _OUTCOMES.items() if name in _TREND]
        money = func.coalesce(func.sum(_FACTS.cost), 0.0).label("cost")
        columns = (start, func.count().label("asked"), *counts, money)
        statement = select(*columns).where(*within.of(_FACTS.at))
        return rows_to_values(
            AnswersPerPeriod, self._rows(statement.group_by(start).order_by(start))
        )

    def by_answerer_and_type(self, within: TimeRange) -> list[tuple[str, str, int, int]]:
        """Rows of answerer, question type, questions asked and questions left unanswered."""
        groups = (_FACTS.answered_by, _FACTS.type)
        columns = (*groups, func.count(), _total(_as_int(_UNANSWERED), "unanswered"))
        statement = select(*columns).where(*within.of(_FACTS.at)).group_by(*groups)
        return [tuple(row) for row in self._rows(statement.order_by(*groups))]

    def latencies(self, within: TimeRange) -> list[Latency]:
        """The seconds that each step took, the step with the largest total first."""
        name, seconds = answer_steps.c.name, answer_steps.c.seconds
        statement = select(name, seconds).where(*within.of(answer_steps.c.at))
        latencies = []
        rows = self._rows(statement.order_by(name, seconds))
        for step, group in groupby(rows, key=lambda row: row.name):
            times = [row.seconds for row in group]
            ranks = (max(0, math.ceil(share * len(times)) - 1) for share in PERCENTILES)
            percentiles = tuple(times[rank] for rank in ranks)
            latencies.append(
                Latency(name=step, answers=len(times), seconds=sum(times), percentiles=percentiles)
            )
        return sorted(latencies, key=lambda latency: (-latency.seconds, latency.name))

    def histogram(self, bounds: tuple[float, ...]) -> dict[str, tuple[list[int], float]]:
        """The answers of each step between the bounds (last: above all), and its total seconds.

        The counts are not cumulative.
        """
        name, seconds = answer_steps.c.name, answer_steps.c.seconds
        cases: list[Any] = [
            (seconds <= bound, literal_column(str(n))) for n, bound in enumerate(bounds)
        ]
        bucket = case(*cases, else_=literal_column(str(len(bounds)))).label("place")
        columns = (name, bucket, func.count(), func.sum(seconds))
        histograms: dict[str, tuple[list[int], float]] = {}
        for step, number, count, total in self._rows(select(*columns).group_by(name, bucket)):
            counts, seconds_before = histograms.get(step, ([0] * (len(bounds) + 1), 0.0))
            counts[number] = count
            histograms[step] = counts, seconds_before + total
        return dict(sorted(histograms.items()))

    def topics(self, within: TimeRange, kind: str, limit: int) -> list[Topic]:
        """The most frequent topics of this kind."""
        topic = answer_topics.c
        asked = func.count().label("asked")
        unanswered = _total(_as_int(topic.gap), "unanswered")
        statement = (
            select(topic.kind, topic.topic, asked, unanswered)
            .where(topic.kind == kind, *within.of(topic.at))
            .group_by(topic.kind, topic.topic)
            .order_by(asked.desc(), topic.topic)
        )
        return rows_to_values(Topic, self._rows(statement.limit(limit)))

    def ratings(self, within: TimeRange) -> tuple[int, float | None]:
        """The number of ratings of whole answers in the period, and their mean (0-100)."""
        columns = (func.count(feedback.c.score), func.avg(feedback.c.score))
        valid = (feedback.c.score.is_not(None), feedback.c.expired == "")
        statement = select(*columns).where(*valid, *within.of(feedback.c.updated_at))
        count, mean = self._rows(statement)[0]
        return count, mean

    def gaps(self, within: TimeRange) -> list[GapCount]:
        """The numbers of gaps filed in the period, by kind and status."""
        groups = (gaps.c.kind, gaps.c.status)
        query = select(*groups, func.count().label("questions"))
        query = query.where(*within.of(gaps.c.created_at)).group_by(*groups).order_by(*groups)
        return rows_to_values(GapCount, self._rows(query))

    def calls(self, within: TimeRange) -> list[ModelUsageTotal]:
        """The model calls in the period, by purpose and model, most expensive first."""
        statement = usage_totals(*within.of(provider_calls.c.at))
        order = (text("cost DESC"), *(provider_calls.c[name] for name in _CALL_COLUMNS))
        return rows_to_values(ModelUsageTotal, self._rows(statement.order_by(*order)))

    def first(self) -> datetime | None:
        """The time of the oldest stored answer; None when there is none."""
        return next(iter(self._values(select(_FACTS.at).order_by(_FACTS.at).limit(1))), None)

    def _period_start(self, unit: Unit) -> ColumnElement[str]:
        characters, time_format = _FORMAT[unit]
        if self._database.dialect == "postgresql":  # its sessions have time zones of their own
            return func.to_char(func.timezone("UTC", _FACTS.at), time_format, type_=String)
        return func.substr(_FACTS.at, 1, characters, type_=String)


def moment_of(start: str) -> datetime:
    """The moment that a period's ``start`` names."""
    return datetime.fromisoformat(start if len(start) == 10 else f"{start}:00").replace(tzinfo=UTC)


_OUTCOMES: dict[str, ColumnElement[bool]] = {
    "cited": _ANSWERED & (_FACTS.citations > 0),
    "uncited": _ANSWERED & (_FACTS.citations == 0),
    "unanswered": _UNANSWERED,
    "asked_back": (_FACTS.answered_by == NOBODY) & ~_FACTS.gap,
    "follow_ups": _FACTS.follow_up,
    "cached": _FACTS.cached,
    **{band: _ANSWERED & (_FACTS.band == band) for band in ("high", "medium", "low")},
}
_TREND = ("cited", "unanswered", "follow_ups")


def _total_columns() -> list[Any]:
    confidence = func.avg(case((_ANSWERED, _FACTS.confidence)))
    verdicts = {verdict.value: verdict.value for verdict in VerdictName}
    verdicts[VerdictName.UNCITED.value] = "uncited_sentences"
    summed = {name: name for name in ("citations", "input_tokens", "output_tokens")} | verdicts
    return [
        func.count().label("asked"),
        *(_total(_as_int(condition), name) for name, condition in _OUTCOMES.items()),
        func.coalesce(confidence, 0.0).label("confidence"),
        *(_total(_FACTS[column], name) for column, name in summed.items()),
        func.coalesce(func.sum(_FACTS.cost), 0.0).label("cost"),
    ]


def _as_int(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _total(column: ColumnElement[int], name: str) -> Any:
    return func.coalesce(func.sum(column), 0).label(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that a user asked."""

    id: str
    question: str
    created_at: datetime
    answered_by: str
    type: str


class QuestionCounts(CataloguePart):
    """Questions of one owner, without those that the system repeated by itself."""

    def asked(self, owner: str, within: TimeRange) -> list[AskedQuestion]:
        """The questions of the owner in the period, oldest first."""
        statement = select(*(answers.c[name] for name in AskedQuestion.__dataclass_fields__))
        statement = statement.where(*_asked_by(owner, within))
        rows = self._rows(statement.order_by(answers.c.created_at, answers.c.id))
        return rows_to_values(AskedQuestion, rows)

    def topics(self, owner: str, within: TimeRange) -> list[tuple[str, str, Taxonomy]]:
        """Answer id, collection and taxonomy of each document that the owner's answers cite.

        For an unanswered question these are the documents nearest to it.
        """
        cited = (
            select(answer_citations.c.answer_id, answer_citations.c.document_id)
            .join(answers, answers.c.id == answer_citations.c.answer_id)
            .where(*_asked_by(owner, within))
            .where(or_(answer_citations.c.version != MENTIONED, answers.c.answered_by == NOBODY))
            .distinct()  # here, since PostgreSQL cannot compare the JSON columns below
            .subquery()
        )
        columns = (cited.c.answer_id, documents.c.collection, documents.c.taxonomy)
        statement = select(*columns).join(documents, documents.c.id == cited.c.document_id)
        return [(row[0], row[1], row[2] or {}) for row in self._rows(statement)]


def _asked_by(owner: str, within: TimeRange) -> list[ColumnElement[bool]]:
    is_asked = [answers.c.owner == owner, answers.c.session_id != ""]
    return is_asked + within.of(answers.c.created_at)


_COUNTERS = "metric_counters"  # [last reported sum, total of all earlier decreases] by key
_ROUNDING = 1e-9  # rounding differences between two sums of the same floats are smaller

Counters = dict[str, list[float]]


class CounterRecords(CataloguePart):
    """Stores the last reported values of the metrics counters."""

    def monotonic(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Each sum plus all its earlier decreases; includes counters that no longer occur."""
        with self._database.read() as connection:
            stored: Counters = property_of(connection, _COUNTERS) or {}
            counters = _update_counters(stored, sums)
        if counters != stored:
            with self._database.write() as connection:
                counters = _update_counters(property_of(connection, _COUNTERS) or {}, sums)
                put_properties(connection, {_COUNTERS: counters})
        return {key: current + lost for key, (current, lost) in counters.items()}


def _update_counters(stored: Counters, sums: Mapping[str, float]) -> Counters:
    counters: Counters = {}
    for key in sorted({*stored, *sums}):
        last, lost = stored.get(key, (0.0, 0.0))
        current = sums.get(key, 0.0)
        counters[key] = [current, lost + (last - current if current < last - _ROUNDING else 0.0)]
    return counters
