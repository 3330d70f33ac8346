"""``/api/coverage``: what the documents cover of two dimensions."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from wellread.learning.coverage_grid import coverage_grid
from wellread.serve.api.queries import REFUSED, DatedQuery
from wellread.serve.features.gaps_and_coverage import (
    CoverageBody,
    coverage_body,
    coverage_markdown,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.types import Filters

router = APIRouter(responses=REFUSED)


class CoverageLimits(DatedQuery):
    """Which documents, and by which two dimensions."""

    by: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[], description="two dimensions; without them those of the collection"
    )

    def filters(self) -> Filters:
        """The documents that are looked at."""
        return self.limits(self.from_, self.to, [])

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that were named."""
        return tuple(name for name in self.by if name.strip())


class CoverageQuery(CoverageLimits):
    """The coverage, as JSON or as a Markdown report."""

    format: Literal["json", "markdown"] = "json"


@router.get("/api/coverage", response_model=CoverageBody)
def coverage(kb: Kb, asked: Annotated[CoverageQuery, Query()]) -> CoverageBody | Response:
    """The cells of two dimensions, the share that is covered, the gaps, and how it grew."""
    body = coverage_body(
        kb, coverage_grid(kb, asked.filters(), asked.dimensions, owner=kb.asker.owner)
    )
    if asked.format == "markdown":
        return Response(coverage_markdown(body), media_type="text/markdown; charset=utf-8")
    return body
