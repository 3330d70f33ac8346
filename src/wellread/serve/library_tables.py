"""Documents, recordings, transcripts and timelines as people read them on a terminal."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wellread.locators import format_time
from wellread.serve.api.lookup_schemas import (
    DocumentsBody,
    EntryBody,
    PeriodBody,
    RecordingsBody,
    TimelineBody,
    TranscriptBody,
)
from wellread.serve.lookup_tables import SHORT_ID, shortened
from wellread.serve.terminal import harmless

BAR_WIDTH = 30
LONGEST_LINE = 160
MOST_SPEAKERS = 4
MOST_PERIODS = 40  # lines of a chart; the newest


def print_documents(console: Console, body: DocumentsBody) -> None:
    """A line for each document, and how many there are."""
    if not body.documents:
        _print_none(console, body.total, "documents")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("date", no_wrap=True, style="dim")
    table.add_column("kind", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("passages", justify="right")
    table.add_column("id", no_wrap=True, style="dim")
    for one in body.documents:
        title = Text(harmless(one.title))
        if one.authors:
            title.append(f"  {harmless(', '.join(one.authors))}", style="dim")
        cells = (
            _day(one.published_at),
            one.kind,
            title,
            f"{one.passages:,}",
            one.document_id[:SHORT_ID],
        )
        table.add_row(*cells)
    console.print(table)
    _print_part(console, body.offset, len(body.documents), body.total, "documents")


def print_recordings(console: Console, body: RecordingsBody) -> None:
    """A line for each recording, and how many there are."""
    if not body.videos:
        _print_none(console, body.total, "recordings")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("date", no_wrap=True, style="dim")
    table.add_column("length", justify="right")
    table.add_column("title", overflow="fold")
    table.add_column("who speaks", overflow="fold", style="cyan")
    table.add_column("segments", justify="right")
    table.add_column("id", no_wrap=True, style="dim")
    for one in body.videos:
        more = len(one.speakers) - MOST_SPEAKERS
        who = ", ".join(one.speakers[:MOST_SPEAKERS]) + (f" and {more} more" if more > 0 else "")
        table.add_row(
            _day(one.published_at),
            "" if one.duration is None else format_time(one.duration),
            Text(harmless(one.title)),
            Text(harmless(who)),
            f"{one.segments:,}",
            one.document_id[:SHORT_ID],
        )
    console.print(table)
    _print_part(console, body.offset, len(body.videos), body.total, "recordings")


def print_transcript(console: Console, body: TranscriptBody) -> None:
    """Title and facts, then every turn with its time and speaker."""
    console.print(Text(harmless(body.title), style="bold"), soft_wrap=True)
    facts = [body.document_id, _day(body.published_at)]
    if body.duration is not None:
        facts.append(format_time(body.duration))
    facts.append(f"{len(body.turns):,} of {body.total:,} turns")
    console.print(Text(" · ".join(facts), style="dim"), soft_wrap=True)
    if body.media_url:
        console.print(Text(harmless(body.media_url), style="dim"), soft_wrap=True)
    if not body.turns:
        console.print(Text("Nothing is said there.", style="yellow"))
    for turn in body.turns:
        head = Text()
        if turn.begin is not None:
            head.append(f"{format_time(turn.begin)}  ", style="dim")
        head.append(harmless(turn.speaker), style="bold cyan")
        console.print()
        if head.plain:
            console.print(head, soft_wrap=True)
        console.print(Text(harmless(turn.text)))


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
    shown = body.periods[-MOST_PERIODS:]
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
    line = Text.assemble((f"{_day(entry.at)}  ", "dim"))
    line.append(f"{'= ' if entry.repeats else ''}{harmless(entry.title)}")
    if entry.kind == "story":
        news = f"{entry.count:,} news" + (
            f", to {_day(entry.last)}" if entry.last.date() != entry.at.date() else ""
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


def _print_part(console: Console, offset: int, shown: int, total: int, what: str) -> None:
    if offset or shown < total:
        part = f"{offset + 1:,} to {offset + shown:,} of {total:,} {what} (--limit, --offset)"
    else:
        part = f"{total:,} {what if total != 1 else what.removesuffix('s')}"
    console.print(Text(part, style="dim"))


def _print_none(console: Console, total: int, what: str) -> None:
    reason = f"there are {total:,}, fewer than the offset" if total else "none within these limits"
    console.print(Text(f"No {what}: {reason}.", style="yellow"))


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "no date"
