"""Reports about the material: of ``add``, ``stats``, ``verify`` and the table of settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.serve.terminal import harmless

if TYPE_CHECKING:
    from wellread.config import SettingRow
    from wellread.ingest.integrity.verify import VerifyReport
    from wellread.ingest.pipeline.run_report import Report
    from wellread.serve.holdings import Holdings

MOST_REASONS = 20
STATUS_STYLE = {
    "added": "green",
    "updated": "cyan",
    "skipped": "yellow",
    "failed": "bold red",
    "removed": "magenta",
}


def report_body(report: Report, collection: str) -> dict[str, object]:
    """The JSON of a run of ``add``."""
    return {
        "collection": collection,
        "counts": report.counts(),
        "passages": report.passages,
        "seconds": report.seconds,
        "job": report.job_id,
        "cancelled": report.cancelled,
        "sources": [
            {
                "uri": row.uri,
                "status": row.status,
                "reason": row.reason,
                "documents": row.documents,
                "passages": row.passages,
                "seconds": row.seconds,
            }
            for row in report.rows
        ],
    }


def print_report(console: Console, report: Report, collection: str) -> None:
    """How many sources were added, updated, unchanged, skipped, failed, and why those last two."""
    if not report.rows:
        console.print(Text("Nothing to add: no file was found there.", style="yellow"))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for status, count in report.counts().items():
        table.add_row(
            Text(status, style=STATUS_STYLE.get(status, "") if count else "dim"), f"{count:,}"
        )
    console.print(table)
    _print_reasons(console, report)
    rate = report.passages / report.seconds if report.seconds else 0.0
    speed = f" ({rate:,.0f}/s)" if report.passages else ""
    line = f"{report.passages:,} passages in {report.seconds:.1f} s{speed} into “{collection}”"
    console.print(Text(harmless(line), style="dim"))
    if report.cancelled:
        again = f"wellread jobs resume {report.job_id}"
        console.print(Text(f"Stopped before it was done; go on with: {again}", style="yellow"))


def _print_reasons(console: Console, report: Report) -> None:
    """One line per failed source; skipped ones and long lists are grouped by reason."""
    failed = [row for row in report.rows if row.status == "failed"]
    lines = [(f"failed   {named(row.uri)}: ", row.reason) for row in failed[:MOST_REASONS]]
    if len(failed) > MOST_REASONS:
        counts = Counter(row.reason for row in failed[MOST_REASONS:])
        lines += [(f"failed   {count:,} more: ", reason) for reason, count in counts.most_common()]
    skipped = Counter(row.reason for row in report.rows if row.status == "skipped")
    for reason, count in skipped.most_common():
        example = next(
            row.uri for row in report.rows if row.status == "skipped" and row.reason == reason
        )
        which = named(example) if count == 1 else f"{count:,} files, for example {named(example)}"
        lines.append((f"skipped  {which}: ", reason))
    for head, reason in lines[:MOST_REASONS]:
        style = "red" if head.startswith("failed") else "yellow"
        line = Text.assemble((harmless(head), style), harmless(reason))
        console.print(line, soft_wrap=True)
    if len(lines) > MOST_REASONS:
        console.print(
            f"… and {len(lines) - MOST_REASONS:,} more reasons; --json lists every source"
        )


def holdings_body(holdings: Holdings) -> dict[str, object]:
    """The JSON of ``stats``."""
    return {
        "home": str(holdings.home),
        "bytes": holdings.size,
        "documents": holdings.documents,
        "passages": holdings.passages,
        "waiting": holdings.waiting,
        "fingerprint": asdict(holdings.fingerprint) if holdings.fingerprint else None,
        "collections": [
            {
                "name": row.collection,
                "kind": row.kind,
                "documents": row.documents,
                "passages": row.passages,
            }
            for row in holdings.rows
        ],
    }


def print_holdings(console: Console, holdings: Holdings) -> None:
    """Documents and passages per collection and kind, the index and the size on disk."""
    if holdings.rows:
        table = Table(box=None, pad_edge=False)
        table.add_column("collection")
        table.add_column("kind")
        table.add_column("documents", justify="right")
        table.add_column("passages", justify="right")
        for row in holdings.rows:
            table.add_row(
                Text(harmless(row.collection)), row.kind, f"{row.documents:,}", f"{row.passages:,}"
            )
        table.add_section()
        table.add_row("all", "", f"{holdings.documents:,}", f"{holdings.passages:,}")
        console.print(table)
    else:
        console.print("The knowledge base is empty. Add something: wellread add PATH")
    console.print(Text(f"\nHome   {holdings.home}, {size_words(holdings.size)}"), soft_wrap=True)
    index = holdings.fingerprint
    shape = f"{index.embedder}, {index.chunking}" if index else "not built yet"
    console.print(Text(f"Index  {shape}"), soft_wrap=True)
    if holdings.waiting:
        waiting = f"{holdings.waiting:,} passages are found by their words only so far"
        console.print(Text(f"       {waiting}; any add or sync finishes them", style="yellow"))


def verify_body(report: VerifyReport) -> dict[str, object]:
    """The JSON of ``verify``."""
    return {
        "counts": dict(report.counts),
        "problems": [
            {
                "kind": problem.kind,
                "subject": problem.subject,
                "detail": problem.detail,
                "repaired": problem.repaired,
            }
            for problem in report.problems
        ],
        "notes": list(report.notes),
    }


def print_verify(console: Console, report: VerifyReport) -> None:
    """What each store counts, and what does not match."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name, count in report.counts.items():
        table.add_row(Text(name.replace("_", " ")), f"{count:,}")
    console.print(table)
    for problem in report.problems:
        state, style = ("repaired", "green") if problem.repaired else ("problem", "bold red")
        told = harmless(f"{problem.kind}: {problem.subject}: {problem.detail}")
        console.print(Text.assemble((f"{state}  ", style), told), soft_wrap=True)
    for note in report.notes:
        console.print(Text(harmless(f"note  {note}"), style="yellow"), soft_wrap=True)
    left = sum(not problem.repaired for problem in report.problems)
    if left:
        hint = "`wellread verify --repair` mends what can be mended"
        console.print(Text(f"{left:,} problems. {hint}.", style="bold red"))
    else:
        console.print(Text("Everything matches.", style="green"))


def settings_body(rows: list[SettingRow], current: dict[str, object]) -> list[dict[str, object]]:
    """The JSON of ``settings``."""
    return [
        {
            "name": row.name,
            "value": current[row.name],
            "default": row.default,
            "variable": row.variable,
            "help": row.help,
        }
        for row in rows
    ]


def print_settings(console: Console, rows: list[SettingRow], current: dict[str, object]) -> None:
    """Every setting with its value in this home; those that differ from the default stand out."""
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "value", "what it does"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        value = current[row.name]
        style = "" if value == row.default else "bold cyan"
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        table.add_row(Text(row.name), Text(harmless(shown), style=style), Text(row.help))
    console.print(table)


def named(uri: str) -> str:
    """The address as a person writes it."""
    return unquote(uri.removeprefix("file://"))


def size_words(count: int) -> str:
    """A number of bytes with its unit."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
