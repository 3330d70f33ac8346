"""``GET /api/search`` and its kin: by words, by speaker, by date, and around a passage."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from wellread.ask.retrieve.search import SearchMode
from wellread.kb import KnowledgeBase
from wellread.library.searches import Results, around, find, newest
from wellread.serve.api.lookup_schemas import ResultsBody, SurroundingsBody
from wellread.serve.api.queries import ContextQuery, DateRangeQuery, SearchQuery, SpeakerQuery
from wellread.serve.api.schemas import ErrorBody
from wellread.serve.lookups import results_body, surroundings_body
from wellread.types import Filters

REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "A parameter is unknown, missing or out of range"},
    404: {"model": ErrorBody, "description": "A name that nothing has"},
}


def search_router(kb: KnowledgeBase) -> APIRouter:
    """The routes over ``kb``."""
    router = APIRouter(responses=REFUSED)

    @router.get("/api/search", response_model=ResultsBody)
    def search(asked: Annotated[SearchQuery, Query()]) -> ResultsBody:
        """The best passages for ``query``, best first."""
        found = find(
            kb,
            asked.query,
            asked.filters(),
            mode=asked.mode,
            limit=asked.offset + asked.limit,
        )
        return results_body(_from(found, asked.offset), asked.mode)

    # A name may hold a slash.
    @router.get("/api/search/speaker/{name:path}", response_model=ResultsBody)
    def by_speaker(name: str, asked: Annotated[SpeakerQuery, Query()]) -> ResultsBody:
        """What the speaker says about ``query``; without one all of it, newest first."""
        limits = asked.limits(asked.from_, asked.to, [name])
        return _body(kb, limits, asked.query, asked.mode, (asked.limit, asked.offset))

    @router.get("/api/search/date-range", response_model=ResultsBody)
    def by_date(asked: Annotated[DateRangeQuery, Query()]) -> ResultsBody:
        """What was published from ``start`` to ``end``; without a query newest first."""
        limits = asked.filters()
        return _body(kb, limits, asked.query, asked.mode, (asked.limit, asked.offset))

    @router.get("/api/segments/{passage_id}/context", response_model=SurroundingsBody)
    def context(passage_id: str, asked: Annotated[ContextQuery, Query()]) -> SurroundingsBody:
        """A passage with those before and after it in its document."""
        found = around(kb, passage_id, asked.before, asked.after, asked.collections)
        return surroundings_body(found)

    return router


def _body(
    kb: KnowledgeBase, limits: Filters, query: str, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found, or without a query listed; ``page``: limit and offset."""
    limit, offset = page
    if not query.strip():
        return results_body(newest(kb, limits, limit=limit, offset=offset), None)
    found = find(kb, query, limits, mode=mode, limit=offset + limit)
    return results_body(_from(found, offset), mode)


def _from(found: Results, offset: int) -> Results:
    return replace(found, results=found.results[offset:])
