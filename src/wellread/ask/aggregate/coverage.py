"""Shows how documents cover the dimensions of a taxonomy, and what is missing.

Every value that a taxonomy or a collection's settings file declares is wanted (setting
``coverage.target``), unless the file sets another target. Nothing else is: nobody said that a year
should have a recording. Questions, commands, REST and pages take their cells and words from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

from wellread.ask.aggregate.counts import (
    DATES,
    GAP_STRATEGY,
    UNDATED,
    Groups,
    cross_tabulate,
    documents_text,
    group_by,
    kinds_text,
    taxonomy_groups,
)
from wellread.ask.aggregate.holding import documents_about
from wellread.ask.aggregate.query import (
    AggregateResult,
    CatalogueQuery,
    Row,
    Scope,
    amount,
    day,
    noun_for_type,
)
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import Part

COVERAGE_STRATEGY = "coverage of the catalogue"
WHOLE = ""  # the only column when documents are divided by one dimension
MAX_LISTED_DOCUMENTS = 1_000  # beyond it, an overview counts documents but lists few of them
MAX_CELLS = 2_000  # pairs of dimensions with more are not searched for empty cells
MAX_NAMED_CELLS = 5  # gaps in the sentence; the rows have all

Targets = Sequence[Mapping[str, Any]]  # "coverage" of the settings files, as stored


# --- cells and their targets -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The documents that have two values, or one; ``column`` is empty for one dimension.

    Attributes:
        target: the expected number of documents; 0 when none is expected.
        asked: indices in ``Grid.asked`` of the questions whose answers cite one of the documents.
    """

    row: str
    column: str
    document_ids: tuple[str, ...]
    target: int
    asked: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its values."""
        return " × ".join(filter(None, (self.row, self.column)))

    @property
    def covered(self) -> bool:
        """Whether the cell reaches its target."""
        return len(self.document_ids) >= self.target

    @property
    def missing(self) -> int:
        """The number of documents below the target."""
        return max(0, self.target - len(self.document_ids))

    @property
    def short(self) -> str:
        """``✓ 3``; below its target ``1/2``; without a target ``3``."""
        count = len(self.document_ids)
        if not self.target:
            return f"{count:,}" if count else "–"
        return f"✓ {count:,}" if self.covered else f"{count:,}/{self.target:,}"

    @property
    def line(self) -> str:
        """A line such as ``energy × regional: no document, 1 wanted``."""
        wanted = f", {self.target:,} wanted" if self.missing else " ✓" if self.target else ""
        return f"{self.name}: {documents_text(len(self.document_ids))}{wanted}"


def targets_of(kb: KnowledgeBase, collections: Sequence[str]) -> Targets:
    """The targets in the settings of each collection; for one without any, an empty mapping."""
    targets: list[Mapping[str, Any]] = []
    for name in collections:
        stored = kb.catalogue.collection_settings.settings(name) or {}
        parts = (stored, *stored.get("folders", {}).values())
        targets += [part["coverage"] for part in parts if part.get("coverage")] or [{}]
    return targets


def declared_groups(scope: Scope, by: Sequence[str], targets: Targets) -> list[Groups]:
    """For each dimension the documents by value, in order, with declared values that have none."""
    groups = [_with_declared(group_by(scope, name), name, targets) for name in by]
    if len(groups) == 1:
        groups.append({WHOLE: list(dict.fromkeys(chain.from_iterable(groups[0].values())))})
    return groups


def cells_of(
    scope: Scope, by: Sequence[str], groups: Sequence[Groups], targets: Targets
) -> list[Cell]:
    """The cells of the ``groups``, row by row, with the highest target of any collection."""
    declared = {*vocabulary_of(scope.kb, scope.collections).dimensions} if targets else set()
    declared |= {name for target in targets for name in target.get("values", ())}
    default = scope.kb.settings.coverage.target if {*by} <= declared else 0
    cells = []
    for values, ids in cross_tabulate(*groups).items():
        cell = dict(zip(by, values, strict=False))
        target = max((_target_of(cell, each, default) for each in targets), default=default)
        row, column = values
        cells.append(Cell(row=row, column=column, document_ids=tuple(ids), target=target))
    return cells


def _target_of(cell: Mapping[str, str], target: Mapping[str, Any], default: int) -> int:
    """The target of a cell (its value by dimension); the last entry that fits it counts."""
    documents: int = target.get("target", default)
    for entry in target.get("cells", ()):
        if all(cell.get(name) == value for name, value in entry["where"].items()):
            documents = entry["documents"]
    return documents


def _with_declared(groups: Groups, name: str, targets: Targets) -> Groups:
    declared: dict[str, Sequence[str]] = {
        value: () for target in targets for value in target.get("values", {}).get(name, ())
    }
    merged = {**declared, **groups}
    if name in DATES:
        return {value: merged[value] for value in sorted(merged) if value != UNDATED}
    rest = sorted((value for value in merged if value not in declared), key=str.casefold)
    return {value: merged[value] for value in (*declared, *rest)}  # first as in the settings file


def share_covered(by: Sequence[str], cells: Sequence[Cell]) -> str:
    """A clause such as ``13 of 25 cells of sectors × scales are covered (52 %)``."""
    wanted = [cell for cell in cells if cell.target]
    covered = sum(cell.covered for cell in wanted)
    noun = amount(len(wanted), *(("value", "values") if len(by) == 1 else ("cell", "cells")))
    verb = "is" if covered == 1 else "are"
    return (
        f"{covered:,} of {noun} of {' × '.join(by)} {verb} covered ({_share(covered, len(wanted))})"
    )


# --- answers ---------------------------------------------------------------------------------


def coverage(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Count the documents by the dimensions asked for, or all; None if none is on the topic."""
    if query.by:
        return _coverage_by(scope, query.by)
    if query.about is None:
        return _overall_coverage(scope, "", "")
    matches = documents_about(scope, query.about)
    if not matches.counts:
        return None
    narrowed = scope.only(list(matches.counts))
    return _overall_coverage(narrowed, f" {query.about.condition}", f": {matches.method}")


