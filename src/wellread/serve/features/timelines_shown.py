"""The collections, and how a topic went on: what happened by day, week, month or year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import FoundStory, StoryQuery, find_stories
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.document_lists import Topic
from wellread.library.timeline_entries import Entry
from wellread.library.timelines import Timeline
from wellread.serve.features.entities_shown import EntityRefBody
from wellread.serve.features.views import Body, SourceBody, SpanBody, document_view, view_url
from wellread.serve.terminal import SHORT_ID, day_words, fold, right, shortened, table, whole
from wellread.store.catalogue.stories.story_rows import Story, StoryItem, SummarySentence
from wellread.text.words import harmless
from wellread.types import Filters, Kind

Unit = Literal["day", "week", "month", "year"]

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
# The longest stretch that is shown by that unit, in days.
LONGEST: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366))
MOST_PERIODS = 1_000
BAR_WIDTH = 30
LONGEST_LINE = 160
MOST_BARS = 40  # lines of a chart; the newest


def unit_for(first: datetime, last: datetime) -> Unit:
    """The finest unit in which the stretch has a readable number of periods."""
    days = (last - first).days
    return next((unit for unit, longest in LONGEST if days <= longest), "year")


def periods(dates: Sequence[datetime], unit: Unit) -> list[PeriodBody]:
    """Every period from the first date to the last, those without a date too."""
    if not dates:
        return []
    starts = [_start(moment.date(), unit) for moment in dates]
    found: list[PeriodBody] = []
    current = min(starts)
    while current <= max(starts):
        label, count = _label(current, unit), starts.count(current)
        found.append(PeriodBody(label=label, start=current, count=count))
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


class OftenNamedBody(EntityRefBody):
    """An entity, in how many documents it is named, and how often altogether."""

    mentioned_in: int
    mentions: int


class TopicBody(Body):
    """A collection; ``first`` and ``last`` are the dates of its oldest and newest document."""

    name: str
    documents: int
    passages: int
    kinds: dict[Kind, int]
    first: datetime | None
    last: datetime | None
    stories: int
    entity_count: int
    entities: tuple[OftenNamedBody, ...]


class TopicsBody(Body):
    """Every collection."""

    topics: tuple[TopicBody, ...]


class PeriodBody(Body):
    """A day, week, month or year, and how many dates are in it."""

    label: str
    start: date
    count: int


class EntryBody(Body):
    """Something dated. The fields of its place are null when a story has no summary just now."""

    kind: Literal["story", "news", "document", "mention"]
    at: datetime
    last: datetime
    title: str
    count: int
    story_id: str | None
    repeats: bool
    source: SourceBody | None
    passage_id: str | None


class TimelineBody(Body):
    """How a topic went on, oldest first.

    ``taken`` says what the name was taken for, ``others`` what else is called so; ``counted``
    says what the periods count.
    """

    name: str
    taken: Literal["collection", "entity", "story"]
    id: str
    title: str
    collections: tuple[str, ...]
    others: tuple[Literal["collection", "entity", "story"], ...]
    counted: str
    unit: Literal["day", "week", "month", "year"]
    periods: tuple[PeriodBody, ...]
    total: int
    undated: int
    entries: tuple[EntryBody, ...]


def topic_body(topic: Topic) -> TopicBody:
    """A collection with its counts."""
    return TopicBody.of(
        topic,
        entities=[
            OftenNamedBody.of(
                node, total, view_url=document_view(node.document_id), mentioned_in=total.documents
            )
            for node, total in topic.entities
        ],
    )


def timeline_body(name: str, found: Timeline, unit: Unit | None = None) -> TimelineBody:
    """A timeline counted by ``unit``, or by the finest one that is readable.

    Raises:
        RequestError: there are more than ``MOST_PERIODS`` of these units.
    """
    dates = found.dates
    chosen = unit or (unit_for(dates[0], dates[-1]) if dates else "day")
    days = {"day": 1, "week": 7, "month": 28, "year": 365}[chosen]
    if dates and (dates[-1] - dates[0]).days > MOST_PERIODS * days:
        raise RequestError(
            f"from {dates[0]:%Y-%m-%d} to {dates[-1]:%Y-%m-%d} there are too many periods",
            hint="count by a longer one, or set from and to",
        )
    return TimelineBody.of(
        found,
        name=name,
        unit=chosen,
        periods=periods(dates, chosen),
        entries=[_entry(one) for one in found.entries],
    )


def _entry(entry: Entry) -> EntryBody:
    source = None
    if entry.document and entry.span and entry.locator:
        source = SourceBody.at(entry.document, entry.span, entry.text, entry.locator)
    return EntryBody.of(
        entry,
        story_id=entry.story_id or None,
        source=source,
        passage_id=entry.passage_id or None,
    )


def print_timeline(console: Console, body: TimelineBody) -> None:
    """What the name was taken for, a bar for each period, and the entries, oldest first."""
    head = Text(harmless(body.title), style="bold")
    head.append(f"  {body.taken}", style="cyan")
    if body.title not in body.collections:
        head.append(f"  in {harmless(', '.join(body.collections))}", style="dim")
    console.print(head, soft_wrap=True)
    for other in body.others:
        hint = f"a {other} is called so too" if other != "entity" else "an entity is called so too"
        console.print(Text(f"{hint}: --as {other}", style="yellow"))
    if not body.total and not body.periods:
        where = f"{body.undated:,} without a date" if body.undated else "nothing"
        console.print(Text(f"Nothing with a date there ({where}).", style="yellow"))
        return
    _print_bars(console, body)
    for entry in body.entries:
        _print_entry(console, entry)
    if body.total > len(body.entries):
        left = body.total - len(body.entries)
        console.print(Text(f"… and {left:,} older (--limit, --to)", style="dim"))
    if body.undated:
        console.print(Text(f"{body.undated:,} without a date are not shown", style="dim"))


def _print_bars(console: Console, body: TimelineBody) -> None:
    console.print(Text(f"\n{body.counted} by {body.unit}", style="dim"))
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


def _bar(period: PeriodBody, most: int, width: int) -> Text:
    if not period.count:
        return Text(f"{period.label}  {'·':>{width}}", style="dim")
    line = Text.assemble((f"{period.label}  ", "dim"), f"{period.count:>{width},} ")
    line.append("█" * max(1, round(period.count / most * BAR_WIDTH)), style="cyan")
    return line


def _print_entry(console: Console, entry: EntryBody) -> None:
    line = Text.assemble((f"{day_words(entry.at)}  ", "dim"))
    line.append(f"{'= ' if entry.repeats else ''}{harmless(entry.title)}")
    if entry.kind == "story":
        news = f"{entry.count:,} news" + (
            f", to {day_words(entry.last)}" if entry.last.date() != entry.at.date() else ""
        )
        line.append(f"  {news}", style="dim")
    elif entry.kind == "mention" and entry.count > 1:
        line.append(f"  {entry.count:,}×", style="cyan")
    if entry.source and entry.source.locator:
        line.append(f"  {harmless(entry.source.locator)}", style="dim")
    console.print(line, soft_wrap=True)
    if entry.source and entry.kind != "story":
        quote = Text(f"“{shortened(entry.source.quote, LONGEST_LINE)}”", style="dim")
        console.print(Padding(quote, (0, 0, 0, 12)))


SPARK_WIDTH = 16

Dates = Mapping[str, Sequence[datetime]]


def story_body(story: Story, dates: Sequence[datetime]) -> dict[str, object]:
    """The JSON of a story."""
    unit = unit_for(dates[0], dates[-1]) if dates else "day"
    return {
        "id": story.id,
        "collection": story.collection,
        "title": story.title,
        "summary": [
            {
                "text": one.text,
                "document_id": one.document_id,
                "start": one.span.start,
                "end": one.span.end,
            }
            for one in story.summary
        ],
        "terms": list(story.terms),
        "first_at": _iso(story.first_at),
        "last_at": _iso(story.last_at),
        "items": story.items,
        "sources": story.sources,
        "novelty": round(story.novelty, 3),
        "timeline": {
            "unit": unit,
            "periods": [
                {"label": period.label, "start": period.start.isoformat(), "items": period.count}
                for period in periods(dates, unit)
            ],
        },
    }


def found_body(found: FoundStory, dates: Sequence[datetime]) -> dict[str, object]:
    """The JSON of a story that a question is about."""
    return {
        **story_body(found.story, dates),
        "score": round(found.score, 4),
        "fit": round(found.fit, 4),
        "similarity": None if found.similarity is None else round(found.similarity, 4),
        "best_items": [
            {
                "document_id": item.document.id,
                "start": item.span.start,
                "end": item.span.end,
                "title": item.title,
                "text": item.text,
                "url": item.document.url or item.document.uri,
                "published_at": _iso(item.published_at),
            }
            for item in found.items
        ],
    }


def item_body(item: StoryItem) -> dict[str, object]:
    """The JSON of a news item."""
    return {
        "document_id": item.document.id,
        "start": item.span.start,
        "end": item.span.end,
        "title": item.title,
        "source": item.document.title,
        "url": item.document.url or item.document.uri,
        "published_at": _iso(item.published_at),
        "repeats": f"{item.repeats[0]}:{item.repeats[1]}" if item.repeats else None,
    }


class ToldBody(Body):
    """A sentence of a story's summary, verbatim, and where it stands."""

    text: str
    document_id: str
    view_url: str
    source_span: SpanBody


