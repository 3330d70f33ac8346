"""Commands that add, update, remove and list the material of a collection."""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer
from rich.console import Console
from rich.text import Text

from wellread.errors import SourceError
from wellread.ingest import remove as removing
from wellread.ingest.pipeline.job_log import Report, end_dead_jobs
from wellread.ingest.remove import RemoveReport
from wellread.ingest.sources.discover import Input, standard_input
from wellread.ingest.watch import watch as follow
from wellread.kb import KnowledgeBase
from wellread.learning import asking_again
from wellread.learning.asking_again import RetryReport
from wellread.library.collection_changes import describe, rename
from wellread.serve.cli.options import CollectionOption, Yes
from wellread.serve.features.home_and_jobs import (
    HoldingsBody,
    JobDetailBody,
    ReportBody,
    format_size,
    holdings_body,
    report_body,
)
from wellread.serve.progress import ingest_progress
from wellread.serve.terminal import (
    STYLES,
    Terminal,
    opened,
    print_counts,
    print_facts,
    print_line,
    print_rows,
    terminal_of,
)
from wellread.store.catalogue.run_logs import ItemStatus, Job, JobItem
from wellread.text.characters import harmless, harmless_line

app = typer.Typer(rich_markup_mode=None)

NOTHING_TO_ADD = 2  # exit status
MAX_REASONS = 20  # failed sources, and other reasons, that a report lists
# The fields that lists and facts print: see ``serve/terminal.py``.
HOLDINGS = "collection=name kind documents passages"
JOBS = "job=id:id what=action collection state started=started_at read=done of=total failed"
JOB = "job=id what=action collection state reason read=done of=total passages counts"
Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
]


@app.command()
def add(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Files, folders, globs, web addresses; - for standard input.",
        ),
    ],
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="The collection to add to.")
    ] = "default",
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Maps source fields to document fields (docs/collections.md); stored.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="File name for standard input, such as notes.md")
    ] = "stdin.txt",
    date: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Day of what these files hold."),
    ] = None,
) -> None:
    """Read files, folders and web addresses into a collection. Unchanged sources are skipped.

    Exit status: 0 on success, 1 when a source failed or the run was cancelled, 2 when there was
    nothing to add.
    """
    with opened(context) as (terminal, kb):
        limit = kb.settings.sources.max_bytes
        inputs: list[Input] = [
            standard_input(sys.stdin.buffer, name, limit) if path == "-" else path
            for path in dict.fromkeys(paths)
        ]
        day = f"{date:%Y-%m-%d}" if date else ""
        report = _run(
            terminal, asking_again.add, kb, inputs, collection, settings=settings, published_at=day
        )
    end_with(terminal, report, collection)


def _run(
    terminal: Terminal,
    work: Callable[..., Report],
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    collection: str,
    **options: Any,
) -> Report:
    """Run ``add`` or ``sync`` with a progress display and report retried questions."""
    report = partial(print_retries, terminal)
    with ingest_progress(terminal) as on_progress:
        return work(
            kb, inputs, collection=collection, on_progress=on_progress, on_reasked=report, **options
        )


def print_retries(terminal: Terminal, done: RetryReport) -> None:
    """Print on standard error which questions the ingest run asked again."""
    summary = f"Open questions asked again: {len(done.tried):,}, answered now: {len(done.closed):,}"
    print_line(terminal.err, f"{summary}: wellread gaps --status closed")
    if done.waiting:
        more = f"{done.waiting:,} more are left for the next run or for: wellread gaps --ask"
        print_line(terminal.err, more, "yellow")


def end_with(terminal: Terminal, report: Report, collection: str) -> None:
    """Print the report of a run and exit with its status."""
    terminal.show(report_body(report, collection), print_report)
    if report.cancelled:
        raise typer.Exit(1)
    if not report.rows:
        raise typer.Exit(NOTHING_TO_ADD)
    if report.counts()["failed"]:
        raise typer.Exit(1)


def print_report(console: Console, body: ReportBody) -> None:
    """Print counts by outcome, and the reasons of skipped and failed sources."""
    report = body.report
    for note in report.notes:
        print_line(console, harmless_line(note), "yellow")
    if not report.rows and not report.cancelled:
        print_line(console, "Nothing to add: no file was found.", "yellow")
        return
    print_counts(console, report.counts())
    _print_reasons(console, report.rows)
    rate = report.passages / report.seconds if report.seconds else 0.0
    line = f"{report.passages:,} passages in {report.seconds:.1f} s ({rate:,.0f}/s)"
    print_line(console, f"{line} into “{body.collection}”", "dim")
    if report.cancelled:
        again = f"wellread jobs {report.job_id} --resume"
        print_line(console, f"Stopped before the end; continue with: {again}", "yellow")


