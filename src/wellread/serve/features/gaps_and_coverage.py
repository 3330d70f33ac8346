"""Routes for unanswered questions (gaps), frequent questions and the coverage of the material."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from wellread.ask.aggregate.coverage import Cell, share_covered
from wellread.ask.aggregate.query import amount
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.learning.asking_again import RetriedQuestion, RetryReport, ask_again
from wellread.learning.coverage_grid import Grid, coverage_grid
from wellread.learning.gap_clusters import (
    ID_PREFIX,
    EntrySuggestion,
    GapCluster,
    clusters_of,
    find_cluster,
    suggest_entry,
)
from wellread.learning.question_patterns import (
    Count,
    OftenAsked,
    QuestionPatterns,
    question_patterns,
)
from wellread.serve.features.feature import (
    ASKING,
    DatedQuery,
    FeatureRouter,
    Offset,
    StrictModel,
    Window,
    refusals,
)
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.preference_records import QuestionWithSources
from wellread.store.schema.stored_values import Gap, GapStatus
from wellread.text.characters import harmless

UNKNOWN_GAP = refusals(s404="Unknown cluster or gap")
router, coverage_router = FeatureRouter("read"), FeatureRouter("read")
reads, edits = router.requiring("read", "edit")
MAX_ID_DIGITS = 18  # a row id with more might not fit into 64 bits

FACES.show(
    Gap,
    """id question kind status reason asked first_asked_at=created_at asked_at=filed_at
    collections=scope answer_id tried tried_at closed_by closed_at""",
)
FACES.show(
    GapCluster,
    """id name status asked questions open closed kinds terms collections=scope
    latest_at=latest example""",
    questions=(int, lambda cluster: len(cluster.gaps)),
    open=(int, lambda cluster: sum(gap.status == "open" for gap in cluster.gaps)),
    closed=(int, lambda cluster: sum(gap.status == "closed" for gap in cluster.gaps)),
    kinds=(dict[str, int], lambda cluster: Counter(gap.kind for gap in cluster.gaps)),
    example=(str, lambda cluster: cluster.gaps[0].question),
)
FACES.show(RetriedQuestion, "gap=gap.id question=gap.question answer_id why")
FACES.show(
    RetryReport,
    "open documents asked closed waiting job=job_id questions=tried",
    asked=(int, lambda report: len(report.tried)),
    closed=(int, lambda report: len(report.closed)),
)
FACES.show(EntrySuggestion, "* file_name")


class GapsBody(Shape):
    """A page of clusters of gaps; ``counts`` are the numbers of all gaps by status."""

    clusters: tuple[GapCluster, ...]
    total: int
    counts: dict[str, int]


class GapClusterDetailBody(Shape, line="*cluster gaps=cluster.gaps"):
    """A cluster with its questions, most frequently asked first."""

    cluster: GapCluster


class SuggestionBody(Shape, line="cluster *suggestion"):
    """A suggested new document for a cluster; ``markdown`` is its text."""

    cluster: str
    suggestion: EntrySuggestion


class StatusBody(Shape):
    """The new status and the number of gaps that got it."""

    id: str
    status: GapStatus
    gaps: int


class StatusRequest(StrictModel):
    """The new status."""

    status: GapStatus


@reads.get("/api/gaps")
def gaps(
    kb: Kb,
    status: GapStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Offset = 0,
) -> GapsBody:
    """List clusters of unanswered or poorly answered questions, most frequently asked first.

    With ``status``, those with a question of that status, otherwise all that are not closed.
    """
    clusters = clusters_of(kb)
    matching = [
        cluster
        for cluster in clusters
        if (any(g.status == status for g in cluster.gaps) if status else cluster.status != "closed")
    ]
    all_gaps = [gap for cluster in clusters for gap in cluster.gaps]
    by_status = Counter(gap.status for gap in all_gaps)
    page = matching[offset : offset + limit]
    return GapsBody(
        clusters=tuple(page),
        total=len(matching),
        counts={name: by_status[name] for name in ("open", "planned", "closed")},
    )


@edits.post("/api/gaps/ask", dependencies=ASKING)
def reask(kb: WholeKb) -> RetryReport:
    """Ask open questions again that new documents could answer, and report the results."""
    return ask_again(kb)


@reads.get("/api/gaps/{cluster_id}", responses=UNKNOWN_GAP)
def cluster_detail(kb: Kb, cluster_id: str) -> GapClusterDetailBody:
    """Return a cluster (``c12``) with its questions; ``12`` means the cluster of that question."""
    return GapClusterDetailBody(cluster=find_cluster(kb, cluster_id))


@reads.get("/api/gaps/{cluster_id}/suggestion", responses=UNKNOWN_GAP)
def suggestion(
    kb: Kb, cluster_id: str, format: Literal["json", "markdown"] = "json"
) -> SuggestionBody | Response:
    """Suggest a document to write for a cluster, with the questions it should answer."""
    body = suggestion_body(kb, cluster_id)
    if format == "json":
        return body
    name = body.suggestion.file_name
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(
        harmless(body.suggestion.markdown), media_type="text/markdown", headers=headers
    )


@edits.patch("/api/gaps/{gap_id}", responses=UNKNOWN_GAP)
def change_gap(kb: Kb, gap_id: str, request: StatusRequest) -> StatusBody:
    """Open, plan or close all gaps of a cluster (``c12``), or one question (``12``)."""
    return set_status(kb, gap_id, request.status)


def suggestion_body(kb: KnowledgeBase, name: str) -> SuggestionBody:
    """Return the suggested document for a cluster."""
    cluster = find_cluster(kb, name)
    return SuggestionBody(cluster=cluster.id, suggestion=suggest_entry(kb, cluster))


def set_status(kb: KnowledgeBase, name: str, status: GapStatus) -> StatusBody:
    """Set the status of all gaps of a cluster (``c12``), or of one gap (``12``)."""
    if name.startswith(ID_PREFIX):
        ids = [gap.id for gap in find_cluster(kb, name).gaps]
    else:
        ids = [int(name)] if name.isdecimal() and len(name) <= MAX_ID_DIGITS else []
    changed = kb.catalogue.gap_ledger.set_status(ids, status)
    if not changed:
        raise UnknownNameError(f"there is no gap {name!r}", hint="'wellread gaps' lists them")
    return StatusBody(id=name, status=status, gaps=changed)


# --- frequent questions ----------------------------------------------------------------------

FACES.show_whole(Count, OftenAsked, QuestionPatterns)


@reads.get("/api/questions/patterns")
def patterns(kb: Kb, window: Window) -> QuestionPatterns:
    """Return the most frequent questions, types, topics and words of a period."""
    return question_patterns(kb, kb.asker.owner, *window)


# --- coverage --------------------------------------------------------------------------------

MAX_AXIS_VALUES = 40  # rows or columns of a table; JSON has all
MAX_LISTED_GAPS = 20  # gaps listed by name
FACES.show_whole(QuestionWithSources)
FACES.show(
    Cell,
    "row column documents target covered questions",
    documents=(int, lambda cell: len(cell.document_ids)),
    questions=(int, lambda cell: len(cell.asked)),
)


FACES.show(
    Grid,
    "by dimensions rows columns cells gaps covered wanted share documents placed",
    gaps=(tuple[Cell, ...], lambda grid: grid.gaps),
    covered=(int, lambda grid: sum(cell.covered for cell in grid.wanted)),
    wanted=(int, lambda grid: len(grid.wanted)),
    share=(
        float | None,
        lambda grid: fmean(cell.covered for cell in grid.wanted) if grid.wanted else None,
    ),
)


class CoverageQuery(DatedQuery):
    """Filters of documents, and one or two dimensions."""

    by: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[], description="one or two dimensions; by default those of the collection"
    )
    format: Literal["json", "markdown"] = "json"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The named dimensions."""
        return tuple(name for name in self.by if name.strip())


