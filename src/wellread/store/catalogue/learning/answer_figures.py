"""What the figures of answers add up to in a time; every number is worked out by the database.

Between two changes of the database the same is not worked out twice (``remembered.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    case,
    func,
    literal_column,
    select,
)

from wellread.store.catalogue.learning.remembered import Remembered
from wellread.store.schema.database import CataloguePart, Database, made_of
from wellread.store.schema.figure_values import (
    Counted,
    GapCount,
    Latency,
    Spent,
    Sums,
    Topic,
)
from wellread.store.schema.learning_tables import (
    answer_facts,
    answer_steps,
    answer_topics,
    feedback,
    gaps,
)
from wellread.store.schema.tables import provider_calls
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


P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate["AnswerFigures", P], T]


def _remembered(method: Method[P, T]) -> Method[P, T]:
    """``method``, which gives the same again for as long as nothing has changed."""

    @wraps(method)
    def told(part: AnswerFigures, /, *args: P.args, **options: P.kwargs) -> T:
        key = (method.__name__, args, tuple(sorted(options.items())))
        return part.remembered.of(key, lambda: method(part, *args, **options))

    return told


class AnswerFigures(CataloguePart):
    """Sums over the answers of all people; what is given back must not be changed."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.remembered = Remembered(database)

    @_remembered
    def sums(self, within: Within) -> Sums:
        """What the answers in this time add up to."""
        statement = select(*_sums()).where(*within.of(_FACTS.at))
        return Sums(**self._rows(statement)[0]._mapping)

    @_remembered
    def over_time(self, within: Within, unit: Unit) -> list[Counted]:
        """The same for each hour or day that has an answer, the oldest first."""
        start = self._started(unit).label("start")
        counts = [_number(_yes(each), name) for name, each in _OUTCOMES.items() if name in _TOLD]
        money = func.coalesce(func.sum(_FACTS.cost), 0.0).label("cost")
        columns = (start, func.count().label("asked"), *counts, money)
        statement = select(*columns).where(*within.of(_FACTS.at))
        return made_of(Counted, self._rows(statement.group_by(start).order_by(start)))

    @_remembered
    def by_answerer_and_type(self, within: Within) -> list[tuple[str, str, int, int]]:
        """Who answered questions of which type: how many were asked, and how many not answered."""
        groups = (_FACTS.answered_by, _FACTS.type)
        columns = (*groups, func.count(), _number(_yes(_UNANSWERED), "unanswered"))
        statement = select(*columns).where(*within.of(_FACTS.at)).group_by(*groups)
        return [tuple(row) for row in self._rows(statement.order_by(*groups))]

    @_remembered
    def latencies(self, within: Within) -> list[Latency]:
        """Seconds of each step, the one that took most in all first."""
        name, seconds = answer_steps.c.name, answer_steps.c.seconds
        conditions = within.of(answer_steps.c.at)
        sums = select(name, func.count(), func.sum(seconds)).where(*conditions).group_by(name)
        with self._database.read() as connection:
            rows = connection.execute(sums).all()
            found = [
                Latency(
                    name=step,
                    answers=count,
                    seconds=taken,
                    percentiles=_at_ranks(
                        connection, select(seconds).where(name == step, *conditions), count
                    ),
                )
                for step, count, taken in rows
            ]
        return sorted(found, key=lambda one: (-one.seconds, one.name))

    @_remembered
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

    @_remembered
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

    @_remembered
    def ratings(self, within: Within) -> tuple[int, float | None]:
        """How many ratings of whole answers were given in this time, and their mean (0-100)."""
        columns = (func.count(feedback.c.score), func.avg(feedback.c.score))
        valid = (feedback.c.score.is_not(None), feedback.c.expired == "")
        statement = select(*columns).where(*valid, *within.of(feedback.c.updated_at))
        count, mean = self._rows(statement)[0]
        return count, mean

    @_remembered
    def gaps(self, within: Within) -> list[GapCount]:
        """The questions that were filed as gaps in this time, by kind and status."""
        groups = (gaps.c.kind, gaps.c.status)
        counted = select(*groups, func.count().label("questions"))
        counted = counted.where(*within.of(gaps.c.created_at)).group_by(*groups).order_by(*groups)
        return made_of(GapCount, self._rows(counted))

    @_remembered
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

    @_remembered
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


def _at_ranks(connection: Connection, seconds: Select[Any], count: int) -> tuple[float, ...]:
    """The value at each of ``PERCENTILES``, by the nearest rank.

    The index has them in order; they are counted off from the nearer end.
    """
    upwards = seconds.order_by(answer_steps.c.seconds).limit(1)
    downwards = seconds.order_by(answer_steps.c.seconds.desc()).limit(1)
    found = []
    for share in PERCENTILES:
        rank = max(0, math.ceil(share * count) - 1)
        behind = count - 1 - rank
        ordered = upwards.offset(rank) if rank < behind else downwards.offset(behind)
        found.append(float(connection.execute(ordered).scalar_one()))
    return tuple(found)
