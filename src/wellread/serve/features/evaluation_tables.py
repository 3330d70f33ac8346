"""An evaluation as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.evaluation import markdown
from wellread.evaluation.gate import Check
from wellread.evaluation.report import Report
from wellread.evaluation.saved import Comparison, Difference
from wellread.evaluation.scores import LESS_IS_BETTER
from wellread.serve.terminal import harmless


def print_report(console: Console, report: Report) -> None:
    """Figures, the same by type and tag, latency, and what went wrong."""
    console.print(Text(harmless(markdown.heading(report)), style="bold"), soft_wrap=True)
    console.print()
    _print_table(
        console,
        ("measure", "value", "95 % interval", "n"),
        (
            (name, markdown.value(figure), markdown.bounds(figure), f"{figure.n:,}")
            for name, figure in markdown.shown(report)
        ),
    )
    _print_parts(console, report)
    console.print()
    _print_table(
        console,
        ("milliseconds", "p50", "p90"),
        (
            (step, markdown.milliseconds(seconds.p50), markdown.milliseconds(seconds.p90))
            for step, seconds in report.latency.items()
        ),
    )
    for line in markdown.failures(report):
        console.print(Text(harmless(line), style="yellow"), soft_wrap=True)
    if note := markdown.depth_note(report):
        console.print(Text(note, style="dim"), soft_wrap=True)


def print_gate(console: Console, checks: Sequence[Check]) -> None:
    """Every threshold, and go or no-go."""
    console.print()
    table = _table(("gate", "wanted", "found", ""))
    for each in checks:
        found = str(each.found) if each.found else "not measured"
        mark = Text("✓", style="green") if each.passed else Text("✗ failed", style="bold red")
        table.add_row(harmless(each.threshold.name), each.threshold.wanted, found, mark)
    console.print(table)
    missed = sum(not each.passed for each in checks)
    if missed:
        line = f"No-go: {missed} of {len(checks)} thresholds missed."
        console.print(Text(line, style="bold red"))
    else:
        console.print(Text("Go: every threshold is reached.", style="bold green"))


def print_comparison(console: Console, comparison: Comparison) -> None:
    """A kept run and this one, case by case."""
    console.print()
    line = f"Against {comparison.name} of {comparison.at}, {comparison.cases:,} cases in common"
    console.print(Text(harmless(line), style="bold"), soft_wrap=True)
    table = _table(("measure", "then", "now", "difference", "higher/lower"))
    for row in comparison.rows:
        spread = f"[{row.difference.low:+.3f}, {row.difference.high:+.3f}]"
        table.add_row(
            row.measure,
            f"{row.then:.3f}",
            f"{row.now:.3f}",
            Text(f"{row.difference.mean:+.3f} {spread}", style=_style(row)),
            f"{row.higher:,}/{row.lower:,}",
        )
    console.print(table)
    for name, (old, new) in comparison.settings.items():
        console.print(Text(harmless(f"{name}: {old} → {new}"), style="dim"), soft_wrap=True)
    if comparison.only_then or comparison.only_now:
        alone = (
            f"Not compared: {comparison.only_then:,} cases of then, {comparison.only_now:,} of now."
        )
        console.print(Text(alone, style="yellow"))


def _print_parts(console: Console, report: Report) -> None:
    groups = markdown.parts(report)
    if not groups:
        return
    names = markdown.short_measures(report)
    rows = []
    for group in groups:
        figures = report.groups[group]
        cells = [markdown.value(figures[name]) if name in figures else "–" for name in names]
        rows.append((group, f"{figures['failed'].n:,}", *cells))
    console.print()
    _print_table(console, ("", "n", *map(_broken, names)), rows)


def _print_table(console: Console, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = _table(head)
    for row in rows:
        table.add_row(*(harmless(cell) for cell in row))
    console.print(table)


def _table(head: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return table


def _broken(name: str) -> str:
    """The name in short lines, so that many columns fit."""
    return name.replace("_", "\n").replace("@", "\n@")


def _style(row: Difference) -> str:
    """Green or red when the interval holds no zero."""
    if row.difference.low <= 0 <= row.difference.high:
        return ""
    better = (row.difference.mean < 0) == (row.measure in LESS_IS_BETTER)
    return "green" if better else "red"
