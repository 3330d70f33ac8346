"""What a collection is to cover: the section ``coverage`` of its settings file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CellTarget(_Part):
    """How many documents cells are to have that lie in these values of the dimensions."""

    where: dict[Word, Word] = Field(min_length=1)
    documents: int = Field(ge=0)


class CoverageTargets(_Part):
    """How many documents each cell is to have.

    Attributes:
        by: the two dimensions that are shown where none are asked for.
        target: of each cell; None takes the setting ``coverage.target``.
        values: values of a dimension that there should be, whether or not a document has them.
        cells: other targets of some cells; the last that fits counts.
    """

    by: tuple[Word, ...] = Field(default=(), max_length=2)
    target: int | None = Field(default=None, ge=0)
    values: dict[Word, tuple[Word, ...]] = {}
    cells: tuple[CellTarget, ...] = ()

    def of(self, cell: Mapping[str, str], usual: int) -> int:
        """The target of a cell, given as dimension to value."""
        found = usual if self.target is None else self.target
        for one in self.cells:
            if all(cell.get(name) == value for name, value in one.where.items()):
                found = one.documents
        return found
