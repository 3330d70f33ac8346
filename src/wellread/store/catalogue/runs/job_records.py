"""Jobs: what each run was asked to do, how far it is, and how every source fared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from wellread.identity import tagged_hash
from wellread.store.schema.activity_tables import job_items, jobs
from wellread.store.schema.database import Database

JobAction = Literal["add", "sync", "watch", "remove", "reindex", "import"]
JobState = Literal["running", "done", "failed", "cancelled", "interrupted"]
ItemStatus = Literal["added", "updated", "unchanged", "skipped", "failed", "removed"]
ENDED: tuple[JobState, ...] = ("done", "failed", "cancelled", "interrupted")
KEPT = 200  # older jobs are forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run.

    Attributes:
        inputs: what it was given; with action and collection enough to do it again.
        reason: why it failed or was cancelled.
        total, done: sources that were found, and that have been dealt with.
        passages: written so far; ``vectors`` of them are found by meaning as well.
        cancel: it was asked to stop.
    """

    id: str
    action: JobAction
    collection: str
    inputs: tuple[str, ...]
    state: JobState
    reason: str
    started_at: datetime
    finished_at: datetime | None
    host: str
    pid: int
    cancel: bool
    total: int
    done: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobItem:
    """How one source fared in a job; ``seconds`` it took to parse."""

    uri: str
    status: ItemStatus
    reason: str = ""
    seconds: float = 0.0
    documents: int = 0
    passages: int = 0


class Jobs:
    """The log of runs. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(
        self, action: JobAction, collection: str, inputs: Sequence[str], host: str, pid: int
    ) -> Job:
        """A new running job; the oldest ended ones are forgotten."""
        now = datetime.now(UTC)
        known = tagged_hash("job", action, collection, *inputs, now.isoformat(), host, pid)
        row = {
            "id": known,
            "action": action,
            "collection": collection,
            "inputs": list(inputs),
            "state": "running",
            "reason": "",
            "started_at": now,
            "finished_at": None,
            "host": host,
            "pid": pid,
            "cancel": False,
            "total": 0,
            "done": 0,
            "passages": 0,
            "vectors": 0,
        }
        with self._database.write() as connection:
            _forget_old(connection)
            connection.execute(insert(jobs), row)
        return _job(row)

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
        if not items:
            return
        rows = [
            {
                "job_id": job_id,
                "ordinal": first + place,
                "uri": item.uri,
                "status": item.status,
                "reason": item.reason,
                "seconds": item.seconds,
                "documents": item.documents,
                "passages": item.passages,
            }
            for place, item in enumerate(items)
        ]
        with self._database.write() as connection:
            connection.execute(insert(job_items), rows)

    def finish(self, job_id: str, state: JobState, reason: str = "") -> None:
        """The job has ended."""
        values = {"state": state, "reason": reason, "finished_at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))

    def cancel(self, job_id: str) -> bool:
        """Ask a running job to stop; whether there was one."""
        running = (jobs.c.id == job_id) & (jobs.c.state == "running")
        with self._database.write() as connection:
            return connection.execute(update(jobs).where(running).values(cancel=True)).rowcount > 0

    def get(self, job_id: str) -> Job | None:
        """The job of that id, or the only one whose id begins so; else None."""
        statement = select(jobs).where(jobs.c.id.startswith(job_id, autoescape=True)).limit(2)
        with self._database.read() as connection:
            found = [_job(row._mapping) for row in connection.execute(statement)]
        return found[0] if len(found) == 1 else None

    def newest(self, limit: int = 20, state: JobState | None = None) -> list[Job]:
        """The newest jobs, newest first."""
        statement = select(jobs).order_by(jobs.c.started_at.desc(), jobs.c.id).limit(limit)
        if state is not None:
            statement = statement.where(jobs.c.state == state)
        with self._database.read() as connection:
            return [_job(row._mapping) for row in connection.execute(statement)]

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
        with self._database.read() as connection:
            return [JobItem(**row._mapping) for row in connection.execute(statement)]

    def counts(self, job_id: str) -> dict[str, int]:
        """How many sources of a job ended in each status."""
        statement = (
            select(job_items.c.status, func.count().label("number"))
            .where(job_items.c.job_id == job_id)
            .group_by(job_items.c.status)
        )
        with self._database.read() as connection:
            return {row.status: row.number for row in connection.execute(statement)}


def _forget_old(connection: Connection) -> None:
    newest = select(jobs.c.id).order_by(jobs.c.started_at.desc(), jobs.c.id).offset(KEPT - 1)
    old = [{"known": known} for known in connection.execute(newest).scalars()]
    if old:
        ended = jobs.c.state != "running"
        connection.execute(delete(jobs).where(jobs.c.id == bindparam("known"), ended), old)


def _job(row: Any) -> Job:
    return Job(**{**row, "inputs": tuple(row["inputs"])})
