"""Collections, stories, and how a topic went on: what happened by day, week, month or year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import FoundItem, FoundStory, StoryQuery, find_stories
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import Topic, topics
from wellread.library.timelines import Entry, Taken, Timeline, timeline
from wellread.library.timelines import Window as Between
from wellread.serve.features.feature import DEEPEST, FeatureRouter, Many, Scope, Window
from wellread.serve.guards.route_rules import Kb
from wellread.serve.terminal import SHORT_ID, day_words, fold, right, shortened, table, whole
from wellread.serve.views import FACES, Quoted, Shape, address_of, opened_at, view_url
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.store.catalogue.documents.story_records import Story, StoryItem, SummarySentence
from wellread.text.periods import first_moment, last_moment
from wellread.text.words import harmless
from wellread.types import Filters

router, stories_router = FeatureRouter(), FeatureRouter()
Unit = Literal["day", "week", "month", "year"]
Dates = Mapping[str, Sequence[datetime]]

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
# The longest stretch that is shown by that unit, in days.
LONGEST: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366))
MOST_PERIODS = 1_000
BAR_WIDTH = 30
SPARK_WIDTH = 16
LONGEST_LINE = 160
MOST_BARS = 40  # lines of a chart; the newest
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


def sparkline(counts: Sequence[int]) -> str:
    """One character for each count; a dot for none."""
    most = max(counts, default=0)
    return "".join(BARS[(count * len(BARS) - 1) // most] if count else NOTHING for count in counts)


def bucketed(dates: Sequence[datetime], first: datetime, last: datetime, width: int) -> list[int]:
    """How many of the dates are in each of ``width`` equal parts of the stretch."""
    counts = [0] * width
    length = max((last - first).total_seconds(), 1.0)
    for moment in dates:
        share = (moment - first).total_seconds() / length
        if 0 <= share <= 1:
            counts[min(int(share * width), width - 1)] += 1
    return counts


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


def print_timeline(console: Console, body: TimelineBody) -> None:
    """What the name was taken for, a bar for each period, and the entries, oldest first."""
    found = body.found
    head = Text(harmless(found.title), style="bold")
    head.append(f"  {found.taken}", style="cyan")
    if found.title not in found.collections:
        head.append(f"  in {harmless(', '.join(found.collections))}", style="dim")
    console.print(head, soft_wrap=True)
    for other in found.others:
        hint = f"a {other} is called so too" if other != "entity" else "an entity is called so too"
        console.print(Text(f"{hint}: --as {other}", style="yellow"))
    if not found.total and not body.periods:
        where = f"{found.undated:,} without a date" if found.undated else "nothing"
        console.print(Text(f"Nothing with a date there ({where}).", style="yellow"))
        return
    _print_bars(console, body)
    for entry in found.entries:
        _print_entry(console, entry)
    if found.total > len(found.entries):
        left = found.total - len(found.entries)
        console.print(Text(f"… and {left:,} older (--limit, --to)", style="dim"))
    if found.undated:
        console.print(Text(f"{found.undated:,} without a date are not shown", style="dim"))


def _print_bars(console: Console, body: TimelineBody) -> None:
    console.print(Text(f"\n{body.found.counted} by {body.unit}", style="dim"))
    shown = body.periods[-MOST_BARS:]
    hidden = body.periods[: len(body.periods) - len(shown)]
    if hidden:
        count = sum(period.count for period in hidden)
        console.print(Text(f"… {count:,} before {shown[0].label}", style="dim"))
    most = max((period.count for period in shown), default=0)
    width = max((len(f"{period.count:,}") for period in shown), default=0)
    for period in shown:
        console.print(_bar(period, most, width), soft_wrap=True)
    console.print()


def _bar(period: Period, most: int, width: int) -> Text:
    if not period.count:
        return Text(f"{period.label}  {'·':>{width}}", style="dim")
    line = Text.assemble((f"{period.label}  ", "dim"), f"{period.count:>{width},} ")
    line.append("█" * max(1, round(period.count / most * BAR_WIDTH)), style="cyan")
    return line


def _print_entry(console: Console, entry: Entry) -> None:
    line = Text.assemble((f"{day_words(entry.at)}  ", "dim"))
    line.append(f"{'= ' if entry.repeats else ''}{harmless(entry.title)}")
    if entry.kind == "story":
        news = f"{entry.count:,} news" + (
            f", to {day_words(entry.last)}" if entry.last.date() != entry.at.date() else ""
        )
        line.append(f"  {news}", style="dim")
    elif entry.kind == "mention" and entry.count > 1:
        line.append(f"  {entry.count:,}×", style="cyan")
    if entry.locator and entry.locator.label:
        line.append(f"  {harmless(entry.locator.label)}", style="dim")
    console.print(line, soft_wrap=True)
    if entry.document and entry.kind != "story":
        quote = Text(f"“{shortened(entry.text, LONGEST_LINE)}”", style="dim")
        console.print(Padding(quote, (0, 0, 0, 12)))


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


def print_stories(console: Console, stories: Sequence[Story], dates: Dates) -> None:
    """One line for each story: when it had news (all in one stretch of time), how much, title."""
    if not stories:
        _print_none(console)
        return
    known = [moment for story in stories for moment in dates[story.id]]
    columns = (
        whole("id", "dim"),
        right("news"),
        right("sources"),
        whole("last"),
        whole(_stretch(known), "cyan"),
        fold("story"),
    )
    rows = []
    for story in stories:
        spark = ""
        if known:
            spark = sparkline(bucketed(dates[story.id], min(known), max(known), SPARK_WIDTH))
        counts = (f"{story.items:,}", f"{story.sources:,}", day_words(story.last_at))
        rows.append((story.id[:SHORT_ID], *counts, spark, story.title))
    console.print(table(columns, rows))


def print_found(console: Console, found: Sequence[FoundStory]) -> None:
    """The stories that a question is about, each with its best items."""
    if not found:
        _print_none(console)
    for number, one in enumerate(found, start=1):
        head = Text.assemble((f"{number}. ", "bold cyan"), (harmless(one.story.title), "bold"))
        head.append(f"  {one.fit:.2f} · {_figures(one.story)}", style="dim")
        console.print(head)
        for item in one.items:
            line = Text.assemble((f"{day_words(item.published_at)}  ", "dim"), harmless(item.title))
            console.print(Padding(line, (0, 0, 0, 3)))


def print_story(console: Console, story: Story, items: Sequence[StoryItem], limit: int) -> None:
    """Title, summary with where each sentence is from, and the items along a timeline."""
    console.print(Text(harmless(story.title), style="bold"))
    console.print(Text(f"{story.id} · {_figures(story)}", style="dim"), soft_wrap=True)
    if story.terms:
        console.print(Text(harmless(", ".join(story.terms)), style="cyan"))
    titles = {item.document.id: item.document.title for item in items}
    for one in story.summary:
        line = Text(f"“{harmless(one.text)}” ")
        line.append(f"— {harmless(titles.get(one.document_id, ''))}", style="dim")
        console.print(Padding(line, (1, 0, 0, 2)))
    console.print()
    _print_timeline(console, [item.published_at for item in items if item.published_at])
    for item in items[-limit:]:
        mark = "= " if item.repeats else ""
        line = Text.assemble(
            (f"{day_words(item.published_at)}  ", "dim"), f"{mark}{harmless(item.title)}"
        )
        line.append(f"  {harmless(item.document.title)}", style="dim")
        console.print(line)
    if len(items) > limit:
        console.print(Text(f"… and {len(items) - limit:,} older ones (--limit)", style="dim"))


def _print_timeline(console: Console, dates: Sequence[datetime]) -> None:
    if len(dates) < 2:
        return
    found = periods(dates, unit_for(dates[0], dates[-1]))
    most = max(period.count for period in found)
    for period in found:
        bar = "█" * max(1, round(period.count / most * BAR_WIDTH)) if period.count else ""
        line = Text.assemble((f"{period.label}  ", "dim"), (bar, "cyan"))
        line.append(f" {period.count}" if period.count else "·")
        console.print(line)
    console.print()


def _print_none(console: Console) -> None:
    text = "No stories there. They are built of articles (stories.kinds) at the end of every run."
    console.print(Text(text, style="yellow"))


def _figures(story: Story) -> str:
    news = f"{story.items:,} news item{'' if story.items == 1 else 's'}"
    sources = f"{story.sources:,} source{'' if story.sources == 1 else 's'}"
    first, last = day_words(story.first_at), day_words(story.last_at)
    when = first if first == last else f"{first} to {last}"
    return f"{news}, {sources}, {when}"


def _stretch(dates: Sequence[datetime]) -> str:
    return f"{min(dates):%Y-%m} – {max(dates):%Y-%m}" if dates else "when"
