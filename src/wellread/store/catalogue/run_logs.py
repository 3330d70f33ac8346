"""Logs of jobs and of model calls, with the progress of each job and the cost of each call.

All processes that open the catalogue share the budgets for model calls: one transaction checks what
is left and reserves the expected cost of a call, and the actual cost replaces the reservation when
the call ends. A process that dies in between leaves its reservation, so a budget is never exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, case, delete, func, insert, select, update

from wellread.identity import random_id
from wellread.store.catalogue.documents.reindexing import note_deletion
from wellread.store.schema.database import CataloguePart, chunks, delete_oldest_day, rows_to_values
from wellread.store.schema.stored_values import REMOVED, ModelUsageTotal
from wellread.store.schema.tables import job_items, jobs, provider_calls
from wellread.values.calls import EMBED_PASSAGE, RUNNING, Call

JobAction = Literal["add", "sync", "watch", "remove", "reindex", "import", "re-ask"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
ItemStatus = Literal["added", "updated", "unchanged", "skipped", "failed", "removed"]
MAX_JOBS = 200  # older jobs are deleted
REDACTED_JOBS = 10  # newest finished jobs in which a new job redacts removed sources' names


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run of ingest or another long task."""

    id: str
    action: JobAction
    collection: str
    inputs: tuple[str, ...]
    state: JobState = "running"
    reason: str = ""
    started_at: datetime
    finished_at: datetime | None = None
    host: str
    pid: int
    cancel: bool = False
    total: int = 0
    done: int = 0
    passages: int = 0
    vectors: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def named(self) -> tuple[str, ...]:
        """The inputs without those whose sources were removed, for starting the job again."""
        return tuple(name for name in self.inputs if name != REMOVED)


_COUNTED = ("failed", "skipped")  # counted from the lines of the job
_COUNTS = [
    select(func.count())
    .where(job_items.c.job_id == jobs.c.id, job_items.c.status == status)
    .scalar_subquery()
    .label(status)
    for status in _COUNTED
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobItem:
    """The result of one source in a job; ``seconds`` is the time that parsing took."""

    uri: str
    status: ItemStatus
    reason: str = ""
    seconds: float = 0.0
    documents: int = 0
    passages: int = 0


class Jobs(CataloguePart):
    """The log of jobs."""

    def start(
        self,
        action: JobAction,
        collection: str,
        inputs: Sequence[str],
        process: tuple[str, int],
        job_id: str = "",
    ) -> Job:
        """Record a new running job of a ``process`` (host and pid); delete the oldest ended ones.

        Names of sources that earlier jobs removed are redacted: they show until the next job.
        """
        job = Job(
            id=job_id or random_id("job"),
            action=action,
            collection=collection,
            inputs=tuple(inputs),
            started_at=datetime.now(UTC),
            host=process[0],
            pid=process[1],
        )
        newest = select(jobs.c.id).order_by(jobs.c.started_at.desc(), jobs.c.id)
        with self._database.write() as connection:
            old = list(connection.execute(newest.offset(MAX_JOBS - 1)).scalars())
            for ids in chunks(old):
                ended = (jobs.c.id.in_(ids), jobs.c.state != "running")
                connection.execute(delete(jobs).where(*ended))
            _redact_removed(connection)
            row = asdict(job)
            for counted in _COUNTED:
                del row[counted]
            connection.execute(insert(jobs), row)
        return job

    def progress(self, job_id: str, *, total: int, done: int, passages: int, vectors: int) -> bool:
        """Store the progress of a job; return whether its cancellation was requested."""
        counts = {"total": total, "done": done, "passages": passages, "vectors": vectors}
        with self._database.write() as connection:
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(**counts))
            return bool(
                connection.execute(select(jobs.c.cancel).where(jobs.c.id == job_id)).scalar()
            )

    def note(self, job_id: str, first: int, items: Sequence[JobItem]) -> None:
        """Store the results of sources; ``first`` is the position of the first one in the job."""
        rows = [
            {"job_id": job_id, "ordinal": ordinal, **asdict(item)}
            for ordinal, item in enumerate(items, first)
        ]
        if rows:
            with self._database.write() as connection:
                connection.execute(insert(job_items), rows)

    def finish(self, job_id: str, state: JobState, reason: str = "") -> None:
        """Record the end of a job."""
        values = {"state": state, "reason": reason, "finished_at": datetime.now(UTC)}
        self._run(update(jobs).where(jobs.c.id == job_id).values(**values))

    def cancel(self, job_id: str) -> bool:
        """Request the cancellation of a running job; return whether it is running."""
        running = (jobs.c.id == job_id) & (jobs.c.state == "running")
        with self._database.write() as connection:
            return connection.execute(update(jobs).where(running).values(cancel=True)).rowcount > 0

    def get(self, job_id: str) -> Job | None:
        """The job with this id, or None."""
        rows = self._rows(select(jobs, *_COUNTS).where(jobs.c.id == job_id))
        return _job_of(rows[0]) if rows else None

    def by_prefix(self, start: str) -> Job | None:
        """The job whose id starts with ``start``; None when no job or several match."""
        is_job = jobs.c.id.startswith(start.lower(), autoescape=True)
        rows = self._rows(select(jobs, *_COUNTS).where(is_job).limit(2))
        return _job_of(rows[0]) if len(rows) == 1 else None

    def newest(self, limit: int = 20, state: JobState | None = None) -> list[Job]:
        """The newest jobs, newest first."""
        is_in_state = [] if state is None else [jobs.c.state == state]
        statement = select(jobs, *_COUNTS).where(*is_in_state)
        order = (jobs.c.started_at.desc(), jobs.c.id)
        return [_job_of(row) for row in self._rows(statement.order_by(*order).limit(limit))]

    def items(
        self, job_id: str, status: ItemStatus | None = None, limit: int = 100, offset: int = 0
    ) -> list[JobItem]:
        """The results of a job's sources, in the order of processing."""
        columns = (column for column in job_items.c if column.name not in ("job_id", "ordinal"))
        has_status = [] if status is None else [job_items.c.status == status]
        statement = select(*columns).where(job_items.c.job_id == job_id, *has_status)
        ordered = statement.order_by(job_items.c.ordinal)
        return rows_to_values(JobItem, self._rows(ordered.limit(limit).offset(offset)))

    def counts(self, job_id: str) -> dict[str, int]:
        """The number of a job's sources by status."""
        status = job_items.c.status
        statement = select(status, func.count()).where(job_items.c.job_id == job_id)
        return dict(self._rows(statement.group_by(status)))


