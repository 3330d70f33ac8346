"""Looking things up: passages, stories, entities with a drawing."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.ask.retrieve.search import check_collections
from wellread.serve.error_shapes import ProblemError
from wellread.serve.features import material_found, timelines_shown
from wellread.serve.features.entities_shown import (
    EntityBody,
    entities_body,
    entity_body,
    unknown_entity,
)
from wellread.serve.features.feature import (
    DEEPEST,
    Scope,
    ScopeQuery,
    SearchQuery,
)
from wellread.serve.features.timelines_shown import story_detail
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import Shape, document_view, look_at, view_url
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.neighbourhoods import Neighbourhood, drawing_of, neighbourhood
from wellread.serve.web.rendering import page_router, shown
from wellread.text.periods import window_of
from wellread.types import Filters

router = page_router()

# --- passages --------------------------------------------------------------------------------

MODES = {"hybrid": "Words and meaning", "text": "Words only", "vector": "Meaning only"}
LIST_WORDS = {
    "text": "by words",
    "vector": "by meaning",
    "closeness": "by how close the words stand",
    "rerank": "by the reranker",
}


class SearchPageQuery(SearchQuery):
    """A search; without words, what is there within the limits."""

    query: str = ""


@router.get("/search")
def search(kb: Kb, request: Request, asked: Annotated[SearchPageQuery, Query()]) -> Response:
    """The best passages for ``query``, best first; without one, the newest."""
    page = (asked.limit, asked.offset)
    body = material_found.found_body(kb, asked.query, asked.filters(), asked.mode, page)
    found = body.found
    end = asked.offset + len(found.results)
    if found.total is None:
        more = len(found.results) == asked.limit and end <= DEEPEST
    else:
        more = end < min(found.total, DEEPEST)
    return shown(
        request,
        "search.html",
        body,
        asked=asked,
        choices=limit_choices(kb),
        modes=MODES,
        lists=LIST_WORDS,
        more=more,
    )


# --- stories ---------------------------------------------------------------------------------


class StoriesQuery(ScopeQuery):
    """Which stories; ``query``: those that are about it, the best first."""

    query: str = Field(default="", max_length=4_000)
    from_: str = Field(default="", alias="from")
    to: str = ""
    limit: int = Field(default=20, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=10_000)


@router.get("/stories")
def stories(kb: Kb, request: Request, asked: Annotated[StoriesQuery, Query()]) -> Response:
    """Stories, the latest first; those about a query, the best first."""
    window = window_of(asked.from_, asked.to, hint="swap the two dates")
    # One more than are shown tells whether there are further ones.
    every = timelines_shown.list_stories(
        kb, asked.collections, window, asked.query, asked.limit + 1, asked.offset
    )
    return shown(
        request,
        "stories.html",
        replace(every, stories=every.stories[: asked.limit]),
        asked=asked,
        collections=kb.catalogue.collection_names(),
        more=len(every.stories) > asked.limit,
    )


@router.get("/stories/{story_id}")
def story(
    kb: Kb,
    request: Request,
    story_id: str,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 200,
) -> Response:
    """One story with its timeline and its news."""
    body = story_detail(kb, story_id, limit)
    facts = kb.catalogue.facts({one.document_id for one in body.story.summary})
    said = []
    for one in body.story.summary:
        document = facts.get(one.document_id)
        place = view_url(document.id, document.version, one.span) if document else ""
        title = document.title if document else ""
        said.append((one.text, title, place or document_view(one.document_id)))
    chart = bar_chart([(one.label, one.count) for one in body.periods])
    return shown(request, "story.html", body, chart=chart, said=said)


# --- entities --------------------------------------------------------------------------------

LISTS = "/entities lists what is there"
MOST_SHOWN = 500  # relations of a table; the JSON has all


class EntityPageBody(Shape, line="*entity around"):
    """An entity with what is drawn around it."""

    entity: EntityBody
    around: Neighbourhood


@router.get("/entities")
def entities(
    kb: Kb,
    request: Request,
    scope: Scope,
    type: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    query: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=5_000)] = 100,
) -> Response:
    """Entities, the most often named first; ``query`` is a part of their names."""
    check_collections(kb, Filters(collections=scope))
    wanted = [name for name in type if name]
    body = entities_body(kb, scope, wanted or None, (limit, 0), part=query)
    near = kb.catalogue.graph.near(scope, query) if query and not body.total else []
    return shown(
        request,
        "entities.html",
        body,
        asked={"query": query, "types": wanted, "collections": scope},
        collections=kb.catalogue.collection_names(),
        types=sorted({node.type for node in kb.catalogue.graph.entities(()) if node.type}),
        near=near,
    )


# A name may be an address or an id with slashes.
@router.get("/entities/{name:path}")
def entity(
    kb: Kb,
    request: Request,
    name: str,
    scope: Scope,
    limit: Annotated[int, Query(ge=0, le=200)] = 20,
) -> Response:
    """The entity with this id, title, alias or address, and documents that name it."""
    check_collections(kb, Filters(collections=scope))
    found = entity_body(kb, scope, name, limit)
    if found is None:
        raise ProblemError(unknown_entity(kb, scope, name, lists=LISTS))
    around = neighbourhood(kb, found.node.collection, found.node.id)
    out = [one for one in found.relations if one.direction == "out"]
    into = [one for one in found.relations if one.direction == "in"]
    return shown(
        request,
        "entity.html",
        EntityPageBody(entity=found, around=around),
        limit=limit,
        drawing=drawing_of(around),
        most=MOST_SHOWN,
        directions=[("From it", "out", look_at(out)), ("To it", "in", look_at(into))],
    )
