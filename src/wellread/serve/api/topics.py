"""``GET /api/topics``: the collections, and how a topic went on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from wellread.kb import KnowledgeBase
from wellread.library.document_lists import topics
from wellread.library.timelines import Window, timeline
from wellread.serve.api.lookup_schemas import TimelineBody, TopicsBody
from wellread.serve.api.queries import TimelineQuery, TopicsQuery
from wellread.serve.api.search import REFUSED
from wellread.serve.lookups import timeline_body, topic_body
from wellread.serve.timecodes import first_moment, last_moment


def topics_router(kb: KnowledgeBase) -> APIRouter:
    """The routes over ``kb``."""
    router = APIRouter(responses=REFUSED)

    @router.get("/api/topics", response_model=TopicsBody)
    def list_topics(asked: Annotated[TopicsQuery, Query()]) -> TopicsBody:
        """The collections that a question can be scoped to, with what is named most in each."""
        found = topics(kb, asked.collections, entities=asked.entities)
        return TopicsBody(topics=tuple(topic_body(one) for one in found))

    @router.get("/api/topics/{name:path}/timeline", response_model=TimelineBody)
    def topic_timeline(name: str, asked: Annotated[TimelineQuery, Query()]) -> TimelineBody:
        """How the collection, entity or story of this name went on, oldest first."""
        window = Window(
            since=first_moment(asked.from_) if asked.from_ else None,
            until=last_moment(asked.to) if asked.to else None,
            limit=asked.limit,
        )
        found = timeline(kb, name, window, collections=asked.collections, taken=asked.kind)
        return timeline_body(name, found, asked.unit)

    return router