class StoryLineBody(Body):
    """A story on a list; ``score`` is of a search and null on a list.

    ``timeline`` of its topic has its news: ``GET /api/topics/{id}/timeline?kind=story``.
    """

    id: str
    collection: str
    title: str
    summary: tuple[ToldBody, ...]
    terms: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    items: int
    sources: int
    novelty: float
    score: float | None


class StoryListBody(Body):
    """A part of the list of stories: the latest first, or the best for ``query``.

    ``total`` is the length of the whole list; null for a search, which ranks and does not count.
    """

    query: str
    total: int | None
    offset: int
    stories: tuple[StoryLineBody, ...]


def story_list_body(kb: KnowledgeBase, wanted: StoryQuery, page: tuple[int, int]) -> StoryListBody:
    """The stories of the collections and the window, or those about the text, best first.

    Args:
        page: limit and offset.

    Raises:
        UnknownCollectionError: a collection that does not exist.
        FingerprintError, StoreError, ModelError: as ``find_stories``.
    """
    limit, offset = page
    scores: dict[str, float] = {}
    total = None
    if wanted.text.strip():
        # Who looks around wants the old ones too.
        since = wanted.since or datetime.min.replace(tzinfo=UTC)
        asked = replace(wanted, since=since, top_k=limit + offset)
        found = find_stories(kb, asked)[offset:]
        shown = [one.story for one in found]
        scores = {one.story.id: round(one.score, 4) for one in found}
    else:
        check_collections(kb, Filters(collections=wanted.collections))
        stored, window = kb.catalogue.stories, (wanted.since, wanted.until)
        shown = stored.latest(wanted.collections, *window, limit, offset)
        total = stored.many(wanted.collections, *window)
    versions = kb.catalogue.live_versions(
        {one.document_id for story in shown for one in story.summary}
    )
    lines = [
        StoryLineBody.of(
            story,
            summary=[_told(one, versions) for one in story.summary],
            novelty=round(story.novelty, 3),
            score=scores.get(story.id),
        )
        for story in shown
    ]
    return StoryListBody(query=wanted.text, total=total, offset=offset, stories=tuple(lines))


def _told(sentence: SummarySentence, versions: Mapping[str, str]) -> ToldBody:
    version = versions.get(sentence.document_id, "")
    address = view_url(sentence.document_id, version, sentence.span)
    return ToldBody.of(sentence, view_url=address, source_span=sentence.span)


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


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
