"""Runs of adding: what waits, how far each is, a line for every source; cancelled and run again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import whole_of
from wellread.serve.api.queries import FAR, StrictModel
from wellread.serve.features.accounts.editing_rights import check_may_edit, check_may_read
from wellread.serve.features.job_views import JobDetailBody, JobsBody
from wellread.serve.guards.asking_rights import Kb, to_change
from wellread.serve.web.ingest_runs import Ingest
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.catalogue.run_logs import ItemStatus, Job

router = APIRouter(include_in_schema=False)

AGAIN = ("add", "sync")  # what can be run again with the inputs that the job knows


class JobsQuery(StrictModel, PageFormat):
    """How many; ``pane``: only the list, for a page that is looking on."""

    limit: int = Field(default=20, ge=1, le=200)
    pane: bool = False


class JobQuery(StrictModel, PageFormat):
    """Which of a job's sources."""

    status: ItemStatus | None = None
    limit: int = Field(default=200, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=FAR)
    pane: bool = False


@router.get("/library/jobs")
def jobs(
    kb: Kb, ingest: Ingest, request: Request, asked: Annotated[JobsQuery, Query()]
) -> Response:
    """The newest runs, newest first, and what waits for its turn."""
    end_dead_jobs(whole_of(kb))
    body = JobsBody.of(
        jobs=kb.catalogue.jobs.newest(asked.limit), waiting=kb.catalogue.vectors.passages_owed()
    )
    template = "parts/jobs.html" if asked.pane else "jobs.html"
    running = ingest.busy(kb) or any(one.state == "running" for one in body.jobs)
    return shown(request, template, body, asked_for=ingest.open_ones(kb), running=running)


@router.get("/library/jobs/{job_id}")
def job(kb: Kb, request: Request, job_id: str, asked: Annotated[JobQuery, Query()]) -> Response:
    """One run with a line for each source."""
    end_dead_jobs(whole_of(kb))
    found = _known(kb, job_id)
    items = kb.catalogue.jobs.items(found.id, asked.status, asked.limit, asked.offset)
    body = JobDetailBody.of(found, counts=kb.catalogue.jobs.counts(found.id), sources=items)
    template = "parts/job.html" if asked.pane else "job.html"
    return shown(
        request, template, body, asked=asked, again=found.action in AGAIN, at_end=len(items)
    )


@router.post("/library/jobs/{job_id}/cancel")
def cancel(kb: Kb, request: Request, job_id: str) -> Response:
    """Ask a run to stop; what it has written stays."""
    found = _known(kb, job_id)
    check_may_edit(request, found.collection)
    to_change(kb, found.collection).catalogue.jobs.cancel(found.id)
    return RedirectResponse(f"/library/jobs/{job_id}", status_code=303)


@router.post("/library/jobs/{job_id}/retry")
def retry(kb: Kb, ingest: Ingest, request: Request, job_id: str) -> Response:
    """Run it again: what is done and unchanged is skipped.

    Raises:
        RequestError: it is no run that can be done again.
        SourceError: it read files of the machine, and who asks may not.
    """
    found = _known(kb, job_id)
    check_may_edit(request, found.collection)
    if found.action not in AGAIN:
        raise RequestError(f"a job that does {found.action} cannot be run again here")
    check_may_read(request, to_change(kb, found.collection), found.collection, found.named)
    ingest.start("sync" if found.action == "sync" else "add", found.named, found.collection)
    return RedirectResponse("/library/jobs", status_code=303)


def _known(kb: KnowledgeBase, job_id: str) -> Job:
    found = kb.catalogue.jobs.get(job_id)
    if found is None:
        raise UnknownNameError(f"there is no job {job_id}", hint="/library/jobs lists them")
    return found
