"""Works out a catalogue query: the one way from its fields to rows."""

from __future__ import annotations

from dataclasses import replace

from wellread.ask.aggregate.counts import counted
from wellread.ask.aggregate.coverage import coverage
from wellread.ask.aggregate.entity_lists import entity_list
from wellread.ask.aggregate.gaps import exists, missing
from wellread.ask.aggregate.graph.walk_result import walked
from wellread.ask.aggregate.newest import newest
from wellread.ask.aggregate.query import CatalogueQuery, Order
from wellread.ask.aggregate.result import AggregateResult
from wellread.ask.aggregate.scope import Scope, scope_of
from wellread.ask.aggregate.trends import trends
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Filters

_FORMS = {
    "count": counted,
    "exists": exists,
    "missing": missing,
    "coverage": coverage,
    "trend": trends,
    "walk": walked,
    "path": walked,
}


def execute(
    kb: KnowledgeBase, query: CatalogueQuery, asked: Analysis | None = None
) -> AggregateResult | None:
    """The result of ``query``; None where the catalogue has nothing to tell of it.

    Args:
        asked: the question that the query was read from, by whose words entities are ranked.

    Raises:
        UnknownCollectionError: a limit names a collection that does not exist.
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    dated = query.order == "newest"
    where = [replace(one, published_from=None, published_to=None) for one in query.where]
    scope = scope_of(kb, where if dated else query.where)
    if query.of.filters != Filters():
        scope = scope.within(query.of.filters)
    result = _worked_out(scope, query, asked)
    if result is None:
        return None
    result = replace(
        result,
        relaxed=(*query.relaxed, *result.relaxed),
        notes=(*query.notes, *result.notes),
    )
    return result if query.order == "newest" else _cut(_ordered(result, query.order), query.limit)


def _worked_out(
    scope: Scope, query: CatalogueQuery, asked: Analysis | None
) -> AggregateResult | None:
    if query.form != "list":
        return _FORMS[query.form](scope, query)
    if query.order == "newest":
        return newest(scope, query)
    if query.order == "relevance":
        return entity_list(scope, query, asked)
    return counted(scope, query)


def _ordered(result: AggregateResult, order: Order) -> AggregateResult:
    """The rows in the asked order; they come in the natural one, of documents the oldest first."""
    rows = list(result.rows)
    if order == "name":
        rows.sort(key=lambda row: row.cells[0].casefold())
    elif order in ("most", "fewest"):
        rows.sort(key=lambda row: len(row.document_ids), reverse=order == "most")
    return replace(result, rows=tuple(rows))


def _cut(result: AggregateResult, limit: int | None) -> AggregateResult:
    if limit is None or len(result.rows) <= limit:
        return result
    method = f"{result.method}; the first {limit:,} of {len(result.rows):,} rows"
    return replace(result, rows=result.rows[:limit], method=method)
