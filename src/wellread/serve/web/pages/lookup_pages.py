"""Searching passages by words and meaning, and a passage among its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field, field_validator

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import StoryQuery, find_stories
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.recordings import recordings
from wellread.library.searches import around
from wellread.library.timelines import Window, timeline
from wellread.serve.api.queries import (
    DEEPEST,
    ContextQuery,
    ListQuery,
    ScopeQuery,
    SearchQuery,
    TimelineQuery,
)
from wellread.serve.error_shapes import ProblemError
from wellread.serve.features.entities_shown import (
    EntityBody,
    entity_body,
    entity_list_body,
    unknown_entity,
)
from wellread.serve.features.material_found import found_body, recordings_body, surroundings_body
from wellread.serve.features.timelines_shown import Unit, item_body, story_body, timeline_body
from wellread.serve.features.views import Body, PlainBody, document_view, view_url
from wellread.serve.guards.asking_rights import Kb, note_opened
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.neighbourhoods import NeighbourhoodBody, drawing_of, neighbourhood
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.catalogue.documents.listings import Order
from wellread.store.catalogue.stories.story_rows import Story, StoryItem
from wellread.text.timecodes import first_moment, last_moment, window_of
from wellread.types import DocumentFacts, Filters, Span

router = APIRouter(include_in_schema=False)

MODES = {"hybrid": "Words and meaning", "text": "Words only", "vector": "Meaning only"}
LIST_WORDS = {
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
        lists=LIST_WORDS,
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


MOST_NAMES = 300  # of each sort, that the form offers


class TimelinePageQuery(TimelineQuery, PageFormat):
    """The timeline of what is called ``name``."""

    name: str = ""

    @field_validator("kind", "unit", mode="before")
    @classmethod
    def _not_given(cls, value: Any) -> Any:
        """A form sends an empty value for what was left out."""
        return value or None


class TimelineNamesBody(Body):
    """What has a timeline; of the entities those that are named most, of the stories the latest."""

    collections: tuple[str, ...]
    entities: tuple[str, ...]
    stories: tuple[str, ...]


@router.get("/timeline")
def timeline_page(
    kb: Kb, request: Request, asked: Annotated[TimelinePageQuery, Query()]
) -> Response:
    """The form; with ``name`` how it went on, oldest first."""
    names = _names(kb)
    if not asked.name.strip():
        return shown(request, "timeline.html", names, asked=asked, names=names, found=None)
    window = Window(
        since=first_moment(asked.from_) if asked.from_ else None,
        until=last_moment(asked.to) if asked.to else None,
        limit=asked.limit,
    )
    made = timeline(kb, asked.name, window, collections=asked.collections, taken=asked.kind)
    body = timeline_body(asked.name, made, asked.unit)
    return shown(
        request,
        "timeline.html",
        body,
        asked=asked,
        names=names,
        found=body,
        chart=bar_chart([(one.label, one.count) for one in body.periods]),
    )


def _names(kb: KnowledgeBase) -> TimelineNamesBody:
    totals = kb.catalogue.graph.mention_totals(())
    nodes = kb.catalogue.graph.entities(())
    often = {key: total.documents for key, total in totals.items()}
    nodes.sort(key=lambda node: -often.get((node.collection, node.id), 0))
    stories = kb.catalogue.stories.latest(limit=MOST_NAMES)
    return TimelineNamesBody(
        collections=tuple(kb.catalogue.collection_names()),
        entities=tuple(dict.fromkeys(node.title for node in nodes[:MOST_NAMES])),
        stories=tuple(dict.fromkeys(story.title for story in stories)),
    )


class MediaQuery(ListQuery, PageFormat):
    """A page of the list of recordings."""


@router.get("/media")
def media(kb: Kb, request: Request, asked: Annotated[MediaQuery, Query()]) -> Response:
    """Transcripts, and what else has a recording, a page of them."""
    found = recordings(
        kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
    )
    body = recordings_body(found, asked.offset)
    more = asked.offset + len(body.videos) < body.total
    return shown(
        request,
        "media.html",
        body,
        asked=asked,
        choices=limit_choices(kb),
        orders=get_args(Order),
        more=more,
    )
