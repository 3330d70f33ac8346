"""Jobs and calls of models: what each was for, how far it came, what it took and cost.

A budget of calls is kept by every process that opens the catalogue: what a call may cost is set
aside in one transaction with the look at what is left, and replaced by what it did cost when it
ends. A process that dies in between leaves the amount set aside: a budget errs on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Select, case, delete, func, insert, select, update

from wellread.identity import random_id
from wellread.store.catalogue.documents.reindexing import note_deletion
from wellread.store.schema.database import CataloguePart, chunks, made_of, trim
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import job_items, jobs, provider_calls
from wellread.values.calls import EMBED_PASSAGE, RUNNING, Call

JobAction = Literal["add", "sync", "watch", "remove", "reindex", "import", "re-ask"]
JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
ItemStatus = Literal["added", "updated", "unchanged", "skipped", "failed", "removed"]
KEPT_JOBS = 200  # older jobs are forgotten
LOOKED = 10  # jobs in which a new one looks for names of what was removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run."""

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

    @property
    def named(self) -> tuple[str, ...]:
        """The inputs that can be given again: names that went with what they named are left out."""
        return tuple(one for one in self.inputs if one != REMOVED)


_FAILED = (
    select(func.count())
    .where(job_items.c.job_id == jobs.c.id, job_items.c.status == "failed")
    .scalar_subquery()
    .label("failed")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobItem:
    """How one source fared in a job; ``seconds`` it took to parse."""

    uri: str
    status: ItemStatus
    reason: str = ""
    seconds: float = 0.0
    documents: int = 0
    passages: int = 0


class Jobs(CataloguePart):
    """The log of runs."""

    def start(
        self, action: JobAction, collection: str, inputs: Sequence[str], host: str, pid: int
    ) -> Job:
        """A new running job; the oldest ended ones are forgotten.

        So are the names of sources that the last ones removed: a run tells them until the next.
        """
        now = datetime.now(UTC)
        job = Job(
            id=random_id("job"),
            action=action,
            collection=collection,
            inputs=tuple(inputs),
            started_at=now,
            host=host,
            pid=pid,
        )
        newest = select(jobs.c.id).order_by(jobs.c.started_at.desc(), jobs.c.id)
        with self._database.write() as connection:
            old = list(connection.execute(newest.offset(KEPT_JOBS - 1)).scalars())
            for ids in chunks(old):
                ended = (jobs.c.id.in_(ids), jobs.c.state != "running")
                connection.execute(delete(jobs).where(*ended))
            _forget_removed(connection)
            row = asdict(job)
            del row["failed"]  # counted from the lines of the job
            connection.execute(insert(jobs), row)
        return job

    def progress(self, job_id: str, *, total: int, done: int, passages: int, vectors: int) -> bool:
        """Keep how far a job is; whether it was asked to stop."""
        counts = {"total": total, "done": done, "passages": passages, "vectors": vectors}
        with self._database.write() as connection:
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(**counts))
            return bool(
                connection.execute(select(jobs.c.cancel).where(jobs.c.id == job_id)).scalar()
            )

    def note(self, job_id: str, first: int, items: Sequence[JobItem]) -> None:
        """Keep how sources fared; ``first`` is the place of the first of them in the job."""
        rows = [
            {"job_id": job_id, "ordinal": place, **asdict(item)}
            for place, item in enumerate(items, first)
        ]
        if rows:
            with self._database.write() as connection:
                connection.execute(insert(job_items), rows)

    def finish(self, job_id: str, state: JobState, reason: str = "") -> None:
        """The job has ended."""
        values = {"state": state, "reason": reason, "finished_at": datetime.now(UTC)}
        self._run(update(jobs).where(jobs.c.id == job_id).values(**values))

    def cancel(self, job_id: str) -> bool:
        """Ask a running job to stop; whether there was one."""
        running = (jobs.c.id == job_id) & (jobs.c.state == "running")
        with self._database.write() as connection:
            return connection.execute(update(jobs).where(running).values(cancel=True)).rowcount > 0

    def get(self, job_id: str) -> Job | None:
        """The job of that id, or None."""
        found = self._rows(select(jobs, _FAILED).where(jobs.c.id == job_id))
        return _job(found[0]) if found else None

    def beginning(self, start: str) -> Job | None:
        """The only job whose id begins so; else None."""
        begins = jobs.c.id.startswith(start.lower(), autoescape=True)
        found = [_job(row) for row in self._rows(select(jobs, _FAILED).where(begins).limit(2))]
        return found[0] if len(found) == 1 else None

    def newest(self, limit: int = 20, state: JobState | None = None) -> list[Job]:
        """The newest jobs, newest first."""
        statement = select(jobs, _FAILED).order_by(jobs.c.started_at.desc(), jobs.c.id).limit(limit)
        if state is not None:
            statement = statement.where(jobs.c.state == state)
        return [_job(row) for row in self._rows(statement)]

    def items(
        self, job_id: str, status: ItemStatus | None = None, limit: int = 100, offset: int = 0
    ) -> list[JobItem]:
        """How the sources of a job fared, in their order."""
        statement = (
            select(*(column for column in job_items.c if column.name not in ("job_id", "ordinal")))
            .where(job_items.c.job_id == job_id)
            .order_by(job_items.c.ordinal)
            .limit(limit)
            .offset(offset)
        )
        if status is not None:
            statement = statement.where(job_items.c.status == status)
        return made_of(JobItem, self._rows(statement))

    def counts(self, job_id: str) -> dict[str, int]:
        """How many sources of a job ended in each status."""
        status = job_items.c.status
        statement = select(status, func.count()).where(job_items.c.job_id == job_id)
        return dict(self._rows(statement.group_by(status)))


