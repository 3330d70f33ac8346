"""A home and what was done to it: what it holds, runs and their sources, calls of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, cast, get_args
from urllib.parse import unquote

from fastapi import HTTPException, Query, Request
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wellread.errors import SourceError
from wellread.ingest.backup import BackupReport
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.pipeline.job_log import Report, end_dead_jobs
from wellread.ingest.remove import RemoveReport
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import files_of
from wellread.kb.language_models import Budget, Level, Standing, dollars
from wellread.kb.seen_by import sees_all, whole_of
from wellread.models.recording import SET_PRICES, is_listed, named, tariff_of
from wellread.serve.features.feature import FAR, FeatureRouter, Many
from wellread.serve.features.people import check_may_edit
from wellread.serve.guards.route_rules import Kb, to_change
from wellread.serve.terminal import SHORT_ID, right, table, whole
from wellread.serve.views import FACES, PlainShape, show_plain
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem, Total
from wellread.store.recovery.copies import CatalogueCopy
from wellread.store.schema.stored_values import KindCount
from wellread.text.words import harmless, harmless_line
from wellread.values.calls import EMBED_PASSAGE

router = FeatureRouter()
MOST_REASONS = 20
MOST_DAYS = 400  # older calls are forgotten
STATUS_STYLE = {
    "added": "green",
    "updated": "cyan",
    "skipped": "yellow",
    "failed": "bold red",
    "removed": "magenta",
}
_STATE_STYLE = {
    "running": "cyan",
    "done": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "yellow",
}

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


def job_named(kb: KnowledgeBase, given: str) -> Job | None:
    """The one job whose id begins so, with ``job_`` or, as lists show it, without."""
    jobs = kb.catalogue.jobs
    return jobs.beginning(given) or jobs.beginning(f"job_{given}")


def item_status(given: str) -> ItemStatus | None:
    """The status that was typed; None when there was none."""
    if not given:
        return None
    if given not in get_args(ItemStatus):
        raise SourceError(given, f"is no status: {', '.join(get_args(ItemStatus))}")
    return cast(ItemStatus, given)


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
    """Calls of models by day, purpose and model, and the budgets as they stand."""
    return usage_body(kb, days)


def usage_body(kb: KnowledgeBase, days: int) -> UsageReport:
    """The calls of today (UTC) and the days before it, ``days`` altogether, and the budgets."""
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


# --- on a terminal ---------------------------------------------------------------------------


def source_line(row: JobItem, figures: str = "") -> Text:
    """How a source fared as a line: its status, ``figures``, its name, and why."""
    return Text.assemble(
        (f"{row.status:<9} ", STATUS_STYLE.get(row.status, "")),
        figures,
        harmless(named_source(row.uri)),
        (f"  {harmless(row.reason)}" if row.reason else "", "dim"),
    )


def print_report(console: Console, body: ReportBody) -> None:
    """How many sources were added, updated, unchanged, skipped, failed, and why those last two."""
    report = body.report
    for note in report.notes:
        console.print(Text(harmless_line(note), style="yellow"), soft_wrap=True)
    if not report.rows and not report.cancelled:
        console.print(Text("Nothing to add: no file was found there.", style="yellow"))
        return
    rows = (
        (Text(status, style=STATUS_STYLE.get(status, "") if count else "dim"), f"{count:,}")
        for status, count in report.counts().items()
    )
    console.print(table(("", right("")), rows, show_header=False))
    _print_reasons(console, report.rows)
    rate = report.passages / report.seconds if report.seconds else 0.0
    speed = f" ({rate:,.0f}/s)" if report.passages else ""
    line = f"{report.passages:,} passages in {report.seconds:.1f} s{speed} into “{body.collection}”"
    console.print(Text(harmless(line), style="dim"))
    if report.cancelled:
        again = f"wellread jobs {report.job_id} --resume"
        console.print(Text(f"Stopped before it was done; go on with: {again}", style="yellow"))


def _print_reasons(console: Console, rows: Sequence[JobItem]) -> None:
    """One line per failed source; skipped ones, notes and long lists are grouped by reason."""
    failed = [row for row in rows if row.status == "failed"]
    lines = [(f"failed   {named_source(row.uri)}: ", row.reason) for row in failed[:MOST_REASONS]]
    if len(failed) > MOST_REASONS:
        counts = Counter(row.reason for row in failed[MOST_REASONS:])
        lines += [(f"failed   {count:,} more: ", reason) for reason, count in counts.most_common()]
    others = [row for row in rows if row.status != "failed" and row.reason]
    lines += _grouped("skipped  ", [row for row in others if row.status == "skipped"])
    lines += _grouped("removed  ", [row for row in others if row.status == "removed"])
    lines += _grouped("note     ", [row for row in others if row.status in ("added", "updated")])
    for head, reason in lines[:MOST_REASONS]:
        style = "red" if head.startswith("failed") else "yellow"
        line = Text.assemble((harmless(head), style), harmless(reason))
        console.print(line, soft_wrap=True)
    if len(lines) > MOST_REASONS:
        console.print(
            f"… and {len(lines) - MOST_REASONS:,} more reasons; --json lists every source"
        )


def _grouped(head: str, rows: Sequence[JobItem]) -> list[tuple[str, str]]:
    """A line for each reason, with an example."""
    examples = {row.reason: row.uri for row in reversed(rows)}
    lines = []
    for reason, count in Counter(row.reason for row in rows).most_common():
        example = named_source(examples[reason])
        which = example if count == 1 else f"{count:,} files, for example {example}"
        lines.append((f"{head}{which}: ", reason))
    return lines


def print_holdings(console: Console, holdings: HoldingsBody) -> None:
    """Documents and passages per collection and kind, the index and the size on disk."""
    if holdings.collections:
        rows: list[tuple[str, ...]] = [
            (row.collection, row.kind, f"{row.documents:,}", f"{row.passages:,}")
            for row in holdings.collections
        ]
        rows.append(("all", "", f"{holdings.documents:,}", f"{holdings.passages:,}"))
        columns = ("collection", "kind", right("documents"), right("passages"))
        console.print(table(columns, rows))
    else:
        console.print("The knowledge base is empty. Add something: wellread add PATH")
    console.print(Text(f"\nHome   {holdings.home}, {size_words(holdings.bytes)}"), soft_wrap=True)
    index = holdings.fingerprint
    shape = f"{index['embedder']}, {index['chunking']}" if index else "not built yet"
    console.print(Text(f"Index  {shape}"), soft_wrap=True)
    if holdings.waiting:
        waiting = f"{holdings.waiting:,} passages are found by their words only so far"
        console.print(Text(f"       {waiting}; any add or sync finishes them", style="yellow"))


def print_verify(console: Console, report: VerifyReport) -> None:
    """What each store counts, and what does not match."""
    rows = ((name.replace("_", " "), f"{count:,}") for name, count in report.counts.items())
    console.print(table(("", right("")), rows, show_header=False))
    for problem in report.problems:
        state, style = ("repaired", "green") if problem.repaired else ("problem", "bold red")
        told = harmless(f"{problem.kind}: {problem.subject}: {problem.detail}")
        console.print(Text.assemble((f"{state}  ", style), told), soft_wrap=True)
    for note in report.notes:
        console.print(Text(harmless(f"note  {note}"), style="yellow"), soft_wrap=True)
    left = sum(not problem.repaired for problem in report.problems)
    if left:
        hint = "`wellread verify --repair` mends what can be mended"
        console.print(Text(f"{left:,} problems. {hint}.", style="bold red"))
    else:
        console.print(Text("Everything matches.", style="green"))


def print_watched(console: Console, body: ReportBody) -> None:
    """What a look at the watched places brought: a line per source that is not as it was."""
    for row in body.report.rows:
        if row.status not in ("unchanged", "skipped"):
            console.print(source_line(row), soft_wrap=True)


UNSEEN = (
    "The server's own files, its write-ahead log, replicas and backups were not looked at: what "
    "was removed leaves them as the server recycles them (docs/team.md)."
)


def print_remove(console: Console, report: RemoveReport) -> None:
    """What went, and whether anything of it was found afterwards."""
    console.print(f"Removed {len(report.sources):,} sources and {report.documents:,} documents.")
    if report.traces:
        console.print(Text(f"{len(report.traces):,} traces are left:", style="bold red"))
        for trace in report.traces:
            console.print(Text(harmless(str(trace))), soft_wrap=True)
    elif report.looked_for:
        where = "the catalogue's tables" if report.server else "the catalogue"
        told = (
            f"Looked for {report.looked_for:,} of their sentences in {where}, the index and the "
            "files of the home: no trace is left."
        )
        console.print(Text(told, style="green"), soft_wrap=True)
        if report.server:
            console.print(Text(UNSEEN, style="yellow"), soft_wrap=True)
    else:
        console.print("They held no sentence of their own that could be looked for.")
    if report.answers:
        console.print(f"{report.answers:,} stored answers are stale now and lost what they quoted.")
    if report.purged is False:
        again = "their bytes leave the disk with the next remove or verify --repair"
        console.print(Text(f"A reader was busy: {again}.", style="yellow"))


def print_backup(console: Console, report: BackupReport) -> None:
    """What the archive holds."""
    console.print(
        f"{report.documents:,} documents with {report.passages:,} passages in {report.path} "
        f"({size_words(report.size)})",
        soft_wrap=True,
    )


def print_copies(console: Console, copies: Sequence[CatalogueCopy]) -> None:
    """A line per backup."""
    if not copies:
        console.print("There is no backup yet: runs of add and sync make them.")
        return
    rows = (
        (
            f"{one.made_at:%Y-%m-%d %H:%M}",
            size_words(one.size),
            "" if one.sound() else "damaged",
            one.name,
        )
        for one in copies
    )
    console.print(table(("made (UTC)", right("size"), "", "name"), rows))


def named_source(uri: str) -> str:
    """The address as a person writes it, on one line whatever the name of the file says."""
    return harmless_line(unquote(uri.removeprefix("file://")))


def size_words(count: int) -> str:
    """A number of bytes with its unit."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def print_jobs(console: Console, found: Sequence[Job]) -> None:
    """A line per job."""
    if not found:
        console.print("Nothing was run yet. Add something: wellread add PATH")
        return
    columns = ("job", "what", "collection", "state", "started", right("sources"), right("passages"))
    rows = (
        (
            job.id.removeprefix("job_")[:SHORT_ID],
            job.action,
            job.collection,
            _state(job),
            f"{job.started_at.astimezone():%Y-%m-%d %H:%M}",
            f"{job.done:,}/{job.total:,}",
            f"{job.vectors:,}/{job.passages:,}",
        )
        for job in found
    )
    console.print(table(columns, rows))


