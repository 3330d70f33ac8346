"""The LanceDB tables of one folder: one per fingerprint, made when they are first opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

import wellread.store.index.lancedb_import  # noqa: F401 - first, it makes the next ones quick

# isort: split
import lancedb
import pyarrow as pa
from filelock import FileLock, Timeout
from lancedb.table import LanceTable

from wellread.errors import StoreError
from wellread.identity import tagged_hash
from wellread.store.base import Fingerprint
from wellread.store.index.lance_purge import INDEXES, PurgeMarks
from wellread.store.index.lance_rows import table_schema

LOCK_SECONDS = 600.0
# By default LanceDB keeps up to 6 GiB of search structures, and a large add fills them with what
# nobody asks for. A million passages' vectors, coded, are 384 MB.
INDEX_CACHE = 640 << 20  # bytes
METADATA_CACHE = 64 << 20


def table_name(fingerprint: Fingerprint) -> str:
    """The table of ``fingerprint``: the same name for the same fingerprint, everywhere."""
    shaped = tagged_hash(
        "idx",
        fingerprint.embedder,
        fingerprint.dimensions,
        fingerprint.chunking,
        fingerprint.schema,
    )
    return f"passages_{shaped.removeprefix('idx_')[:12]}"


def open_table(
    path: Path, name: str, dimensions: int, lock: FileLock, marks: PurgeMarks
) -> LanceTable:
    """The table ``name`` in the folder ``path``; made when it is not there.

    Raises:
        StoreError: the folder is not on this machine.
    """
    path.mkdir(parents=True, exist_ok=True)
    # Zero: look for other processes' writes before every search (well under 1 ms).
    database = lancedb.connect(path, read_consistency_interval=timedelta(0), session=_caches())
    try:
        table = database.open_table(name)
    except ValueError:  # LanceDB's word for "there is no such table"
        with lock:
            _create(database, name, dimensions, marks)
        table = database.open_table(name)
    if not isinstance(table, LanceTable):
        raise StoreError(f"{path} is not a folder of this machine", hint="give a local path")
    return table


@cache
def _caches() -> lancedb.Session:
    """What all tables of the process share."""
    return lancedb.Session(
        index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE
    )


def drop_table(path: Path, name: str) -> None:
    """Drop a table with all its files, also when they are damaged; the caller holds its lock."""
    if (path / f"{name}.lance").exists():
        lancedb.connect(path).drop_table(name)
    PurgeMarks.of(path, name).clear()


def other_indexes(path: Path, *keep: Fingerprint) -> list[str]:
    """The names of the tables in ``path`` that are of none of these fingerprints."""
    kept = {table_name(fingerprint) for fingerprint in keep}
    return sorted({folder.stem for folder in path.glob("passages_*.lance")} - kept)


def drop_other_indexes(path: Path, *keep: Fingerprint) -> list[str]:
    """Drop every table in ``path`` but those of ``keep``; the names of those that went.

    Raises:
        StoreError: a table could not be dropped, or is being written.
    """
    names = other_indexes(path, *keep)
    with store_errors(f"drop old indexes in {path}"):
        for name in names:
            with FileLock(path / f"{name}.lock", timeout=LOCK_SECONDS):
                drop_table(path, name)
    return names


def _create(database: lancedb.DBConnection, name: str, dimensions: int, marks: PurgeMarks) -> None:
    table = database.create_table(name, schema=table_schema(dimensions), exist_ok=True)
    if not table.list_indices():  # nobody was quicker
        marks.set()
        # The index holds how words are cut and stemmed, so it comes before the first row.
        table.create_index("search_text", config=INDEXES["search_text"])


@contextmanager
def store_errors(action: str) -> Iterator[None]:
    """What LanceDB raises while it does ``action``, as StoreError."""
    try:
        yield
    except Timeout as error:
        raise StoreError(
            f"could not {action}: another process has been writing to it for "
            f"{LOCK_SECONDS:.0f} seconds",
            hint="wait for it to end, or stop it, and try again",
        ) from error
    except (RuntimeError, OSError, ValueError, pa.ArrowException) as error:
        raise StoreError(
            f"could not {action}: {error}",
            hint="check disk space and permissions; 'wellread verify --repair' mends the index",
        ) from error
