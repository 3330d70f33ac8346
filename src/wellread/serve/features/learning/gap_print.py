"""The ledger of gaps in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wellread.learning.asking_again import Reasked
from wellread.serve.features.learning.gap_bodies import (
    EntrySuggestionBody,
    GapBody,
    GapClusterDetailBody,
    GapsBody,
    ReaskedBody,
    reasked_body,
)
from wellread.serve.terminal import Terminal, fold, right, shortened, table
from wellread.text.words import harmless

STATUS_STYLE = {"open": "yellow", "planned": "cyan", "closed": "green"}
QUESTION = 200  # characters of a question in a list
MOST_TOLD = 5  # questions that a run of ingest names


def print_gaps(console: Console, body: GapsBody) -> None:
    """A line per cluster."""
    if not body.clusters:
        told = ", ".join(f"{count:,} {name}" for name, count in body.counts.items() if count)
        console.print(Text(f"No gaps here{f': {told}' if told else '.'}", style="dim"))
        return
    columns = ("cluster", "status", right("asked"), right("questions"), fold("missing"))
    rows = [
        (
            one.id,
            Text(one.status, style=STATUS_STYLE[one.status]),
            f"{one.asked:,}",
            f"{one.questions:,}",
            one.name,
        )
        for one in body.clusters
    ]
    console.print(table((*columns, fold("for example")), _with_examples(rows, body)))
    left = body.total - len(body.clusters)
    if left:
        console.print(Text(f"{left:,} more: --limit", style="dim"))
    told = ", ".join(f"{count:,} {name}" for name, count in body.counts.items())
    console.print(Text(f"Questions: {told}", style="dim"))


def _with_examples(
    rows: list[tuple[str | Text, ...]] | list[tuple[str, Text, str, str, str]], body: GapsBody
) -> list[tuple[str | Text, ...]]:
    examples = (shortened(one.example, QUESTION) for one in body.clusters)
    return [(*row, example) for row, example in zip(rows, examples, strict=True)]


def print_cluster(console: Console, body: GapClusterDetailBody) -> None:
    """A cluster with what is known of each question."""
    head = Text.assemble(
        (f"{body.id}  ", "bold"),
        (body.status, STATUS_STYLE[body.status]),
        f"  {harmless(body.name)}",
    )
    console.print(head)
    if body.missing and body.status != "closed":
        console.print(f"The material lacks: {harmless(', '.join(body.missing))}")
    for gap in body.gaps:
        _print_gap(console, gap)


def _print_gap(console: Console, gap: GapBody) -> None:
    times = f", asked {gap.asked} times" if gap.asked > 1 else ""
    status = Text(gap.status, style=STATUS_STYLE[gap.status])
    console.print()
    console.print(Text.assemble(f"{gap.id:>5}  ", status, f"  {harmless(gap.question)}"))
    console.print(Text(f"       {gap.kind.replace('_', ' ')}{times}: {gap.reason}", style="dim"))
    if gap.tried:
        console.print(Text(f"       asked again: {harmless(gap.tried)}", style="dim"))
    if gap.closed_by:
        shown = f"wellread answers show {gap.closed_by.removeprefix('ans_')[:12]}"
        console.print(Text(f"       answered since: {shown}", style="green"))


def print_suggestion(console: Console, body: EntrySuggestionBody) -> None:
    """The file as it is, so that it can be piped into one."""
    console.print(Text(harmless(body.markdown)), soft_wrap=True, end="")


def print_reasked(console: Console, body: ReaskedBody) -> None:
    """Each question with its answer, or why it stays open."""
    if not body.asked:
        told = "No open question could be answered by what is new." if body.open else "No gaps."
        console.print(Text(told, style="dim"))
    for one in body.questions:
        line = Text.assemble(
            (
                "answered  " if one.answer_id else "open      ",
                "green" if one.answer_id else "yellow",
            ),
            harmless(one.question),
        )
        console.print(line, soft_wrap=True)
        if one.why:
            console.print(Text(f"          {harmless(one.why)}", style="dim"), soft_wrap=True)
    if body.waiting:
        console.print(Text(_waiting(body.waiting), style="yellow"))


def tell_reasked(terminal: Terminal, done: Reasked) -> None:
    """What a run of ingest asked again, on standard error beside its report."""
    body = reasked_body(done)
    answered = [one for one in body.questions if one.answer_id]
    plural = "s" if body.asked != 1 else ""
    terminal.err.print(
        f"{body.asked:,} open question{plural} asked again, {len(answered):,} answered now"
    )
    for one in answered[:MOST_TOLD]:
        terminal.err.print(Text(f"  {harmless(one.question)}", style="green"), soft_wrap=True)
    if len(answered) > MOST_TOLD:
        terminal.err.print("  … wellread gaps --status closed lists them all")
    if body.waiting:
        terminal.err.print(Text(_waiting(body.waiting), style="yellow"))


def _waiting(count: int) -> str:
    return f"{count:,} more wait for the next time (gaps.most): wellread gaps ask"
