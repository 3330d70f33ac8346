"""``GET /api/jobs``: every run with how its sources fared."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.kb import KnowledgeBase
from wellread.serve.runs_tables import item_body, job_body
from wellread.store.catalogue.runs.job_records import ItemStatus, Job


class JobBody(BaseModel):
    """One run. ``passages`` are found by words, ``vectors`` of them by meaning as well."""

    id: str
    action: str
    collection: str
    inputs: list[str]
    state: str
    reason: str
    started_at: str
    finished_at: str | None
    total: int
    done: int
    passages: int
    vectors: int


class JobsBody(BaseModel):
    """The newest runs, and passages of any run that still wait for their vector."""

    jobs: list[JobBody]
    waiting: int


class SourceBody(BaseModel):
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
    sources: list[SourceBody]


def jobs_router(kb: KnowledgeBase) -> APIRouter:
    """The routes of runs over ``kb``."""
    router = APIRouter(prefix="/api/jobs")

    @router.get("", response_model=JobsBody)
    def jobs(limit: Annotated[int, Query(ge=1, le=200)] = 20) -> dict[str, Any]:
        """The newest runs, newest first."""
        end_dead_jobs(kb)
        found = kb.catalogue.jobs.newest(limit)
        return {
            "jobs": [job_body(job) for job in found],
            "waiting": kb.catalogue.vectors.passages_owed(),
        }

    @router.get("/{job_id}", response_model=JobDetailBody)
    def job(
        job_id: str,
        status: ItemStatus | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> dict[str, Any]:
        """One run with its sources, in the order in which they were done."""
        end_dead_jobs(kb)
        found = _job(kb, job_id)
        items = kb.catalogue.jobs.items(found.id, status, limit, offset)
        return {
            **job_body(found),
            "counts": kb.catalogue.jobs.counts(found.id),
            "sources": [item_body(item) for item in items],
        }

    @router.post("/{job_id}/cancel", response_model=JobBody)
    def cancel(job_id: str) -> dict[str, Any]:
        """Ask a running job to stop; what it has written stays. 404 when it is not running."""
        found = _job(kb, job_id)
        if not kb.catalogue.jobs.cancel(found.id):
            raise HTTPException(404, f"job {job_id} is not running")
        return job_body(found)

    return router


def _job(kb: KnowledgeBase, job_id: str) -> Job:
    found = kb.catalogue.jobs.get(job_id)
    if found is None:
        raise HTTPException(404, f"there is no job {job_id}")
    return found
