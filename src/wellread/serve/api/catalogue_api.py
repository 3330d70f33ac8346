"""``POST /api/catalogue``: what is worked out from everything there is, asked for by fields."""

from __future__ import annotations

from fastapi import APIRouter

from wellread.serve.api.queries import Kb
from wellread.serve.features.bodies import ErrorBody
from wellread.serve.features.catalogue_queries import (
    CatalogueRequest,
    CatalogueResponse,
    catalogue_body,
)

router = APIRouter()


@router.post(
    "/api/catalogue",
    response_model=CatalogueResponse,
    responses={
        400: {"model": ErrorBody, "description": "A field that is wrong, and what is allowed"},
        404: {"model": ErrorBody, "description": "Unknown topic"},
        413: {"model": ErrorBody, "description": "The body is too large"},
        "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
    },
)
def catalogue(kb: Kb, asked: CatalogueRequest) -> CatalogueResponse:
    """Work out a count, a list, gaps, coverage, a trend or a walk through the graph."""
    return catalogue_body(kb, asked)
