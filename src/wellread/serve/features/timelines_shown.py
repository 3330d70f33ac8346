"""Collections, stories, and how a topic went on: what happened by day, week, month or year."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import FoundItem, StoryQuery, find_stories
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import Topic, topics
from wellread.library.timelines import Entry, Taken, Timeline, timeline
from wellread.library.timelines import Window as Between
from wellread.serve.features.feature import DEEPEST, FeatureRouter, Many, Scope, Window
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, Quoted, Shape, address_of, opened_at, view_url
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.store.catalogue.documents.story_records import Story, StoryItem, SummarySentence
from wellread.text.periods import first_moment, last_moment
from wellread.types import Filters

router, stories_router = FeatureRouter(), FeatureRouter()
Unit = Literal["day", "week", "month", "year"]
# The longest stretch that is shown by that unit, in days.
LONGEST: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366))
MOST_PERIODS = 1_000
LONGEST_AGO = datetime.min.replace(tzinfo=UTC)


class Period(Shape):
    """A day, week, month or year, and how many dates are in it."""

    label: str
    start: date
    count: int


def unit_for(first: datetime, last: datetime) -> Unit:
    """The finest unit in which the stretch has a readable number of periods."""
    days = (last - first).days
    return next((unit for unit, longest in LONGEST if days <= longest), "year")


def periods(dates: Sequence[datetime], unit: Unit) -> list[Period]:
    """Every period from the first date to the last, those without a date too."""
    if not dates:
        return []
    starts = [_start(moment.date(), unit) for moment in dates]
    found: list[Period] = []
    current = min(starts)
    while current <= max(starts):
        label, count = _label(current, unit), starts.count(current)
        found.append(Period(label=label, start=current, count=count))
        current = _next(current, unit)
    return found


def _start(day: date, unit: Unit) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _next(start: date, unit: Unit) -> date:
    if unit == "year":
        return start.replace(year=start.year + 1)
    if unit == "month":
        return (start + timedelta(days=31)).replace(day=1)
    return start + timedelta(days=7 if unit == "week" else 1)


def _label(start: date, unit: Unit) -> str:
    return {"year": f"{start:%Y}", "month": f"{start:%Y-%m}"}.get(unit, f"{start:%Y-%m-%d}")


# --- collections -----------------------------------------------------------------------------


class OftenNamed(Shape, line="*node mentioned_in=total.documents mentions=total.mentions"):
    """An entity, in how many documents it is named, and how often altogether."""

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
    """Every collection; ``first`` and ``last``: dates of its oldest and newest document."""

    topics: tuple[Topic, ...]


@router.get("/api/topics")
def list_topics(
    kb: Kb, scope: Scope, entities: Annotated[int, Query(ge=0, le=200)] = 10
) -> TopicsBody:
    """The collections that a question can be scoped to, with what is named most in each."""
    return TopicsBody(topics=tuple(topics(kb, scope, entities=entities)))


# --- timelines -------------------------------------------------------------------------------


def _source(entry: Entry) -> Quoted | None:
    """The place of an entry; a story that has no summary just now has none."""
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
    """How a topic went on, oldest first.

    Attributes:
        taken: what the name was taken for; ``others`` are what else is called so.
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
    kind: Taken | None = None,
    unit: Unit | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> TimelineBody:
    """How the collection, entity or story of this name went on, oldest first.

    ``kind`` takes the name for this only.
    """
    window = Between(
        since=first_moment(from_) if from_ else None,
        until=last_moment(to) if to else None,
        limit=limit,
    )
    found = timeline(kb, name, window, collections=scope, taken=kind)
    return timeline_body(name, found, unit)


def timeline_body(name: str, found: Timeline, unit: Unit | None = None) -> TimelineBody:
    """A timeline counted by ``unit``, or by the finest one that is readable."""
    dates = found.dates
    chosen = unit or (unit_for(dates[0], dates[-1]) if dates else "day")
    days = {"day": 1, "week": 7, "month": 28, "year": 365}[chosen]
    if dates and (dates[-1] - dates[0]).days > MOST_PERIODS * days:
        raise RequestError(
            f"from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d} there are too many periods",
            hint="count by a longer one, or set from and to",
        )
    return TimelineBody(name=name, found=found, unit=chosen, periods=tuple(periods(dates, chosen)))


# --- stories ---------------------------------------------------------------------------------

FACES.show(
    SummarySentence,
    "text document_id view_url source_span=span",
    view_url=(str, lambda said: view_url(said.document_id, "", said.span)),
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
    view_url=(str, lambda item: opened_at(item.document, item.span)),
)
FACES.show(
    FoundItem,
    "document_id=document.id start=span.start end=span.end title text url published_at",
    url=(str, lambda item: address_of(item.document)),
)


class StoryLine(Shape, line="*story score"):
    """A story on a list; ``score`` is of a search and null on a list.

    ``timeline`` of its topic has its news: ``GET /api/topics/{id}/timeline?kind=story``.
    """

    story: Story
    score: float | None


class StoryListBody(Shape):
    """A part of the list of stories: the latest first, or the best for ``query``.

    ``total`` is the length of the whole list; null for a search, which ranks and does not count.
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
    limit: Many = 20,
    offset: Annotated[int, Query(ge=0, le=DEEPEST)] = 0,
) -> StoryListBody:
    """Stories, the latest first, or with ``query`` the best first; a page of them."""
    if query.strip():
        # Who looks around wants the old ones too.
        wanted = StoryQuery(
            text=query,
            collections=scope,
            since=window[0] or LONGEST_AGO,
            until=window[1],
            top_k=limit + offset,
        )
        found = find_stories(kb, wanted)[offset:]
        lines = [StoryLine(story=one.story, score=round(one.score, 4)) for one in found]
        total = None
    else:
        check_collections(kb, Filters(collections=scope))
        stored = kb.catalogue.stories
        latest = stored.latest(scope, *window, limit, offset)
        lines = [StoryLine(story=story, score=None) for story in latest]
        total = stored.many(scope, *window)
    return StoryListBody(query=query, total=total, offset=offset, stories=tuple(lines))


class StoryDetail(Shape, line="*story unit periods news"):
    """A story with its periods and its news items, the oldest first."""

    story: Story
    unit: Unit
    periods: tuple[Period, ...]
    news: tuple[StoryItem, ...]


def story_detail(kb: KnowledgeBase, story_id: str, limit: int) -> StoryDetail:
    """The story whose id begins so, with at most ``limit`` of its news items, the newest."""
    found = kb.catalogue.stories.named(story_id) if story_id.strip() else []
    if len(found) != 1:
        what = "several stories have" if found else "no story has"
        raise UnknownNameError(
            f"{what} an id that begins with {story_id!r}", hint="/stories lists them"
        )
    items = kb.catalogue.stories.items(found[0].id)
    dates = [item.published_at for item in items if item.published_at]
    unit = unit_for(dates[0], dates[-1]) if dates else "day"
    return StoryDetail(
        story=found[0],
        unit=unit,
        periods=tuple(periods(dates, unit)),
        news=tuple(items[-limit:]),
    )
