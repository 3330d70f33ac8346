"""What the material lacks: the ledger of gaps, what is asked often, coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from wellread.ask.aggregate.read.result import amount
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.learning.asking_again import Reasked, Retried, ask_again
from wellread.learning.coverage_grid import Cell, Grid, coverage_grid
from wellread.learning.gap_clusters import (
    TAG,
    EntrySuggestion,
    GapCluster,
    cluster_named,
    clusters_of,
    suggest_entry,
    with_missing,
)
from wellread.learning.question_patterns import (
    Count,
    OftenAsked,
    QuestionPatterns,
    question_patterns,
)
from wellread.serve.features.feature import (
    ASKING,
    FAILED,
    DatedQuery,
    FeatureRouter,
    Offset,
    StrictModel,
    Window,
    refusals,
)
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.preference_records import AskedOf
from wellread.store.schema.stored_values import Gap, GapStatus
from wellread.text.words import harmless

BAD = refusals(s400="A bad parameter", s5XX=FAILED)
UNKNOWN = refusals(s404="Unknown cluster or gap")
router, coverage_router = FeatureRouter(responses=BAD), FeatureRouter()
DIGITS = 18  # of the highest number that a row can have

FACES.show(
    Gap,
    """id question kind status reason asked first_asked_at=created_at asked_at=filed_at
    collections=scope answer_id tried tried_at closed_by closed_at""",
)
FACES.show(
    GapCluster,
    """id name status asked questions open closed kinds missing terms collections=scope
    latest_at=latest example""",
    questions=(int, lambda cluster: len(cluster.gaps)),
    open=(int, lambda cluster: sum(gap.status == "open" for gap in cluster.gaps)),
    closed=(int, lambda cluster: sum(gap.status == "closed" for gap in cluster.gaps)),
    kinds=(dict[str, int], lambda cluster: Counter(gap.kind for gap in cluster.gaps)),
    example=(str, lambda cluster: cluster.gaps[0].question),
)
FACES.show(Retried, "gap=gap.id question=gap.question answer_id why")
FACES.show(
    Reasked,
    "open documents asked closed waiting job=job_id questions=tried",
    asked=(int, lambda done: len(done.tried)),
    closed=(int, lambda done: len(done.closed)),
)
FACES.show(EntrySuggestion, "* file_name")


class GapsBody(Shape):
    """A part of the ledger; ``counts`` are of all gaps by status."""

    clusters: tuple[GapCluster, ...]
    total: int
    counts: dict[str, int]


class GapClusterDetailBody(Shape, line="*cluster gaps=cluster.gaps"):
    """A cluster with its questions, the ones asked most first."""

    cluster: GapCluster


class SuggestionBody(Shape, line="cluster *suggestion"):
    """The entry to write for a cluster; ``markdown`` is the file."""

    cluster: str
    suggestion: EntrySuggestion


class StatusBody(Shape):
    """What was changed."""

    id: str
    status: GapStatus
    gaps: int


class StatusRequest(StrictModel):
    """The status that it is to have."""

    status: GapStatus


@router.get("/api/gaps")
def gaps(
    kb: Kb,
    status: GapStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Offset = 0,
) -> GapsBody:
    """Clusters of questions that were not answered, or not well, the ones asked most first.

    Those with a question of ``status``; without one, all that are not closed.
    """
    clusters = clusters_of(kb)
    wanted = [
        one
        for one in clusters
        if (any(gap.status == status for gap in one.gaps) if status else one.status != "closed")
    ]
    filed = [gap for one in clusters for gap in one.gaps]
    held = Counter(gap.status for gap in filed)
    part = wanted[offset : offset + limit]
    return GapsBody(
        clusters=tuple(with_missing(kb, one) for one in part),
        total=len(wanted),
        counts={name: held[name] for name in ("open", "planned", "closed")},
    )


@router.post("/api/gaps/ask", dependencies=ASKING)
def reask(kb: WholeKb) -> Reasked:
    """Ask the open questions again that new documents could answer, and tell what became of it."""
    return ask_again(kb)


@router.get("/api/gaps/{cluster_id}", responses=UNKNOWN)
def cluster_detail(kb: Kb, cluster_id: str) -> GapClusterDetailBody:
    """A cluster (``c12``) with its questions; ``12`` is the one that has that question."""
    return GapClusterDetailBody(cluster=cluster_named(kb, cluster_id))


@router.get("/api/gaps/{cluster_id}/suggestion", responses=UNKNOWN)
def suggestion(
    kb: Kb, cluster_id: str, format: Literal["json", "markdown"] = "json"
) -> SuggestionBody | Response:
    """The entry to write for a cluster, with the questions that it should answer."""
    body = suggestion_body(kb, cluster_id)
    if format == "json":
        return body
    name = body.suggestion.file_name
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(
        harmless(body.suggestion.markdown), media_type="text/markdown", headers=headers
    )


@router.patch("/api/gaps/{gap_id}", responses=UNKNOWN)
def change_gap(kb: Kb, gap_id: str, asked: StatusRequest) -> StatusBody:
    """Open, plan or close a whole cluster (``c12``), or one question (``12``)."""
    return set_status(kb, gap_id, asked.status)


def suggestion_body(kb: KnowledgeBase, name: str) -> SuggestionBody:
    """What to write for a cluster."""
    cluster = cluster_named(kb, name)
    return SuggestionBody(cluster=cluster.id, suggestion=suggest_entry(kb, cluster))


def set_status(kb: KnowledgeBase, name: str, status: GapStatus) -> StatusBody:
    """Open, plan or close a whole cluster (``c12``), or one gap (``12``)."""
    if name.startswith(TAG):
        ids = [gap.id for gap in cluster_named(kb, name).gaps]
    else:
        ids = [int(name)] if name.isdecimal() and len(name) <= DIGITS else []
    changed = kb.catalogue.gap_ledger.set_status(ids, status)
    if not changed:
        raise UnknownNameError(f"there is no gap {name!r}", hint="wellread gaps lists them")
    return StatusBody(id=name, status=status, gaps=changed)


# --- what is asked often ---------------------------------------------------------------------

FACES.show_whole(Count, OftenAsked, QuestionPatterns)


@router.get("/api/questions/patterns")
def patterns(kb: Kb, window: Window) -> QuestionPatterns:
    """What is asked often in a time: the same questions, types, topics and words."""
    return question_patterns(kb, kb.asker.owner, *window)


# --- coverage --------------------------------------------------------------------------------

MOST_SHOWN = 40  # values of a dimension in a table; JSON has all
MOST_GAPS = 20  # named in words
FACES.show_whole(AskedOf)
FACES.show(
    Cell,
    "row column documents target covered questions",
    documents=(int, lambda cell: len(cell.document_ids)),
    questions=(int, lambda cell: len(cell.asked)),
)


class CoverageBody(
    Shape,
    line="""by=grid.by dimensions=grid.dimensions rows=grid.rows columns=grid.columns
    cells=grid.cells gaps covered wanted share documents=grid.documents placed=grid.placed""",
):
    """The cells of two dimensions, and what is covered of them.

    Attributes:
        dimensions: all that ``by`` may name.
        cells: row by row; a ``target`` of 0 does not count, ``questions`` are those asked whose
            answers rest on a document of it.
        gaps: below their target, the worst first.
        wanted: cells that have a target.
        share: covered of wanted; null when no cell has a target.
        placed: documents that are in a cell.
    """

    grid: Grid

    @property
    def gaps(self) -> tuple[Cell, ...]:
        """The cells below their target."""
        return tuple(self.grid.gaps)

    @property
    def covered(self) -> int:
        """How many of the wanted cells have what is wanted."""
        return sum(cell.covered for cell in self.grid.wanted)

    @property
    def wanted(self) -> int:
        """How many cells have a target."""
        return len(self.grid.wanted)

    @property
    def share(self) -> float | None:
        """Covered of wanted."""
        return self.covered / self.wanted if self.wanted else None


class CoverageQuery(DatedQuery):
    """Which documents, and by which two dimensions."""

    by: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[], description="two dimensions; without them those of the collection"
    )
    format: Literal["json", "markdown"] = "json"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that were named."""
        return tuple(name for name in self.by if name.strip())


