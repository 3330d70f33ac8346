"""Searching passages by words and meaning, and a passage among its neighbours."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wellread.library.searches import around
from wellread.serve.api.queries import DEEPEST, ContextQuery, SearchQuery
from wellread.serve.features.passage_views import found_body, surroundings_body
from wellread.serve.guards.asking_rights import Kb, note_opened
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.rendering import PageFormat, shown

router = APIRouter(include_in_schema=False)

MODES = {"hybrid": "Words and meaning", "text": "Words only", "vector": "Meaning only"}
LISTS = {
    "text": "by words",
    "vector": "by meaning",
    "closeness": "by how close the words stand",
    "rerank": "by the reranker",
}


class SearchPageQuery(SearchQuery, PageFormat):
    """A search; without words, what is there within the limits."""

    query: str = ""


class ContextPageQuery(ContextQuery, PageFormat):
    """How many passages around one."""


@router.get("/search")
def search(kb: Kb, request: Request, asked: Annotated[SearchPageQuery, Query()]) -> Response:
    """The best passages for ``query``, best first; without one, the newest."""
    page = (asked.limit, asked.offset)
    body = found_body(kb, asked.query, asked.filters(), asked.mode, page)
    end = asked.offset + len(body.results)
    if body.total is None:
        more = len(body.results) == asked.limit and end <= DEEPEST
    else:
        more = end < min(body.total, DEEPEST)
    return shown(
        request,
        "search.html",
        body,
        asked=asked,
        choices=limit_choices(kb),
        modes=MODES,
        lists=LISTS,
        more=more,
    )


@router.get("/search/context/{passage_id}")
def context(
    kb: Kb, request: Request, passage_id: str, asked: Annotated[ContextPageQuery, Query()]
) -> Response:
    """A passage with those before and after it in its document."""
    found = around(kb, passage_id, asked.before, asked.after, asked.collections)
    note_opened(request, found.document.id)
    return shown(request, "context.html", surroundings_body(found), asked=asked)
