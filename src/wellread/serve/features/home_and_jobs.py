"""The ingest queue; routes for jobs and model usage; the reply that counts a home's contents."""

from __future__ import annotations

import os
import platform
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal

from fastapi import HTTPException, Query, Request

from wellread.identity import EVERYTHING, Everything, random_id
from wellread.ingest.backup import BackupReport
from wellread.ingest.integrity.damage import Problem as Damage
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.pipeline.commit import sync_index
from wellread.ingest.pipeline.job_log import Report, end_dead_jobs
from wellread.ingest.remove import RemoveReport
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import files_of
from wellread.kb.language_models import Budget, BudgetStatus, Level
from wellread.kb.seen_by import base_of, sees_all
from wellread.learning import asking_again
from wellread.models.recording import is_listed, split_identity, tariff_of
from wellread.serve.error_shapes import Problem, problem_to_tell
from wellread.serve.features.feature import FeatureRouter, Limit, Offset
from wellread.serve.features.people import check_may_edit
from wellread.serve.guards.route_rules import Kb, kb_to_change, kept_in_state
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem, JobState, Total
from wellread.store.recovery.copies import CatalogueCopy
from wellread.store.schema.stored_values import KindCount
from wellread.values.calls import EMBED_PASSAGE

router = FeatureRouter("edit")
edits, admin = router.requiring("edit", "admin")
MAX_DAYS = 400  # older model calls are deleted
FACES.show(JobItem)
FACES.show(Job, "* -host -pid -cancel")
FACES.show(KindCount, "name=collection kind documents passages")
FACES.show(Damage)
FACES.show(VerifyReport)
FACES.show(
    RemoveReport, "* traces", traces=(tuple[str, ...], lambda report: list(map(str, report.traces)))
)
FACES.show(BackupReport, "file=path bytes=size files documents passages")
FACES.show(CatalogueCopy, "name made_at bytes=size sound", sound=(bool, lambda copy: copy.sound()))

SAMPLE = "halden-sound"  # the collection of the sample material
SAMPLE_FOLDERS = ("commons", "news", "pages", "papers", "questions", "transcripts")


def sample_inputs() -> list[str]:
    """Return the folders of the sample material that comes with the program."""
    with as_file(files("wellread.sample")) as folder:
        return [str(folder / name) for name in SAMPLE_FOLDERS]


# --- contents of a home ----------------------------------------------------------------------


class HoldingsBody(Shape):
    """The contents of a home.

    Attributes:
        fingerprint: the settings that the index was built with; null before the first document.
        waiting: passages without a vector, found by their words but not yet by meaning.
    """

    home: str
    bytes: int
    documents: int
    passages: int
    waiting: int
    fingerprint: dict[str, object] | None
    collections: tuple[KindCount, ...]


def holdings_body(kb: KnowledgeBase) -> HoldingsBody:
    """Count the contents of ``kb`` that its asker may read.

    The folder and size of the home are only shown to askers who may read everything.
    """
    rows = kb.catalogue.listings.kinds()
    live_index = kb.catalogue.reindexing.live()
    reads_all = sees_all(kb)
    return HoldingsBody(
        home=str(kb.home) if reads_all else "",
        bytes=sum(_file_sizes(kb.home)) + kb.catalogue.size_on_server() if reads_all else 0,
        documents=sum(row.documents for row in rows),
        passages=sum(row.passages for row in rows),
        waiting=kb.catalogue.vectors.passages_pending(),
        fingerprint=asdict(live_index.fingerprint) if live_index else None,
        collections=tuple(rows),
    )


def _file_sizes(home: Path) -> Iterator[int]:
    """Yield the size of each file in bytes; skips files that another process has just removed."""
    for path in files_of(home):
        with suppress(FileNotFoundError):
            yield path.stat().st_size


# --- the ingest queue ------------------------------------------------------------------------

MAX_QUEUED_RUNS = 50
Action = Literal["add", "sync"]


