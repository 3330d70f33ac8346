"""Routes for collections, timelines of topics, and news stories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query

from wellread.ask.retrieve.direct import find_stories
from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import Topic, topics
from wellread.library.timelines import Entry, SubjectKind, Timeline, timeline
from wellread.library.timelines import Window as Between
from wellread.serve.features.feature import MAX_SEARCH_OFFSET, FeatureRouter, Limit, Scope, Window
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, Quoted, Shape, address_of, view_url, view_url_of_span
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.store.catalogue.documents.story_records import Story, StoryItem, SummarySentence
from wellread.text.periods import first_moment, last_moment
from wellread.types import Filters

router, stories_router = FeatureRouter("read"), FeatureRouter("read")
Unit = Literal["day", "week", "month", "year"]
# The longest time span that is shown in each unit, in days.
MAX_DAYS_BY_UNIT: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366))
_LABELS = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
MAX_PERIODS = 1_000
EARLIEST = datetime.min.replace(tzinfo=UTC)


class Period(Shape):
    """A day, week, month or year with the number of dates in it."""

    label: str
    start: date
    count: int


def unit_for(first: datetime, last: datetime) -> Unit:
    """Return the finest unit that divides the time span into a readable number of periods."""
    days = (last - first).days
    return next((unit for unit, max_days in MAX_DAYS_BY_UNIT if days <= max_days), "year")


def periods(dates: Sequence[datetime], unit: Unit) -> list[Period]:
    """Return all periods from the first to the last date, including empty ones."""
    if not dates:
        return []
    counts = Counter(_period_start(moment.date(), unit) for moment in dates)
    result: list[Period] = []
    current, last, form = min(counts), max(counts), _LABELS[unit]
    while current <= last:
        result.append(Period(label=f"{current:{form}}", start=current, count=counts[current]))
        current = _next_start(current, unit)
    return result


def _period_start(day: date, unit: Unit) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _next_start(start: date, unit: Unit) -> date:
    if unit == "year":
        return start.replace(year=start.year + 1)
    if unit == "month":
        return (start + timedelta(days=31)).replace(day=1)
    return start + timedelta(days=7 if unit == "week" else 1)


# --- collections -----------------------------------------------------------------------------


class OftenNamed(Shape, line="*node mentioned_in=total.documents mentions=total.mentions"):
    """An entity with the numbers of its mentions and of the documents that mention it."""

    node: EntityNode
    total: MentionTotal


FACES.show(
    Topic,
    "* entities",
    entities=(
        tuple[OftenNamed, ...],
        lambda topic: [OftenNamed(node=node, total=total) for node, total in topic.entities],
    ),
)


class TopicsBody(Shape):
    """All collections; ``first`` and ``last`` are the dates of their oldest and newest document."""

    topics: tuple[Topic, ...]


@router.get("/api/topics")
def list_topics(
    kb: Kb, scope: Scope, entities: Annotated[int, Query(ge=0, le=200)] = 10
) -> TopicsBody:
    """List the collections, each with its most mentioned entities."""
    return TopicsBody(topics=tuple(topics(kb, scope, entities=entities)))


# --- timelines -------------------------------------------------------------------------------


def _source(entry: Entry) -> Quoted | None:
    """Return the passage that an entry quotes; None for a story without a summary."""
    if not (entry.document and entry.span and entry.locator):
        return None
    return Quoted(document=entry.document, span=entry.span, text=entry.text, locator=entry.locator)


FACES.show(
    Entry,
    "kind at last title count story_id repeats source passage_id",
    story_id=(str | None, lambda entry: entry.story_id or None),
    source=(Quoted | None, _source),
    passage_id=(str | None, lambda entry: entry.passage_id or None),
)


class TimelineBody(
    Shape,
    line="""name taken=found.taken id=found.id title=found.title collections=found.collections
    others=found.others counted=found.counted unit periods total=found.total undated=found.undated
    entries=found.entries""",
):
    """The events of a topic, oldest first.

    Attributes:
        taken: what the name was understood as; ``others`` have the same name.
        counted: what the periods count.
    """

    name: str
    found: Timeline
    unit: Unit
    periods: tuple[Period, ...]


@router.get("/api/topics/{name:path}/timeline")
def topic_timeline(
    kb: Kb,
    name: str,
    scope: Scope,
    from_: Annotated[str, Query(alias="from")] = "",
    to: str = "",
    kind: SubjectKind | None = None,
    unit: Unit | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> TimelineBody:
    """Return the timeline of the collection, entity or story of this name, oldest first.

    ``kind`` restricts what the name may refer to.
    """
    window = Between(
        since=first_moment(from_) if from_ else None,
        until=last_moment(to) if to else None,
        limit=limit,
    )
    events = timeline(kb, name, window, collections=scope, taken=kind)
    return timeline_body(name, events, unit)


def timeline_body(name: str, timeline: Timeline, unit: Unit | None = None) -> TimelineBody:
    """Return the timeline counted by ``unit``, by default the finest readable one."""
    dates = timeline.dates
    chosen_unit = unit or (unit_for(dates[0], dates[-1]) if dates else "day")
    days = {"day": 1, "week": 7, "month": 28, "year": 365}[chosen_unit]
    if dates and (dates[-1] - dates[0]).days > MAX_PERIODS * days:
        raise RequestError(
            f"from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d} there are too many periods",
            hint="choose a longer unit, or set from and to",
        )
    return TimelineBody(
        name=name, found=timeline, unit=chosen_unit, periods=tuple(periods(dates, chosen_unit))
    )


# --- stories ---------------------------------------------------------------------------------

FACES.show(
    SummarySentence,
    "text document_id view_url source_span=span",
    view_url=(str, lambda sentence: view_url(sentence.document_id, "", sentence.span)),
)
FACES.show(
    Story,
    "* -dirty -centre -scheme novelty",
    novelty=(float, lambda story: round(story.novelty, 3)),
)
FACES.show(
    StoryItem,
    """document_id=document.id start=span.start end=span.end title source=document.title url
    published_at repeats view_url""",
    url=(str, lambda item: address_of(item.document)),
    repeats=(
        str | None,
        lambda item: f"{item.repeats[0]}:{item.repeats[1]}" if item.repeats else None,
    ),
    view_url=(str, lambda item: view_url_of_span(item.document, item.span)),
)


class StoryLine(Shape, line="*story score"):
    """A story in a list; ``score`` is null unless it was searched for.

    Its news items are at ``GET /api/topics/{id}/timeline?kind=story``.
    """

    story: Story
    score: float | None


class StoryListBody(Shape):
    """A page of stories, latest first, or best first for a ``query``.

    ``total`` is the length of the whole list; null for a search, which ranks without counting.
    """

    query: str
    total: int | None
    offset: int
    stories: tuple[StoryLine, ...]


@stories_router.get("/api/stories")
def list_stories(
    kb: Kb,
    scope: Scope,
    window: Window,
    query: Annotated[str, Query(max_length=4_000)] = "",
    limit: Limit = 20,
    offset: Annotated[int, Query(ge=0, le=MAX_SEARCH_OFFSET)] = 0,
) -> StoryListBody:
    """List stories, latest first, or search them with ``query``, best first."""
    if query.strip():
        # A search also covers old stories.
        since, until = window[0] or EARLIEST, window[1]
        limits = Filters(collections=scope, published_from=since, published_to=until)
        matches = find_stories(kb, query, limits, top_k=limit + offset)[offset:]
        lines = [StoryLine(story=match.story, score=round(match.score, 4)) for match in matches]
        total = None
    else:
        check_collections(kb, Filters(collections=scope))
        stored = kb.catalogue.stories
        latest = stored.latest(scope, *window, limit, offset)
        lines = [StoryLine(story=story, score=None) for story in latest]
        total = stored.count_latest(scope, *window)
    return StoryListBody(query=query, total=total, offset=offset, stories=tuple(lines))


class StoryDetail(Shape, line="*story unit periods news"):
    """A story with its periods and news items, oldest first."""

    story: Story
    unit: Unit
    periods: tuple[Period, ...]
    news: tuple[StoryItem, ...]


def story_detail(kb: KnowledgeBase, story_id: str, limit: int) -> StoryDetail:
    """Return the story with this id prefix and its newest ``limit`` news items."""
    matches = kb.catalogue.stories.named(story_id) if story_id.strip() else []
    if len(matches) != 1:
        subject = "several stories have" if matches else "no story has"
        raise UnknownNameError(
            f"{subject} an id that begins with {story_id!r}", hint="/stories lists them"
        )
    items = kb.catalogue.stories.items(matches[0].id)
    dates = [item.published_at for item in items if item.published_at]
    unit = unit_for(dates[0], dates[-1]) if dates else "day"
    return StoryDetail(
        story=matches[0], unit=unit, periods=tuple(periods(dates, unit)), news=tuple(items[-limit:])
    )
