"""Converts index rows, keys and filters to LanceDB's terms; exact vector search in memory.

The text is stored once, in the column of full-text search. LanceDB reads and decodes a table's
vectors again for every exact search: 10 ms at 10,000 rows of 384 numbers, where the matrix product
takes 1 ms. So the matrix of a small table's newest version is kept in memory; a later version,
whichever process wrote it, is read when it is first searched.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import wellread.store.index.lancedb_import  # noqa: F401 - first, it makes the next one quick

# isort: split
import numpy as np
import pyarrow as pa
from lancedb.query import FullTextOperator, MatchQuery
from lancedb.table import LanceTable
from numpy.typing import NDArray

from wellread.store.base import Floats, HeldRow, IndexRow
from wellread.store.row_values import (
    COPIED,
    LISTS,
    accepted_values,
    check_shape,
    index_fields,
    last_positions,
    to_held_row,
    unit,
    utc,
)
from wellread.text.characters import with_words
from wellread.types import Filters

MAX_MATRIX_BYTES = 64 << 20  # largest matrix of one table kept in memory
MAX_LENGTH_ERROR = 1e-3  # tolerated difference of a stored vector's squared length from 1
MAX_CACHED_MASKS = 32  # filter masks cached for one table

Mask = NDArray[np.bool_]


def table_schema(dimensions: int) -> pa.Schema:
    """The Arrow schema of a passage table with vectors of ``dimensions`` numbers."""
    columns = ("passage_id", "document_id", "edition", "key", *COPIED)
    strings = pa.list_(pa.string())
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in columns),
            *(pa.field(name, strings, nullable=False) for name in LISTS),
            pa.field("published_at", pa.timestamp("us", tz="UTC")),
            pa.field("search_text", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimensions)),  # null: not embedded yet
        ]
    )


def to_arrow(rows: Sequence[IndexRow], vectors: Floats | None, dimensions: int) -> pa.Table:
    """Convert rows to an Arrow table; the last of several rows with one id wins."""
    if vectors is not None:
        check_shape(vectors, len(rows), dimensions)
    positions = last_positions(row.passage_id for row in rows)
    unique = [index_fields(rows[position]) for position in positions]
    schema = table_schema(dimensions)
    arrays = [
        pa.array([fields[column.name] for fields in unique], column.type)
        for column in list(schema)[:-1]  # without the vectors
    ]
    chosen = None if vectors is None else vectors[positions]
    arrays.append(_vector_column(chosen, len(unique), dimensions))
    return pa.Table.from_arrays(arrays, schema=schema)


def with_vectors(
    rows: pa.Table, passage_ids: Sequence[str], vectors: Floats, dimensions: int
) -> pa.Table:
    """Add to stored rows the vectors of their passages; the last vector of an id wins."""
    check_shape(vectors, len(passage_ids), dimensions)
    positions = {name: position for position, name in enumerate(passage_ids)}
    chosen = vectors[[positions[name] for name in rows.column("passage_id").to_pylist()]]
    new = _vector_column(chosen, rows.num_rows, dimensions)
    return rows.append_column(table_schema(dimensions).field("vector"), new)


def _vector_column(vectors: Floats | None, rows: int, dimensions: int) -> pa.Array:
    if vectors is None:
        return pa.nulls(rows, pa.list_(pa.float32(), dimensions))
    numbers = pa.array(unit(vectors).ravel(), pa.float32())
    return pa.FixedSizeListArray.from_arrays(numbers, dimensions)


def held_rows(rows: pa.Table) -> Iterator[HeldRow]:
    """Convert stored rows for comparison with the catalogue."""
    names = ("key", "collection", "search_text")
    columns = [rows.column(name).to_pylist() for name in names]
    return map(to_held_row, *columns, _usable(rows.column("vector")))


def _usable(vectors: pa.ChunkedArray) -> list[bool]:
    """Whether each vector exists and has length 1 or 0, as it was written."""
    usable = vectors.is_valid().to_numpy()
    numbers = vectors.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):  # a damaged number may be anything
        squares = np.square(numbers.reshape(-1, vectors.type.list_size).astype(np.float64)).sum(1)
        sound = (np.abs(squares - 1.0) < MAX_LENGTH_ERROR) | (squares == 0.0)
    usable[usable] = sound
    return [bool(flag) for flag in usable]


def where(filters: Filters) -> str:
    """Return ``filters`` as a condition in LanceDB's SQL; empty without limits."""
    parts = [one_of(name, values) for name, values in accepted_values(filters)]
    if filters.published_from:
        parts.append(f"published_at >= {_moment(filters.published_from)}")
    if filters.published_to:
        parts.append(f"published_at <= {_moment(filters.published_to)}")
    return " AND ".join(parts)


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that ``column`` is one of ``values``; of a list, that an item is."""
    accepted = ", ".join(quoted(value) for value in values)
    is_list = column in LISTS
    return (
        f"array_has_any({column}, make_array({accepted}))"
        if is_list
        else f"{column} IN ({accepted})"
    )


def quoted(value: str) -> str:
    """Quote ``value`` as an SQL string; only the quote character has a meaning in it."""
    return "'" + value.replace("'", "''") + "'"


def _moment(moment: datetime) -> str:
    return f"timestamp '{utc(moment).isoformat(timespec='microseconds')}'"


def match_words(query: str, differences: int) -> MatchQuery:
    """Match any word of ``query`` by its stem; no character of it is an operator."""
    return MatchQuery(
        with_words(query).encode("utf-8", "replace").decode("utf-8"),  # replaces lone surrogates
        "search_text",
        boost=1.0,
        fuzziness=differences,
        max_expansions=50,
        operator=FullTextOperator.OR,
        prefix_length=1 if differences else 0,
        document_granularity=None,
    )


@dataclass(frozen=True, slots=True)
class _CachedVectors:
    """The embedded rows of one table version, with cached masks of filter conditions."""

    edition: tuple[int, int]
    addresses: NDArray[np.uint64]
    keys: pa.ChunkedArray
    vectors: Floats
    masks: dict[str, Mask] = field(default_factory=dict)


class ExactVectors:
    """Exact search over the vectors of one table's newest version. Thread-safe."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._cached: _CachedVectors | None = None

    def nearest(
        self, table: LanceTable, query: Floats, condition: str, limit: int
    ) -> tuple[list[str], list[float]] | None:
        """Return keys and cosines of the best ``limit`` rows, or None while the table is written.

        The caller then searches the table itself.
        """
        cached = self._vectors_of(table)
        if cached is None:
            return None
        # Row by row in this thread: equal vectors then have equal scores in any row, and the
        # threads of a matrix product would wait for each other on busy cores.
        scores: Floats = np.einsum("ij,j->i", cached.vectors, query)
        if condition:
            mask = self._mask(table, cached, condition)
            if mask is None:
                return None
            scores = np.where(mask, scores, -np.inf)
        positions = np.flatnonzero(scores > -np.inf)
        if len(positions) > limit:
            positions = np.argpartition(scores, -limit)[-limit:]
        return cached.keys.take(pa.array(positions)).to_pylist(), scores[positions].tolist()

    def _vectors_of(self, table: LanceTable) -> _CachedVectors | None:
        cached, edition = self._cached, _edition(table)
        if cached is not None and cached.edition == edition:
            return cached
        with self._reading:
            if self._cached is not None and self._cached.edition == edition:
                return self._cached
            self._cached = None
            rows = table.search().where("vector is not null").select(["key", "vector"])
            table_rows = rows.with_row_id(True).to_arrow()
            if _edition(table) != edition:
                return None
            self._cached = _cache_vectors(edition, table_rows)
            return self._cached

    def _mask(self, table: LanceTable, cached: _CachedVectors, condition: str) -> Mask | None:
        cached_mask = cached.masks.get(condition)
        if cached_mask is not None:
            return cached_mask
        rows = table.search().where(condition).select(["kind"]).with_row_id(True).to_arrow()
        if _edition(table) != cached.edition:
            return None
        mask = np.isin(cached.addresses, rows.column("_rowid").to_numpy())
        if len(cached.masks) >= MAX_CACHED_MASKS:
            cached.masks.clear()
        cached.masks[condition] = mask
        return mask


def _edition(table: LanceTable) -> tuple[int, int]:
    """A stamp that is unique for every state of a table, even across a rebuild."""
    return table.version, os.stat(f"{table.uri}/_versions").st_mtime_ns


def _cache_vectors(edition: tuple[int, int], rows: pa.Table) -> _CachedVectors:
    column = rows.column("vector")
    numbers = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = np.ascontiguousarray(numbers.reshape(rows.num_rows, column.type.list_size))
    addresses = rows.column("_rowid").to_numpy().astype(np.uint64)
    return _CachedVectors(edition, addresses, rows.column("key").combine_chunks(), vectors)
