"""Commands that keep the material in step and the home safe: ``sync``, ``remove``, ``jobs``, …"""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.errors import SourceError
from wellread.serve import runs_tables, tables
from wellread.serve.commands.material import end_with
from wellread.serve.progress import shown, status_line
from wellread.serve.terminal import terminal_of

if TYPE_CHECKING:
    from wellread.ingest.pipeline.run_report import Report

jobs_app = typer.Typer(
    name="jobs",
    help="Every run with how its sources fared.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

CollectionOption = Annotated[
    str, typer.Option("--collection", "-c", metavar="NAME", help="The collection.")
]
JobArgument = Annotated[str, typer.Argument(metavar="ID", help="The job, or how its id begins.")]


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(sync)
    app.command()(watch)
    app.command()(remove)
    app.add_typer(jobs_app)
    app.command("export")(export)
    app.command("import")(import_)


def sync(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
    ],
    collection: CollectionOption = "default",
) -> None:
    """Like add, and remove what is gone from the source.

    Exit status: 0 when all went well, 1 when a source failed, 2 when there was nothing to do.
    """
    from wellread.ingest.run import sync as run  # noqa: PLC0415 - loads the stores and parsers

    terminal = terminal_of(context)
    with terminal.open() as kb, shown(terminal) as on_progress:
        report = run(kb, paths, collection=collection, on_progress=on_progress)
    end_with(terminal, report, collection)


def watch(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders, files and web addresses.")
    ],
    collection: CollectionOption = "default",
) -> None:
    """Keep a collection in step with folders, feeds and pages until it is stopped (Ctrl-C).

    Files are read when they change; feeds and pages every web.poll_minutes, or when their server
    says so.
    """
    from wellread.ingest.run import sync as run  # noqa: PLC0415 - loads the stores and parsers
    from wellread.ingest.watch import watch as follow  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def tell(report: Report) -> None:
        if terminal.json:
            typer.echo(json.dumps(tables.report_body(report, collection), ensure_ascii=False))
        else:
            runs_tables.print_watched(terminal.out, report)

    terminal.err.print("Watching; Ctrl-C ends it.")
    try:
        with terminal.open() as kb:
            follow(kb, paths, collection=collection, on_report=tell, stop=stop, run=run)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    from wellread.ingest import remove as removing  # noqa: PLC0415 - loads the stores

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
    if terminal.json:
        terminal.write_json(runs_tables.remove_body(report))
    else:
        runs_tables.print_remove(terminal.out, report)
    if report.traces:
        raise typer.Exit(1)


@jobs_app.callback()
def jobs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many of the newest.")] = 20,
) -> None:
    """List the newest runs."""
    if context.invoked_subcommand:
        return
    from wellread.ingest.pipeline.job_log import end_dead_jobs  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb:
        end_dead_jobs(kb)
        found = kb.catalogue.jobs.newest(limit)
    if terminal.json:
        terminal.write_json([runs_tables.job_body(job) for job in found])
    else:
        runs_tables.print_jobs(terminal.out, found)


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
    from wellread.ingest.pipeline.job_log import end_dead_jobs  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb:
        end_dead_jobs(kb)
        log = kb.catalogue.jobs
        job = log.get(job_id)
        if job is None:
            raise SourceError(job_id, "no job, or more than one, has an id that begins so")
        items = log.items(job.id, runs_tables.item_status(status), limit)
        counts = log.counts(job.id)
    if terminal.json:
        body = runs_tables.job_body(job)
        body |= {"counts": counts, "sources": [runs_tables.item_body(item) for item in items]}
        terminal.write_json(body)
    else:
        runs_tables.print_job(terminal.out, job, counts, items)


@jobs_app.command("cancel")
def cancel(context: typer.Context, job_id: JobArgument) -> None:
    """Ask a running job to stop. What it has written stays."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        job = kb.catalogue.jobs.get(job_id)
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
    from wellread.ingest import run  # noqa: PLC0415 - loads the stores and parsers

    terminal = terminal_of(context)
    with terminal.open() as kb:
        job = kb.catalogue.jobs.get(job_id)
        if job is None or job.action not in ("add", "sync"):
            raise SourceError(job_id, "is no job that can be resumed (add or sync)")
        again = run.sync if job.action == "sync" else run.add
        with shown(terminal) as on_progress:
            report = again(kb, job.inputs, collection=job.collection, on_progress=on_progress)
    end_with(terminal, report, job.collection)


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="home.tar, or home.tar.gz")],
) -> None:
    """Write the whole knowledge base into one file, for backup and for moving."""
    from wellread.ingest.backup import export_home  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb, status_line(terminal) as tell:
        report = export_home(kb, file.expanduser().absolute(), on_file=tell)
    if terminal.json:
        terminal.write_json(runs_tables.backup_body(report))
    else:
        runs_tables.print_backup(terminal.out, report)


def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What export wrote.")],
) -> None:
    """Unpack an exported knowledge base into an empty --home, and verify it.

    Exit status: 0 when everything matches, 1 when verify found a problem.
    """
    from wellread.ingest.backup import import_home  # noqa: PLC0415 - loads the stores
    from wellread.ingest.integrity.verify import verify  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with status_line(terminal) as tell:
        import_home(file.expanduser().absolute(), terminal.home_folder(), on_file=tell)
    with terminal.open() as kb:
        report = verify(kb)
    if terminal.json:
        terminal.write_json(tables.verify_body(report))
    else:
        tables.print_verify(terminal.out, report)
    if report.problems:
        raise typer.Exit(1)
