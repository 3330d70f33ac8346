"""Stories: what the news is about, the latest first; one story along its time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import StoryQuery, find_stories
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.serve.api.queries import ScopeQuery
from wellread.serve.features.bodies import PlainBody, document_view, view_url
from wellread.serve.features.story_views import item_body, story_body
from wellread.serve.features.timeline_views import Unit
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.catalogue.stories.story_rows import Story, StoryItem
from wellread.text.periods import window_of
from wellread.types import DocumentFacts, Filters, Span

router = APIRouter(include_in_schema=False)
LONGEST_AGO = datetime.min.replace(tzinfo=UTC)


class StoriesQuery(ScopeQuery, PageFormat):
    """Which stories; ``query``: those that are about it, the best first."""

    query: str = Field(default="", max_length=4_000)
    from_: str = Field(default="", alias="from")
    to: str = ""
    limit: int = Field(default=20, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=10_000)


class StoryPageQuery(PageFormat):
    """Most news items of the story, the newest."""

    limit: int = Field(default=200, ge=1, le=5_000)


class SaidBody(PlainBody):
    """A sentence of a summary, verbatim, and where it stands."""

    text: str
    document_id: str
    start: int
    end: int


class StoryPeriodBody(PlainBody):
    """A day, week, month or year, and how many items are in it."""

    label: str
    start: date
    items: int


class StoryTimelineBody(PlainBody):
    """Every period from the first item to the last."""

    unit: Unit
    periods: tuple[StoryPeriodBody, ...]


class StoryBody(PlainBody):
    """A story as ``wellread stories --json`` writes it."""

    id: str
    collection: str
    title: str
    summary: tuple[SaidBody, ...]
    terms: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    items: int
    sources: int
    novelty: float
    timeline: StoryTimelineBody


class StoriesBody(PlainBody):
    """A part of the list of stories."""

    query: str
    stories: tuple[StoryBody, ...]


class NewsBody(PlainBody):
    """A news item; ``repeats`` names the one of which it is a near-duplicate."""

    document_id: str
    start: int
    end: int
    title: str
    source: str
    url: str
    published_at: datetime | None
    repeats: str | None
    view_url: str


class StoryDetailBody(StoryBody):
    """A story with its news items, the oldest first."""

    news: tuple[NewsBody, ...]


@router.get("/stories")
def stories(kb: Kb, request: Request, asked: Annotated[StoriesQuery, Query()]) -> Response:
    """Stories, the latest first; those about a query, the best first."""
    start, end = window_of(asked.from_, asked.to, hint="swap the two dates")
    most = asked.offset + asked.limit + 1
    if asked.query.strip():
        # Who looks around wants the old ones too.
        wanted = StoryQuery(
            text=asked.query,
            collections=asked.collections,
            since=start or LONGEST_AGO,
            until=end,
            top_k=most,
        )
        every = [one.story for one in find_stories(kb, wanted)]
    else:
        check_collections(kb, Filters(collections=asked.collections))
        every = kb.catalogue.stories.latest(asked.collections, start, end, limit=most)
    part = every[asked.offset : asked.offset + asked.limit]
    dates = kb.catalogue.stories.dates([one.id for one in part])
    bodies = tuple(StoryBody.model_validate(story_body(one, dates[one.id])) for one in part)
    return shown(
        request,
        "stories.html",
        StoriesBody(query=asked.query, stories=bodies),
        asked=asked,
        collections=kb.catalogue.collection_names(),
        more=len(every) == most,
    )


@router.get("/stories/{story_id}")
def story(
    kb: Kb, request: Request, story_id: str, asked: Annotated[StoryPageQuery, Query()]
) -> Response:
    """One story with its timeline and its news.

    Raises:
        UnknownNameError: no story, or several, have an id that begins so.
    """
    found = _named(kb, story_id)
    items = kb.catalogue.stories.items(found.id)
    dates = [item.published_at for item in items if item.published_at]
    body = StoryDetailBody.model_validate(
        {**story_body(found, dates), "news": [_news(one) for one in items[-asked.limit :]]}
    )
    facts = {item.document.id: item.document for item in items}
    return shown(
        request,
        "story.html",
        body,
        chart=bar_chart([(one.label, one.items) for one in body.timeline.periods]),
        said=[(one.text, *_place(facts, one)) for one in body.summary],
    )


def _named(kb: KnowledgeBase, story_id: str) -> Story:
    found = kb.catalogue.stories.named(story_id) if story_id.strip() else []
    if len(found) != 1:
        what = "several stories have" if found else "no story has"
        raise UnknownNameError(
            f"{what} an id that begins with {story_id!r}", hint="/stories lists them"
        )
    return found[0]


def _news(item: StoryItem) -> dict[str, object]:
    place = view_url(item.document.id, item.document.version, item.span)
    return {**item_body(item), "view_url": place}


def _place(facts: Mapping[str, DocumentFacts], said: SaidBody) -> tuple[str, str]:
    """The title of the document that says it, and where it is read there."""
    document = facts.get(said.document_id)
    if document is None:
        return "", document_view(said.document_id)
    span = Span(start=said.start, end=said.end)
    return document.title, view_url(document.id, document.version, span)
