"""Runs of deep research as they are kept: what each did, told and read, and its report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.store.catalogue.asking.answer_removal import titles_of
from wellread.store.catalogue.asking.answer_rows import (
    kept_answers,
    shown,
)
from wellread.store.rights import READ
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    research_events,
    research_reads,
    research_runs,
    research_steps,
)
from wellread.values.reports import (
    NumberedEvent,
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
    RunState,
)

Plain = Any  # what JSON holds
KEPT = 200  # runs
_PLAN, _PROGRESS, _REPORT = "plan", "progress", "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRun:
    """A run as it stands."""

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
    cancel: bool


class ResearchRuns(CataloguePart):
    """Every run that is kept, the newest 200 of each owner."""

    def begin(
        self,
        run_id: str,
        request: ResearchRequest,
        plan: ResearchPlan | None,
        read: Iterable[str] = (),
    ) -> None:
        """Keep a run that is planned; the oldest that have ended make room."""
        row = {
            "id": run_id,
            "created_at": datetime.now(UTC),
            "owner": request.question.owner,
            "state": "planned",
            "request": to_plain(request),
            "plan": to_plain(plan) if plan else None,
            "answer_id": "",
            "reason": "",
            "seconds": 0.0,
            "host": "",
            "pid": 0,
            "cancel": False,
        }
        runs = research_runs.c
        theirs = runs.owner == request.question.owner
        newest = select(runs.id).where(theirs).order_by(runs.created_at.desc(), runs.id)
        with self._database.write() as connection:
            old = list(connection.execute(newest.offset(KEPT - 1)).scalars())
            for ids in chunks(old):
                ended = (runs.id.in_(ids), runs.state != "running")
                connection.execute(delete(research_runs).where(*ended))
            connection.execute(insert(research_runs), row)
            names = {"run_id": run_id, "key": READ, "result": sorted(set(read))}
            connection.execute(insert(research_steps), names)

    def queue(self, run_id: str, host: str, pid: int) -> None:
        """A process works on the run as soon as it is its turn."""
        runs = research_runs.c
        mine = (runs.id == run_id, runs.state.not_in(("done", "cancelled")))
        values = {"state": "planned", "host": host, "pid": pid, "reason": ""}
        self._run(update(research_runs).where(*mine).values(**values))

    def work(self, run_id: str, host: str, pid: int) -> None:
        """A process works on the run from now on."""
        self._set(run_id, state="running", host=host, pid=pid, reason="")

    def planned(self, run_id: str, plan: ResearchPlan) -> None:
        """Keep what the run looks for."""
        self._set(run_id, plan=to_plain(plan))

    def fail(self, run_id: str, reason: str, state: RunState = "failed") -> None:
        """The run has ended without a report."""
        self._set(run_id, state=state, reason=reason, finished_at=datetime.now(UTC))

    def cancel(self, run_id: str) -> bool:
        """Ask a run to stop; whether there is one that has not ended."""
        runs = research_runs.c
        mine = (runs.id == run_id, runs.state.in_(("planned", "running")))
        with self._database.write() as connection:
            done = connection.execute(update(research_runs).where(*mine).values(cancel=True))
            return done.rowcount > 0

    def cancelled(self, run_id: str) -> bool:
        """Whether the run was asked to stop, or is not there any more."""
        found = self._values(select(research_runs.c.cancel).where(research_runs.c.id == run_id))
        return bool(found[0]) if found else True

    def get(self, run_id: str, owner: str = "") -> ResearchRun | None:
        """The run of that id and owner."""
        runs = research_runs.c
        columns = [column for column in runs if column.name != "report"]
        rows = self._rows(select(*columns).where(runs.id == run_id, runs.owner == owner))
        return _run(rows[0]) if rows else None

    def newest(self, owner: str | None = "", limit: int = 50) -> list[ResearchRun]:
        """The newest runs of an owner (None: of everybody), newest first."""
        runs = research_runs.c
        columns = [column for column in runs if column.name != "report"]
        order = (runs.created_at.desc(), runs.id)
        statement = select(*columns).order_by(*order).limit(limit)
        if owner is not None:
            statement = statement.where(runs.owner == owner)
        rows = self._rows(statement)
        return [_run(row) for row in rows]

    def report(self, run_id: str) -> Report | None:
        """The report with its answer as it is kept now; None while there is none."""
        runs = research_runs.c
        with self._database.read() as connection:
            row = connection.execute(
                select(runs.report, runs.answer_id).where(runs.id == run_id)
            ).first()
            if row is None or not row.report:
                return None
            kept = kept_answers(connection, [row.answer_id]).get(row.answer_id)
            titles = titles_of(connection, [one["id"] for one in row.report["documents"]])
        if kept is None:
            return None
        read = [{**one, "title": titles.get(one["id"], REMOVED)} for one in row.report["documents"]]
        return from_plain(Report, {**row.report, "documents": read, "answer": shown(kept)})

    def remove(self, run_id: str) -> None:
        """Forget a run; its report's answer stays with the others."""
        self._run(delete(research_runs).where(research_runs.c.id == run_id))

    # --- steps ---

    def steps(self, run_id: str) -> dict[str, Plain]:
        """What was done so far: key to result."""
        mine = (research_steps.c.run_id == run_id, research_steps.c.key != READ)
        rows = self._rows(select(research_steps.c.key, research_steps.c.result).where(*mine))
        return {row.key: row.result for row in rows}

    def done(
        self, run_id: str, key: str, result: Plain, *, seconds: float, read: Iterable[str] = ()
    ) -> None:
        """Keep what a step gave, how long the run has worked, and which documents it read."""
        mine = research_runs.c.id == run_id
        with self._database.write() as connection:
            connection.execute(update(research_runs).where(mine).values(seconds=seconds))
            step = {"run_id": run_id, "key": key, "result": result}
            connection.execute(insert(research_steps), step)
            _note_reads(connection, run_id, read)

    # --- events ---

    def tell(self, run_id: str, event: NumberedEvent) -> None:
        """Keep an event, unless one of that number is kept already."""
        numbered = (
            research_events.c.run_id == run_id,
            research_events.c.number == event.number,
        )
        kind, body = _event_row(event.event)
        row = {"run_id": run_id, "number": event.number, "kind": kind, "body": body}
        with self._database.write() as connection:
            known = connection.execute(select(research_events.c.number).where(*numbered)).first()
            if known is None:
                connection.execute(insert(research_events), row)

    def events(self, run_id: str, after: int = 0) -> list[NumberedEvent]:
        """The events with a higher number than ``after``, in order."""
        events = research_events.c
        which = (events.run_id == run_id, events.number > after)
        statement = select(events.number, events.kind, events.body).where(*which)
        found = []
        for row in self._rows(statement.order_by(events.number)):
            event = self._event(run_id, row.kind, row.body)
            if event is not None:
                found.append(NumberedEvent(number=row.number, event=event))
        return found

    def _event(self, run_id: str, kind: str, body: Plain) -> ResearchEvent | None:
        if kind == _PLAN:
            return PlanEvent(plan=from_plain(ResearchPlan, body))
        if kind == _PROGRESS:
            return from_plain(ProgressEvent, body)
        report = self.report(run_id)
        return ReportEvent(report=report) if report else None

    def _set(self, run_id: str, **values: Any) -> None:
        self._run(update(research_runs).where(research_runs.c.id == run_id).values(**values))


