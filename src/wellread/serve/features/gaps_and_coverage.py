"""The ledger of gaps as JSON: clusters, their questions, what to write, what was asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pydantic import Field
from rich.console import Console
from rich.table import Column
from rich.text import Text

from wellread.ask.aggregate.queries.result import amount
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.learning.coverage_grid import Cell, Grid
from wellread.learning.coverage_trend import coverage_trend
from wellread.learning.gaps.asking_again import Reasked
from wellread.learning.gaps.entry_suggestion import suggest_entry
from wellread.learning.gaps.gap_clusters import (
    TAG,
    GapCluster,
    cluster_named,
    clusters_of,
    with_missing,
)
from wellread.serve.features.views import Body
from wellread.serve.terminal import Terminal, fold, right, shortened, table
from wellread.store.schema.catalogue_values import Gap, GapKind, GapStatus
from wellread.text.words import harmless


class GapBody(Body):
    """A question that was not answered, or not well.

    ``tried``: why it stayed open when it was asked again. ``closedBy``: the answer that closed it;
    empty when it was closed by hand.
    """

    id: int
    question: str
    kind: GapKind
    status: GapStatus
    reason: str
    asked: int
    first_asked_at: datetime
    asked_at: datetime
    collections: tuple[str, ...]
    answer_id: str
    tried: str
    tried_at: datetime | None
    closed_by: str
    closed_at: datetime | None

    @classmethod
    def of_gap(cls, gap: Gap) -> GapBody:
        """The body of a gap."""
        return cls.of(
            gap, first_asked_at=gap.created_at, asked_at=gap.filed_at, collections=gap.scope
        )


class GapClusterBody(Body):
    """Questions about the same thing. ``missing``: their words that the material lacks."""

    id: str
    name: str
    status: GapStatus
    asked: int
    questions: int
    open: int
    closed: int
    kinds: dict[str, int]
    missing: tuple[str, ...]
    terms: tuple[str, ...]
    collections: tuple[str, ...]
    latest_at: datetime
    example: str


class GapClusterDetailBody(GapClusterBody):
    """A cluster with its questions, the ones asked most first."""

    gaps: tuple[GapBody, ...]


class GapPeriodBody(Body):
    """A month: how many gaps were filed, and how many were closed."""

    month: str
    filed: int
    closed: int


class GapsBody(Body):
    """A part of the ledger; ``counts`` are of all gaps by status."""

    clusters: tuple[GapClusterBody, ...]
    total: int
    counts: dict[GapStatus, int]
    periods: tuple[GapPeriodBody, ...]


class EntrySuggestionBody(Body):
    """The entry to write for a cluster; ``markdown`` is the file."""

    cluster: str
    file_name: str
    id: str
    title: str
    type: str
    collection: str
    taxonomy: dict[str, tuple[str, ...]]
    questions: tuple[str, ...]
    near: tuple[str, ...] = Field(description="titles of the entries that it was modelled on")
    markdown: str


class RetriedBody(Body):
    """A question that was asked again; ``answerId`` is empty when it stayed open, and ``why``."""

    gap: int
    question: str
    answer_id: str
    why: str


class ReaskedBody(Body):
    """What asking again did; ``waiting`` are left for the next time."""

    open: int
    documents: int
    asked: int
    closed: int
    waiting: int
    job: str
    questions: tuple[RetriedBody, ...]


class StatusBody(Body):
    """What was changed."""

    id: str
    status: GapStatus
    gaps: int


def gaps_body(kb: KnowledgeBase, status: GapStatus | None, limit: int, offset: int = 0) -> GapsBody:
    """A part of the clusters with a question of a status; without one, all that are not closed.

    Raises:
        StoreError, ModelError: a part of the home cannot be used.
    """
    clusters = clusters_of(kb)
    wanted = [
        one
        for one in clusters
        if (any(gap.status == status for gap in one.gaps) if status else one.status != "closed")
    ]
    gaps = [gap for one in clusters for gap in one.gaps]
    held = Counter(gap.status for gap in gaps)
    return GapsBody(
        clusters=tuple(
            cluster_body(with_missing(kb, one)) for one in wanted[offset : offset + limit]
        ),
        total=len(wanted),
        counts={name: held[name] for name in ("open", "planned", "closed")},
        periods=_periods(gaps),
    )


def cluster_body(cluster: GapCluster) -> GapClusterBody:
    """The body of a cluster without its questions."""
    return GapClusterBody.of(
        cluster,
        questions=len(cluster.gaps),
        open=sum(gap.status == "open" for gap in cluster.gaps),
        closed=sum(gap.status == "closed" for gap in cluster.gaps),
        kinds=dict(Counter(gap.kind for gap in cluster.gaps)),
        collections=cluster.scope,
        latest_at=cluster.latest,
        example=cluster.gaps[0].question,
    )


def cluster_detail(kb: KnowledgeBase, name: str) -> GapClusterDetailBody:
    """A cluster with its questions.

    Raises:
        UnknownNameError: there is none of this name.
    """
    cluster = cluster_named(kb, name)
    gaps = tuple(GapBody.of_gap(gap) for gap in cluster.gaps)
    return GapClusterDetailBody.of(cluster_body(cluster), gaps=gaps)


def suggestion_body(kb: KnowledgeBase, name: str) -> EntrySuggestionBody:
    """What to write for a cluster.

    Raises:
        UnknownNameError: there is none of this name.
    """
    cluster = cluster_named(kb, name)
    made = suggest_entry(kb, cluster)
    return EntrySuggestionBody.of(made, cluster=cluster.id, taxonomy=dict(made.taxonomy))


DIGITS = 18  # of the highest number that a row can have


def set_status(kb: KnowledgeBase, name: str, status: GapStatus) -> StatusBody:
    """Open, plan or close a whole cluster (``c12``), or one gap (``12``).

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name.startswith(TAG):
        ids = [gap.id for gap in cluster_named(kb, name).gaps]
    else:
        ids = [int(name)] if name.isdecimal() and len(name) <= DIGITS else []
    changed = kb.catalogue.gap_ledger.set_status(ids, status)
    if not changed:
        raise UnknownNameError(f"there is no gap {name!r}", hint="wellread gaps lists them")
    return StatusBody(id=name, status=status, gaps=changed)


