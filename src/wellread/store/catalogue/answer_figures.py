"""What the figures of answers add up to in a time; every number is worked out by the database.

Counters never go down: a conversation that is removed takes its answers along, and who collects
counters takes a lower number for a restart and adds it all again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    case,
    func,
    literal_column,
    or_,
    select,
)

from wellread.store.catalogue.asking.answer_rows import NAMED
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.database import CataloguePart, made_of
from wellread.store.schema.stored_values import Counted, GapCount, Latency, Spent, Sums, Topic
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
PERCENTILES = (0.5, 0.9, 0.95, 0.99)
# How many characters of a moment name its hour or day; the same for other databases than SQLite.
_SHAPES: dict[Unit, tuple[int, str]] = {"hour": (13, "YYYY-MM-DD HH24"), "day": (10, "YYYY-MM-DD")}
_FACTS = answer_facts.c
_UNANSWERED = _FACTS.gap
_ANSWERED = (_FACTS.answered_by != NOBODY) & ~_FACTS.gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """From ``since`` on and before ``until``; None: no limit."""

    since: datetime | None = None
    until: datetime | None = None

    def of(self, column: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
        """The conditions that a moment lies in it."""
        found = [] if self.since is None else [column >= self.since]
        return found if self.until is None else [*found, column < self.until]


class AnswerFigures(CataloguePart):
    """Sums over the answers of all people."""

    def sums(self, within: Within) -> Sums:
        """What the answers in this time add up to."""
        statement = select(*_sums()).where(*within.of(_FACTS.at))
        return Sums(**self._rows(statement)[0]._mapping)

    def over_time(self, within: Within, unit: Unit) -> list[Counted]:
        """The same for each hour or day that has an answer, the oldest first."""
        start = self._started(unit).label("start")
        counts = [_number(_yes(each), name) for name, each in _OUTCOMES.items() if name in _TOLD]
        money = func.coalesce(func.sum(_FACTS.cost), 0.0).label("cost")
        columns = (start, func.count().label("asked"), *counts, money)
        statement = select(*columns).where(*within.of(_FACTS.at))
        return made_of(Counted, self._rows(statement.group_by(start).order_by(start)))

    def by_answerer_and_type(self, within: Within) -> list[tuple[str, str, int, int]]:
        """Who answered questions of which type: how many were asked, and how many not answered."""
        groups = (_FACTS.answered_by, _FACTS.type)
        columns = (*groups, func.count(), _number(_yes(_UNANSWERED), "unanswered"))
        statement = select(*columns).where(*within.of(_FACTS.at)).group_by(*groups)
        return [tuple(row) for row in self._rows(statement.order_by(*groups))]

    def latencies(self, within: Within) -> list[Latency]:
        """Seconds of each step, the one that took most in all first."""
        name, seconds = answer_steps.c.name, answer_steps.c.seconds
        statement = select(name, seconds).where(*within.of(answer_steps.c.at))
        found = []
        rows = self._rows(statement.order_by(name, seconds))
        for step, group in groupby(rows, key=lambda row: row.name):
            taken = [row.seconds for row in group]
            ranks = (max(0, math.ceil(share * len(taken)) - 1) for share in PERCENTILES)
            percentiles = tuple(taken[rank] for rank in ranks)
            found.append(
                Latency(name=step, answers=len(taken), seconds=sum(taken), percentiles=percentiles)
            )
        return sorted(found, key=lambda one: (-one.seconds, one.name))

    def histogram(self, bounds: tuple[float, ...]) -> dict[str, tuple[list[int], float]]:
        """For each step how many answers took up to each bound and up to none, and all seconds.

        The counts are of the space between two bounds, not added up.
        """
        name, seconds = answer_steps.c.name, answer_steps.c.seconds
        places: list[Any] = [
            (seconds <= bound, literal_column(str(n))) for n, bound in enumerate(bounds)
        ]
        place = case(*places, else_=literal_column(str(len(bounds)))).label("place")
        columns = (name, place, func.count(), func.sum(seconds))
        found: dict[str, tuple[list[int], float]] = {}
        for step, where, count, taken in self._rows(select(*columns).group_by(name, place)):
            counts, before = found.get(step, ([0] * (len(bounds) + 1), 0.0))
            counts[where] = count
            found[step] = counts, before + taken
        return dict(sorted(found.items()))

    def topics(self, within: Within, kind: str, limit: int) -> list[Topic]:
        """What was asked about most often."""
        topic = answer_topics.c
        asked = func.count().label("asked")
        unanswered = _number(_yes(topic.gap), "unanswered")
        statement = (
            select(topic.kind, topic.topic, asked, unanswered)
            .where(topic.kind == kind, *within.of(topic.at))
            .group_by(topic.kind, topic.topic)
            .order_by(asked.desc(), topic.topic)
        )
        return made_of(Topic, self._rows(statement.limit(limit)))

    def ratings(self, within: Within) -> tuple[int, float | None]:
        """How many ratings of whole answers were given in this time, and their mean (0-100)."""
        columns = (func.count(feedback.c.score), func.avg(feedback.c.score))
        valid = (feedback.c.score.is_not(None), feedback.c.expired == "")
        statement = select(*columns).where(*valid, *within.of(feedback.c.updated_at))
        count, mean = self._rows(statement)[0]
        return count, mean

    def gaps(self, within: Within) -> list[GapCount]:
        """The questions that were filed as gaps in this time, by kind and status."""
        groups = (gaps.c.kind, gaps.c.status)
        counted = select(*groups, func.count().label("questions"))
        counted = counted.where(*within.of(gaps.c.created_at)).group_by(*groups).order_by(*groups)
        return made_of(GapCount, self._rows(counted))

    def calls(self, within: Within) -> list[Spent]:
        """Calls of models that were made in this time, the dearest first."""
        called = provider_calls.c
        groups = (called.purpose, called.provider, called.model)
        cost = func.sum(called.cost).label("cost")
        summed = ("input_tokens", "output_tokens", "seconds")
        columns = (
            *groups,
            func.count().label("calls"),
            _number(_yes(called.error != ""), "failed"),
            *(func.sum(called[name]).label(name) for name in summed),
            cost,
        )
        statement = select(*columns).where(*within.of(called.at)).group_by(*groups)
        return made_of(Spent, self._rows(statement.order_by(cost.desc(), *groups)))

    def first(self) -> datetime | None:
        """When the oldest answer that is kept was given."""
        found = self._values(select(_FACTS.at).order_by(_FACTS.at).limit(1))
        return found[0] if found else None

    def _started(self, unit: Unit) -> ColumnElement[str]:
        letters, shape = _SHAPES[unit]
        if self._database.dialect == "postgresql":  # has a zone per session
            return func.to_char(func.timezone("UTC", _FACTS.at), shape, type_=String)
        return func.substr(_FACTS.at, 1, letters, type_=String)


def moment_of(start: str) -> datetime:
    """The moment that ``Counted.start`` stands for."""
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
_TOLD = ("cited", "unanswered", "follow_ups")


def _sums() -> list[Any]:
    sure = func.avg(case((_ANSWERED, _FACTS.confidence)))
    verdicts = {one.value: one.value for one in VerdictName}
    verdicts[VerdictName.UNCITED.value] = "uncited_sentences"
    summed = {name: name for name in ("citations", "input_tokens", "output_tokens")} | verdicts
    return [
        func.count().label("asked"),
        *(_number(_yes(each), name) for name, each in _OUTCOMES.items()),
        func.coalesce(sure, 0.0).label("confidence"),
        *(_number(_FACTS[column], name) for column, name in summed.items()),
        func.coalesce(func.sum(_FACTS.cost), 0.0).label("cost"),
    ]


def _yes(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


def _number(column: ColumnElement[int], name: str) -> Any:
    return func.coalesce(func.sum(column), 0).label(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that a person asked."""

    id: str
    question: str
    created_at: datetime
    answered_by: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedTopic:
    """Where the documents of an answer are: their collection and values of the taxonomy."""

    answer_id: str
    collection: str
    taxonomy: Mapping[str, Sequence[str]]