@coverage_router.get("/api/coverage")
def coverage(kb: Kb, params: Annotated[CoverageQuery, Query()]) -> Grid | Response:
    """Return the cells of one or two dimensions, the covered share and the gaps."""
    grid = coverage_grid(kb, params.filters(), params.dimensions, owner=kb.asker.owner)
    if params.format == "markdown":
        return Response(coverage_markdown(grid), media_type="text/markdown; charset=utf-8")
    return grid


def coverage_sentence(grid: Grid) -> str:
    """Return a sentence like ``13 of 25 cells of sectors × scales are covered (52 %); …``."""
    documents = f"{grid.placed:,} of {amount(grid.documents, 'document', 'documents')}"
    if not grid.wanted:
        return (
            f"{documents} by {' × '.join(grid.by)}. Nothing is wanted here, so there are no gaps."
        )
    verb = "has" if grid.placed == 1 else "have"
    return f"{share_covered(grid.by, grid.cells)}; {documents} {verb} a place here."


def table_axes(grid: Grid) -> tuple[list[str], list[str]]:
    """Return the rows and columns of a table; if too many, those with the most documents."""
    rows: dict[str, int] = dict.fromkeys(grid.rows, 0)
    columns: dict[str, int] = dict.fromkeys(grid.columns, 0)
    for cell in grid.cells:
        rows[cell.row] += len(cell.document_ids)
        columns[cell.column] += len(cell.document_ids)
    return _with_most_documents(rows), _with_most_documents(columns)


def _with_most_documents(sizes: dict[str, int]) -> list[str]:
    largest = set(sorted(sizes, key=lambda value: -sizes[value])[:MAX_AXIS_VALUES])
    return [value for value in sizes if value in largest]


def omission_note(grid: Grid, rows: Sequence[str], columns: Sequence[str]) -> str:
    """Return a note on omitted rows and columns; empty when the table shows all."""
    if len(rows) == len(grid.rows) and len(columns) == len(grid.columns):
        return ""
    return (
        f"The table shows the {len(rows):,} of {len(grid.rows):,} rows and the "
        f"{len(columns):,} of {len(grid.columns):,} columns with most documents; JSON has all."
    )


def coverage_markdown(grid: Grid) -> str:
    """Format the coverage as a Markdown report."""
    rows, columns = table_axes(grid)
    cells = {(cell.row, cell.column): cell for cell in grid.cells}
    lines = [
        f"# Coverage: {_escaped(' × '.join(grid.by))}",
        "",
        _escaped(coverage_sentence(grid)),
        "",
    ]
    if rows and columns:
        heads = columns if len(grid.by) == 2 else ["documents"]
        lines += [_table_row([" × ".join(grid.by), *heads])]
        lines += ["|---|" + "---:|" * len(columns)]
        for row in rows:
            lines.append(_table_row([row, *(cells[row, column].short for column in columns)]))
        lines += ["", *([note, ""] if (note := omission_note(grid, rows, columns)) else [])]
    lines += ["## Gaps", ""]
    lines += [f"- {_escaped(cell.line)}" for cell in grid.gaps] or ["None."]
    return "\n".join(lines) + "\n"


def _table_row(values: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(value).replace('|', chr(92) + '|') for value in values)} |"


def _escaped(text: str) -> str:
    """Return ``text`` from sources on one line, with its markup escaped."""
    line = " ".join(harmless(text).split())
    return line.replace("<", "&lt;").replace("[", "\\[").replace("`", "\\`")