class IngestRuns:
    """The ingest queue of one server. Parsing is done in worker processes, as in every run."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ingest")
        # What a job will be until the catalogue has it, and what failed before that.
        self._queue: deque[Job] = deque(maxlen=MAX_QUEUED_RUNS)
        self._lock = threading.Lock()

    def start(self, action: Action, inputs: Sequence[str], collection: str) -> Job:
        """Add a run to the end of the queue; return the job that it will be."""
        queued = Job(
            id=random_id("job"),
            action=action,
            collection=collection,
            inputs=tuple(inputs),
            state="waiting",
            started_at=datetime.now(UTC),
            host="",
            pid=0,
        )
        with self._lock:
            self._queue.appendleft(queued)
        self._thread.submit(self._run, queued)
        return queued

    def take_up(self) -> None:
        """Finish an earlier process's work: synchronize the index, then retry open questions."""
        self._thread.submit(sync_index, self._kb)
        self._thread.submit(asking_again.after_ingest, self._kb)

    def unfinished(self, kb: KnowledgeBase | None = None) -> list[Job]:
        """The runs that wait, run, or failed before they became a job; newest first.

        Args:
            kb: restricts the list to what its user may read; None: no restriction.
        """
        reads = EVERYTHING if kb is None else kb.asker.reads
        with self._lock:
            queued = [run for run in self._queue if run.state != "done"]
        if isinstance(reads, Everything):
            return queued
        return [run for run in queued if run.collection in reads]

    def waiting_job(self, kb: KnowledgeBase, job_id: str) -> Job | None:
        """The job with this id that waits in the queue, or failed before it began."""
        return next((run for run in self.unfinished(kb) if run.id == job_id), None)

    def busy(self, kb: KnowledgeBase | None = None) -> bool:
        """Whether any run is waiting or running; ``kb`` as for ``unfinished``."""
        return any(run.state in ("waiting", "running") for run in self.unfinished(kb))

    def close(self) -> None:
        """Ask the running job to stop, drop waiting runs, and wait for the job's end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self.busy():
            for job in self._kb.catalogue.jobs.newest(MAX_QUEUED_RUNS, "running"):
                if (job.host, job.pid) == (platform.node(), os.getpid()):
                    self._kb.catalogue.jobs.cancel(job.id)
        self._thread.shutdown(wait=True)

    def _note(self, queued: Job, state: JobState, problem: Problem | None = None) -> None:
        reason = f"{problem.detail} {problem.hint}".strip() if problem else ""
        noted = replace(queued, state=state, reason=reason)
        with self._lock:
            runs = [noted if run.id == queued.id else run for run in self._queue]
            self._queue = deque(runs, MAX_QUEUED_RUNS)

    def _run(self, queued: Job) -> None:
        inputs: list[Input] = list(queued.inputs)
        work = asking_again.sync if queued.action == "sync" else asking_again.add
        self._note(queued, "running")
        try:
            work(self._kb, inputs, collection=queued.collection, job_id=queued.id)
            self._note(queued, "done")
        except Exception as error:  # noqa: BLE001 - the list of jobs tells it
            self._note(queued, "failed", problem_to_tell(error, "adding failed"))


Ingest = Annotated[IngestRuns, kept_in_state("ingest")]


# --- jobs ------------------------------------------------------------------------------------


class JobsBody(Shape):
    """The newest jobs, and the number of passages without a vector."""

    jobs: tuple[Job, ...]
    waiting: int


class JobDetailBody(Shape, line="*job counts sources"):
    """A job with its sources."""

    job: Job
    counts: Mapping[str, int]
    sources: Sequence[JobItem]


class ReportBody(
    Shape,
    line="""collection counts passages=report.passages seconds=report.seconds job=report.job_id
    cancelled=report.cancelled sources=report.rows notes=report.notes""",
    counts=(dict[str, int], lambda body: body.report.counts()),
):
    """The result of ``add`` or ``sync`` with every source."""

    collection: str
    report: Report


def report_body(report: Report, collection: str) -> ReportBody:
    """Return the result of a run of ``add`` or ``sync``."""
    return ReportBody(collection=collection, report=report)


@edits.get("/api/jobs")
def jobs(kb: Kb, limit: Limit = 20) -> JobsBody:
    """List the newest jobs."""
    end_dead_jobs(base_of(kb))
    waiting = kb.catalogue.vectors.passages_pending()
    return JobsBody(jobs=tuple(kb.catalogue.jobs.newest(limit)), waiting=waiting)


@edits.get("/api/jobs/{job_id}")
def job(
    kb: Kb,
    ingest: Ingest,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Offset = 0,
) -> JobDetailBody:
    """Return a job with its sources in the order of processing."""
    end_dead_jobs(base_of(kb))
    record = kb.catalogue.jobs.get(job_id) or ingest.waiting_job(kb, job_id) or _job(kb, job_id)
    items = kb.catalogue.jobs.items(record.id, status, limit, offset)
    return JobDetailBody(job=record, counts=kb.catalogue.jobs.counts(record.id), sources=items)


@edits.post("/api/jobs/{job_id}/cancel")
def cancel_job(kb: Kb, request: Request, job_id: str) -> Job:
    """Ask a running job to stop; what it has written remains. 404 when it is not running."""
    job = _job(kb, job_id)
    check_may_edit(request, job.collection)
    if not kb_to_change(kb, job.collection).catalogue.jobs.cancel(job.id):
        raise HTTPException(404, f"job {job_id} is not running")
    return job


def _job(kb: KnowledgeBase, job_id: str) -> Job:
    job = kb.catalogue.jobs.get(job_id)
    if job is None:
        raise HTTPException(404, f"there is no job {job_id}")
    return job


# --- model usage -----------------------------------------------------------------------------

FACES.show(Budget, "period since limit=dollars spent left")
FACES.show(Total)


class CallsLine(Shape, line="*total price_known"):
    """Calls of one day (UTC), purpose and model. ``cost`` in US dollars, 0 if the price is unknown.

    ``seconds`` is the total duration of the calls.
    """

    total: Total
    price_known: bool


class UsageReport(Shape):
    """Model calls of the last ``days`` days (UTC), newest first.

    ``questions_cost`` counts towards the budget: all costs except those of adding material.
    """

    days: int
    since: datetime
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    questions_cost: float
    budget_level: Level
    budgets: tuple[Budget, ...]
    lines: tuple[CallsLine, ...]


@admin.get("/api/usage")
def usage(kb: Kb, days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 30) -> UsageReport:
    """Return model calls by day, purpose and model, and the state of the budgets.

    ``days`` includes today (UTC).
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    totals = kb.catalogue.calls.totals(since)
    # The total spending would reveal the activity of others.
    budget_status = kb.ledger.standing() if sees_all(kb) else BudgetStatus()
    return UsageReport(
        days=days,
        since=since,
        calls=sum(total.calls for total in totals),
        input_tokens=sum(total.input_tokens for total in totals),
        output_tokens=sum(total.output_tokens for total in totals),
        cost=sum(total.cost for total in totals),
        questions_cost=sum(total.cost for total in totals if total.purpose != EMBED_PASSAGE),
        budget_level=budget_status.level,
        budgets=budget_status.budgets,
        lines=tuple(CallsLine(total=total, price_known=_is_priced(kb, total)) for total in totals),
    )


def _is_priced(kb: KnowledgeBase, total: Total) -> bool:
    """Whether the settings or the price list contain the price of these calls."""
    if total.cost or not (total.input_tokens or total.output_tokens):
        return True
    settings = kb.settings.generation
    for role, name in settings.by_role.items():
        tariff = tariff_of(settings, role)
        priced = tariff.read is not None and tariff.written is not None
        if priced and total.model in (name, split_identity(name)[1]):
            return True  # even when the price is 0
    return is_listed(total.provider, total.model)


def format_size(count: int) -> str:
    """Format a number of bytes with its unit."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
