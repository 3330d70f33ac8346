"""A home and what was done to it: what it holds, runs and their sources, calls of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from fastapi import HTTPException, Query, Request

from wellread.ingest.backup import BackupReport
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.pipeline.job_log import Report, end_dead_jobs
from wellread.ingest.remove import RemoveReport
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import files_of
from wellread.kb.language_models import Budget, Level, Standing
from wellread.kb.seen_by import sees_all, whole_of
from wellread.models.recording import is_listed, named, tariff_of
from wellread.serve.features.feature import FAR, FeatureRouter, Many
from wellread.serve.features.people import check_may_edit
from wellread.serve.guards.route_rules import Kb, to_change
from wellread.serve.views import FACES, PlainShape, show_plain
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem, Total
from wellread.store.recovery.copies import CatalogueCopy
from wellread.store.schema.stored_values import KindCount
from wellread.values.calls import EMBED_PASSAGE

router = FeatureRouter()
MOST_DAYS = 400  # older calls are forgotten
show_plain(JobItem)
show_plain(Job, "* -host -pid -cancel")
show_plain(KindCount, "name=collection kind documents passages")
show_plain(Problem)
show_plain(VerifyReport)
show_plain(
    RemoveReport, "* traces", traces=(tuple[str, ...], lambda report: list(map(str, report.traces)))
)
show_plain(BackupReport, "file=path bytes=size files documents passages")
show_plain(CatalogueCopy, "name made_at bytes=size sound", sound=(bool, lambda copy: copy.sound()))

# --- what a home holds -----------------------------------------------------------------------


class HoldingsBody(PlainShape):
    """What a home holds.

    Attributes:
        fingerprint: what shaped the index, null when nothing was ever added.
        waiting: passages that are found by their words and not by their meaning yet.
    """

    home: str
    bytes: int
    documents: int
    passages: int
    waiting: int
    fingerprint: dict[str, object] | None
    collections: tuple[KindCount, ...]


def holdings_body(kb: KnowledgeBase) -> HoldingsBody:
    """Count what ``kb`` holds, as far as its asker may read it.

    Who may not read everything is not told of the home's folder, nor of what all of it hangs on.
    """
    rows = kb.catalogue.stats()
    live = kb.catalogue.reindexing.live()
    whole = sees_all(kb)
    return HoldingsBody(
        home=str(kb.home) if whole else "",
        bytes=sum(_sizes(kb.home)) + kb.catalogue.size_on_server() if whole else 0,
        documents=sum(row.documents for row in rows),
        passages=sum(row.passages for row in rows),
        waiting=kb.catalogue.vectors.passages_owed(),
        fingerprint=asdict(live.fingerprint) if live else None,
        collections=tuple(rows),
    )


def _sizes(home: Path) -> Iterator[int]:
    """Bytes of each file; one that another process removes meanwhile counts nothing."""
    for path in files_of(home):
        with suppress(FileNotFoundError):
            yield path.stat().st_size


# --- runs ------------------------------------------------------------------------------------


class JobsBody(PlainShape):
    """The newest runs, and passages of any run that still wait for their vector."""

    jobs: tuple[Job, ...]
    waiting: int


class JobDetailBody(PlainShape, line="*job counts sources"):
    """One run with its sources."""

    job: Job
    counts: Mapping[str, int]
    sources: Sequence[JobItem]


class ReportBody(
    PlainShape,
    line="""collection counts passages=report.passages seconds=report.seconds job=report.job_id
    cancelled=report.cancelled sources=report.rows notes=report.notes""",
    counts=(dict[str, int], lambda body: body.report.counts()),
):
    """A run of ``add`` or ``sync`` with every source."""

    collection: str
    report: Report


def report_body(report: Report, collection: str) -> ReportBody:
    """A run as it goes out."""
    return ReportBody(collection=collection, report=report)


@router.get("/api/jobs")
def jobs(kb: Kb, limit: Many = 20) -> JobsBody:
    """The newest runs, newest first."""
    end_dead_jobs(whole_of(kb))
    waiting = kb.catalogue.vectors.passages_owed()
    return JobsBody(jobs=tuple(kb.catalogue.jobs.newest(limit)), waiting=waiting)


@router.get("/api/jobs/{job_id}")
def job(
    kb: Kb,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=FAR)] = 0,
) -> JobDetailBody:
    """One run with its sources, in the order in which they were done."""
    end_dead_jobs(whole_of(kb))
    found = _job(kb, job_id)
    items = kb.catalogue.jobs.items(found.id, status, limit, offset)
    return JobDetailBody(job=found, counts=kb.catalogue.jobs.counts(found.id), sources=items)


@router.post("/api/jobs/{job_id}/cancel")
def cancel_job(kb: Kb, request: Request, job_id: str) -> Job:
    """Ask a running job to stop; what it has written stays. 404 when it is not running."""
    found = _job(kb, job_id)
    check_may_edit(request, found.collection)
    if not to_change(kb, found.collection).catalogue.jobs.cancel(found.id):
        raise HTTPException(404, f"job {job_id} is not running")
    return found


def _job(kb: KnowledgeBase, job_id: str) -> Job:
    found = kb.catalogue.jobs.get(job_id)
    if found is None:
        raise HTTPException(404, f"there is no job {job_id}")
    return found


# --- calls of models -------------------------------------------------------------------------

show_plain(Budget, "period since limit=dollars spent left")
FACES.show(Total)


class CallsLine(PlainShape, line="*total price_known"):
    """Calls of one day (UTC), purpose and model. ``cost`` in US dollars, 0 without a known price.

    ``seconds`` is the sum of what each call took.
    """

    total: Total
    price_known: bool


class UsageReport(PlainShape):
    """Calls since midnight (UTC) some days ago, the newest day first.

    ``questions_cost`` is what counts in the budget: all but reading material in.
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


@router.get("/api/usage")
def usage(kb: Kb, days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30) -> UsageReport:
    """Calls of models by day, purpose and model, and the budgets as they stand.

    ``days`` are today (UTC) and those before it.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    totals = kb.catalogue.calls.totals(since)
    # What all together spent says when others asked.
    standing = kb.ledger.standing() if sees_all(kb) else Standing()
    return UsageReport(
        days=days,
        since=since,
        calls=sum(one.calls for one in totals),
        input_tokens=sum(one.input_tokens for one in totals),
        output_tokens=sum(one.output_tokens for one in totals),
        cost=sum(one.cost for one in totals),
        questions_cost=sum(one.cost for one in totals if one.purpose != EMBED_PASSAGE),
        budget_level=standing.level,
        budgets=standing.budgets,
        lines=tuple(CallsLine(total=one, price_known=_priced(kb, one)) for one in totals),
    )


def _priced(kb: KnowledgeBase, total: Total) -> bool:
    """Whether the price of these calls is known, by the settings or by the list of prices."""
    if total.cost or not (total.input_tokens or total.output_tokens):
        return True
    settings = kb.settings.generation
    for role, name in settings.by_role.items():
        own = tariff_of(settings, role)
        priced = own.read is not None and own.written is not None
        if priced and total.model in (name, named(name)[1]):
            return True  # also when they say 0
    return is_listed(total.provider, total.model)


def size_words(count: int) -> str:
    """A number of bytes with its unit."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