def _print_reasons(console: Console, rows: Sequence[JobItem]) -> None:
    """Print failed sources one by one, and a line with an example for each other reason."""
    failed = [row for row in rows if row.status == "failed"]
    for row in failed[:MAX_REASONS]:
        print_source(console, row)
    others = failed[MAX_REASONS:] + [row for row in rows if row.reason and row not in failed]
    examples = {(row.status, row.reason): row for row in reversed(others)}
    counts = Counter((row.status, row.reason) for row in others).most_common(MAX_REASONS)
    for key, count in counts:
        print_source(console, examples[key], f"{count:,} files, for example " if count > 1 else "")
    if len(examples) > MAX_REASONS:
        more = len(examples) - MAX_REASONS
        print_line(console, f"… and {more:,} more reasons; --json lists every source")


def print_source(console: Console, row: JobItem, before: str = "") -> None:
    """Print a source's status, name and reason."""
    name = harmless_line(unquote(row.uri.removeprefix("file://")))
    line = Text.assemble((f"{row.status:<9} ", STYLES.get(row.status, "")), before, name)
    console.print(line.append(harmless(row.reason and f": {row.reason}")), soft_wrap=True)


collections = typer.Typer(
    name="collections", invoke_without_command=True, rich_markup_mode=None, no_args_is_help=False
)
app.add_typer(collections)
CollectionName = Annotated[str, typer.Argument(metavar="COLLECTION", help="A collection's name.")]


@collections.callback()
def list_collections(context: typer.Context) -> None:
    """List the collections with their contents; rename, merge or describe one."""
    if context.invoked_subcommand:
        return
    with opened(context, Terminal.open_current) as (terminal, kb):
        body = holdings_body(kb)
    if terminal.json:
        terminal.write_listing(body, "collections")
    else:
        _print_holdings(terminal.out, body)


@collections.command("rename")
def rename_collection(
    context: typer.Context,
    collection: CollectionName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
) -> None:
    """Give a collection another name; the rights on it move along."""
    with opened(context) as (terminal, kb):
        count = rename(kb, collection, name)
    terminal.out.print(f"“{collection}” is now “{name}”, with {count:,} documents.")


@collections.command("merge")
def merge_collections(
    context: typer.Context,
    collection: CollectionName,
    into: Annotated[str, typer.Argument(metavar="INTO", help="The collection that remains.")],
) -> None:
    """Move all documents of a collection into another one, whose rights then apply to them."""
    with opened(context) as (terminal, kb):
        count = rename(kb, collection, into, merge=True)
    terminal.out.print(f"{count:,} documents of “{collection}” are now in “{into}”.")


@collections.command("describe")
def describe_collection(
    context: typer.Context,
    collection: CollectionName,
    description: Annotated[str, typer.Argument(help="What it holds, in a sentence.")],
) -> None:
    """Store what a collection holds; lists show it."""
    with opened(context) as (_, kb):
        describe(kb, collection, description)


def _print_holdings(console: Console, body: HoldingsBody) -> None:
    print_rows(console, body.collections, HOLDINGS)
    if not body.collections:
        print_line(console, "The knowledge base is empty. Add something: wellread add PATH")
    print_facts(console, body, "documents passages")
    print_line(console, f"Home   {body.home}, {format_size(body.bytes)}")
    index = body.fingerprint
    shape = f"{index['embedder']}, {index['chunking']}" if index else "not built yet"
    print_line(console, f"Index  {shape}")
    if body.waiting:
        waiting = f"{body.waiting:,} passages can only be found by keywords so far"
        print_line(console, f"       {waiting}; the next add or sync completes them", "yellow")


@app.command()
def sync(context: typer.Context, paths: Paths, collection: CollectionOption = "default") -> None:
    """Like add, but also remove documents whose source is gone.

    Exit status: 0 on success, 1 when a source failed or the run was cancelled, 2 when there was
    nothing to do.
    """
    with opened(context) as (terminal, kb):
        report = _run(terminal, asking_again.sync, kb, paths, collection)
    end_with(terminal, report, collection)


