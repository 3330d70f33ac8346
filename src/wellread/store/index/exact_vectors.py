"""Exact vector search of a small table in memory: one product of matrices.

LanceDB reads and decodes a table's vectors anew for every exact search: 10 ms at 10,000 rows of
384 numbers, where the product of the matrix takes 1. So the matrix of the newest version that was
asked for is held; another version, whichever process wrote it, is read when it is first searched.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from lancedb.table import LanceTable
from numpy.typing import NDArray

MOST_BYTES = 64 << 20  # of the vectors of one table
MOST_CONDITIONS = 32  # whose rows are held

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Held:
    """The rows of one version that have a vector, and which of them meet a condition."""

    edition: tuple[int, int]
    addresses: NDArray[np.uint64]
    keys: pa.ChunkedArray
    vectors: Floats
    masks: dict[str, Mask] = field(default_factory=dict)


class ExactVectors:
    """The vectors of one table's newest version. May be called from any thread."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._held: _Held | None = None

    def nearest(
        self, table: LanceTable, wanted: Floats, condition: str, limit: int
    ) -> tuple[list[str], list[float]] | None:
        """Keys and cosines of the best ``limit`` rows; None when the table must be asked instead.

        That is when it is written to at this moment, or is too large.
        """
        held = self._at(table)
        if held is None:
            return None
        # Row by row in this thread: equal vectors have equal scores wherever they stand, and the
        # threads of a matrix product wait for each other where other work takes the cores.
        scores: Floats = np.einsum("ij,j->i", held.vectors, wanted)
        if condition:
            mask = self._mask(table, held, condition)
            if mask is None:
                return None
            scores = np.where(mask, scores, -np.inf)
        places = np.flatnonzero(scores > -np.inf)
        if len(places) > limit:
            places = np.argpartition(scores, -limit)[-limit:]
        return held.keys.take(pa.array(places)).to_pylist(), scores[places].tolist()

    def drop(self) -> None:
        """Hold nothing: the table grew too large, or was made anew."""
        self._held = None

    def _at(self, table: LanceTable) -> _Held | None:
        held, edition = self._held, _edition(table)
        if held is not None and held.edition == edition:
            return held
        with self._reading:
            if self._held is not None and self._held.edition == edition:
                return self._held
            self._held = None
            rows = table.search().where("vector is not null").select(["key", "vector"])
            found = rows.with_row_id(True).to_arrow()
            if _edition(table) != edition:
                return None
            self._held = _held(edition, found)
            return self._held

    def _mask(self, table: LanceTable, held: _Held, condition: str) -> Mask | None:
        known = held.masks.get(condition)
        if known is not None:
            return known
        rows = table.search().where(condition).select(["kind"]).with_row_id(True).to_arrow()
        if _edition(table) != held.edition:
            return None
        mask = np.isin(held.addresses, rows.column("_rowid").to_numpy())
        if len(held.masks) >= MOST_CONDITIONS:
            held.masks.clear()
        held.masks[condition] = mask
        return mask


def _edition(table: LanceTable) -> tuple[int, int]:
    """Tells every state of a table from every other, also from those before it was made anew."""
    return table.version, os.stat(f"{table.uri}/_versions").st_mtime_ns


def _held(edition: tuple[int, int], rows: pa.Table) -> _Held:
    column = rows.column("vector")
    numbers = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = np.ascontiguousarray(numbers.reshape(rows.num_rows, column.type.list_size))
    addresses = rows.column("_rowid").to_numpy().astype(np.uint64)
    return _Held(edition, addresses, rows.column("key").combine_chunks(), vectors)