def _forget_removed(connection: Connection) -> None:
    """Take the names of removed sources out of the newest runs that have ended."""
    ended = select(jobs.c.id).where(jobs.c.state != "running").order_by(jobs.c.started_at.desc())
    lines = (
        job_items.c.job_id.in_(list(connection.execute(ended.limit(LOOKED)).scalars())),
        job_items.c.status == "removed",
        job_items.c.uri != REMOVED,
    )
    named = update(job_items).where(*lines).values(uri=REMOVED, reason="")
    if connection.execute(named).rowcount:
        note_deletion(connection)


def _job(row: Any) -> Job:
    return Job(**{**row._mapping, "inputs": tuple(row.inputs)})


KEPT_CALLS = timedelta(days=400)  # older calls are forgotten
SWEEP = 100  # calls between two looks for such


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


class Calls(CataloguePart):
    """Calls that were made."""

    def record(self, call: Call) -> None:
        """Write a call down that has ended."""
        with self._database.write() as connection:
            self._insert(connection, call)

    def reserve(self, expected: Call, limits: Sequence[Limit]) -> int | Limit:
        """Set aside what a call may cost: a number for ``settle``, or the limit it would pass.

        A limit that is used up lets nothing pass, also what costs nothing.
        """
        with self._database.write() as connection:
            for limit in limits:
                spent = connection.execute(_spent(limit.since)).scalar() or 0.0
                left = limit.dollars - spent
                if left <= 0 or expected.cost > left:
                    return limit
            return self._insert(connection, replace(expected, error=RUNNING))

    def settle(self, number: int, call: Call) -> None:
        """Put what a call did cost in the place of what was set aside for it."""
        statement = update(provider_calls).where(provider_calls.c.id == number)
        self._run(statement.values(**asdict(call)))

    def spent(self, since: datetime) -> float:
        """US dollars that answering questions has cost since then; reading material in is not."""
        return float(self._values(_spent(since))[0] or 0.0)

    def newest(self, limit: int) -> list[Call]:
        """The newest calls, newest first."""
        columns = [provider_calls.c[name] for name in Call.__dataclass_fields__]
        statement = select(*columns).order_by(provider_calls.c.id.desc()).limit(limit)
        return made_of(Call, self._rows(statement))

    def forget(self) -> None:
        """Forget all calls, and with them what is spent."""
        self._run(delete(provider_calls))

    def totals(self, since: datetime) -> list[Total]:
        """What was called since then, by day (newest first), cost, purpose and model."""
        at, error = provider_calls.c.at, provider_calls.c.error
        elsewhere = self._database.dialect == "postgresql"  # has a zone per session
        day = func.date(func.timezone("UTC", at) if elsewhere else at).label("day")
        groups = (day, *(provider_calls.c[name] for name in ("purpose", "provider", "model")))
        failed = func.sum(case((error != "", 1), else_=0)).label("failed")
        summed = ("input_tokens", "output_tokens", "cost", "seconds")
        sums = (func.sum(provider_calls.c[name]).label(name) for name in summed)
        statement = select(*groups, func.count().label("calls"), failed, *sums)
        rows = self._rows(statement.where(at >= since).group_by(*groups))
        found = [Total(**{**row._mapping, "day": date.fromisoformat(str(row.day))}) for row in rows]
        return sorted(
            found, key=lambda one: (-one.day.toordinal(), -one.cost, one.purpose, one.model)
        )

    def _insert(self, connection: Connection, call: Call) -> int:
        now = datetime.now(UTC)
        row = asdict(call) | {"at": now}
        made = connection.execute(insert(provider_calls), row).inserted_primary_key
        number = int(made[0]) if made else 0
        if number % SWEEP == 0:
            trim(connection, provider_calls.c.at, now - KEPT_CALLS)
        return number


def _spent(since: datetime) -> Select[Any]:
    asked = (provider_calls.c.at >= since, provider_calls.c.purpose != EMBED_PASSAGE)
    return select(func.sum(provider_calls.c.cost)).where(*asked)
