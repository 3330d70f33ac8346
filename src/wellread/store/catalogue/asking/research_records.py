"""Stores deep research runs: their state, steps, events, documents read, and reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.asking.answer_removal import titles_of
from wellread.store.catalogue.asking.answer_rows import plain_answers
from wellread.store.rights import READ
from wellread.store.schema.database import CataloguePart, chunks, insert_rows
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    research_events,
    research_reads,
    research_runs,
    research_steps,
)
from wellread.values.reports import ProgressEvent, Report, ResearchPlan, ResearchRequest, RunState

Plain = Any  # a JSON value
MAX_RUNS = 200  # runs of one owner that are stored
_PROGRESS = "progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRun:
    """The stored state of a run."""

    id: str
    created_at: datetime
    finished_at: datetime | None
    owner: str
    state: RunState
    request: ResearchRequest
    plan: ResearchPlan | None
    answer_id: str
    reason: str
    seconds: float
    host: str
    pid: int


_RUNS = select(*(research_runs.c[name] for name in ResearchRun.__dataclass_fields__))


class ResearchRuns(CataloguePart):
    """The stored research runs, the newest 200 of each owner."""

    def begin(
        self,
        run_id: str,
        request: ResearchRequest,
        plan: ResearchPlan | None,
        read: Iterable[str] = (),
    ) -> None:
        """Store a planned run; delete the owner's oldest finished runs beyond the limit."""
        row = dict.fromkeys(("answer_id", "reason", "host"), "") | {
            "id": run_id,
            "created_at": datetime.now(UTC),
            "owner": request.question.owner,
            "state": "planned",
            "request": to_plain(request),
            "plan": to_plain(plan) if plan else None,
            "seconds": 0.0,
            "pid": 0,
            "cancel": False,
        }
        runs = research_runs.c
        is_owner = runs.owner == request.question.owner
        newest = select(runs.id).where(is_owner).order_by(runs.created_at.desc(), runs.id)
        with self._database.write() as connection:
            old = list(connection.execute(newest.offset(MAX_RUNS - 1)).scalars())
            for ids in chunks(old):
                ended = (runs.id.in_(ids), runs.state != "running")
                connection.execute(delete(research_runs).where(*ended))
            connection.execute(insert(research_runs), row)
            names = {"run_id": run_id, "key": READ, "result": sorted(set(read))}
            connection.execute(insert(research_steps), names)

    def work(self, run_id: str, host: str, pid: int) -> None:
        """Record that a process has started to work on the run."""
        self._set(run_id, state="running", host=host, pid=pid, reason="")

    def planned(self, run_id: str, plan: ResearchPlan) -> None:
        """Store the plan of the run."""
        self._set(run_id, plan=to_plain(plan))

    def fail(self, run_id: str, reason: str, state: RunState = "failed") -> None:
        """Record that the run has ended without a report."""
        self._set(run_id, state=state, reason=reason, finished_at=datetime.now(UTC))

    def exists(self, run_id: str) -> bool:
        """Whether the run is stored; a run is removed with any document that it read."""
        return bool(self._values(select(research_runs.c.id).where(research_runs.c.id == run_id)))

    def get(self, run_id: str, owner: str = "") -> ResearchRun | None:
        """The run with this id and owner, or None."""
        runs = research_runs.c
        rows = self._rows(_RUNS.where(runs.id == run_id, runs.owner == owner))
        return _run_of(rows[0]) if rows else None

    def newest(self, owner: str | None = "", limit: int = 50) -> list[ResearchRun]:
        """The newest runs of an owner (None: of all owners), newest first."""
        runs = research_runs.c
        statement = _RUNS if owner is None else _RUNS.where(runs.owner == owner)
        newest = statement.order_by(runs.created_at.desc(), runs.id).limit(limit)
        return [_run_of(row) for row in self._rows(newest)]

    def report(self, run_id: str) -> Report | None:
        """The report with its answer as currently stored; None while there is no report."""
        runs = research_runs.c
        with self._database.read() as connection:
            row = connection.execute(
                select(runs.report, runs.answer_id).where(runs.id == run_id)
            ).first()
            if row is None or not row.report:
                return None
            answer = plain_answers(connection, [row.answer_id]).get(row.answer_id)
            titles = titles_of(connection, [document["id"] for document in row.report["documents"]])
        if answer is None:
            return None
        read = [{**doc, "title": titles.get(doc["id"], REMOVED)} for doc in row.report["documents"]]
        return from_plain(Report, {**row.report, "documents": read, "answer": answer})

    def remove(self, run_id: str) -> None:
        """Delete a run; the answer of its report stays."""
        self._run(delete(research_runs).where(research_runs.c.id == run_id))

    # --- steps ---

    def steps(self, run_id: str) -> dict[str, Plain]:
        """The results of the completed steps, by key."""
        is_step = (research_steps.c.run_id == run_id, research_steps.c.key != READ)
        rows = self._rows(select(research_steps.c.key, research_steps.c.result).where(*is_step))
        return {row.key: row.result for row in rows}

    def done(self, run_id: str, key: str, result: Plain, *, seconds: float) -> None:
        """Store a step's result and the run's working time."""
        is_run = research_runs.c.id == run_id
        with self._database.write() as connection:
            connection.execute(update(research_runs).where(is_run).values(seconds=seconds))
            step = {"run_id": run_id, "key": key, "result": result}
            connection.execute(insert(research_steps), step)

    def note_read(self, run_id: str, document_ids: Iterable[str]) -> None:
        """Record the documents that the run read; it is removed with any of them."""
        reads = research_reads.c
        of_run = select(reads.document_id).where(reads.run_id == run_id)
        with self._database.write() as connection:
            new = sorted(set(document_ids).difference(connection.execute(of_run).scalars()))
            rows = ({"run_id": run_id, "document_id": name} for name in new)
            insert_rows(connection, research_reads, rows)

    # --- progress ---

    def store_event(self, run_id: str, number: int, event: ProgressEvent) -> None:
        """Store an event, unless an event with its number is already stored."""
        row = {"run_id": run_id, "number": number, "kind": _PROGRESS, "body": to_plain(event)}
        numbers = select(research_events.c.number).where(research_events.c.run_id == run_id)
        with self._database.write() as connection:
            is_stored = numbers.where(research_events.c.number == number)
            if connection.execute(is_stored).first() is None:
                connection.execute(insert(research_events), row)

    def progress(self, run_id: str) -> list[ProgressEvent]:
        """What the run has searched, found and written, in order."""
        events = research_events.c
        of_run = (events.run_id == run_id, events.kind == _PROGRESS)
        rows = self._values(select(events.body).where(*of_run).order_by(events.number))
        return [from_plain(ProgressEvent, body) for body in rows]

    def _set(self, run_id: str, **values: Any) -> None:
        self._run(update(research_runs).where(research_runs.c.id == run_id).values(**values))