def _coverage_by(scope: Scope, by: Sequence[str]) -> AggregateResult:
    """Return the cells of one or two dimensions."""
    targets = targets_of(scope.kb, scope.collections)
    cells = cells_of(scope, by, declared_groups(scope, by, targets), targets)
    gaps = [cell.name for cell in cells if cell.missing]
    more = f" and {len(gaps) - MAX_NAMED_CELLS:,} more" if len(gaps) > MAX_NAMED_CELLS else ""
    lacking = f"; gaps are {', '.join(gaps[:MAX_NAMED_CELLS])}{more}" if gaps else ""
    wanted = any(cell.target for cell in cells)
    total = len({document_id for cell in cells for document_id in cell.document_ids})
    placed = f"{amount(total, 'document has', 'documents have')} a value of {' × '.join(by)}"
    return AggregateResult(
        strategy=COVERAGE_STRATEGY,
        kind="coverage",
        sentence=f"{share_covered(by, cells)}{lacking}." if wanted else f"{placed}.",
        number=sum(cell.covered for cell in cells if cell.target) if wanted else total,
        columns=(*(noun_for_type(name).capitalize() for name in by), "Documents"),
        rows=tuple(
            Row(
                cells=(*(cell.row, cell.column)[: len(by)], cell.short),
                document_ids=cell.document_ids,
                line=cell.line,
            )
            for cell in cells
        ),
        method=f"documents by their values of {' and '.join(map(repr, by))}, in {scope.where}"
        f"{scope.suffix}; a document with several values counts for each",
    )


def _overall_coverage(scope: Scope, about: str, method: str) -> AggregateResult:
    counts = scope.kb.catalogue.listings
    number, (dated, first, last) = counts.count(scope.limits), counts.dated(scope.limits)
    parts = list(_coverage_parts(scope, with_ids=number <= MAX_LISTED_DOCUMENTS))
    kinds = {value: size for part, value, size, _ in parts if part == "kind"}
    dates = f", published from {day(first)} to {day(last)}" if first and last else ""
    dates += f" ({number - dated:,} without a date)" if dates and number > dated else ""
    return AggregateResult(
        strategy=COVERAGE_STRATEGY,
        kind="coverage",
        sentence=f"There are {amount(number, 'document', 'documents')}{about}"
        f"{scope.suffix} in {scope.where}{': ' if kinds else ''}{kinds_text(kinds)}{dates}.",
        number=number,
        columns=("Part", "Value", "Documents", "Share"),
        rows=tuple(
            Row(
                cells=(part, value, f"{size:,}", share := _share(size, number)),
                document_ids=tuple(ids),
                line=f"{part} – {value}: {documents_text(size)} ({share})",
            )
            for part, value, size, ids in parts
        ),
        method=f"all documents{about}{method}, counted by collection, kind, source type, language, "
        "year, type of entity and each dimension of the taxonomy; the share is of all of them",
    )


