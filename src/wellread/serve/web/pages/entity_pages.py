"""Entities by type; one with its facts, relations, mentions and a drawing of what is around it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.ask.retrieve.search import check_collections
from wellread.kb import KnowledgeBase
from wellread.serve.api.queries import ScopeQuery
from wellread.serve.error_shapes import ProblemError
from wellread.serve.features.entity_listing import entity_list_body
from wellread.serve.features.entity_views import (
    EntityBody,
    entity_body,
    unknown_entity,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.neighbourhoods import NeighbourhoodBody, drawing_of, neighbourhood
from wellread.serve.web.rendering import PageFormat, shown
from wellread.types import Filters

router = APIRouter(include_in_schema=False)

LISTS = "/entities lists what is there"
MOST_SHOWN = 500  # relations of a table; the JSON has all


class EntitiesQuery(ScopeQuery, PageFormat):
    """Which entities; ``query`` is a part of a name, ``limit`` of each type."""

    type: list[str] = Field(default_factory=list)
    query: str = Field(default="", max_length=500)
    limit: int = Field(default=20, ge=1, le=5_000)

    @property
    def types(self) -> list[str] | None:
        """The types that are wanted; None takes all."""
        return [name for name in self.type if name] or None


class EntityQuery(ScopeQuery, PageFormat):
    """One entity; ``limit`` is of the documents that name it."""

    limit: int = Field(default=20, ge=0, le=200)


class EntityPageBody(EntityBody):
    """An entity with what is drawn around it."""

    around: NeighbourhoodBody


@router.get("/entities")
def entities(kb: Kb, request: Request, asked: Annotated[EntitiesQuery, Query()]) -> Response:
    """Entities by type, the most often named first."""
    scope = asked.collections
    check_collections(kb, Filters(collections=scope))
    body = entity_list_body(kb, scope, asked.types, asked.limit, part=asked.query)
    near = kb.catalogue.graph.near(scope, asked.query) if asked.query and not body.count else []
    return shown(
        request,
        "entities.html",
        body,
        asked=asked,
        collections=kb.catalogue.collection_names(),
        types=sorted({node.type for node in kb.catalogue.graph.entities(()) if node.type}),
        near=near,
    )


# A name may be an address or an id with slashes.
@router.get("/entities/{name:path}")
def entity(kb: Kb, request: Request, name: str, asked: Annotated[EntityQuery, Query()]) -> Response:
    """The entity with this id, title, alias or address."""
    scope = asked.collections
    check_collections(kb, Filters(collections=scope))
    found = entity_body(kb, scope, name, asked.limit)
    if found is None:
        raise ProblemError(unknown_entity(kb, scope, name, lists=LISTS))
    body = EntityPageBody.of(found, around=_around(kb, found))
    return shown(
        request,
        "entity.html",
        body,
        asked=asked,
        drawing=drawing_of(body.around),
        most=MOST_SHOWN,
        directions=[
            ("From it", "out", [one for one in body.relations if one.direction == "out"]),
            ("To it", "in", [one for one in body.relations if one.direction == "in"]),
        ],
    )


def _around(kb: KnowledgeBase, found: EntityBody) -> NeighbourhoodBody:
    return neighbourhood(kb, found.collection, found.id)
