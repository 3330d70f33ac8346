"""The collections, and how a topic went on: what happened by day, week, month or year."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.errors import RequestError
from wellread.library.named_things import Topic
from wellread.library.timelines import Entry, Timeline
from wellread.serve.features.bodies import Body, SourceBody, document_view
from wellread.serve.features.entity_views import EntityRefBody
from wellread.serve.terminal import day_words, shortened
from wellread.text.words import harmless
from wellread.types import Kind

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
