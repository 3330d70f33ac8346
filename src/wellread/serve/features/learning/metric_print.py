"""Metrics as a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from wellread.kb.language_models import dollars
from wellread.serve.features.learning.metric_bodies import (
    MetricsBody,
    NamedCountBody,
    SumsBody,
    TrendBody,
)
from wellread.serve.terminal import right, table, whole

BLOCKS = "▁▂▃▄▅▆▇█"
MOST_BLOCKS = 92
Rows = Sequence[tuple[str, ...]]


def print_metrics(console: Console, report: MetricsBody) -> None:
    """The figures of a period as small tables."""
    if not report.sums.asked:
        console.print("Nothing was asked in this time. Ask something: wellread ask QUESTION")
        return
    until = report.until.date()
    since = report.since.date() if report.since else until
    console.print(Text(f"{since} to {until} (UTC)", style="bold"))
    console.print(Text(f"{_blocks(report.trend)}  questions by {report.part}", style="dim"))
    _section(console, "", ("", "", "before"), _overview(report.sums, report.previous))
    _answers(console, report)
    _topics(console, report)
    _calls(console, report)


def _overview(now: SumsBody, before: SumsBody | None) -> Rows:
    rows: list[tuple[str, ...]] = []
    figures: tuple[tuple[str, Callable[[SumsBody], str]], ...] = (
        ("questions asked", lambda one: f"{one.asked:,}"),
        ("answered with citations", lambda one: f"{one.cited:,} ({one.cited_rate:.0%})"),
        ("not answered", lambda one: f"{one.unanswered:,} ({one.no_answer_rate:.0%})"),
        ("asked back", lambda one: f"{one.asked_back:,}"),
        ("follow-ups", lambda one: f"{one.follow_ups:,} ({one.follow_up_rate:.0%})"),
        ("given again", lambda one: f"{one.cached:,}"),
        ("mean confidence", lambda one: f"{one.confidence:.2f}"),
    )
    for name, told in figures:
        rows.append((name, told(now), told(before) if before and before.asked else "–"))
    return rows


def _answers(console: Console, report: MetricsBody) -> None:
    verdicts = report.sums.verdicts.model_dump()
    total = sum(verdicts.values())
    rows = [
        (name.replace("_", " "), f"{count:,}", f"{count / total:.1%}")
        for name, count in verdicts.items()
        if count
    ]
    _section(console, "Sentences by verdict", ("", "sentences", "share"), rows)
    steps = [
        (one.name, f"{one.answers:,}", *(f"{s:.3f}" for s in (one.p50, one.p90, one.p95, one.p99)))
        for one in report.latencies
    ]
    columns = ("", "answers", "p50", "p90", "p95", "p99")
    _section(console, "Seconds by step", columns, steps)


def _topics(console: Console, report: MetricsBody) -> None:
    for title, topics in (
        ("Types of questions", report.types),
        ("Collections", report.collections),
        ("Fields of sources", report.fields),
        ("Words of questions", report.words),
    ):
        _section(console, title, ("", "asked", "not answered"), _counted(topics))
    rows = [(one.kind.replace("_", " "), one.status, f"{one.questions:,}") for one in report.gaps]
    _section(console, "Gaps", ("kind", "status", "questions"), rows)


def _counted(topics: Sequence[NamedCountBody]) -> Rows:
    return [(one.name.replace("_", " "), f"{one.asked:,}", f"{one.unanswered:,}") for one in topics]


def _calls(console: Console, report: MetricsBody) -> None:
    rows = [
        (
            one.purpose,
            f"{one.model} ({one.provider})" if one.model else one.provider,
            f"{one.calls:,}",
            f"{one.input_tokens:,}",
            f"{one.output_tokens:,}",
            dollars(one.cost),
        )
        for one in report.calls
    ]
    columns = ("purpose", "model", "calls", "read", "written", "cost")
    _section(console, "Calls of models", columns, rows)


def _section(console: Console, title: str, columns: tuple[str, ...], rows: Rows) -> None:
    """A table under its title; nothing where there is no row."""
    if not rows:
        return
    if title:
        console.print(Text(f"\n{title}", style="bold"))
    words = 2 if columns[1] in ("model", "status") else 1
    named = [whole(one) if n < words else right(one) for n, one in enumerate(columns)]
    console.print(table(named, rows, header_style="dim"))


def _blocks(trend: Sequence[TrendBody]) -> str:
    """How many were asked in each part, as a line of blocks."""
    counts = [one.asked for one in trend][-MOST_BLOCKS:]
    most = max(counts, default=0) or 1
    return "".join(
        BLOCKS[round(count / most * (len(BLOCKS) - 1))] if count else " " for count in counts
    )