def finish_run(connection: Connection, run_id: str, report: Report) -> None:
    """Keep the report of a run; its steps are not needed any more."""
    values = {
        "state": "cancelled" if report.stopped == "cancelled" else "done",
        "report": kept_report(to_plain(report)),
        "answer_id": report.answer.id,
        "finished_at": datetime.now(UTC),
        "seconds": report.seconds,
    }
    mine = research_runs.c.id == run_id
    connection.execute(update(research_runs).where(mine).values(**values))
    connection.execute(delete(research_steps).where(research_steps.c.run_id == run_id))


def forget_research(connection: Connection, document_ids: Iterable[str]) -> None:
    """Forget the runs that read one of these documents: their facets may be named after it."""
    reads = research_reads.c
    for ids in chunks(sorted(document_ids)):
        those = select(reads.run_id).where(reads.document_id.in_(ids))
        found: Sequence[str] = list(connection.execute(those.distinct()).scalars())
        for some in chunks(found):
            connection.execute(delete(research_runs).where(research_runs.c.id.in_(some)))


def _note_reads(connection: Connection, run_id: str, document_ids: Iterable[str]) -> None:
    reads = research_reads.c
    wanted = set(document_ids)
    known = connection.execute(select(reads.document_id).where(reads.run_id == run_id)).scalars()
    rows = [{"run_id": run_id, "document_id": one} for one in sorted(wanted.difference(known))]
    if rows:
        connection.execute(insert(research_reads), rows)


def _run(row: Any) -> ResearchRun:
    values = dict(row._mapping)
    plan = values.pop("plan")
    return ResearchRun(
        **{**values, "request": from_plain(ResearchRequest, values["request"])},
        plan=from_plain(ResearchPlan, plan) if plan else None,
    )


def kept_report(report: Plain) -> Plain:
    """A plain report without its answer and without titles."""
    body = {name: item for name, item in report.items() if name != "answer"}
    return body | {"documents": [{**one, "title": ""} for one in body["documents"]]}


def _event_row(event: ResearchEvent) -> tuple[str, Plain]:
    if isinstance(event, PlanEvent):
        return _PLAN, to_plain(event.plan)
    if isinstance(event, ProgressEvent):
        return _PROGRESS, to_plain(event)
    return _REPORT, {}