def finish_run(connection: Connection, run_id: str, report: Report) -> None:
    """Store the report of a run and delete its steps."""
    values = {
        "state": "done",
        "report": stored_report(to_plain(report)),
        "answer_id": report.answer.id,
        "finished_at": datetime.now(UTC),
        "seconds": report.seconds,
    }
    connection.execute(update(research_runs).where(research_runs.c.id == run_id).values(**values))
    connection.execute(delete(research_steps).where(research_steps.c.run_id == run_id))


def delete_runs_reading(connection: Connection, document_ids: Iterable[str]) -> None:
    """Delete the runs that read one of these documents, whose words their plans may contain."""
    reads = research_reads.c
    for ids in chunks(sorted(document_ids)):
        statement = select(reads.run_id).where(reads.document_id.in_(ids))
        connection.execute(delete(research_runs).where(research_runs.c.id.in_(statement)))


def _run_of(row: Any) -> ResearchRun:
    request = from_plain(ResearchRequest, row.request)
    plan = from_plain(ResearchPlan, row.plan) if row.plan else None
    return ResearchRun(**{**row._mapping, "request": request, "plan": plan})


def stored_report(report: Plain) -> Plain:
    """The stored form of a plain report: without its answer and without titles."""
    body = {name: item for name, item in report.items() if name != "answer"}
    return body | {"documents": [{**document, "title": ""} for document in body["documents"]]}
