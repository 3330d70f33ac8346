"""Runs and how their sources fared: the JSON and the lines on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, get_args

from pydantic import BeforeValidator
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.errors import SourceError
from wellread.ingest.pipeline.job_log import Report
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import PlainBody
from wellread.serve.features.home_reports import STATUS_STYLE, named
from wellread.serve.terminal import SHORT_ID, harmless
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem

Moment = Annotated[
    str, BeforeValidator(lambda given: given.isoformat() if isinstance(given, datetime) else given)
]

_STATE_STYLE = {
    "running": "cyan",
    "done": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "yellow",
}


class JobBody(PlainBody):
    """One run. ``passages`` are found by words, ``vectors`` of them by meaning as well."""

    id: str
    action: str
    collection: str
    inputs: list[str]
    state: str
    reason: str
    started_at: Moment
    finished_at: Moment | None
    total: int
    done: int
    passages: int
    vectors: int


class JobsBody(PlainBody):
    """The newest runs, and passages of any run that still wait for their vector."""

    jobs: list[JobBody]
    waiting: int


class JobSourceBody(PlainBody):
    """How one source fared; ``seconds`` it took to parse."""

    uri: str
    status: str
    reason: str
    seconds: float
    documents: int
    passages: int


class JobDetailBody(JobBody):
    """One run with its sources."""

    counts: dict[str, int]
    sources: list[JobSourceBody]


def job_named(kb: KnowledgeBase, given: str) -> Job | None:
    """The one job whose id begins so, with ``job_`` or, as lists show it, without."""
    return kb.catalogue.jobs.get(given) or kb.catalogue.jobs.get(f"job_{given}")


def job_detail_body(job: Job, counts: Mapping[str, int], items: Sequence[JobItem]) -> JobDetailBody:
    """One run with its sources."""
    return JobDetailBody.of(job, counts=counts, sources=items)


def item_status(given: str) -> ItemStatus | None:
    """The status that was typed; None when there was none.

    Raises:
        SourceError: there is no such status.
    """
    if not given:
        return None
    for status in get_args(ItemStatus):
        if status == given:
            found: ItemStatus = status
            return found
    raise SourceError(given, f"is no status: {', '.join(get_args(ItemStatus))}")


def print_jobs(console: Console, found: Sequence[JobBody]) -> None:
    """A line per job."""
    if not found:
        console.print("Nothing was run yet. Add something: wellread add PATH")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "what", "collection", "state", "started"):
        table.add_column(heading)
    table.add_column("sources", justify="right")
    table.add_column("passages", justify="right")
    for job in found:
        table.add_row(
            job.id.removeprefix("job_")[:SHORT_ID],
            job.action,
            Text(harmless(job.collection)),
            Text(job.state, style=_STATE_STYLE.get(job.state, "")),
            f"{datetime.fromisoformat(job.started_at).astimezone():%Y-%m-%d %H:%M}",
            f"{job.done:,}/{job.total:,}",
            f"{job.vectors:,}/{job.passages:,}",
        )
    console.print(table)


def print_job(console: Console, job: JobDetailBody) -> None:
    """One job with a line per source."""
    style = _STATE_STYLE.get(job.state, "")
    console.print(
        Text.assemble(f"{job.action} into “{harmless(job.collection)}”: ", (job.state, style))
    )
    if job.reason:
        console.print(Text(harmless(job.reason), style=style), soft_wrap=True)
    told = ", ".join(f"{count:,} {status}" for status, count in job.counts.items())
    console.print(
        f"{job.done:,} of {job.total:,} sources ({told or 'none'}); {job.passages:,} passages "
        f"found by words, {job.vectors:,} by meaning as well"
    )
    for item in job.sources:
        line = Text.assemble(
            (f"{item.status:<9} ", STATUS_STYLE.get(item.status, "")),
            f"{item.seconds:6.2f} s  {item.passages:>5,}  ",
            harmless(named(item.uri)),
            (f"  {harmless(item.reason)}" if item.reason else "", "dim"),
        )
        console.print(line, soft_wrap=True)


def print_watched(console: Console, report: Report) -> None:
    """What a look at the watched places brought: a line per source that is not as it was."""
    changed = [row for row in report.rows if row.status not in ("unchanged", "skipped")]
    for row in changed:
        line = Text.assemble(
            (f"{row.status:<9} ", STATUS_STYLE.get(row.status, "")),
            harmless(named(row.uri)),
            (f"  {harmless(row.reason)}" if row.reason else "", "dim"),
        )
        console.print(line, soft_wrap=True)
