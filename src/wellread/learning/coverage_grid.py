"""Computes the coverage of one or two dimensions: which cells reach their target of documents.

Cells and targets come from ``ask/aggregate/coverage.py``, as for a question; here the questions
that were answered from each cell are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.aggregate.counts import OTHER_PARTS
from wellread.ask.aggregate.coverage import Cell, Targets, cells_of, declared_groups, targets_of
from wellread.ask.aggregate.execute import MOST_NAMED
from wellread.ask.aggregate.query import QueryError, Scope, scope_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.preference_records import QuestionWithSources
from wellread.types import Filters

DEFAULT = ("kind", "year")  # used when there is no taxonomy
MAX_CELLS = 40_000  # of a grid


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
    targets = targets_of(kb, scope.collections)
    taxonomy = sorted(vocabulary_of(kb, scope.collections).dimensions if scope.collections else ())
    declared = (name for target in targets for name in target.get("values", ()))
    valid = tuple(dict.fromkeys((*taxonomy, *declared, *OTHER_PARTS)))
    chosen = _choose_dimensions(by, targets, taxonomy, valid)
    groups = declared_groups(scope, chosen, targets)
    if math.prod(map(len, groups)) > MAX_CELLS:
        sizes = " × ".join(f"{len(group):,}" for group in groups)
        raise QueryError(
            f"by: {' × '.join(chosen)} has {sizes} cells, the limit is {MAX_CELLS:,}",
            hint="limit the documents, or choose dimensions with fewer values",
        )
    cells = cells_of(scope, chosen, groups, targets)
    questions = kb.catalogue.coverage.asked(owner, scope.collections) if scope.collections else []
    citing: dict[str, list[int]] = {}
    for index, entry in enumerate(questions):
        for document_id in entry.document_ids:
            citing.setdefault(document_id, []).append(index)
    asked = ({i for name in cell.document_ids for i in citing.get(name, ())} for cell in cells)
    return Grid(
        by=chosen,
        dimensions=valid,
        rows=tuple(groups[0]),
        columns=tuple(groups[1]),
        cells=tuple(
            replace(cell, asked=tuple(sorted(indices)))
            for cell, indices in zip(cells, asked, strict=True)
        ),
        documents=kb.catalogue.listings.count(scope.limits) if scope.collections else 0,
        placed=len({document_id for cell in cells for document_id in cell.document_ids}),
        asked=tuple(questions),
        scope=scope,
    )


def _choose_dimensions(
    by: Sequence[str],
    targets: Targets,
    taxonomy: Sequence[str],
    valid: Sequence[str],
) -> tuple[str, ...]:
    if not by:
        own = [target["by"] for target in targets if target.get("by")]
        by = own[0] if own else taxonomy[:2] if len(taxonomy) > 1 else [*taxonomy, *DEFAULT][:2]
    if len({*by}) != len(by) or len(by) > 2:
        hint = f"available: {', '.join(valid)}"
        raise QueryError("by: give one dimension, or two different ones", hint=hint)
    for name in by:
        if name not in valid:
            names = ", ".join(valid[:MOST_NAMED])
            raise QueryError(f"by: “{name}” is not known", hint=f"allowed: {names}")
    return tuple(by)