def reasked_body(done: Reasked) -> ReaskedBody:
    """The body of what asking again did."""
    return ReaskedBody(
        open=done.open,
        documents=done.documents,
        asked=len(done.tried),
        closed=len(done.closed),
        waiting=done.waiting,
        job=done.job_id,
        questions=tuple(
            RetriedBody(
                gap=one.gap.id, question=one.gap.question, answer_id=one.answer_id, why=one.why
            )
            for one in done.tried
        ),
    )


def _periods(gaps: Sequence[Gap]) -> tuple[GapPeriodBody, ...]:
    """Every month in which a gap was filed or closed, the oldest first."""
    filed = Counter(f"{gap.created_at:%Y-%m}" for gap in gaps)
    closed = Counter(f"{gap.closed_at:%Y-%m}" for gap in gaps if gap.closed_at)
    return tuple(
        GapPeriodBody(month=month, filed=filed[month], closed=closed[month])
        for month in sorted({*filed, *closed})
    )


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


MOST_SHOWN = 40  # values of a dimension in a table; JSON has all
MOST_GAPS = 20  # named in words
MOST_MONTHS = 12


class CoverageCellBody(Body):
    """The documents that have both values, and how many there are to be."""

    row: str
    column: str
    documents: int
    target: int = Field(description="0: the cell does not count")
    covered: bool
    questions: int = Field(description="questions asked whose answers rest on a document of it")


class CoveredMonthBody(Body):
    """How much there was at the end of a month."""

    month: str
    documents: int
    covered: int


class CoverageBody(Body):
    """The cells of two dimensions, what is covered of them, and how that grew."""

    by: tuple[str, ...]
    dimensions: tuple[str, ...] = Field(description="all that `by` may name")
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[CoverageCellBody, ...] = Field(description="row by row")
    gaps: tuple[CoverageCellBody, ...] = Field(description="below their target, the worst first")
    covered: int
    wanted: int = Field(description="cells that have a target")
    share: float | None = Field(description="covered of wanted; null when no cell has a target")
    documents: int
    placed: int = Field(description="documents that are in a cell")
    added: tuple[CoveredMonthBody, ...] = Field(description="by when documents were added here")
    published: tuple[CoveredMonthBody, ...] = Field(description="by when they were published")


class AskedOfBody(Body):
    """A question whose answer rests on a document of the cell."""

    answer_id: str
    question: str
    created_at: datetime


