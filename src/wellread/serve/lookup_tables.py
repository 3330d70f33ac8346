"""Passages that were found or listed, and a passage among its neighbours, on a terminal."""

from __future__ import annotations

import re

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from wellread.serve.api.lookup_schemas import ResultBody, ResultsBody, SurroundingsBody
from wellread.serve.terminal import harmless

LONGEST_QUOTE = 240
SHORT_ID = 12  # characters of a passage's id that are enough to name it
INDENT = 4


def print_results(console: Console, body: ResultsBody) -> None:
    """What a search found with its place in each ranked list, or a list newest first."""
    if not body.results:
        what = f"found for “{harmless(body.query)}”" if body.query else "there within these limits"
        console.print(Text(f"Nothing {what}.", style="yellow"))
        return
    for number, result in enumerate(body.results, start=1):
        _print_result(console, number, result)
    if body.total is not None and body.total > len(body.results):
        what = "passages" if body.limits.speakers else "documents"
        more = f"… the newest of {body.total:,} {what}; words rank them by what they say"
        console.print(Text(more, style="dim"))


def print_surroundings(console: Console, body: SurroundingsBody) -> None:
    """The passage in full, and those around it dimmed."""
    head = Text(harmless(body.title), style="bold")
    head.append(f"  passage {body.ordinal + 1:,} of {body.passages:,}", style="dim")
    console.print(head, soft_wrap=True)
    for result in body.before:
        _print_whole(console, result, "dim")
    _print_whole(console, body.passage, "")
    for result in body.after:
        _print_whole(console, result, "dim")
    print_link(console, body.passage.link)


def print_link(console: Console, link: str) -> None:
    """The link on a line of its own, never broken, so that it can be copied or clicked."""
    if link:
        console.print(Text(" " * INDENT + harmless(link), style="dim"), soft_wrap=True)


def linked(link: str) -> str:
    """A style that makes the text a link, where the terminal knows how."""
    clean = harmless(link)
    return f"bold link {clean}" if clean and not re.search(r"\s", clean) else "bold"


def shortened(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def _print_result(console: Console, number: int, result: ResultBody) -> None:
    title = f"{result.title}, {result.locator}" if result.locator else result.title
    head = Text.assemble((f"{number}. ", "bold cyan"))
    head.append(harmless(title), style=linked(result.link))
    facts: list[str] = [result.kind]
    if result.published_at:
        facts.append(f"{result.published_at:%Y-%m-%d}")
    if result.score is not None:
        places = ", ".join(f"{place.name} #{place.rank}" for place in result.ranks)
        facts.append(f"{result.score:.3f} ({places})")
    facts.append(result.passage_id[:SHORT_ID])
    head.append(f"  {', '.join(facts)}", style="dim")
    console.print(head)
    quote = Text(f"“{shortened(result.quote, LONGEST_QUOTE)}”")
    console.print(Padding(quote, (0, 0, 0, INDENT)))
    print_link(console, result.link)


def _print_whole(console: Console, result: ResultBody, style: str) -> None:
    place = f"{harmless(result.locator)}  " if result.locator else ""
    console.print()
    line = Text.assemble((place, "bold cyan" if not style else "cyan"))
    line.append(result.passage_id[:SHORT_ID], style="dim")
    console.print(line, soft_wrap=True)
    console.print(Text(harmless(result.quote), style=style))