def _state(job: Job) -> Text:
    """How a run ended, and how many of its sources could not be read."""
    told = Text(job.state, style=_STATE_STYLE.get(job.state, ""))
    return told.append(f", {job.failed:,} failed", style="red") if job.failed else told


def print_job(console: Console, body: JobDetailBody) -> None:
    """One job with a line per source."""
    job = body.job
    style = _STATE_STYLE.get(job.state, "")
    into = f" into “{harmless(job.collection)}”" if job.collection else ""
    console.print(Text.assemble(f"{job.action}{into}: ", (job.state, style)))
    if job.reason:
        console.print(Text(harmless(job.reason), style=style), soft_wrap=True)
    told = ", ".join(f"{count:,} {status}" for status, count in body.counts.items())
    console.print(
        f"{job.done:,} of {job.total:,} sources ({told or 'none'}); {job.passages:,} passages "
        f"found by words, {job.vectors:,} by meaning as well"
    )
    for item in body.sources:
        line = source_line(item, f"{item.seconds:6.2f} s  {item.passages:>5,}  ")
        console.print(line, soft_wrap=True)


def print_usage(console: Console, report: UsageReport) -> None:
    """The calls as a table, their sum, and each budget."""
    if report.lines:
        console.print(_calls_table(report))
        plural = "s" if report.calls != 1 else ""
        total = (
            f"{report.calls:,} call{plural}, {report.input_tokens:,} tokens read, "
            f"{report.output_tokens:,} written, {dollars(report.cost)}"
        )
        console.print(Text(total, style="bold"))
    else:
        console.print(Text(f"No model was called in {report.days:,} days.", style="dim"))
    if any(not line.price_known for line in report.lines):
        note = (
            f"price unknown: these calls count nothing in the sum and in the budget ({SET_PRICES})"
        )
        console.print(Text(note, style="yellow"))
    for budget in report.budgets:
        line = f"Budget of the {budget.period} (UTC): {dollars(budget.left)} of "
        share = budget.left / budget.dollars if budget.dollars else 0.0
        line += f"{dollars(budget.dollars)} left ({share:.0%})"
        style = "green" if report.budget_level == "normal" else "yellow" if budget.left else "red"
        console.print(Text(line, style=style))
    if not report.budgets:
        console.print(Text("No budget is set (budget.daily, budget.monthly).", style="dim"))


def _calls_table(report: UsageReport) -> Table:
    names = ("Calls", "Failed", "Read", "Written", "Seconds", "Cost")
    columns = [whole("Day"), whole("Purpose"), Column("Model"), *map(right, names)]
    rows = (
        (
            line.day.isoformat(),
            line.purpose,
            f"{line.model} ({line.provider})" if line.model else line.provider,
            f"{line.calls:,}",
            f"{line.failed:,}" if line.failed else "",
            f"{line.input_tokens:,}",
            f"{line.output_tokens:,}",
            f"{line.seconds:,.1f}",
            dollars(line.cost) if known else "price unknown",
        )
        for line, known in ((one.total, one.price_known) for one in report.lines)
    )
    return table(columns, rows, header_style="bold")
