"""The embedded index: a LanceDB table in a folder, with full-text (BM25) and vector search.

There is one table per fingerprint, so that a new embedder's table can be filled while the old one
is searched. A lock file beside the table admits one writer at a time and any number of readers;
every search sees the last finished write of any process.

BM25 counts words separately in rows that are not merged yet. Until ``optimize`` runs, every row
is found, but its score may differ slightly from the final one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import wellread.store.index.lancedb_import  # noqa: F401 - first, it makes the next ones quick

# isort: split
import lancedb
import pyarrow as pa
from filelock import FileLock
from lancedb.index import IvfRq
from lancedb.query import LanceFtsQueryBuilder, LanceVectorQueryBuilder
from lancedb.table import LanceTable

from wellread.store.base import Fingerprint, Floats, HeldRow, IndexKey, IndexRow
from wellread.store.index.lance_rows import (
    MAX_MATRIX_BYTES,
    ExactVectors,
    held_rows,
    match_words,
    one_of,
    to_arrow,
    where,
    with_vectors,
)
from wellread.store.index.lance_tables import (
    LOCK_SECONDS,
    ROWS_AT_ONCE,
    drop_other_indexes,
    fold,
    indexes_of,
    loosen,
    open_table,
    other_indexes,
    purge_mark,
    set_aside,
    store_errors,
    table_name,
)
from wellread.store.row_values import check_query_vector, edition, ranked, to_index_key, unit
from wellread.types import Candidate, Filters

logger = logging.getLogger(__name__)

# Below this an exact scan is as fast as an index and needs no training.
VECTOR_INDEX_ROWS = 20_000
PROBES = 50  # recall@10 of 1.00 at 200,000 passages
PARTITION_ROWS = 4_096
ALL_PARTITIONS = 0  # LanceDB probes every partition
REFINE = 2
# Every optimize adds a segment to the vector index; beyond this many it is rebuilt.
MAX_SEGMENTS = 16
# Rows fetched beyond the limit, so that ties at its end are broken by id.
TIE_SLACK = 16
REMOVE_AT_ONCE = 500
KEYS_AT_ONCE = 5_000

T = TypeVar("T")


class LanceIndex:
    """A ``store.base.KeptIndex`` in one LanceDB table. Open it once; thread-safe.

    The class itself is the ``store.base.IndexBackend`` of folders.
    """

    others = staticmethod(other_indexes)
    set_aside = staticmethod(set_aside)
    drop_others = staticmethod(drop_other_indexes)

    def __init__(self, table: LanceTable, lock: FileLock, mark: Path, dimensions: int) -> None:
        self._table = table
        self._lock = lock
        self._purge_mark = mark
        self._dimensions = dimensions
        self._exact: ExactVectors | None = ExactVectors()  # None: the table is too large for it

    @classmethod
    def open(cls, path: Path, fingerprint: Fingerprint) -> LanceIndex:
        """Open the index of ``fingerprint`` in ``path``, and create it when it is missing."""
        name = table_name(fingerprint)
        with store_errors(f"open the index in {path}"):
            lock = FileLock(path / f"{name}.lock", timeout=LOCK_SECONDS)
            mark = purge_mark(path, name)
            table = open_table(path, name, fingerprint.dimensions, lock, mark)
        return cls(table, lock, mark, fingerprint.dimensions)

    def write(self, rows: Sequence[IndexRow], vectors: Floats | None) -> None:
        """See ``Index.write``; one LanceDB version, so all rows or none."""
        data = to_arrow(rows, vectors, self._dimensions)
        if data.num_rows == 0:
            return
        with self._writing("write to the index"):
            self._allow_no_vector()
            purged = self._purge_mark.exists()
            self._purge_mark.unlink(missing_ok=True)
            result = (
                self._table.merge_insert("passage_id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .execute(data, on_bad_vectors="null")
            )
            if purged and not result.num_updated_rows:
                self._purge_mark.touch()

    def set_vectors(self, passage_ids: Sequence[str], vectors: Floats) -> None:
        """See ``Index.set_vectors``; one LanceDB version."""
        if not passage_ids:
            return
        # Whole rows: a changed column is rewritten for all rows of its files and out of the index.
        with self._writing("write vectors to the index"):
            columns = [name for name in self._table.schema.names if name != "vector"]
            rows = self._table.search().where(one_of("passage_id", passage_ids)).select(columns)
            stored = rows.limit(len(passage_ids)).to_arrow()
            data = with_vectors(stored, passage_ids, vectors, self._dimensions)
            self._table.merge_insert("passage_id").when_matched_update_all().execute(data)

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        """See ``Index.remove``."""
        editions = [edition(document_id, version) for document_id, version in dict.fromkeys(keys)]
        removed = 0
        for first in range(0, len(editions), REMOVE_AT_ONCE):
            condition = one_of("edition", editions[first : first + REMOVE_AT_ONCE])
            with self._writing("remove from the index"):
                rows = self._table.count_rows(condition)
                if rows:
                    self._purge_mark.unlink(missing_ok=True)
                    self._table.delete(condition)
                removed += rows
        return removed

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        if limit < 1 or not query.strip():
            return []

        def run() -> pa.Table:
            search = LanceFtsQueryBuilder(self._table, match_words(query, differences))
            search.select(["key", "_score"]).limit(limit + TIE_SLACK)
            if condition := where(filters):
                search.where(condition, prefilter=True)
            return search.to_arrow()

        table = self._reading("search the index by words", run)
        return ranked(table.column("key").to_pylist(), table.column("_score").to_pylist(), limit)

    def search_vector(self, vector: Floats, filters: Filters, limit: int) -> list[Candidate]:
        """See ``Index.search_vector``; exact below ``VECTOR_INDEX_ROWS`` rows."""
        check_query_vector(vector, self._dimensions)
        if limit < 1:
            return []
        unit_vector, condition = unit(vector), where(filters)
        exact = self._exact_results(unit_vector, condition, limit)
        if exact is not None:
            return ranked(*exact, limit)
        table = self._search_vector_index(unit_vector, condition, limit, PROBES)
        # With a narrow filter the nearest partitions may hold too few rows: search all of them.
        # (LanceDB's maximum_nprobes would search all of them every time.)
        too_few = condition and table.num_rows < limit
        if too_few and self._table.count_rows() > PROBES * PARTITION_ROWS:
            table = self._search_vector_index(unit_vector, condition, limit, ALL_PARTITIONS)
        # LanceDB's dot distance is one minus the dot product.
        scores = [1.0 - distance for distance in table.column("_distance").to_pylist()]
        return ranked(table.column("key").to_pylist(), scores, limit)

    def _exact_results(
        self, unit_vector: Floats, condition: str, limit: int
    ) -> tuple[list[str], list[float]] | None:
        """Return keys and scores of the best rows by exact search; None for a large table."""

        def run() -> tuple[list[str], list[float]] | None:
            exact = self._exact
            if exact is None:
                return None
            rows = self._table.count_rows()
            if (
                rows >= VECTOR_INDEX_ROWS
                or rows * self._dimensions * unit_vector.itemsize > MAX_MATRIX_BYTES
            ):
                self._exact = None  # for good, since counting for every search costs more
                return None
            return exact.nearest(self._table, unit_vector, condition, limit + TIE_SLACK)

        return self._reading("search the index by vector", run)

    def _search_vector_index(
        self, unit_vector: Floats, condition: str, limit: int, probes: int
    ) -> pa.Table:
        def run() -> pa.Table:
            search = LanceVectorQueryBuilder(self._table, unit_vector, "vector")
            search.distance_type("dot").refine_factor(REFINE)
            search.minimum_nprobes(PROBES).maximum_nprobes(probes)
            search.select(["key", "_distance"]).limit(limit + TIE_SLACK)
            if condition:
                search.where(condition, prefilter=True)
            return search.to_arrow()

        return self._reading("search the index by vector", run)

    def rows(self) -> int:
        """See ``Index.rows``."""
        return self._reading("count the rows of the index", self._table.count_rows)

    def keys(self) -> Iterator[IndexKey]:
        """See ``Maintenance.keys``."""
        with store_errors("list the index"):
            for batch in self._table.search().select(["key"]).to_batches(KEYS_AT_ONCE):
                for key in batch.column("key").to_pylist():
                    yield to_index_key(key)

    def held(self) -> Iterator[HeldRow]:
        """See ``Maintenance.held``; reads one table version batch by batch.

        A scan of the whole table would prefetch without bounds, especially vectors.
        """
        columns = ["key", "collection", "search_text", "vector"]
        with store_errors("read the index"):
            path = Path(str(self._table.uri))
            table = lancedb.connect(path.parent).open_table(path.stem)
            table.checkout(table.version)
            rows = table.search().select(["kind"]).with_row_id(True)
            for batch in rows.to_batches(ROWS_AT_ONCE):
                addresses = batch.column("_rowid").to_pylist()
                for first in range(0, len(addresses), KEYS_AT_ONCE):
                    taken_rows = table.take_row_ids(addresses[first : first + KEYS_AT_ONCE])
                    yield from held_rows(taken_rows.select(columns).to_arrow())

    def optimize(self) -> None:
        """See ``Maintenance.optimize``."""
        with self._writing("optimize the index"):
            self._build_missing()
            fold(self._table)

    def rebuild(self) -> None:
        """See ``Maintenance.rebuild``."""
        with self._writing("rebuild the search structures"):
            self._rebuild()

    def purge(self) -> None:
        """See ``Maintenance.purge``."""
        with self._writing("erase removed rows from disk"):
            if self._purge_mark.exists():
                return
            loosen(self._table)
            self._rebuild()
            self._purge_mark.touch()

    def purged(self) -> bool:
        """See ``Maintenance.purged``."""
        return self._purge_mark.exists()

    def _allow_no_vector(self) -> None:
        """Make the vector column nullable, which it was not in the first release."""
        if not self._table.schema.field("vector").nullable:
            change: Any = {"path": "vector", "nullable": True}  # LanceDB types it as strings only
            self._table.alter_columns(change)

    def _rebuild(self) -> None:
        for column, config in indexes_of(self._table).items():
            self._table.create_index(column, config=config, replace=True)
        if any(index.columns == ["vector"] for index in self._table.list_indices()):
            self._train(self._table.count_rows())
        fold(self._table)

    def _build_missing(self) -> None:
        rows = self._table.count_rows()
        if rows == 0:
            return
        existing = {index.columns[0]: index for index in self._table.list_indices()}
        for column, config in indexes_of(self._table).items():
            if column not in existing:
                self._table.create_index(column, config=config, replace=True)
        if rows < VECTOR_INDEX_ROWS or rows - self._table.count_rows("vector is null") < rows // 2:
            return
        vectors = existing.get("vector")
        # A table that has doubled needs more partitions than it was trained with.
        if (
            vectors is None
            or (vectors.num_segments or 0) > MAX_SEGMENTS
            or (vectors.num_indexed_rows or 0) * 2 < rows
        ):
            self._train(rows)

    def _train(self, rows: int) -> None:
        logger.info("building the vector index over %d passages", rows)
        partitions = max(1, rows // PARTITION_ROWS)
        trained = IvfRq(distance_type="dot", num_bits=4, num_partitions=partitions)
        self._table.create_index("vector", config=trained, replace=True)

    @contextmanager
    def _writing(self, action: str) -> Iterator[None]:
        with store_errors(action), self._lock:
            yield

    def _reading(self, action: str, run: Callable[[], T]) -> T:
        with store_errors(action):
            try:
                return run()
            except (RuntimeError, OSError, ValueError) as error:
                if "not found" not in str(error).lower():
                    raise
                # Another process optimised the table between this search's plan and its reads.
                logger.info("searching again because a file of the index was replaced")
                return run()
