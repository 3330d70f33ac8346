"""Commands that change the material: ``add``, ``sync``, ``remove``, ``jobs``, …"""

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
from wellread.learning import asking_again
from wellread.serve.cli.options import CollectionOption, FolderSettingsOption
from wellread.serve.features import home_reports as reports
from wellread.serve.features.job_views import (
    JobBody,
    JobDetailBody,
    item_status,
    job_named,
    print_job,
    print_jobs,
)
from wellread.serve.features.learning.gap_print import tell_reasked
from wellread.serve.features.learning.notice_bodies import told_in_a_line
from wellread.serve.progress import shown
from wellread.serve.terminal import Terminal, terminal_of
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
    folder_settings: FolderSettingsOption = None,
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
                folder_settings=terminal.agreeing(folder_settings),
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
def stats(context: typer.Context) -> None:
    """Show what the knowledge base holds."""
    terminal = terminal_of(context)
    with terminal.open_current() as kb:
        body = reports.holdings_body(kb)
        waiting = told_in_a_line(kb)
    terminal.show(body, reports.print_holdings)
    if waiting and not terminal.json:
        terminal.out.print(waiting, style="yellow")


@app.command()
def sync(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
    ],
    collection: CollectionOption = "default",
    folder_settings: FolderSettingsOption = None,
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
            folder_settings=terminal.agreeing(folder_settings),
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
    folder_settings: FolderSettingsOption = None,
) -> None:
    """Keep a collection in step with folders, feeds and pages until it is stopped (Ctrl-C).

    Files are read when they change; feeds and pages every web.poll_minutes, or when their server
    says so.
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
            told = json.dumps(body.model_dump(mode="json"), ensure_ascii=False)
            typer.echo(escaped_json(told))
        else:
            reports.print_watched(terminal.out, body)

    terminal.err.print("Watching; Ctrl-C ends it.")
    try:
        with terminal.open() as kb:
            run = partial(
                asking_again.sync,
                on_reasked=partial(tell_reasked, terminal),
                folder_settings=terminal.agreeing(folder_settings),
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
    body = reports.RemoveBody.of(report, traces=[str(trace) for trace in report.traces])
    terminal.show(body, reports.print_remove)
    if report.traces:
        raise typer.Exit(1)


jobs_app = typer.Typer(
    name="jobs",
    help="Every run with how its sources fared.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(jobs_app)

JobArgument = Annotated[str, typer.Argument(metavar="ID", help="The job, or how its id begins.")]


@jobs_app.callback()
def jobs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many of the newest.")] = 20,
) -> None:
    """List the newest runs."""
    if context.invoked_subcommand:
        return

    terminal = terminal_of(context)
    with terminal.open() as kb:
        end_dead_jobs(kb)
        found = kb.catalogue.jobs.newest(limit)
    bodies = [JobBody.of(job) for job in found]
    if terminal.json:
        terminal.write_json(bodies)
    else:
        print_jobs(terminal.out, bodies)


@jobs_app.command("show")
def show(
    context: typer.Context,
    job_id: JobArgument,
    status: Annotated[
        str, typer.Option(help="Only sources that fared so: added, failed, skipped, …")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most sources listed.")] = 100,
) -> None:
    """Show one run with a line per source."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        end_dead_jobs(kb)
        log = kb.catalogue.jobs
        job = job_named(kb, job_id)
        if job is None:
            raise SourceError(job_id, "no job, or more than one, has an id that begins so")
        items = log.items(job.id, item_status(status), limit)
        body = JobDetailBody.of(job, counts=log.counts(job.id), sources=items)
    terminal.show(body, print_job)


@jobs_app.command("cancel")
def cancel(context: typer.Context, job_id: JobArgument) -> None:
    """Ask a running job to stop. What it has written stays."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        job = job_named(kb, job_id)
        asked = job is not None and kb.catalogue.jobs.cancel(job.id)
    if not asked:
        raise SourceError(job_id, "is no running job")
    if terminal.json:
        terminal.write_json({"cancelled": job_id})
    else:
        terminal.out.print("It stops after the sources at hand.")


@jobs_app.command("resume")
def resume(context: typer.Context, job_id: JobArgument) -> None:
    """Run a job again with the same inputs: what is done already is skipped."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        job = job_named(kb, job_id)
        if job is None or job.action not in ("add", "sync"):
            raise SourceError(job_id, "is no job that can be resumed (add or sync)")
        again = asking_again.sync if job.action == "sync" else asking_again.add
        with shown(terminal) as on_progress:
            report = again(
                kb,
                job.named,
                collection=job.collection,
                on_progress=on_progress,
                on_reasked=partial(tell_reasked, terminal),
            )
    end_with(terminal, report, job.collection)
