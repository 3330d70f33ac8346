"""``wellread jobs``: the runs of ``add``, ``sync`` and the like."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.errors import SourceError
from wellread.ingest import run as running
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.serve.cli.material_cli import end_with
from wellread.serve.features.job_views import (
    JobBody,
    item_status,
    job_detail_body,
    job_named,
    print_job,
    print_jobs,
)
from wellread.serve.progress import shown
from wellread.serve.terminal import terminal_of

app = typer.Typer(rich_markup_mode=None)
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
        terminal.write_json([body.model_dump(mode="json") for body in bodies])
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
        body = job_detail_body(job, log.counts(job.id), items)
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
        again = running.sync if job.action == "sync" else running.add
        with shown(terminal) as on_progress:
            report = again(kb, job.inputs, collection=job.collection, on_progress=on_progress)
    end_with(terminal, report, job.collection)