def _redact_removed(connection: Connection) -> None:
    """Redact the names of removed sources in the newest finished jobs."""
    ended = select(jobs.c.id).where(jobs.c.state != "running").order_by(jobs.c.started_at.desc())
    lines = (
        job_items.c.job_id.in_(list(connection.execute(ended.limit(REDACTED_JOBS)).scalars())),
        job_items.c.status == "removed",
        job_items.c.uri != REMOVED,
    )
    statement = update(job_items).where(*lines).values(uri=REMOVED, reason="")
    if connection.execute(statement).rowcount:
        note_deletion(connection)


def _job_of(row: Any) -> Job:
    return Job(**{**row._mapping, "inputs": tuple(row.inputs)})


CALL_LIFETIME = timedelta(days=400)  # older calls are deleted
CALLS_PER_SWEEP = 100  # calls between two deletions of old calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A budget: at most ``dollars`` US dollars since a moment."""

    since: datetime
    dollars: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Total(ModelUsageTotal):
    """Totals of the calls of one day (UTC), purpose, provider and model."""

    day: date


def usage_totals(*conditions: ColumnElement[bool], day: ColumnElement[Any] | None = None) -> Any:
    """The query for the totals of calls by purpose, provider and model, and by ``day`` if given."""
    columns = provider_calls.c
    groups = (columns.purpose, columns.provider, columns.model, *(() if day is None else (day,)))
    failed = func.coalesce(func.sum(case((columns.error != "", 1), else_=0)), 0).label("failed")
    summed = ("input_tokens", "output_tokens", "cost", "seconds")
    sums = (func.sum(columns[name]).label(name) for name in summed)
    statement = select(*groups, func.count().label("calls"), failed, *sums)
    return statement.where(*conditions).group_by(*groups)


class Calls(CataloguePart):
    """The log of model calls, and the budget check over it."""

    def record(self, call: Call) -> None:
        """Record a call that has ended."""
        with self._database.write() as connection:
            self._insert(connection, call)

    def reserve(self, expected: Call, limits: Sequence[Limit]) -> int | Limit:
        """Reserve the cost of a call; return a number for ``settle``, or the limit it would exceed.

        When a limit is used up, calls without a cost are refused as well.
        """
        with self._database.write() as connection:
            for limit in limits:
                spent = connection.execute(_spent_since(limit.since)).scalar() or 0.0
                remaining = limit.dollars - spent
                if remaining <= 0 or expected.cost > remaining:
                    return limit
            return self._insert(connection, replace(expected, error=RUNNING))

    def settle(self, number: int, call: Call) -> None:
        """Replace the reservation ``number`` by the actual call."""
        statement = update(provider_calls).where(provider_calls.c.id == number)
        self._run(statement.values(**asdict(call)))

    def spent(self, since: datetime) -> float:
        """The US dollars spent on answering since then; embedding at ingest is not included."""
        return float(self._values(_spent_since(since))[0] or 0.0)

    def totals(self, since: datetime) -> list[Total]:
        """The totals of calls since then, by day (newest first), cost, purpose and model."""
        at = provider_calls.c.at
        on_server = self._database.dialect == "postgresql"  # its sessions have their own time zones
        day = func.date(func.timezone("UTC", at) if on_server else at).label("day")
        rows = self._rows(usage_totals(at >= since, day=day))
        days = [Total(**{**row._mapping, "day": date.fromisoformat(str(row.day))}) for row in rows]
        return sorted(
            days, key=lambda item: (-item.day.toordinal(), -item.cost, item.purpose, item.model)
        )

    def _insert(self, connection: Connection, call: Call) -> int:
        now = datetime.now(UTC)
        row = asdict(call) | {"at": now}
        key = connection.execute(insert(provider_calls), row).inserted_primary_key
        number = int(key[0]) if key else 0
        if number % CALLS_PER_SWEEP == 0:
            delete_oldest_day(connection, provider_calls.c.at, now - CALL_LIFETIME)
        return number


def _spent_since(since: datetime) -> Select[Any]:
    conditions = (provider_calls.c.at >= since, provider_calls.c.purpose != EMBED_PASSAGE)
    return select(func.sum(provider_calls.c.cost)).where(*conditions)
