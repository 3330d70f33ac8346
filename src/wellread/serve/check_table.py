"""A checked text for the eye."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wellread.answers import VerdictName
from wellread.serve.api.check_schemas import CheckResponse
from wellread.serve.api.schemas import CitationBody, SentenceBody
from wellread.serve.terminal import harmless

LONGEST_QUOTE = 240
INDENT = 4


def print_check(console: Console, body: CheckResponse) -> None:
    """Each sentence with its sign, why, and the passage; then how many of each."""
    citations = {citation.id: citation for citation in body.citations}
    for sentence in body.sentences:
        sign, style = sentence.verdict.symbol, sentence.verdict.style
        shown = " ".join(harmless(sentence.text).split())
        console.print(Text.assemble((f"{sign} ", style), shown))
        for number in sentence.citations:
            console.print(Padding(_passage(citations[number], sentence), (0, 0, 0, INDENT)))
        if sentence.verdict not in (VerdictName.SUPPORTED, VerdictName.NOT_CHECKED):
            reason = Text(f"{harmless(sentence.reason)} ({sentence.method})", style=style)
            console.print(Padding(reason, (0, 0, 0, INDENT)))
    console.print()
    console.print(_summary(body))


def _passage(citation: CitationBody, sentence: SentenceBody) -> Text:
    quote = " ".join(harmless(citation.quote).split())
    if len(quote) > LONGEST_QUOTE:
        quote = f"{quote[: LONGEST_QUOTE - 1].rstrip()}…"
    place = " · ".join(part for part in (citation.title, citation.locator) if part)
    word = "" if sentence.verdict == VerdictName.SUPPORTED else "nearest: "
    lines = Text.assemble((word, "dim"), f"“{quote}”", "\n", (harmless(place), "dim"))
    if citation.link:
        lines.append(f"\n{harmless(citation.link)}", style="dim")
    return lines


def _summary(body: CheckResponse) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    counts = body.counts
    rows: tuple[tuple[VerdictName, str, int], ...] = (
        (VerdictName.SUPPORTED, "supported", counts.supported),
        (VerdictName.PARTIAL, "supported in part", counts.partial),
        (VerdictName.UNSUPPORTED, "unsupported", counts.unsupported),
        (VerdictName.NOT_CHECKED, "nothing to check", counts.not_checked),
    )
    for name, said, count in rows:
        table.add_row(
            Text(name.symbol, style=name.style), Text(said), Text(f"{count:,}", justify="right")
        )
    return table