@coverage_router.get("/api/coverage")
def coverage(kb: Kb, asked: Annotated[CoverageQuery, Query()]) -> CoverageBody | Response:
    """The cells of two dimensions, the share that is covered, and the gaps."""
    grid = coverage_grid(kb, asked.filters(), asked.dimensions, owner=kb.asker.owner)
    body = CoverageBody(grid=grid)
    if asked.format == "markdown":
        return Response(coverage_markdown(body), media_type="text/markdown; charset=utf-8")
    return body


def coverage_sentence(body: CoverageBody) -> str:
    """``13 of 25 cells of sectors × scales are covered (52 %).``"""
    by = " × ".join(body.grid.by)
    if not body.wanted:
        return f"No cell of {by} has a target, so nothing is covered or missing."
    share = f"{body.share:.0%}".replace("%", " %") if body.share is not None else ""
    return (
        f"{body.covered:,} of {amount(body.wanted, 'cell', 'cells')} of {by} "
        f"{'is' if body.covered == 1 else 'are'} covered ({share}); "
        f"{body.grid.placed:,} of {amount(body.grid.documents, 'document', 'documents')} "
        f"{'is' if body.grid.placed == 1 else 'are'} in a cell."
    )


def gap_words(cell: Cell) -> str:
    """``energy × regional: no document, 1 is wanted``."""
    count = len(cell.document_ids)
    held = amount(count, "document", "documents") if count else "no document"
    return f"{cell.row} × {cell.column}: {held}, {cell.target:,} wanted"


