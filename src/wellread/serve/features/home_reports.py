"""Reports about a home: of ``add``, ``stats``, ``verify``, ``remove``, ``export`` and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote

from rich.console import Console
from rich.text import Text

from wellread.ingest.pipeline.job_log import Report
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import files_of
from wellread.kb.seen_by import sees_all
from wellread.serve.features.bodies import PlainBody
from wellread.serve.terminal import right, table
from wellread.text.words import harmless, harmless_line

MOST_REASONS = 20
STATUS_STYLE = {
    "added": "green",
    "updated": "cyan",
    "skipped": "yellow",
    "failed": "bold red",
    "removed": "magenta",
}


class JobSourceBody(PlainBody):
    """How one source fared; ``seconds`` it took to parse."""

    uri: str
    status: str
    reason: str
    seconds: float
    documents: int
    passages: int

    def line(self, figures: str = "") -> Text:
        """The source as a line: how it fared, ``figures``, its name, and why."""
        return Text.assemble(
            (f"{self.status:<9} ", STATUS_STYLE.get(self.status, "")),
            figures,
            harmless(named_source(self.uri)),
            (f"  {harmless(self.reason)}" if self.reason else "", "dim"),
        )


class ReportBody(PlainBody):
    """A run of ``add`` or ``sync`` with every source."""

    collection: str
    counts: dict[str, int]
    passages: int
    seconds: float
    job: str
    cancelled: bool
    sources: tuple[JobSourceBody, ...]
    notes: tuple[str, ...]


def report_body(report: Report, collection: str) -> ReportBody:
    """A run as JSON."""
    return ReportBody.of(
        report,
        collection=collection,
        counts=report.counts(),
        job=report.job_id,
        sources=report.rows,
    )


def print_report(console: Console, report: ReportBody) -> None:
    """How many sources were added, updated, unchanged, skipped, failed, and why those last two."""
    for note in report.notes:
        console.print(Text(harmless_line(note), style="yellow"), soft_wrap=True)
    if not report.sources and not report.cancelled:
        console.print(Text("Nothing to add: no file was found there.", style="yellow"))
        return
    rows = (
        (Text(status, style=STATUS_STYLE.get(status, "") if count else "dim"), f"{count:,}")
        for status, count in report.counts.items()
    )
    console.print(table(("", right("")), rows, show_header=False))
    _print_reasons(console, report)
    rate = report.passages / report.seconds if report.seconds else 0.0
    speed = f" ({rate:,.0f}/s)" if report.passages else ""
    into = f" into “{report.collection}”"
    line = f"{report.passages:,} passages in {report.seconds:.1f} s{speed}{into}"
    console.print(Text(harmless(line), style="dim"))
    if report.cancelled:
        again = f"wellread jobs {report.job} --resume"
        console.print(Text(f"Stopped before it was done; go on with: {again}", style="yellow"))


def _print_reasons(console: Console, report: ReportBody) -> None:
    """One line per failed source; skipped ones, notes and long lists are grouped by reason."""
    failed = [row for row in report.sources if row.status == "failed"]
    lines = [(f"failed   {named_source(row.uri)}: ", row.reason) for row in failed[:MOST_REASONS]]
    if len(failed) > MOST_REASONS:
        counts = Counter(row.reason for row in failed[MOST_REASONS:])
        lines += [(f"failed   {count:,} more: ", reason) for reason, count in counts.most_common()]
    others = [row for row in report.sources if row.status != "failed" and row.reason]
    lines += _grouped("skipped  ", [row for row in others if row.status == "skipped"])
    lines += _grouped("removed  ", [row for row in others if row.status == "removed"])
    lines += _grouped("note     ", [row for row in others if row.status in ("added", "updated")])
    for head, reason in lines[:MOST_REASONS]:
        style = "red" if head.startswith("failed") else "yellow"
        line = Text.assemble((harmless(head), style), harmless(reason))
        console.print(line, soft_wrap=True)
    if len(lines) > MOST_REASONS:
        console.print(
            f"… and {len(lines) - MOST_REASONS:,} more reasons; --json lists every source"
        )


def _grouped(head: str, rows: Sequence[JobSourceBody]) -> list[tuple[str, str]]:
    """A line for each reason, with an example."""
    examples = {row.reason: row.uri for row in reversed(rows)}
    lines = []
    for reason, count in Counter(row.reason for row in rows).most_common():
        example = named_source(examples[reason])
        which = example if count == 1 else f"{count:,} files, for example {example}"
        lines.append((f"{head}{which}: ", reason))
    return lines


class KindCountBody(PlainBody):
    """Documents and passages of one kind in one collection."""

    name: str
    kind: str
    documents: int
    passages: int


class HoldingsBody(PlainBody):
    """What a home holds.

    ``fingerprint`` is what shaped the index, null when nothing was ever added; ``waiting`` passages
    are found by their words and not by their meaning yet.
    """

    home: str
    bytes: int
    documents: int
    passages: int
    waiting: int
    fingerprint: dict[str, object] | None
    collections: tuple[KindCountBody, ...]


def holdings_body(kb: KnowledgeBase) -> HoldingsBody:
    """Count what ``kb`` holds, as far as its asker may read it.

    Who may not read everything is not told of the home's folder, nor of what all of it hangs on.
    """
    rows = kb.catalogue.stats()
    live = kb.catalogue.reindexing.live()
    whole = sees_all(kb)
    return HoldingsBody(
        home=str(kb.home) if whole else "",
        bytes=sum(_sizes(kb.home)) + kb.catalogue.size_on_server() if whole else 0,
        documents=sum(row.documents for row in rows),
        passages=sum(row.passages for row in rows),
        waiting=kb.catalogue.vectors.passages_owed(),
        fingerprint=asdict(live.fingerprint) if live else None,
        collections=tuple(KindCountBody.of(row, name=row.collection) for row in rows),
    )


def _sizes(home: Path) -> Iterator[int]:
    """Bytes of each file; one that another process removes meanwhile counts nothing."""
    for path in files_of(home):
        with suppress(FileNotFoundError):
            yield path.stat().st_size


def print_holdings(console: Console, holdings: HoldingsBody) -> None:
    """Documents and passages per collection and kind, the index and the size on disk."""
    if holdings.collections:
        rows = [
            (row.name, row.kind, f"{row.documents:,}", f"{row.passages:,}")
            for row in holdings.collections
        ]
        rows.append(("all", "", f"{holdings.documents:,}", f"{holdings.passages:,}"))
        columns = ("collection", "kind", right("documents"), right("passages"))
        console.print(table(columns, rows))
    else:
        console.print("The knowledge base is empty. Add something: wellread add PATH")
    console.print(Text(f"\nHome   {holdings.home}, {size_words(holdings.bytes)}"), soft_wrap=True)
    index = holdings.fingerprint
    shape = f"{index['embedder']}, {index['chunking']}" if index else "not built yet"
    console.print(Text(f"Index  {shape}"), soft_wrap=True)
    if holdings.waiting:
        waiting = f"{holdings.waiting:,} passages are found by their words only so far"
        console.print(Text(f"       {waiting}; any add or sync finishes them", style="yellow"))


class ProblemBody(PlainBody):
    """Something that does not match."""

    kind: str
    subject: str
    detail: str
    repaired: bool


class VerifyBody(PlainBody):
    """What each store counts, and what does not match."""

    counts: dict[str, int]
    problems: tuple[ProblemBody, ...]
    notes: tuple[str, ...]


def print_verify(console: Console, report: VerifyBody) -> None:
    """What each store counts, and what does not match."""
    rows = ((name.replace("_", " "), f"{count:,}") for name, count in report.counts.items())
    console.print(table(("", right("")), rows, show_header=False))
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


def print_watched(console: Console, report: ReportBody) -> None:
    """What a look at the watched places brought: a line per source that is not as it was."""
    for row in report.sources:
        if row.status not in ("unchanged", "skipped"):
            console.print(row.line(), soft_wrap=True)


class RemoveBody(PlainBody):
    """What was removed, and the traces that were found afterwards."""

    sources: tuple[str, ...]
    documents: int
    counts: dict[str, int]
    answers: int
    looked_for: int
    shared: int
    purged: bool | None
    server: bool
    traces: tuple[str, ...]


UNSEEN = (
    "The server's own files, its write-ahead log, replicas and backups were not looked at: what "
    "was removed leaves them as the server recycles them (docs/team.md)."
)


def print_remove(console: Console, report: RemoveBody) -> None:
    """What went, and whether anything of it was found afterwards."""
    console.print(f"Removed {len(report.sources):,} sources and {report.documents:,} documents.")
    if report.traces:
        console.print(Text(f"{len(report.traces):,} traces are left:", style="bold red"))
        for trace in report.traces:
            console.print(Text(harmless(trace)), soft_wrap=True)
    elif report.looked_for:
        where = "the catalogue's tables" if report.server else "the catalogue"
        told = (
            f"Looked for {report.looked_for:,} of their sentences in {where}, the index and the "
            "files of the home: no trace is left."
        )
        console.print(Text(told, style="green"), soft_wrap=True)
        if report.server:
            console.print(Text(UNSEEN, style="yellow"), soft_wrap=True)
    else:
        console.print("They held no sentence of their own that could be looked for.")
    if report.answers:
        console.print(f"{report.answers:,} stored answers are stale now and lost what they quoted.")
    if report.purged is False:
        again = "their bytes leave the disk with the next remove or verify --repair"
        console.print(Text(f"A reader was busy: {again}.", style="yellow"))


class BackupBody(PlainBody):
    """What an archive holds."""

    file: str
    bytes: int
    files: int
    documents: int
    passages: int


def print_backup(console: Console, report: BackupBody) -> None:
    """What the archive holds."""
    console.print(
        f"{report.documents:,} documents with {report.passages:,} passages in {report.file} "
        f"({size_words(report.bytes)})",
        soft_wrap=True,
    )


def named_source(uri: str) -> str:
    """The address as a person writes it, on one line whatever the name of the file says."""
    return harmless_line(unquote(uri.removeprefix("file://")))


def size_words(count: int) -> str:
    """A number of bytes with its unit."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
