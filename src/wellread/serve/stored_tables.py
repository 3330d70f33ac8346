"""Sessions and stored answers on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wellread.answers import Answer
from wellread.library.recheck import Rechecked
from wellread.serve.terminal import harmless
from wellread.store.catalogue.asking.session_records import SessionFacts
from wellread.store.schema.catalogue_values import StoredAnswer

INDENT = 4


def print_sessions(
    console: Console, sessions: Sequence[SessionFacts], *, current: str = ""
) -> None:
    """One line for each session, the one used last first; ``*`` marks the current one."""
    if not sessions:
        console.print(Text("No session yet.", style="yellow"))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("", "Session", "Last used", "Questions", "First question"):
        whole = name != "First question"
        table.add_column(name, justify="right" if name == "Questions" else "left", no_wrap=whole)
    for one in sessions:
        mark = "*" if one.id == current else ""
        table.add_row(mark, one.id, _day(one.seen_at), f"{one.turns:,}", Text(harmless(one.title)))
    console.print(table)


def print_answers(console: Console, answers: Sequence[StoredAnswer]) -> None:
    """One line for each answer, the newest first."""
    if not answers:
        console.print(Text("No answer yet.", style="yellow"))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("Answer", "Given", "By", "Confidence", "", "Question"):
        whole = name != "Question"
        table.add_column(name, justify="right" if name == "Confidence" else "left", no_wrap=whole)
    for one in answers:
        stale = Text("stale", style="yellow") if one.stale else Text("")
        by = Text(harmless(one.answered_by))
        sure = f"{one.confidence:.2f}"
        table.add_row(one.id, _day(one.created_at), by, sure, stale, Text(harmless(one.question)))
    console.print(table)


def print_recheck(console: Console, found: Rechecked) -> None:
    """What became of each source and of each sentence."""
    for one in found.citations:
        line = Text.assemble((f"[{one.id}] ", "bold cyan"), (harmless(one.title), "bold"))
        line.append(f": {one.reason}", style="" if one.standing == "same" else "yellow")
        console.print(line)
    console.print()
    for sentence in found.sentences:
        now = sentence.now.name
        line = Text.assemble((f"{now.symbol} ", now.style), harmless(sentence.text))
        console.print(line)
        if sentence.now.name != sentence.before:
            was = f"was {sentence.before.replace('_', ' ')}, is {sentence.now.name}"
            told = Text(f"{was.replace('_', ' ')}: {harmless(sentence.now.reason)}", style="yellow")
            console.print(Padding(told, (0, 0, 0, INDENT)))
    for note in found.notes:
        console.print(Text.assemble(("Note: ", "bold"), harmless(note)))
    console.print()
    if found.stale:
        console.print(Text("Stale: ask again for an answer from the sources as they are now."))
    else:
        console.print(Text("It stands."))


def print_sources(console: Console, answer: Answer) -> None:
    """Everything that the answer quotes, in full."""
    if not answer.citations:
        console.print(Text("The last answer cites nothing.", style="yellow"))
    for citation in answer.citations:
        place = f", {citation.locator.label}" if citation.locator.label else ""
        head = Text.assemble((f"[{citation.id}] ", "bold cyan"))
        head.append(harmless(f"{citation.title}{place}"), style="bold")
        console.print(head)
        console.print(Padding(Text(harmless(citation.quote)), (0, 0, 0, INDENT)))
        if citation.link:
            console.print(Text(" " * INDENT + harmless(citation.link), style="dim"), soft_wrap=True)


def _day(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