@app.command()
def watch(context: typer.Context, paths: Paths, collection: CollectionOption = "default") -> None:
    """Keep a collection up to date with folders, feeds and pages until stopped (Ctrl-C).

    Files are read when they change, feeds and pages every web.poll_minutes.
    """
    terminal = terminal_of(context)
    stop = threading.Event()
    earlier_handlers = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def print_changes(report: Report) -> None:
        if terminal.json:
            terminal.write_json(report_body(report, collection), indent=None)
            return
        for row in report.rows:
            if row.status not in ("unchanged", "skipped"):
                print_source(terminal.out, row)

    terminal.err.print("Watching. Press Ctrl-C to stop.")
    try:
        with terminal.open() as kb:
            run = partial(asking_again.sync, on_reasked=partial(print_retries, terminal))
            follow(kb, paths, collection=collection, on_report=print_changes, stop=stop, run=run)
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)


@app.command()
def remove(
    context: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE|DOCUMENT]...", help="Paths, web addresses or document ids."
        ),
    ] = None,
    collection: CollectionOption = "default",
    all_: Annotated[bool, typer.Option("--all", help="Remove the whole collection.")] = False,
    yes: Yes = False,
) -> None:
    """Remove documents from the material, the index and stored answers.

    Exit status: 0 when nothing of them is left, 1 when a trace was found or nothing matches.
    """
    if bool(what) == all_:
        raise SourceError("remove", "name sources or documents, or use --all for the collection")
    with opened(context) as (terminal, kb):
        if all_:
            if not yes and not terminal.json:
                typer.confirm(f"Remove the whole collection “{collection}”?", abort=True)
            report = removing.remove_collection(kb, collection)
        else:
            report = removing.remove_named(kb, collection, what or [])
    terminal.show(report, _print_remove)
    if report.traces:
        raise typer.Exit(1)


NOT_CHECKED = (
    "The database server's own files, write-ahead log, replicas and backups were not checked: "
    "removed text disappears from them as the server recycles them (docs/team.md)."
)


def _print_remove(console: Console, report: RemoveReport) -> None:
    removed = f"Removed {len(report.sources):,} sources and {report.documents:,} documents."
    print_line(console, removed)
    for trace in report.traces:
        print_line(console, f"still present: {trace}", "bold red")
    if report.looked_for and not report.traces:
        where = "the catalogue, the index and the stored files"
        line = f"Searched for {report.looked_for:,} of their sentences in {where}"
        print_line(console, f"{line}: no trace is left.", "green")
    elif not report.looked_for:
        print_line(console, "They had no sentences of their own to search for.")
    if report.server:
        print_line(console, NOT_CHECKED, "yellow")
    if report.answers:
        stale = f"{report.answers:,} stored answers are now stale and lost these quotations."
        print_line(console, stale)
    if report.purged is False:
        again = "the next remove or verify --repair erases the data from the disk"
        print_line(console, f"A reader was active: {again}.", "yellow")


@app.command()
def jobs(
    context: typer.Context,
    job_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="Id or its start; without it, list all jobs.")
    ] = "",
    status: Annotated[
        ItemStatus | None, typer.Option(help="Only sources with this status: added, failed, …")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of jobs or sources.")] = 100,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Stop the job; documents already written stay.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Run it again; finished sources are skipped."),
    ] = False,
) -> None:
    """List the newest jobs, or show one with a line per source."""
    if ((cancel or resume) and not job_id) or (cancel and resume):
        raise typer.BadParameter("name one job to either --cancel or --resume")
    with opened(context) as (terminal, kb):
        end_dead_jobs(kb)
        log = kb.catalogue.jobs
        if not job_id:
            no_jobs = "There are no jobs yet. Add something: wellread add PATH"
            terminal.show_rows(log.newest(limit), JOBS, none=no_jobs)
            return
        job = log.by_prefix(job_id) or log.by_prefix(f"job_{job_id}")
        if job is None:
            raise SourceError(job_id, "no job, or more than one, has an id that starts with this")
        if resume:
            report = _resume(terminal, kb, job)
        elif cancel:
            if not log.cancel(job.id):
                raise SourceError(job.id, "this job is not running")
            terminal.say({"cancelled": job.id}, "It stops after the current sources.")
        else:
            items = log.items(job.id, status, limit)
            body = JobDetailBody(job=job, counts=log.counts(job.id), sources=items)
            terminal.show(body, _print_job)
    if resume:
        end_with(terminal, report, job.collection)


def _print_job(console: Console, body: JobDetailBody) -> None:
    print_facts(console, body, JOB)
    for item in body.sources:
        print_source(console, item)


def _resume(terminal: Terminal, kb: KnowledgeBase, job: Job) -> Report:
    if job.action not in ("add", "sync"):
        raise SourceError(job.id, "only add and sync jobs can be resumed")
    work = asking_again.sync if job.action == "sync" else asking_again.add
    return _run(terminal, work, kb, job.named, job.collection)
