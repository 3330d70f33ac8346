"""``GET /api/entities/{name}``: an entity with its relations and who names it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from wellread.ask.retrieve.search import check_collections
from wellread.kb import KnowledgeBase
from wellread.serve.api.entity_schemas import EntityBody
from wellread.serve.api.failures import ProblemError
from wellread.serve.api.schemas import ErrorBody
from wellread.serve.entities import entity_body, unknown_entity
from wellread.types import Filters


def entities_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""
    router = APIRouter()

    # A name may be an address or an id with slashes.
    @router.get(
        "/api/entities/{name:path}",
        response_model=EntityBody,
        responses={404: {"model": ErrorBody, "description": "No such entity or collection"}},
    )
    def entity(
        name: str,
        collection: Annotated[list[str] | None, Query()] = None,
        limit: Annotated[int, Query(ge=0, le=200)] = 20,
    ) -> EntityBody:
        """The entity with this id, title, alias or address; ``limit`` is of ``mentions``."""
        scope = tuple(collection or ())
        check_collections(kb, Filters(collections=scope))
        body = entity_body(kb, scope, name, limit)
        if body is None:
            raise ProblemError(unknown_entity(kb, scope, name))
        return body

    return router