def _coverage_parts(scope: Scope, *, with_ids: bool) -> list[tuple[str, str, int, Sequence[str]]]:
    """Return (dimension, value, size, ids) of each part; entity types have ids in any case."""
    counts = scope.kb.catalogue.listings
    parts: list[tuple[str, str, int, Sequence[str]]] = []
    fields: tuple[Part, ...] = ("collection", "kind", "source_type", "language", "year")
    for field in fields:
        ids_by_value = group_by(scope, field) if with_ids else {}
        for (value,), size in counts.sizes((field,), scope.limits).items():
            if value or field == "year":
                label = value or UNDATED
                parts.append((field.replace("_", " "), label, size, ids_by_value.get(label, ())))
    ids_by_type = group_by(scope, "entity_types")
    parts += [("entity type", name, len(ids), ids) for name, ids in ids_by_type.items()]
    taxonomy = counts.taxonomy(scope.limits) if with_ids else {}
    value_sizes = sorted(counts.taxonomy_sizes(scope.limits).items(), key=lambda pair: pair[0][0])
    parts += [(*pair, size, taxonomy.get(pair, ())) for pair, size in value_sizes]
    return parts


def _share(part: int, total: int) -> str:
    return f"{part / total:.0%}".replace("%", " %") if total else ""


# --- what is missing -------------------------------------------------------------------------


def empty_cells(scope: Scope) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return the pairs of taxonomy values that no document has, with their dimensions' names."""
    dimensions = taxonomy_groups(scope)
    empty: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for pair in combinations(sorted(dimensions), 2):
        cells = cross_tabulate(*(dimensions[name] for name in pair))
        if len(cells) <= MAX_CELLS:
            empty += [(pair, values) for values, ids in cells.items() if not ids]
    return empty


def missing(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Return empty taxonomy cells and related names without an entry; of a topic, its coverage."""
    if query.about:
        return coverage(scope, query)
    ids_by_missing_name = {} if scope.limited else _names_without_entry(scope)
    rows = [
        Row(cells=(" · ".join(values), f"no document has both ({' × '.join(names)})"))
        for names, values in empty_cells(scope)
    ]
    empty_count = len(rows)
    for name, ids in sorted(ids_by_missing_name.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        entries = amount(len(set(ids)), "entry", "entries")
        cells = (name, f"named in relations of {entries}, has no entry itself")
        rows.append(Row(cells=cells, document_ids=tuple(dict.fromkeys(ids))))
    return AggregateResult(
        strategy=GAP_STRATEGY,
        kind="gap",
        sentence=f"{amount(len(rows), 'gap was', 'gaps were')} found: "
        f"{amount(empty_count, 'pair', 'pairs')} of taxonomy values without a document, and "
        f"{amount(len(ids_by_missing_name), 'related name', 'related names')} without an entry.",
        number=len(rows),
        columns=("Missing", "Why"),
        rows=tuple(rows),
        method=f"pairs of taxonomy values that no document has, and targets of relations without "
        f"an entry; in {scope.where}",
    )


def _names_without_entry(scope: Scope) -> dict[str, list[str]]:
    """Return the documents that relate to a name without an entry, by that name."""
    nodes = {(node.collection, node.id): node for node in scope.entities()}
    ids_by_name: dict[str, list[str]] = {}
    for edge in scope.kb.catalogue.graph.edges(scope.collections) if scope.collections else ():
        for node_id, other_name in ((edge.source, edge.target), (edge.target, edge.source)):
            node = nodes.get((edge.collection, node_id))
            if not edge.known and node:
                ids_by_name.setdefault(other_name, []).extend(node.documents)
    return ids_by_name
