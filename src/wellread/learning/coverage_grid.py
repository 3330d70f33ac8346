"""Computes the coverage of one or two dimensions: which cells reach their target of documents.

The documents of each cell come from ``ask/aggregate/counts.py``, as for a question. Targets come
from the collections' settings files; without one, each value that a taxonomy declares is wanted
(setting ``coverage.target``), and nothing else: nobody said that a year should have a recording.
With one dimension, a cell is a value, and the column is empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from wellread.ask.aggregate.counts import DATES, OTHER_PARTS, UNDATED, cross_tabulate, group_by
from wellread.ask.aggregate.execute import MOST_NAMED
from wellread.ask.aggregate.query import QueryError, Scope, scope_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.settings.collection import CoverageTargets
from wellread.ingest.settings.folder_settings import folder_settings, own_settings
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.preference_records import QuestionWithSources
from wellread.types import Filters

DEFAULT = ("kind", "year")  # used when there is no taxonomy
WHOLE_ROW = ""  # the only column of a grid of one dimension
MAX_CELLS = 40_000  # of a grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the grid, with the documents that have both values.

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
    def covered(self) -> bool:
        """Whether the cell reaches its target."""
        return len(self.document_ids) >= self.target

    @property
    def missing(self) -> int:
        """The number of documents below the target."""
        return max(0, self.target - len(self.document_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells of one or two dimensions, row by row.

    Attributes:
        dimensions: all available dimensions.
        documents: the number of documents in the scope; ``placed``: of those in a cell.
        asked: answered questions that cite documents of the scope, newest first.
    """

    by: tuple[str, ...]
    dimensions: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    documents: int
    placed: int
    asked: tuple[QuestionWithSources, ...]
    scope: Scope

    @property
    def wanted(self) -> list[Cell]:
        """The cells that have a target."""
        return [cell for cell in self.cells if cell.target]

    @property
    def gaps(self) -> list[Cell]:
        """The cells below their target: most missing documents first, then the likeliest.

        The larger its row and column are, the likelier is a cell.
        """
        sizes: dict[tuple[int, str], int] = {}
        for cell in self.cells:
            for key in ((0, cell.row), (1, cell.column)):
                sizes[key] = sizes.get(key, 0) + len(cell.document_ids)
        lacking = [cell for cell in self.cells if not cell.covered]
        likelihood = {id(gap): sizes[0, gap.row] * sizes[1, gap.column] for gap in lacking}
        return sorted(
            lacking, key=lambda gap: (-gap.missing, -likelihood[id(gap)], gap.row, gap.column)
        )

    def cell(self, row: str, column: str) -> Cell | None:
        """The cell with these values, if there is one."""
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)


def widest_taxonomy(kb: KnowledgeBase) -> str:
    """The collection whose taxonomy has the most values; empty when none has one."""
    sizes = {
        words.collection: sum(map(len, words.taxonomy.values()))
        for words in kb.catalogue.vocabulary.of(())
    }
    largest = max(sizes, key=lambda name: sizes[name], default="")
    return largest if sizes.get(largest) else ""


