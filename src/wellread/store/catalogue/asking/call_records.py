"""Calls of models: what each was for, took and cost, and how much of a budget they have spent.

A budget is kept by every process that opens the catalogue: what a call may cost is set aside in
one transaction with the look at what is left, and replaced by what it did cost when it ends. A
process that dies in between leaves the amount set aside, so that a budget errs on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, delete, func, insert, select, text, update

from wellread.calls import EMBED_PASSAGE, RUNNING, Call
from wellread.store.schema.activity_tables import provider_calls
from wellread.store.schema.database import Database

KEPT = timedelta(days=400)  # older calls are forgotten
SWEEP = 1_000  # calls between two looks for such
# The lock that keeps two processes from setting aside the same dollars; SQLite has one writer.
_ALONE = text("LOCK TABLE provider_calls IN SHARE ROW EXCLUSIVE MODE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most so many US dollars since a moment."""

    since: datetime
    dollars: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The calls of one day (UTC), purpose, provider and model. ``seconds`` is their sum."""

    day: date
    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float


class Calls:
    """Calls that were made. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, call: Call) -> None:
        """Write a call down that has ended."""
        with self._database.write() as connection:
            self._insert(connection, call)

    def reserve(self, expected: Call, limits: Sequence[Limit]) -> int | Limit:
        """Set aside what a call may cost: a number for ``settle``, or the limit it would pass.

        A limit that is used up lets nothing pass, also what costs nothing.
        """
        with self._database.write() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(_ALONE)
            for limit in limits:
                left = limit.dollars - _spent(connection, limit.since)
                if left <= 0 or expected.cost > left:
                    return limit
            running = {**asdict(expected), "error": RUNNING}
            return self._insert(connection, Call(**running))

    def settle(self, number: int, call: Call) -> None:
        """Put what a call did cost in the place of what was set aside for it."""
        statement = update(provider_calls).where(provider_calls.c.id == number)
        with self._database.write() as connection:
            connection.execute(statement.values(**asdict(call)))

    def spent(self, since: datetime) -> float:
        """US dollars that answering questions has cost since then; reading material in is not."""
        with self._database.read() as connection:
            return _spent(connection, since)

    def newest(self, limit: int) -> list[Call]:
        """The newest calls, newest first."""
        columns = [provider_calls.c[name] for name in Call.__dataclass_fields__]
        statement = select(*columns).order_by(provider_calls.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [Call(**row._mapping) for row in connection.execute(statement)]

    def forget(self) -> None:
        """Forget all calls, and with them what is spent."""
        with self._database.write() as connection:
            connection.execute(delete(provider_calls))

    def totals(self, since: datetime) -> list[Total]:
        """What was called since then, by day (newest first), cost, purpose and model."""
        at, error = provider_calls.c.at, provider_calls.c.error
        elsewhere = self._database.engine.dialect.name == "postgresql"  # has a zone per session
        day = func.date(func.timezone("UTC", at) if elsewhere else at)
        groups = (
            day,
            provider_calls.c.purpose,
            provider_calls.c.provider,
            provider_calls.c.model,
        )
        sums = (
            func.sum(provider_calls.c.input_tokens),
            func.sum(provider_calls.c.output_tokens),
            func.sum(provider_calls.c.cost),
            func.sum(provider_calls.c.seconds),
        )
        failed = func.sum(case((error != "", 1), else_=0))
        statement = (
            select(*groups, func.count(), failed, *sums).where(at >= since).group_by(*groups)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        found = [
            Total(
                day=date.fromisoformat(str(row[0])),
                purpose=row[1],
                provider=row[2],
                model=row[3],
                calls=row[4],
                failed=int(row[5]),
                input_tokens=int(row[6]),
                output_tokens=int(row[7]),
                cost=float(row[8]),
                seconds=float(row[9]),
            )
            for row in rows
        ]
        return sorted(
            found, key=lambda one: (-one.day.toordinal(), -one.cost, one.purpose, one.model)
        )

    def _insert(self, connection: Connection, call: Call) -> int:
        now = datetime.now(UTC)
        row: dict[str, Any] = {**asdict(call), "at": now}
        made = connection.execute(insert(provider_calls), row).inserted_primary_key
        number = int(made[0]) if made else 0
        if number % SWEEP == 0:
            connection.execute(delete(provider_calls).where(provider_calls.c.at < now - KEPT))
        return number


def _spent(connection: Connection, since: datetime) -> float:
    statement = select(func.sum(provider_calls.c.cost)).where(
        provider_calls.c.at >= since, provider_calls.c.purpose != EMBED_PASSAGE
    )
    return float(connection.execute(statement).scalar() or 0.0)