class QuestionCounts(CataloguePart):
    """The questions of one owner at a time. What the system asked again itself is not in them."""

    def asked(
        self, owner: str, since: datetime | None, until: datetime | None
    ) -> list[AskedQuestion]:
        """The questions of a time, oldest first."""
        names = ("id", "question", "created_at", "answered_by", "type")
        statement = select(*(answers.c[name] for name in names))
        within = _within(since, until)
        order = (answers.c.created_at, answers.c.id)
        rows = self._rows(statement.where(*_of(owner), *within).order_by(*order))
        return made_of(AskedQuestion, rows)

    def topics(
        self, owner: str, since: datetime | None, until: datetime | None
    ) -> list[CitedTopic]:
        """Of each answer the documents that it rests on, as what they are filed under.

        Where there is no answer, those that are nearest to the question.
        """
        rests = (
            select(answer_citations.c.answer_id, answer_citations.c.document_id)
            .join(answers, answers.c.id == answer_citations.c.answer_id)
            .where(*_of(owner), *_within(since, until))
            .where(or_(answer_citations.c.version != NAMED, answers.c.answered_by == NOBODY))
            .distinct()  # here: PostgreSQL compares no JSON
            .subquery()
        )
        columns = (rests.c.answer_id, documents.c.collection, documents.c.taxonomy)
        statement = select(*columns).join(documents, documents.c.id == rests.c.document_id)
        return [
            CitedTopic(
                answer_id=row.answer_id, collection=row.collection, taxonomy=row.taxonomy or {}
            )
            for row in self._rows(statement)
        ]


def _of(owner: str) -> tuple[ColumnElement[bool], ...]:
    return (answers.c.owner == owner, answers.c.session_id != "")


def _within(since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    at = answers.c.created_at
    return [*([at >= since] if since else []), *([at <= until] if until else [])]


_KEPT = "metric_counters"  # key to [what the sum was when it was last told, what it lost before]
_NOTHING = 1e-9  # sums of floats differ by less from one time to the other

Counters = dict[str, list[float]]


class CounterRecords(CataloguePart):
    """What counters told last."""

    def never_less(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Each sum with what it lost since it was first told; also those that are gone."""
        with self._database.read() as connection:
            kept = _told(connection)
            found = _counted(kept, sums)
        if found != kept:
            with self._database.write() as connection:
                found = _counted(_told(connection), sums)
                put_properties(connection, {_KEPT: found})
        return {key: now + lost for key, (now, lost) in found.items()}


def _told(connection: Connection) -> Counters:
    kept: Counters = property_of(connection, _KEPT) or {}
    return kept


def _counted(kept: Counters, sums: Mapping[str, float]) -> Counters:
    found: Counters = {}
    for key in sorted({*kept, *sums}):
        last, lost = kept.get(key, (0.0, 0.0))
        now = sums.get(key, 0.0)
        found[key] = [now, lost + (last - now if now < last - _NOTHING else 0.0)]
    return found
