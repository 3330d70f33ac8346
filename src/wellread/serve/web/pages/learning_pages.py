"""Pages about learning: coverage, gaps, what is asked, metrics, preferences, notices."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, get_args

from fastapi import Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BeforeValidator, ValidationError

from wellread.ask.aggregate.counts import DATES
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import dollars
from wellread.learning.asking_again import ask_again
from wellread.learning.coverage_grid import Cell, Grid, coverage_grid
from wellread.learning.metric_report import PeriodName
from wellread.learning.question_patterns import question_patterns
from wellread.library.named_things import listed
from wellread.serve.features.feature import Many, Offset, RowNumber
from wellread.serve.features.figures import metrics_body, report_of
from wellread.serve.features.gaps_and_coverage import (
    MOST_GAPS,
    CoverageBody,
    CoverageQuery,
    cell_words,
    cluster_detail,
    coverage_sentence,
    gap_words,
    gaps_body,
    left_out,
    most_filled,
    set_status,
    suggestion_body,
)
from wellread.serve.features.people import PreferencesChange, change_preferences, preferences_body
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import Shape, look_at
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import bar_chart, part_label, seconds_bars, trend_chart
from wellread.serve.web.rendering import page_router, shown
from wellread.serve.web.runs import Ingest
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.store.catalogue.preference_records import AskedOf
from wellread.store.schema.stored_values import GapStatus
from wellread.text.periods import window_of
from wellread.types import Filters

router = page_router()
MOST_DOCUMENTS, MOST_ASKED = 50, 20
LEVELS = (1, 2, 4, 8, 16)  # least number of documents of each shade
MOST_BARS = 60
# Dimensions that are parameters of the lists of documents by themselves.
PARAMETERS = ("kind", "collection", "source_type", "language", "author", "speaker")


class CoveragePageQuery(CoverageQuery):
    """The coverage; with ``row`` and ``column`` one cell of it."""

    row: str = ""
    column: str = ""


class CellPageBody(Shape):
    """One cell: documents and questions, the first of them."""

    by: tuple[str, ...]
    cell: Cell
    documents: tuple[ListedDocument, ...]
    asked: tuple[AskedOf, ...]


@router.get("/coverage")
def coverage_page(
    kb: Kb, request: Request, asked: Annotated[CoveragePageQuery, Query()]
) -> Response:
    """The heat map, the gaps and how it grew; or a cell."""
    grid = coverage_grid(kb, asked.filters(), asked.dimensions, owner=kb.asker.owner)
    if asked.row or asked.column:
        return _cell_page(kb, request, asked, grid)
    body = CoverageBody(grid=grid)
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in grid.cells}
    return shown(
        request,
        "coverage.html",
        body,
        asked=asked,
        given=_given(asked, grid),
        choices=limit_choices(kb),
        sentence=coverage_sentence(body),
        columns=columns,
        lines=[(row, [_drawn(cells[row, column]) for column in columns]) for row in rows],
        left_out=left_out(body, rows, columns),
        gaps=[(look_at(one), gap_words(one)) for one in body.gaps[:MOST_GAPS]],
    )


def _cell_page(
    kb: KnowledgeBase, request: Request, asked: CoveragePageQuery, grid: Grid
) -> Response:
    cell = grid.cell(asked.row, asked.column)
    if cell is None:
        raise UnknownNameError(
            f"there is no cell {asked.row!r} × {asked.column!r}", hint="/coverage shows them all"
        )
    first = Filters(document_ids=cell.document_ids[:MOST_DOCUMENTS] or ("",))
    page = listed(kb, first, limit=MOST_DOCUMENTS)
    body = CellPageBody(
        by=grid.by,
        cell=cell,
        documents=page.documents,
        asked=tuple(grid.asked[place] for place in cell.asked[:MOST_ASKED]),
    )
    limits = _library(asked, grid, cell.row, cell.column)
    return shown(request, "coverage_cell.html", body, given=_given(asked, grid), limits=limits)


def _given(asked: CoveragePageQuery, grid: Grid) -> dict[str, object]:
    """What the links of the page keep."""
    plain = asked.model_dump(by_alias=True, exclude_defaults=True, exclude={"row", "column"})
    return {**plain, "by": list(grid.by)}


def _drawn(cell: Cell) -> tuple[Any, str, int]:
    """The cell, what it says, and its shade."""
    shade = sum(len(cell.document_ids) >= least for least in LEVELS)
    return look_at(cell), cell_words(cell), shade


def _library(
    asked: CoveragePageQuery, grid: Grid, row: str, column: str
) -> dict[str, list[str] | str]:
    """The parameters under which the library lists the cell; empty when it cannot."""
    plain = asked.model_dump(
        by_alias=True, exclude_defaults=True, exclude={"row", "column", "by", "format", "topic"}
    )
    found: dict[str, list[str] | str] = {**plain}
    if asked.collections:
        found["collection"] = list(asked.collections)
    named: set[str] = set()
    for name, value in zip(grid.by, (row, column), strict=True):
        key = "from" if name in DATES else name if name in PARAMETERS else "taxonomy"
        # A second value of a parameter would widen the list where the cell narrows it.
        if name == "entity_types" or key in named or (key in found and key != "taxonomy"):
            return {}
        if key == "from":
            named.add(key)
            found |= {"from": value, "to": value}
        elif key == "taxonomy":
            held = found.get("taxonomy", [])
            if any(pair.partition("=")[0] == name for pair in held):
                return {}
            found["taxonomy"] = [*held, f"{name}={value}"]
        else:
            named.add(key)
            found[key] = [value]
    return found


@router.get("/gaps")
def gaps(
    kb: Kb,
    request: Request,
    status: Literal["waiting"] | GapStatus = "waiting",
    limit: Many = 20,
    offset: Offset = 0,
) -> Response:
    """Clusters of questions, the ones asked most first; ``waiting`` are all that are not closed."""
    body = gaps_body(kb, None if status == "waiting" else status, limit, offset)
    return shown(
        request,
        "learning/gaps.html",
        body,
        asked={"status": status, "limit": limit, "offset": offset},
        chart=bar_chart([(one.month, one.filed) for one in body.periods]),
    )


@router.get("/gaps/patterns")
def patterns(
    kb: Kb, request: Request, from_: Annotated[str, Query(alias="from")] = "", to: str = ""
) -> Response:
    """What is asked often."""
    start, end = window_of(from_, to, hint="swap the two dates")
    body = question_patterns(kb, kb.asker.owner, start, end)
    asked = {"from_": from_, "to": to}
    return shown(request, "learning/patterns.html", body, asked=asked)


@router.post("/gaps/ask")
def ask(kb: WholeKb, ingest: Ingest) -> Response:
    """Ask the open questions again; it waits for its turn among the runs."""
    ingest.ask_again(partial(ask_again, kb))
    return RedirectResponse("/library/jobs", status_code=303)


@router.get("/gaps/{cluster_id}")
def cluster(kb: Kb, request: Request, cluster_id: str) -> Response:
    """A cluster: its questions, what became of each, and the entry to write."""
    body = cluster_detail(kb, cluster_id)
    waiting = body.cluster.status in ("open", "planned")
    suggestion = suggestion_body(kb, body.cluster.id) if waiting else None
    return shown(request, "learning/gap.html", body, suggestion=look_at(suggestion))


@router.post("/gaps/{gap_id}/status")
def change(
    kb: Kb, gap_id: str, status: Annotated[GapStatus, Form()], cluster: Annotated[str, Form()]
) -> Response:
    """Open, plan or close a cluster, or one question of it."""
    set_status(kb, gap_id, status)
    known = cluster_detail(kb, cluster).cluster.id
    return RedirectResponse(f"/gaps/{known}", status_code=303)


PATH = "/figures"  # /metrics is what Prometheus reads


@router.get(PATH)
def figures(
    kb: Kb, request: Request, period: PeriodName = "month", since: str = "", until: str = ""
) -> Response:
    """All metrics of a time, drawn, with their numbers in tables."""
    report = report_of(kb, period, since, until)
    return shown(
        request,
        "learning/metrics.html",
        metrics_body(report),
        asked={"period": period, "since": since, "until": until},
        path=PATH,
        periods=get_args(PeriodName),
        trend=trend_chart(report.trend, report.period.part),
        bars=seconds_bars(report.latencies),
        label=part_label,
        dollars=dollars,
    )


def _split(given: object) -> object:
    """A text area holds several values, one a line."""
    text = given[0] if isinstance(given, list) and len(given) == 1 else given
    if not isinstance(text, str):
        return text
    return tuple(line.strip() for line in text.splitlines() if line.strip())


Lines = Annotated[tuple[str, ...], BeforeValidator(_split), Form()]


@router.get("/preferences")
def preferences_page(kb: Kb, request: Request) -> Response:
    """The form with what is set."""
    body = preferences_body(kb, kb.asker.owner)
    return shown(request, "preferences.html", body, choices=limit_choices(kb))


@router.post("/preferences")
def keep(
    kb: Kb,
    preferred: Lines = (),
    lowered: Lines = (),
    muted: Lines = (),
    length: Annotated[str, Form()] = "",
    persona: Annotated[str, Form()] = "",
    collection: Annotated[str, Form()] = "",
) -> Response:
    """Keep the whole form; it has a source a line."""
    chosen = {"length": length, "persona": persona, "collection": collection}
    return _changed(kb, {"preferred": preferred, "lowered": lowered, "muted": muted, **chosen})


@router.post("/preferences/learned")
def learned(
    kb: Kb,
    consent: Annotated[str, Form()] = "",
    revoke: Lines = (),
    restore: Lines = (),
) -> Response:
    """Give or withdraw consent, or take back what was learned about a document."""
    change: dict[str, Any] = {"revoke": revoke, "restore": restore}
    if consent:
        change["consent"] = consent == "yes"
    return _changed(kb, change)


def _changed(kb: Kb, given: dict[str, Any]) -> Response:
    try:
        change = PreferencesChange.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{first['loc'][0]}: {first['msg']}") from error
    change_preferences(kb, kb.asker.owner, change)
    return RedirectResponse("/preferences", status_code=303)


@router.post("/notices/seen")
def seen(kb: Kb, notice: Annotated[list[RowNumber], Form()]) -> Response:
    """Show these notices no more."""
    kb.catalogue.notices.mark_seen(notice)
    return RedirectResponse("/", status_code=303)
