"""``GET /api/jobs``: every run with how its sources fared; ``/api/usage`` and ``/healthz``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query

from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.kb import KnowledgeBase
from wellread.library.model_usage import usage_of
from wellread.serve.api.queries import Kb
from wellread.serve.features.bodies import Body
from wellread.serve.features.job_views import (
    JobBody,
    JobDetailBody,
    JobsBody,
    job_detail_body,
    job_named,
)
from wellread.serve.features.model_costs import MOST_DAYS, UsageReportBody, usage_body
from wellread.store.catalogue.run_logs import ItemStatus, Job

router = APIRouter()


class HealthBody(Body):
    """Whether the server answers, and what it answers from."""

    status: Literal["ok"]
    documents: int
    passages: int
    version: str


@router.get("/api/jobs", response_model=JobsBody)
def jobs(kb: Kb, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> JobsBody:
    """The newest runs, newest first."""
    end_dead_jobs(kb)
    waiting = kb.catalogue.vectors.passages_owed()
    return JobsBody.of(jobs=kb.catalogue.jobs.newest(limit), waiting=waiting)


@router.get("/api/jobs/{job_id}", response_model=JobDetailBody)
def job(
    kb: Kb,
    job_id: str,
    status: ItemStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> JobDetailBody:
    """One run with its sources, in the order in which they were done."""
    end_dead_jobs(kb)
    found = _job(kb, job_id)
    items = kb.catalogue.jobs.items(found.id, status, limit, offset)
    return job_detail_body(found, kb.catalogue.jobs.counts(found.id), items)


@router.post("/api/jobs/{job_id}/cancel", response_model=JobBody)
def cancel(kb: Kb, job_id: str) -> JobBody:
    """Ask a running job to stop; what it has written stays. 404 when it is not running."""
    found = _job(kb, job_id)
    if not kb.catalogue.jobs.cancel(found.id):
        raise HTTPException(404, f"job {job_id} is not running")
    return JobBody.of(found)


@router.get("/api/usage", response_model=UsageReportBody)
def usage(kb: Kb, days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30) -> UsageReportBody:
    """Calls of models by day, purpose and model, and the budgets as they stand."""
    return usage_body(usage_of(kb, days))


@router.get("/healthz", response_model=HealthBody)
def healthz(kb: Kb) -> HealthBody:
    """Whether the server answers, and what it answers from."""
    stats = kb.catalogue.stats()
    return HealthBody(
        status="ok",
        documents=sum(row.documents for row in stats),
        passages=sum(row.passages for row in stats),
        version=version("wellread"),
    )


def _job(kb: KnowledgeBase, job_id: str) -> Job:
    found = job_named(kb, job_id)
    if found is None:
        raise HTTPException(404, f"there is no job {job_id}")
    return found
