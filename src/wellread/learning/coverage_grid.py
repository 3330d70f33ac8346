"""The coverage of two dimensions: which cells have as many documents as they are to have.

The documents of each cell come from ``ask/aggregate/counts.py``, as for a question. What a cell
is to have is said by the collections' settings files and the setting ``coverage.target``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.counts import DATES, OTHER_PARTS, UNDATED, crossed, divided
from wellread.ask.aggregate.execute import MOST_NAMED
from wellread.ask.aggregate.read.query import QueryError
from wellread.ask.aggregate.read.result import Scope, scope_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.settings.collection import CoverageTargets
from wellread.ingest.settings.folder_settings import folder_settings, own_settings
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.preference_records import AskedOf
from wellread.types import Filters

USUAL = ("kind", "year")  # without a taxonomy
MOST_CELLS = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The documents that have both values.

    Attributes:
        target: how many there are to be; of 0 it does not count.
        asked: places in ``Grid.asked`` of the questions whose answers rest on one of them.
    """

    row: str
    column: str
    document_ids: tuple[str, ...]
    target: int
    asked: tuple[int, ...] = ()

    @property
    def covered(self) -> bool:
        """Whether there are as many as there are to be."""
        return len(self.document_ids) >= self.target

    @property
    def missing(self) -> int:
        """How many documents it lacks."""
        return max(0, self.target - len(self.document_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The cells of two dimensions, row by row.

    Attributes:
        dimensions: all that can be asked for.
        documents: in the scope; ``placed``: those that are in a cell.
        asked: answered questions whose answers rest on documents of the scope, newest first.
    """

    by: tuple[str, str]
    dimensions: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    documents: int
    placed: int
    asked: tuple[AskedOf, ...]
    scope: Scope

    @property
    def wanted(self) -> list[Cell]:
        """The cells that have a target."""
        return [cell for cell in self.cells if cell.target]

    @property
    def gaps(self) -> list[Cell]:
        """Cells below their target: those that lack most first, then those that are likeliest.

        A cell is likely whose row and column have many documents.
        """
        sizes: dict[tuple[int, str], int] = {}
        for cell in self.cells:
            for key in ((0, cell.row), (1, cell.column)):
                sizes[key] = sizes.get(key, 0) + len(cell.document_ids)
        lacking = [cell for cell in self.cells if not cell.covered]
        likely = {id(one): sizes[0, one.row] * sizes[1, one.column] for one in lacking}
        return sorted(
            lacking, key=lambda one: (-one.missing, -likely[id(one)], one.row, one.column)
        )

    def cell(self, row: str, column: str) -> Cell | None:
        """The cell of these values; None when there is none."""
        return next((one for one in self.cells if (one.row, one.column) == (row, column)), None)


def coverage_grid(
    kb: KnowledgeBase, where: Filters, by: Sequence[str] = (), *, owner: str = ""
) -> Grid:
    """The coverage of the documents that meet ``where``.

    Args:
        by: two dimensions; without them those of the settings file, or the first two of the
            taxonomy, or kind and year.
        owner: whose questions are told; nobody sees another's.
    """
    scope = scope_of(kb, (where,))
    targets = _targets(kb, scope.collections)
    held = sorted(vocabulary_of(kb, scope.collections).dimensions if scope.collections else ())
    known = tuple(dict.fromkeys((*held, *(n for one in targets for n in one.values), *OTHER_PARTS)))
    pair = _pair(by, targets, held, known)
    groups = [_with_values(divided(scope, name), name, targets) for name in pair]
    sizes = [len(group) for group in groups]
    if sizes[0] * sizes[1] > MOST_CELLS:
        raise QueryError(
            f"by: {pair[0]} × {pair[1]} has {sizes[0]:,} × {sizes[1]:,} cells, the most are "
            f"{MOST_CELLS:,}",
            hint="limit the documents, or choose dimensions with fewer values",
        )
    cells = crossed(groups[0], groups[1])
    asked = kb.catalogue.coverage.asked(owner, scope.collections) if scope.collections else []
    of_document: dict[str, list[int]] = {}
    for place, one in enumerate(asked):
        for document_id in one.document_ids:
            of_document.setdefault(document_id, []).append(place)
    usual = kb.settings.coverage.target
    made = []
    for (row, column), ids in cells.items():
        places = {place for document_id in ids for place in of_document.get(document_id, ())}
        target = _target({pair[0]: row, pair[1]: column}, targets, usual)
        made.append(
            Cell(
                row=row,
                column=column,
                document_ids=tuple(ids),
                target=target,
                asked=tuple(sorted(places)),
            )
        )
    return Grid(
        by=pair,
        dimensions=known,
        rows=tuple(groups[0]),
        columns=tuple(groups[1]),
        cells=tuple(made),
        documents=kb.catalogue.censuses.totals(scope.limits).documents if scope.collections else 0,
        placed=len({document_id for ids in cells.values() for document_id in ids}),
        asked=tuple(asked),
        scope=scope,
    )


def _targets(kb: KnowledgeBase, collections: Sequence[str]) -> list[CoverageTargets]:
    stored = [kb.catalogue.collection_settings.settings(name) for name in collections]
    found: list[CoverageTargets] = []
    for one in stored:
        said = [own_settings(one), *folder_settings(one).values()]
        found += [each.coverage for each in said if each] or [CoverageTargets()]
    return found


def _target(cell: Mapping[str, str], targets: Sequence[CoverageTargets], usual: int) -> int:
    """The highest target that one of the collections has for the cell."""
    return max((one.of(cell, usual) for one in targets), default=usual)


def _pair(
    by: Sequence[str],
    targets: Sequence[CoverageTargets],
    held: Sequence[str],
    known: Sequence[str],
) -> tuple[str, str]:
    if not by:
        said = [one.by for one in targets if len(one.by) == 2]
        by = said[0] if said else held[:2] if len(held) > 1 else [*held, *USUAL][:2]
    if len(by) != 2 or by[0] == by[1]:
        raise QueryError("by: coverage is of two dimensions", hint=f"there are {', '.join(known)}")
    for name in by:
        if name not in known:
            shown = ", ".join(known[:MOST_NAMED])
            raise QueryError(f"by: “{name}” is not known", hint=f"allowed: {shown}")
    return by[0], by[1]


def _with_values(
    found: Mapping[str, Sequence[str]], name: str, targets: Sequence[CoverageTargets]
) -> dict[str, Sequence[str]]:
    """The values in order, with those that there should be; undated ones are in no cell."""
    wanted = {value: () for one in targets for value in one.values.get(name, ())}
    group: dict[str, Sequence[str]] = {**wanted, **found}
    if name in DATES:
        return {value: group[value] for value in sorted(group) if value != UNDATED}
    first = list(wanted)  # in the order of the settings file
    rest = sorted((value for value in group if value not in wanted), key=str.casefold)
    return {value: group[value] for value in (*first, *rest)}