def coverage_body(kb: KnowledgeBase, grid: Grid) -> CoverageBody:
    """The whole coverage.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    wanted = grid.wanted
    covered = sum(cell.covered for cell in wanted)
    return CoverageBody.of(
        grid,
        cells=[_cell(one) for one in grid.cells],
        gaps=[_cell(one) for one in grid.gaps],
        covered=covered,
        wanted=len(wanted),
        share=covered / len(wanted) if wanted else None,
        added=coverage_trend(kb, grid, "added"),
        published=coverage_trend(kb, grid, "published"),
    )


def _cell(cell: Cell) -> CoverageCellBody:
    return CoverageCellBody.of(cell, documents=len(cell.document_ids), questions=len(cell.asked))


def coverage_sentence(body: CoverageBody) -> str:
    """``13 of 25 cells of sectors × scales are covered (52 %).``"""
    if not body.wanted:
        return f"No cell of {' × '.join(body.by)} has a target, so nothing is covered or missing."
    share = f"{body.share:.0%}".replace("%", " %") if body.share is not None else ""
    return (
        f"{body.covered:,} of {amount(body.wanted, 'cell', 'cells')} of {' × '.join(body.by)} "
        f"{'is' if body.covered == 1 else 'are'} covered ({share}); "
        f"{body.placed:,} of {amount(body.documents, 'document', 'documents')} "
        f"{'is' if body.placed == 1 else 'are'} in a cell."
    )


def gap_words(cell: CoverageCellBody) -> str:
    """``energy × regional: no document, 1 is wanted``."""
    held = amount(cell.documents, "document", "documents") if cell.documents else "no document"
    return f"{cell.row} × {cell.column}: {held}, {cell.target:,} wanted"


def most_filled(body: CoverageBody) -> tuple[list[str], list[str]]:
    """The rows and columns that a table shows: all, or of many those with most documents."""
    rows: dict[str, int] = dict.fromkeys(body.rows, 0)
    columns: dict[str, int] = dict.fromkeys(body.columns, 0)
    for cell in body.cells:
        rows[cell.row] += cell.documents
        columns[cell.column] += cell.documents
    return _most(rows), _most(columns)


def _most(sizes: dict[str, int]) -> list[str]:
    kept = set(sorted(sizes, key=lambda value: -sizes[value])[:MOST_SHOWN])
    return [value for value in sizes if value in kept]


def left_out(body: CoverageBody, rows: Sequence[str], columns: Sequence[str]) -> str:
    """What a table does not show, in words; empty when it shows all."""
    if len(rows) == len(body.rows) and len(columns) == len(body.columns):
        return ""
    return (
        f"Shown are the {len(rows):,} of {len(body.rows):,} rows and the {len(columns):,} of "
        f"{len(body.columns):,} columns with most documents; JSON has all."
    )


def cell_words(cell: CoverageCellBody) -> str:
    """``3``; below the target ``1/2``; a cell that does not count in brackets."""
    if not cell.target:
        return f"({cell.documents})" if cell.documents else "–"
    return f"{cell.documents:,}" if cell.covered else f"{cell.documents:,}/{cell.target:,}"


def print_coverage_report(console: Console, body: CoverageBody) -> None:
    """The table, the share, the gaps, and the last months."""
    console.print(harmless(coverage_sentence(body)), markup=False)
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.cells}
    lines: list[list[str | Text]] = []
    for row in rows:
        held = [cells[row, column] for column in columns]
        styled = [Text(cell_words(one), style="" if one.covered else "bold red") for one in held]
        lines.append([row, *styled])
    if lines and columns:
        heads: list[str | Column] = [
            harmless(f"{body.by[0]} \\ {body.by[1]}"),
            *(right(harmless(c)) for c in columns),
        ]
        console.print(table(heads, lines, header_style="bold"))
    if said := left_out(body, rows, columns):
        console.print(said, style="dim", markup=False)
    if body.gaps:
        console.print(Text(f"Gaps ({len(body.gaps):,})", style="bold"))
        for one in body.gaps[:MOST_GAPS]:
            console.print(f"  {harmless(gap_words(one))}", markup=False)
        if len(body.gaps) > MOST_GAPS:
            console.print(f"  and {len(body.gaps) - MOST_GAPS:,} more", style="dim")
    if body.added:
        console.print(Text("Over time, by when documents were added", style="bold"))
        months = [
            [o.month, f"{o.documents:,}", f"{o.covered:,}"] for o in body.added[-MOST_MONTHS:]
        ]
        console.print(table(["Month", right("Documents"), right("Covered cells")], months))


def coverage_markdown(body: CoverageBody) -> str:
    """The coverage as a Markdown report."""
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.cells}
    lines = [f"# Coverage: {_plain(' × '.join(body.by))}", "", _plain(coverage_sentence(body)), ""]
    if rows and columns:
        lines += [_row([f"{body.by[0]} × {body.by[1]}", *columns])]
        lines += ["|---|" + "---:|" * len(columns)]
        lines += [_row([row, *(cell_words(cells[row, one]) for one in columns)]) for row in rows]
        lines += ["", *([f"{said}", ""] if (said := left_out(body, rows, columns)) else [])]
    lines += ["## Gaps", ""]
    lines += [f"- {_plain(gap_words(one))}" for one in body.gaps] or ["None."]
    for title, months in (("added", body.added), ("published", body.published)):
        if months:
            lines += ["", f"## Over time, by when documents were {title}", ""]
            lines += [_row(["Month", "Documents", "Covered cells"]), "|---|---:|---:|"]
            lines += [_row([o.month, f"{o.documents:,}", f"{o.covered:,}"]) for o in months]
    return "\n".join(lines) + "\n"


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(value).replace('|', chr(92) + '|') for value in values)} |"


def _plain(text: str) -> str:
    """Words of sources on one line, without what would be markup."""
    words = " ".join(harmless(text).split())
    return words.replace("<", "&lt;").replace("[", "\\[").replace("`", "\\`")
