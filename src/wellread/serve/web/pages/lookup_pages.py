"""Routes of the lookup pages: passage search, stories, and entities with a graph drawing."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.ask.retrieve.search import check_collections
from wellread.serve.error_shapes import ProblemError
from wellread.serve.features import material_found, timelines_shown
from wellread.serve.features.entities_shown import entities_body, entity_body, unknown_entity
from wellread.serve.features.feature import MAX_SEARCH_OFFSET, Scope, ScopeQuery, SearchQuery
from wellread.serve.features.timelines_shown import story_detail
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import document_view, template_view, view_url
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import relations_drawing, stack_chart
from wellread.serve.web.rendering import page_response, page_router
from wellread.text.periods import window_of
from wellread.types import Filters

router = page_router("read")

# --- passages --------------------------------------------------------------------------------

MODES = {"hybrid": "Words and meaning", "text": "Words only", "vector": "Meaning only"}
LIST_WORDS = {
    "text": "by words",
    "vector": "by meaning",
    "closeness": "by how close together the words are",
    "rerank": "by the reranker",
}


class SearchPageQuery(SearchQuery):
    """A search; without words, a list of what the filters match."""

    query: str = ""


@router.get("/search")
def search(kb: Kb, request: Request, form: Annotated[SearchPageQuery, Query()]) -> Response:
    """The best passages for ``query``, best first; without a query, the newest."""
    page = (form.limit, form.offset)
    body = material_found.find_or_list(kb, form.query, form.filters(), form.mode, page)
    results = body.found
    last = form.offset + len(results.results)
    if results.total is None:
        more = len(results.results) == form.limit and last <= MAX_SEARCH_OFFSET
    else:
        more = last < min(results.total, MAX_SEARCH_OFFSET)
    return page_response(
        request,
        "search.html",
        body,
        asked=form,
        choices=limit_choices(kb),
        modes=MODES,
        lists=LIST_WORDS,
        more=more,
    )


# --- stories ---------------------------------------------------------------------------------


class StoriesQuery(ScopeQuery):
    """Filters of the story list; with ``query``, the most relevant stories come first."""

    query: str = Field(default="", max_length=4_000)
    from_: str = Field(default="", alias="from")
    to: str = ""
    limit: int = Field(default=20, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=10_000)


@router.get("/stories")
def stories(kb: Kb, request: Request, form: Annotated[StoriesQuery, Query()]) -> Response:
    """Stories, latest first; with a query, most relevant first."""
    window = window_of(form.from_, form.to, hint="swap the two dates")
    # One more than is shown, to know whether there are further stories.
    listed = timelines_shown.list_stories(
        kb, form.collections, window, form.query, form.limit + 1, form.offset
    )
    return page_response(
        request,
        "stories.html",
        replace(listed, stories=listed.stories[: form.limit]),
        asked=form,
        collections=kb.catalogue.collection_names(),
        more=len(listed.stories) > form.limit,
    )


@router.get("/stories/{story_id}")
def story(
    kb: Kb,
    request: Request,
    story_id: str,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 200,
) -> Response:
    """One story with its timeline and news items."""
    body = story_detail(kb, story_id, limit)
    facts = kb.catalogue.facts({sentence.document_id for sentence in body.story.summary})
    summary = []
    for sentence in body.story.summary:
        document = facts.get(sentence.document_id)
        address = view_url(document.id, document.version, sentence.span) if document else ""
        title = document.title if document else ""
        summary.append((sentence.text, title, address or document_view(sentence.document_id)))
    chart = stack_chart([(period.label, {"bar": period.count}) for period in body.periods])
    return page_response(request, "story.html", body, chart=chart, said=summary)


# --- entities --------------------------------------------------------------------------------

LIST_HINT = "/entities lists all entities"
MAX_RELATIONS = 500  # relations shown in a table; the JSON has all


@router.get("/entities")
def entities(
    kb: Kb,
    request: Request,
    scope: Scope,
    type: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    query: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=5_000)] = 100,
) -> Response:
    """Entities, most often mentioned first; ``query`` matches part of their names."""
    check_collections(kb, Filters(collections=scope))
    types = [name for name in type if name]
    body = entities_body(kb, scope, types or None, (limit, 0), name_part=query)
    similar = kb.catalogue.graph.similar_to(scope, query) if query and not body.total else []
    return page_response(
        request,
        "entities.html",
        body,
        asked={"query": query, "types": types, "collections": scope},
        collections=kb.catalogue.collection_names(),
        types=sorted({node.type for node in kb.catalogue.graph.entities(()) if node.type}),
        near=similar,
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
    """The entity with this id, title, alias or address, and the documents that mention it."""
    check_collections(kb, Filters(collections=scope))
    body = entity_body(kb, scope, name, limit)
    if body is None:
        raise ProblemError(unknown_entity(kb, scope, name, fallback_hint=LIST_HINT))
    outgoing = template_view([edge for edge in body.relations if edge.direction == "out"])
    incoming = template_view([edge for edge in body.relations if edge.direction == "in"])
    return page_response(
        request,
        "entity.html",
        body,
        limit=limit,
        drawing=relations_drawing(body.node, body.relations),
        most=MAX_RELATIONS,
        directions=[("From it", "out", outgoing), ("To it", "in", incoming)],
    )
