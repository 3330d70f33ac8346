"""What the material covers: by taxonomy, kinds and dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

from wellread.ask.aggregate.queries.holding import documents_about
from wellread.ask.aggregate.queries.query import CatalogueQuery, said
from wellread.ask.aggregate.queries.result import AggregateResult, Row, Scope, amount, day
from wellread.store.catalogue.documents.listings import FIELDS, Part

STRATEGY = "coverage of the catalogue"
COLUMNS = ("Part", "Value", "Documents", "Share")
MOST_LISTED = 1_000  # documents; of more, the rows have numbers only
MOST_CELLS = 2_000  # of one pair of dimensions that are looked through for empty ones
UNDATED = "without a date"
DATES = ("year", "month")
OTHER_PARTS = (*DATES, *FIELDS, "entity_types")  # documents divide by these and the taxonomy
MOST_NAMED = 5  # empty cells in the sentence; the rows have all

Taxonomy = dict[tuple[str, str], list[str]]
Groups = Mapping[str, Sequence[str]]  # each value of a dimension to the documents that have it


def coverage(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """How the documents divide over collections, kinds, years and the taxonomy.

    None when no document is about the topic.
    """
    if query.by:
        return _of_dimensions(scope, query.by)
    if query.about is None:
        return _overview(scope, "", "")
    held = documents_about(scope, query.about)
    if not held.counts:
        return None
    return _overview(scope.only(list(held.counts)), f" {query.about.said}", f": {held.method}")


def divided(scope: Scope, by: str) -> dict[str, list[str]]:
    """Each value of ``by`` to the documents of the scope that have it.

    Args:
        by: a field, "year", "month", "entity_types", or a dimension of the taxonomy.
    """
    found: dict[str, list[str]] = {}
    if by in DATES:
        for entry in scope.entries():
            at = entry.published_at
            period = f"{at:%Y}" if at and by == "year" else f"{at:%Y-%m}" if at else UNDATED
            found.setdefault(period, []).append(entry.id)
    elif by in FIELDS:
        found = scope.kb.catalogue.censuses.values(FIELDS[FIELDS.index(by)], scope.limits)
    elif by == "entity_types":
        nodes = scope.kb.catalogue.graph.entities(scope.collections) if scope.collections else []
        inside = {entry.id for entry in scope.entries()} if nodes else set()
        of_types: dict[str, dict[str, None]] = {}
        for node in nodes:
            if node.type and (ids := [known for known in node.documents if known in inside]):
                of_types.setdefault(node.type, {}).update(dict.fromkeys(ids))
        found = {name: list(ids) for name, ids in of_types.items()}
    else:
        found = dict(_of(_taxonomy(scope), by))
    return found


def empty_cells(scope: Scope) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs of values of two dimensions that no document has, with the names of the dimensions."""
    taxonomy = _taxonomy(scope)
    found = []
    for pair in combinations(sorted({name for name, _ in taxonomy}), 2):
        cells = crossed(*(_of(taxonomy, name) for name in pair))
        if len(cells) <= MOST_CELLS:
            found += [(pair, values) for values, ids in cells.items() if not ids]
    return found


def _taxonomy(scope: Scope) -> Taxonomy:
    return scope.kb.catalogue.censuses.taxonomy(scope.limits)


def _of(taxonomy: Taxonomy, dimension: str) -> dict[str, list[str]]:
    return {value: ids for (name, value), ids in taxonomy.items() if name == dimension}


def crossed(rows: Groups, columns: Groups) -> dict[tuple[str, str], list[str]]:
    """Each pair of a value of ``rows`` and one of ``columns`` to the documents that have both."""
    of_document: dict[str, list[str]] = {}
    for value, ids in columns.items():
        for known in ids:
            of_document.setdefault(known, []).append(value)
    cells: dict[tuple[str, str], list[str]] = {pair: [] for pair in product(rows, columns)}
    for row, ids in rows.items():
        for known in ids:
            for column in of_document.get(known, ()):
                cells[row, column].append(known)
    return cells


