"""Commands that change the material, and say what there is: ``add``, ``remove``, ``jobs``, …"""

from __future__ import annotations

import json
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wellread.errors import SourceError
from wellread.ingest import remove as removing
from wellread.ingest.pipeline.job_log import Report, end_dead_jobs
from wellread.ingest.sources.discover import Input, standard_input
from wellread.ingest.watch import watch as follow
from wellread.kb import KnowledgeBase
from wellread.learning import asking_again
from wellread.serve.cli.options import CollectionOption
from wellread.serve.features import home_and_jobs as reports
from wellread.serve.features.gaps_and_coverage import tell_reasked
from wellread.serve.features.home_and_jobs import (
    JobDetailBody,
    item_status,
    job_named,
    print_job,
    print_jobs,
)
from wellread.serve.features.people import told_in_a_line
from wellread.serve.progress import shown
from wellread.serve.terminal import Terminal, terminal_of
from wellread.serve.views import json_of
from wellread.store.catalogue.run_logs import Job
from wellread.text.words import escaped_json

app = typer.Typer(rich_markup_mode=None)

NOTHING_TO_ADD = 2


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
        str, typer.Option("--collection", "-c", metavar="NAME", help="Where the documents go.")
    ] = "default",
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How the sources' fields map to ours (docs/collections.md). It is kept.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What standard input is called: notes.md")
    ] = "stdin.txt",
) -> None:
    """Read files, folders and web addresses into a collection. What is unchanged is skipped.

    Exit status: 0 when all went well, 1 when a source failed or the run was cancelled, 2 when there
    was nothing to add.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        limit = kb.settings.sources.max_bytes
        inputs: list[Input] = [
            standard_input(sys.stdin.buffer, name, limit) if path == "-" else path
            for path in dict.fromkeys(paths)
        ]
        with shown(terminal) as on_progress:
            report = asking_again.add(
                kb,
                inputs,
                collection=collection,
                settings=settings,
                on_progress=on_progress,
                on_reasked=partial(tell_reasked, terminal),
            )
    end_with(terminal, report, collection)


def end_with(terminal: Terminal, report: Report, collection: str) -> None:
    """Show what a run did, and end with its status."""
    terminal.show(reports.report_body(report, collection), reports.print_report)
    if report.cancelled:
        raise typer.Exit(1)
    if not report.rows:
        raise typer.Exit(NOTHING_TO_ADD)
    if report.counts()["failed"]:
        raise typer.Exit(1)


@app.command()
def collections(context: typer.Context) -> None:
    """List the collections with what they hold, and say what the home takes."""
    terminal = terminal_of(context)
    with terminal.open_current() as kb:
        body = reports.holdings_body(kb)
        waiting = told_in_a_line(kb)
    if terminal.json:
        facts = json_of(body)
        items = facts.pop("collections")
        terminal.write_json({"items": items, "total": len(items), **facts})
        return
    reports.print_holdings(terminal.out, body)
    if waiting:
        terminal.out.print(waiting, style="yellow")


@app.command()
def sync(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
    ],
    collection: CollectionOption = "default",
) -> None:
    """Like add, and remove what is gone from the source.

    Exit status: 0 when all went well, 1 when a source failed or the run was cancelled, 2 when there
    was nothing to do.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb, shown(terminal) as on_progress:
        report = asking_again.sync(
            kb,
            paths,
            collection=collection,
            on_progress=on_progress,
            on_reasked=partial(tell_reasked, terminal),
        )
    end_with(terminal, report, collection)


@app.command()
def watch(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
    ],
    collection: CollectionOption = "default",
) -> None:
    """Keep a collection in step with folders, feeds and pages until it is stopped (Ctrl-C).

    Files are read when they change; feeds and pages every web.poll_minutes.
    """
    terminal = terminal_of(context)
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def tell(report: Report) -> None:
        body = reports.report_body(report, collection)
        if terminal.json:
            told = json.dumps(json_of(body), ensure_ascii=False)
            typer.echo(escaped_json(told))
        else:
            reports.print_watched(terminal.out, body)

    terminal.err.print("Watching; Ctrl-C ends it.")
    try:
        with terminal.open() as kb:
            run = partial(
                asking_again.sync,
                on_reasked=partial(tell_reasked, terminal),
            )
            follow(kb, paths, collection=collection, on_report=tell, stop=stop, run=run)
    finally:
        for number, handler in before.items():
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
    whole: Annotated[bool, typer.Option("--all", help="The whole collection.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove documents so that nothing of them is left, in the index and stored answers either.

    Exit status: 0 when it is gone, 1 when a trace was found or nothing matches.
    """
    if bool(what) == whole:
        raise SourceError("remove", "name sources or documents, or give --all for the collection")
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if whole:
            if not yes and not terminal.json:
                typer.confirm(f"Remove the whole collection “{collection}”?", abort=True)
            report = removing.remove_collection(kb, collection)
        else:
            report = removing.remove_named(kb, collection, what or [])
    terminal.show(report, reports.print_remove)
    if report.traces:
        raise typer.Exit(1)


@app.command()
def jobs(
    context: typer.Context,
    job_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="How the job's id begins; else a list.")
    ] = "",
    status: Annotated[
        str, typer.Option(help="Only sources that fared so: added, failed, skipped, …")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most runs, or sources of one.")] = 100,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Ask it to stop. What it has written stays.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Run it again: what is done already is skipped."),
    ] = False,
) -> None:
    """List the newest runs, or show one with a line per source."""
    if ((cancel or resume) and not job_id) or (cancel and resume):
        raise typer.BadParameter("name one job to --cancel or to --resume")
    terminal = terminal_of(context)
    with terminal.open() as kb:
        end_dead_jobs(kb)
        if not job_id:
            newest = kb.catalogue.jobs.newest(limit)
            terminal.show_list(newest, lambda out: print_jobs(out, newest))
            return
        job = job_named(kb, job_id)
        if job is None:
            raise SourceError(job_id, "no job, or more than one, has an id that begins so")
        if resume:
            report = _again(terminal, kb, job)
        elif cancel:
            _cancel(terminal, kb, job)
        else:
            log = kb.catalogue.jobs
            items = log.items(job.id, item_status(status), limit)
            body = JobDetailBody(job=job, counts=log.counts(job.id), sources=items)
            terminal.show(body, print_job)
    if resume:
        end_with(terminal, report, job.collection)


def _cancel(terminal: Terminal, kb: KnowledgeBase, job: Job) -> None:
    if not kb.catalogue.jobs.cancel(job.id):
        raise SourceError(job.id, "is no running job")
    if terminal.json:
        terminal.write_json({"cancelled": job.id})
    else:
        terminal.out.print("It stops after the sources at hand.")


def _again(terminal: Terminal, kb: KnowledgeBase, job: Job) -> Report:
    if job.action not in ("add", "sync"):
        raise SourceError(job.id, "is no job that can be resumed (add or sync)")
    again = asking_again.sync if job.action == "sync" else asking_again.add
    with shown(terminal) as on_progress:
        return again(
            kb,
            job.named,
            collection=job.collection,
            on_progress=on_progress,
            on_reasked=partial(tell_reasked, terminal),
        )