def most_filled(body: CoverageBody) -> tuple[list[str], list[str]]:
    """The rows and columns that a table shows: all, or of many those with most documents."""
    rows: dict[str, int] = dict.fromkeys(body.grid.rows, 0)
    columns: dict[str, int] = dict.fromkeys(body.grid.columns, 0)
    for cell in body.grid.cells:
        rows[cell.row] += len(cell.document_ids)
        columns[cell.column] += len(cell.document_ids)
    return _most(rows), _most(columns)


def _most(sizes: dict[str, int]) -> list[str]:
    kept = set(sorted(sizes, key=lambda value: -sizes[value])[:MOST_SHOWN])
    return [value for value in sizes if value in kept]


def left_out(body: CoverageBody, rows: Sequence[str], columns: Sequence[str]) -> str:
    """What a table does not show, in words; empty when it shows all."""
    if len(rows) == len(body.grid.rows) and len(columns) == len(body.grid.columns):
        return ""
    return (
        f"Shown are the {len(rows):,} of {len(body.grid.rows):,} rows and the {len(columns):,} of "
        f"{len(body.grid.columns):,} columns with most documents; JSON has all."
    )


def cell_words(cell: Cell) -> str:
    """``3``; below the target ``1/2``; a cell that does not count in brackets."""
    count = len(cell.document_ids)
    if not cell.target:
        return f"({count})" if count else "–"
    return f"{count:,}" if cell.covered else f"{count:,}/{cell.target:,}"


def coverage_markdown(body: CoverageBody) -> str:
    """The coverage as a Markdown report."""
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.grid.cells}
    lines = [
        f"# Coverage: {_plain(' × '.join(body.grid.by))}",
        "",
        _plain(coverage_sentence(body)),
        "",
    ]
    if rows and columns:
        lines += [_row([f"{body.grid.by[0]} × {body.grid.by[1]}", *columns])]
        lines += ["|---|" + "---:|" * len(columns)]
        lines += [_row([row, *(cell_words(cells[row, one]) for one in columns)]) for row in rows]
        lines += ["", *([f"{said}", ""] if (said := left_out(body, rows, columns)) else [])]
    lines += ["## Gaps", ""]
    lines += [f"- {_plain(gap_words(one))}" for one in body.gaps] or ["None."]
    return "\n".join(lines) + "\n"


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(value).replace('|', chr(92) + '|') for value in values)} |"


def _plain(text: str) -> str:
    """Words of sources on one line, without what would be markup."""
    words = " ".join(harmless(text).split())
    return words.replace("<", "&lt;").replace("[", "\\[").replace("`", "\\`")