def _of_dimensions(scope: Scope, asked: Sequence[str]) -> AggregateResult:
    limits = "".join(f", {part}" for part in scope.said)
    groups = [divided(scope, name) for name in asked]
    placed = {known for group in groups for ids in group.values() for known in ids}
    where = f"in {scope.where}{limits}"
    if len(asked) == 1:
        values = groups[0]
        return AggregateResult(
            strategy=STRATEGY,
            kind="coverage",
            sentence=(
                f"{amount(len(placed), 'document has', 'documents have')} a value of "
                f"“{asked[0]}”, {amount(len(values), 'value', 'values')} in all."
            ),
            number=len(values),
            columns=(said(asked[0]).capitalize(), "Documents", "Share"),
            rows=tuple(
                Row(
                    cells=(value, f"{len(ids):,}", _share(len(ids), len(placed))),
                    document_ids=tuple(ids),
                    line=_line(value, len(ids), len(placed)),
                )
                for value, ids in values.items()
            ),
            method=f"documents by their values of the dimension '{asked[0]}', {where}; a document "
            "with several values counts for each",
        )
    cells = crossed(groups[0], groups[1])
    empty = [" · ".join(values) for values, ids in cells.items() if not ids]
    filled = len(cells) - len(empty)
    missing = f"; empty are {_some(empty)}" if empty else ""
    return AggregateResult(
        strategy=STRATEGY,
        kind="coverage",
        sentence=(
            f"{filled} of {len(cells)} cells of {asked[0]} × {asked[1]} are covered "
            f"({_share(filled, len(cells))}){missing}."
        ),
        number=filled,
        columns=(said(asked[0]).capitalize(), said(asked[1]).capitalize(), "Documents"),
        rows=tuple(
            Row(
                cells=(*values, f"{len(ids):,}" if ids else "empty"),
                document_ids=tuple(ids),
                line=_line(" × ".join(values), len(ids)),
            )
            for values, ids in cells.items()
        ),
        method=f"documents that have both values, for every pair of values that the dimensions "
        f"'{asked[0]}' and '{asked[1]}' have, {where}",
    )


def _overview(scope: Scope, about: str, method: str) -> AggregateResult:
    totals = scope.kb.catalogue.censuses.totals(scope.limits)
    parts = _parts(scope, with_documents=totals.documents <= MOST_LISTED)
    rows = tuple(
        Row(
            cells=(part, value, f"{size:,}", _share(size, totals.documents)),
            document_ids=ids,
            line=_line(f"{part} – {value}", size, totals.documents),
        )
        for part, values in parts.items()
        for value, (size, ids) in values.items()
    )
    kinds = sorted(parts["kind"].items(), key=lambda pair: (-pair[1][0], pair[0]))
    told = ", ".join(f"{size:,} of the kind {kind}" for kind, (size, _) in kinds)
    limits = "".join(f", {part}" for part in scope.said)
    dates = f", published from {day(totals.first)} to {day(totals.last)}" if totals.first else ""
    undated = totals.documents - totals.dated
    dates += f" ({undated:,} without a date)" if dates and undated else ""
    return AggregateResult(
        strategy=STRATEGY,
        kind="coverage",
        sentence=(
            f"There are {amount(totals.documents, 'document', 'documents')}{about}{limits} in "
            f"{scope.where}{f': {told}' if told else ''}{dates}."
        ),
        number=totals.documents,
        columns=COLUMNS,
        rows=rows,
        method=(
            f"all documents{about}{method}, divided by collection, kind, source type, language, "
            "year, type of entity and each dimension of the taxonomy; the share is of all of them"
        ),
    )


Sizes = dict[str, tuple[int, tuple[str, ...]]]  # value to its number of documents, and their ids


def _parts(scope: Scope, *, with_documents: bool) -> dict[str, Sizes]:
    """The documents divided in each way; their ids only where that is not too many."""
    censuses = scope.kb.catalogue.censuses
    found: dict[str, Sizes] = {}
    fields: tuple[Part, ...] = ("collection", "kind", "source_type", "language", "year")
    for field in fields:
        held = divided(scope, field) if with_documents else {}
        found[field.replace("_", " ")] = {
            value or UNDATED: (size, tuple(held.get(value or UNDATED, ())))
            for (value,), size in censuses.sizes((field,), scope.limits).items()
            if value or field == "year"
        }
    of_types = divided(scope, "entity_types")
    found["entity type"] = {name: (len(ids), tuple(ids)) for name, ids in of_types.items()}
    taxonomy = censuses.taxonomy(scope.limits) if with_documents else {}
    for (name, value), size in censuses.taxonomy_sizes(scope.limits).items():
        ids = tuple(taxonomy.get((name, value), ()))
        found.setdefault(name, {})[value] = (size, ids)
    return found


def _line(name: str, size: int, whole: int = 0) -> str:
    """``kind – article: 19 documents (38 %)``."""
    share = f" ({_share(size, whole)})" if whole else ""
    return f"{name}: {amount(size, 'document', 'documents') if size else 'no document'}{share}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else shown