def coverage_grid(
    kb: KnowledgeBase, where: Filters, by: Sequence[str] = (), *, owner: str = ""
) -> Grid:
    """Compute the coverage grid of the documents that match ``where``.

    Args:
        by: one or two dimensions; by default those of the settings file, else the first two of
            the taxonomy, else kind and year.
        owner: the user whose questions are included; users do not see those of others.
    """
    scope = scope_of(kb, (where,))
    targets = _targets(kb, scope.collections)
    taxonomy = sorted(vocabulary_of(kb, scope.collections).dimensions if scope.collections else ())
    expected = (name for entry in targets for name in entry.values)
    declared = tuple(dict.fromkeys((*taxonomy, *expected)))
    valid = tuple(dict.fromkeys((*declared, *OTHER_PARTS)))
    chosen = _choose_dimensions(by, targets, taxonomy, valid)
    groups = [_add_expected_values(group_by(scope, name), name, targets) for name in chosen]
    if math.prod(map(len, groups)) > MAX_CELLS:
        sizes = " × ".join(f"{len(group):,}" for group in groups)
        raise QueryError(
            f"by: {' × '.join(chosen)} has {sizes} cells, the limit is {MAX_CELLS:,}",
            hint="limit the documents, or choose dimensions with fewer values",
        )
    if len(groups) == 1:
        placed = list(dict.fromkeys(chain.from_iterable(groups[0].values())))
        groups.append({WHOLE_ROW: placed})
    cells = cross_tabulate(groups[0], groups[1])
    questions = kb.catalogue.coverage.asked(owner, scope.collections) if scope.collections else []
    citing: dict[str, list[int]] = {}
    for index, entry in enumerate(questions):
        for document_id in entry.document_ids:
            citing.setdefault(document_id, []).append(index)
    default_target = kb.settings.coverage.target if {*chosen} <= {*declared} else 0
    grid_cells = []
    for (row, column), ids in cells.items():
        indices = {index for document_id in ids for index in citing.get(document_id, ())}
        target = _cell_target(
            dict(zip(chosen, (row, column), strict=False)), targets, default_target
        )
        grid_cells.append(
            Cell(
                row=row,
                column=column,
                document_ids=tuple(ids),
                target=target,
                asked=tuple(sorted(indices)),
            )
        )
    return Grid(
        by=chosen,
        dimensions=valid,
        rows=tuple(groups[0]),
        columns=tuple(groups[1]),
        cells=tuple(grid_cells),
        documents=kb.catalogue.counts.totals(scope.limits).documents if scope.collections else 0,
        placed=len({document_id for ids in cells.values() for document_id in ids}),
        asked=tuple(questions),
        scope=scope,
    )


def _targets(kb: KnowledgeBase, collections: Sequence[str]) -> list[CoverageTargets]:
    stored = [kb.catalogue.collection_settings.settings(name) for name in collections]
    targets: list[CoverageTargets] = []
    for stored_settings in stored:
        settings = [own_settings(stored_settings), *folder_settings(stored_settings).values()]
        targets += [part.coverage for part in settings if part] or [CoverageTargets()]
    return targets


def _cell_target(cell: Mapping[str, str], targets: Sequence[CoverageTargets], default: int) -> int:
    """The highest target of any collection for the cell."""
    return max((target.of(cell, default) for target in targets), default=default)


def _choose_dimensions(
    by: Sequence[str],
    targets: Sequence[CoverageTargets],
    taxonomy: Sequence[str],
    valid: Sequence[str],
) -> tuple[str, ...]:
    if not by:
        own = [target.by for target in targets if target.by]
        by = own[0] if own else taxonomy[:2] if len(taxonomy) > 1 else [*taxonomy, *DEFAULT][:2]
    if len({*by}) != len(by) or len(by) > 2:
        hint = f"available: {', '.join(valid)}"
        raise QueryError("by: give one dimension, or two different ones", hint=hint)
    for name in by:
        if name not in valid:
            names = ", ".join(valid[:MOST_NAMED])
            raise QueryError(f"by: “{name}” is not known", hint=f"allowed: {names}")
    return tuple(by)


def _add_expected_values(
    groups: Mapping[str, Sequence[str]], name: str, targets: Sequence[CoverageTargets]
) -> dict[str, Sequence[str]]:
    """The values in order, with expected ones added; undated documents are left out."""
    expected = {value: () for target in targets for value in target.values.get(name, ())}
    merged: dict[str, Sequence[str]] = {**expected, **groups}
    if name in DATES:
        return {value: merged[value] for value in sorted(merged) if value != UNDATED}
    expected_values = list(expected)  # in the order of the settings file
    rest = sorted((value for value in merged if value not in expected), key=str.casefold)
    return {value: merged[value] for value in (*expected_values, *rest)}
