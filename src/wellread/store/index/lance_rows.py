"""What a LanceDB row holds; how rows, keys and filters are put into its terms; exact search.

The text is kept once, as the column that full-text search reads. LanceDB reads and decodes a
table's vectors anew for every exact search: 10 ms at 10,000 rows of 384 numbers, where the product
of the matrix takes 1. So of a small table the matrix of the newest version that was asked for is
held in memory; another version, whichever process wrote it, is read when it is first searched.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import wellread.store.index.lancedb_import  # noqa: F401 - first, it makes the next one quick

# isort: split
import numpy as np
import pyarrow as pa
from lancedb.query import FullTextOperator, MatchQuery
from lancedb.table import LanceTable
from numpy.typing import NDArray

from wellread.store.base import HeldRow, IndexRow
from wellread.store.row_values import (
    Floats,
    check_shape,
    edition,
    folded,
    last_places,
    pack,
    searched,
    unit,
    unpack,
    utc,
)
from wellread.types import Filters

COPIED = ("collection", "kind", "source_type", "language")
LISTS = ("authors", "speakers", "taxonomy")
MOST_BYTES = 64 << 20  # of the vectors of one table that are held
MOST_OFF = 1e-3  # that a stored vector's square may be off 1
MOST_CONDITIONS = 32  # whose rows are held

Mask = NDArray[np.bool_]


def table_schema(dimensions: int) -> pa.Schema:
    """The columns of a table of passages whose vectors have ``dimensions`` numbers."""
    named = ("passage_id", "document_id", "edition", "key", *COPIED)
    words = pa.list_(pa.string())
    return pa.schema(
        [
            *(pa.field(name, pa.string(), nullable=False) for name in named),
            *(pa.field(name, words, nullable=False) for name in LISTS),
            pa.field("published_at", pa.timestamp("us", tz="UTC")),
            pa.field("search_text", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimensions)),  # none: not embedded yet
        ]
    )


def to_arrow(rows: Sequence[IndexRow], vectors: Floats | None, dimensions: int) -> pa.Table:
    """The rows as an Arrow table; of rows with the same id the last one counts."""
    if vectors is not None:
        check_shape(vectors, len(rows), dimensions)
    places = last_places(row.passage_id for row in rows)
    kept = [rows[place] for place in places]
    columns: dict[str, list[Any]] = {  # in the order of the schema
        "passage_id": [row.passage_id for row in kept],
        "document_id": [row.document_id for row in kept],
        "edition": [edition(row.document_id, row.version) for row in kept],
        "key": [pack(row) for row in kept],
        **{name: [getattr(row, name) for row in kept] for name in COPIED},
        "authors": [folded(row.authors) for row in kept],
        "speakers": [folded(row.speakers) for row in kept],
        "taxonomy": [list(row.taxonomy) for row in kept],
        "published_at": [utc(row.published_at) if row.published_at else None for row in kept],
        "search_text": [searched(row) for row in kept],
    }
    schema = table_schema(dimensions)
    arrays = [pa.array(values, schema.field(name).type) for name, values in columns.items()]
    chosen = None if vectors is None else vectors[places]
    arrays.append(_vector_column(chosen, len(kept), dimensions))
    return pa.Table.from_arrays(arrays, schema=schema)


def vectors_to_arrow(passage_ids: Sequence[str], vectors: Floats, dimensions: int) -> pa.Table:
    """Ids and vectors alone, to be joined to the rows of a table; the last of an id counts."""
    check_shape(vectors, len(passage_ids), dimensions)
    places = {passage_id: place for place, passage_id in enumerate(passage_ids)}
    chosen = vectors[list(places.values())]
    schema = table_schema(dimensions)
    return pa.Table.from_arrays(
        [pa.array(list(places), pa.string()), _vector_column(chosen, len(places), dimensions)],
        schema=pa.schema([schema.field("passage_id"), schema.field("vector")]),
    )


def _vector_column(vectors: Floats | None, rows: int, dimensions: int) -> pa.Array:
    if vectors is None:
        return pa.nulls(rows, pa.list_(pa.float32(), dimensions))
    numbers = pa.array(unit(vectors).ravel(), pa.float32())
    return pa.FixedSizeListArray.from_arrays(numbers, dimensions)


def held_rows(rows: pa.Table) -> Iterator[HeldRow]:
    """Rows with their keys, collections, texts and vectors, as they are compared."""
    names = ("key", "collection", "search_text")
    columns = [rows.column(name).to_pylist() for name in names]
    there = _usable(rows.column("vector"))
    for key, collection, text, vector in zip(*columns, there, strict=True):
        passage_id, document_id, version, start, end = unpack(key)
        yield HeldRow(passage_id, document_id, version, start, end, collection, text, vector)


def _usable(vectors: pa.ChunkedArray) -> list[bool]:
    """Of each vector, whether it is there and has the length 1 or 0 that it was written with."""
    there = vectors.is_valid().to_numpy()
    numbers = vectors.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):  # a damaged number may be anything
        squares = np.square(numbers.reshape(-1, vectors.type.list_size).astype(np.float64)).sum(1)
        sound = (np.abs(squares - 1.0) < MOST_OFF) | (squares == 0.0)
    there[there] = sound
    return [bool(one) for one in there]


def where(filters: Filters) -> str:
    """``filters`` as a condition in LanceDB's SQL; empty when nothing is limited."""
    plain = {
        "collection": filters.collections,
        "kind": filters.kinds,
        "document_id": filters.document_ids,
        "source_type": filters.source_types,
        "language": filters.languages,
    }
    parts = [one_of(column, values) for column, values in plain.items() if values]
    if filters.authors:
        parts.append(_any_of("authors", folded(filters.authors)))
    if filters.speakers:
        parts.append(_any_of("speakers", folded(filters.speakers)))
    if filters.published_from:
        parts.append(f"published_at >= {_moment(filters.published_from)}")
    if filters.published_to:
        parts.append(f"published_at <= {_moment(filters.published_to)}")
    dimensions: dict[str, list[str]] = {}
    for dimension, value in filters.taxonomy:
        dimensions.setdefault(dimension, []).append(f"{dimension}={value}")
    parts += [_any_of("taxonomy", values) for values in dimensions.values()]
    return " AND ".join(parts)


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that ``column`` is one of ``values``."""
    return f"{column} IN ({', '.join(quoted(value) for value in values)})"


def quoted(value: str) -> str:
    """``value`` as an SQL string: the quote is the only character with a meaning in it."""
    return "'" + value.replace("'", "''") + "'"


def _any_of(column: str, values: Iterable[str]) -> str:
    return f"array_has_any({column}, make_array({', '.join(quoted(value) for value in values)}))"


def _moment(moment: datetime) -> str:
    return f"timestamp '{utc(moment).isoformat(timespec='microseconds')}'"


def match_words(query: str, differences: int) -> MatchQuery:
    """Any of the words, as stemmed or nearly so; no character of ``query`` is an operator."""
    return MatchQuery(
        query.encode("utf-8", "replace").decode("utf-8"),  # a lone surrogate is no word
        "search_text",
        boost=1.0,
        fuzziness=differences,
        max_expansions=50,
        operator=FullTextOperator.OR,
        prefix_length=1 if differences else 0,
        document_granularity=None,
    )


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
