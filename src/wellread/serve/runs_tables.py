"""Reports about runs: jobs and their sources, what was removed, what was exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.errors import SourceError
from wellread.serve.tables import STATUS_STYLE, named, size_words
from wellread.serve.terminal import harmless

if TYPE_CHECKING:
    from wellread.ingest.backup import BackupReport
    from wellread.ingest.pipeline.run_report import Report
    from wellread.ingest.remove import RemoveReport
    from wellread.store.catalogue.runs.job_records import ItemStatus, Job, JobItem

_STATE_STYLE = {
    "running": "cyan",
    "done": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "yellow",
}
SHORT_ID = 12


def item_status(given: str) -> ItemStatus | None:
    """The status that was typed; None when there was none.

    Raises:
        SourceError: there is no such status.
    """
    from wellread.store.catalogue.runs import job_records as jobs  # noqa: PLC0415 - loads the stores

    if not given:
        return None
    for status in get_args(jobs.ItemStatus):
        if status == given:
            found: ItemStatus = status
            return found
    raise SourceError(given, f"is no status: {', '.join(get_args(jobs.ItemStatus))}")


def job_body(job: Job) -> dict[str, object]:
    """The JSON of a job."""
    return {
        "id": job.id,
        "action": job.action,
        "collection": job.collection,
        "inputs": list(job.inputs),
        "state": job.state,
        "reason": job.reason,
        "started_at": job.started_at.isoformat(),
        "finished_at": job.finished_at.isoformat() if job.finished_at else None,
        "total": job.total,
        "done": job.done,
        "passages": job.passages,
        "vectors": job.vectors,
    }


def item_body(item: JobItem) -> dict[str, object]:
    """The JSON of a source in a job."""
    return {
        "uri": item.uri,
        "status": item.status,
        "reason": item.reason,
        "seconds": item.seconds,
        "documents": item.documents,
        "passages": item.passages,
    }


def print_jobs(console: Console, found: Sequence[Job]) -> None:
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
            f"{job.started_at.astimezone():%Y-%m-%d %H:%M}",
            f"{job.done:,}/{job.total:,}",
            f"{job.vectors:,}/{job.passages:,}",
        )
    console.print(table)


def print_job(
    console: Console, job: Job, counts: Mapping[str, int], items: Sequence[JobItem]
) -> None:
    """One job with a line per source."""
    style = _STATE_STYLE.get(job.state, "")
    console.print(
        Text.assemble(f"{job.action} into “{harmless(job.collection)}”: ", (job.state, style))
    )
    if job.reason:
        console.print(Text(harmless(job.reason), style=style), soft_wrap=True)
    told = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    console.print(
        f"{job.done:,} of {job.total:,} sources ({told or 'none'}); {job.passages:,} passages "
        f"found by words, {job.vectors:,} by meaning as well"
    )
    for item in items:
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


def remove_body(report: RemoveReport) -> dict[str, object]:
    """The JSON of ``remove``."""
    return {
        "sources": list(report.sources),
        "documents": report.documents,
        "counts": dict(report.counts),
        "answers": report.answers,
        "looked_for": report.looked_for,
        "shared": report.shared,
        "purged": report.purged,
        "traces": [str(trace) for trace in report.traces],
    }


def print_remove(console: Console, report: RemoveReport) -> None:
    """What went, and whether anything of it was found afterwards."""
    console.print(f"Removed {len(report.sources):,} sources and {report.documents:,} documents.")
    if report.traces:
        console.print(Text(f"{len(report.traces):,} traces are left:", style="bold red"))
        for trace in report.traces:
            console.print(Text(harmless(str(trace))), soft_wrap=True)
    elif report.looked_for:
        told = f"Looked for {report.looked_for:,} of their sentences everywhere: no trace is left."
        console.print(Text(told, style="green"))
    else:
        console.print("They held no sentence of their own that could be looked for.")
    if report.answers:
        console.print(f"{report.answers:,} stored answers are stale now and lost what they quoted.")
    if report.purged is False:
        again = "their bytes leave the disk with the next remove or verify --repair"
        console.print(Text(f"A reader was busy: {again}.", style="yellow"))


def backup_body(report: BackupReport) -> dict[str, object]:
    """The JSON of ``export``."""
    return {
        "file": str(report.path),
        "bytes": report.size,
        "files": report.files,
        "documents": report.documents,
        "passages": report.passages,
    }


def print_backup(console: Console, report: BackupReport) -> None:
    """What the archive holds."""
    console.print(
        f"{report.documents:,} documents with {report.passages:,} passages in {report.path} "
        f"({size_words(report.size)})",
        soft_wrap=True,
    )
