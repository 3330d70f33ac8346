"""Routes of the pages of Explore: search, stories, entities, recordings and timelines."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError
from wellread.library.named_things import topics
from wellread.library.searches import Results, SnippetPiece, snippet
from wellread.serve.error_shapes import ProblemError, problem_of
from wellread.serve.features import documents_found, material_found, timelines_shown
from wellread.serve.features.entities_shown import entities_body, entity_body, unknown_entity
from wellread.serve.features.feature import (
    MAX_SEARCH_OFFSET,
    ListQuery,
    Scope,
    ScopeQuery,
    SearchQuery,
    window_problems,
)
from wellread.serve.features.timelines_shown import Period, story_detail
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import document_view, template_view, view_url
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import Layout, relations_drawing, stack_chart
from wellread.serve.web.rendering import page_response, page_router, render_page
from wellread.store.catalogue.documents.entity_nodes import EntityNode
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
    """The best passages for ``query``, best first; without a query, the newest.

    A filter that is wrong is told in the form, which keeps all that was chosen.
    """
    values: dict[str, Any] = {"asked": form, "choices": limit_choices(kb), "modes": MODES}
    problems = window_problems({"from": form.from_, "to": form.to})
    status = 400
    try:
        limits = form.filters() if not problems else None
        body = limits and material_found.find_or_list(kb, form, limits)
    except RequestError as error:
        body, problems, status = None, {"limits": str(error)}, problem_of(error).status
    values |= {"lists": LIST_WORDS, "problems": problems}
    values["found"] = body and _in_groups(body.found, form.mode)
    if not body:
        return render_page(request, "search.html", {**values, "body": None}, status=status)
    last, total = form.offset + len(body.found.results), body.found.total
    full = len(body.found.results) == form.limit and last <= MAX_SEARCH_OFFSET
    more = full if total is None else last < min(total, MAX_SEARCH_OFFSET)
    return page_response(request, "search.html", body, more=more, **values)


MarkedHit = tuple[Any, list[SnippetPiece], list[SnippetPiece]]


def _in_groups(found: Results, mode: str) -> list[tuple[bool, list[MarkedHit]]]:
    """The results with title and text in pieces, those with a word of the query before the rest."""
    groups: dict[bool, list[MarkedHit]] = {True: [], False: []}
    for one in found.results:
        title, text = (snippet(t, found.searched) for t in (one.hit.document.title, one.text))
        held = any(marked for _, marked in (*title, *text)) or mode != "hybrid" or not found.query
        groups[held].append((template_view(one), title, text))
    return list(groups.items())


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
    problems = window_problems({"from": form.from_, "to": form.to})
    window = (None, None) if problems else window_of(form.from_, form.to, hint="")
    # One more than is shown, to know whether there are further stories.
    listed = timelines_shown.list_stories(
        kb, form.collections, window, form.query, form.limit + 1, form.offset
    )
    return page_response(
        request,
        "stories.html",
        replace(listed, stories=listed.stories[: form.limit]),
        status=400 if problems else 200,
        asked=form,
        problems=problems,
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
    return page_response(request, "story.html", body, chart=_chart(body.periods), said=summary)


def _chart(periods: tuple[Period, ...]) -> Layout | None:
    return stack_chart([(period.label, {"count": period.count}) for period in periods])


# --- recordings ------------------------------------------------------------------------------


@router.get("/media")
def media(kb: Kb, request: Request, form: Annotated[ListQuery, Query()]) -> Response:
    """Recordings with date, length and speakers, newest first."""
    body = documents_found.videos(kb, form)
    return page_response(
        request,
        "media.html",
        body,
        asked=form,
        choices=limit_choices(kb),
        more=form.offset + len(body.videos) < body.total,
    )


# --- timelines -------------------------------------------------------------------------------

OFFERED = 12  # entities of each collection that the page offers


class TimelineQuery(ScopeQuery):
    """A topic (a collection, an entity or a story) and a period."""

    name: str = Field(default="", max_length=500)
    from_: str = Field(default="", alias="from")
    to: str = ""
    limit: int = Field(default=50, ge=1, le=1_000)


@router.get("/timelines")
def timelines(kb: Kb, request: Request, form: Annotated[TimelineQuery, Query()]) -> Response:
    """What happened when around a topic; without one, the topics that can be chosen."""
    body, problems, status = None, window_problems({"from": form.from_, "to": form.to}), 400
    near: list[EntityNode] = []
    if form.name.strip() and not problems:
        try:
            body = timelines_shown.topic_timeline(
                kb, form.name, form.collections, form.from_, form.to, limit=form.limit
            )
        except RequestError as error:
            problem = problem_of(error)
            told = f"{problem.detail[:1].upper()}{problem.detail[1:]}."
            problems, status = {"name": told}, problem.status
            near = kb.catalogue.graph.similar_to(form.collections, form.name)
    values = {
        "asked": form,
        "problems": problems,
        "body": template_view(body),
        "chart": _chart(body.periods) if body else None,
        "offered": ()
        if body or near
        else [one for one in topics(kb, entities=OFFERED) if one.first],
        "near": near,
    }
    return render_page(request, "timelines.html", values, status=status if problems else 200)


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
