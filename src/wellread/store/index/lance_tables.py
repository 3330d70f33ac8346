"""Creates, lists and drops the LanceDB tables of a folder, and erases removed rows from disk.

There is one table per fingerprint, created on first use. A removed row is masked, not overwritten:
its text stays in its data file until a tenth of the file's rows are masked, its words stay in the
search structures, and earlier versions keep both. A purge therefore writes some live rows of every
data file again elsewhere, so that enough are masked for LanceDB to rewrite the file; then it
rebuilds the search structures and drops earlier versions. Searches continue meanwhile, because
each step is one LanceDB version with every live row.
"""

from __future__ import annotations

import errno
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

import wellread.store.index.lancedb_import  # noqa: F401 - first, it makes the next ones quick

# isort: split
import lancedb
import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout
from lancedb.index import FTS, Bitmap, BTree, LabelList
from lancedb.table import LanceTable

from wellread.errors import DamageError, StoreError, is_panic
from wellread.store.base import Fingerprint
from wellread.store.index.lance_rows import table_schema
from wellread.store.row_values import COPIED, LISTS, index_id

ASIDE = "-damaged"  # suffix of a table that has been replaced
# By default LanceDB caches up to 6 GiB of search structures, and a large add fills that with data
# that no search needs. The quantised vectors of a million passages are 192 MB.
INDEX_CACHE = 448 << 20  # bytes
METADATA_CACHE = 64 << 20
# LanceDB rewrites a data file once more than a tenth of its rows are masked.
MOVED_SHARE = 1 / 8
MOVED_AT_ONCE = 5_000
ROWS_AT_ONCE = 50_000
FRAGMENT_BITS = 32  # the upper half of a row's address is the data file, the lower half the row
# LanceDB warns against exactly zero; the writer's lock makes it safe for writers, and searches
# are repeated when their files have been removed.
AT_ONCE = timedelta(milliseconds=1)

# Below this many rows, filtering by a column scan is as fast as by an index (measured at 2,000 and
# 8,000 rows), and building eleven indexes is most of the work of an add.
FILTER_INDEX_ROWS = 5_000
WORDS = "search_text"
INDEXES: dict[str, FTS | BTree | Bitmap | LabelList] = {
    WORDS: FTS(with_position=False, stem=True, remove_stop_words=True, ascii_folding=True),
    **{name: BTree() for name in ("passage_id", "document_id", "edition", "published_at")},
    **{name: Bitmap() for name in COPIED},
    **{name: LabelList() for name in LISTS},
}


def table_name(fingerprint: Fingerprint) -> str:
    """Return the table name of ``fingerprint``, the same on every machine."""
    return f"passages_{index_id(fingerprint)}"


def open_table(path: Path, name: str, dimensions: int, lock: FileLock, mark: Path) -> LanceTable:
    """Open the table ``name`` in the folder ``path``, and create it when it is missing."""
    path.mkdir(parents=True, exist_ok=True)
    # Zero: check for other processes' writes before every search (well under 1 ms).
    database = lancedb.connect(path, read_consistency_interval=timedelta(0), session=_caches())
    try:
        table = database.open_table(name)
    except ValueError:  # the table does not exist
        with lock:
            table = database.create_table(name, schema=table_schema(dimensions), exist_ok=True)
            if not table.list_indices():  # no other process created it first
                mark.touch()
                # It configures tokenising and stemming, so it is created before the first row.
                table.create_index(WORDS, config=INDEXES[WORDS])
        table = database.open_table(name)
    if not isinstance(table, LanceTable):
        raise StoreError(f"{path} is not a folder on this machine", hint="use a local path")
    return table


@cache
def _caches() -> lancedb.Session:
    """The caches shared by all tables of the process."""
    return lancedb.Session(
        index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE
    )


def set_aside(path: Path, fingerprint: Fingerprint) -> None:
    """See ``IndexBackend.set_aside``; a rename, which needs no disk space."""
    name = table_name(fingerprint)
    with store_errors("set the damaged index aside"):
        if path.exists() and not path.is_dir():
            path.replace(path.with_name(f"{path.name}{ASIDE}"))
        path.mkdir(parents=True, exist_ok=True)
        with FileLock(path / f"{name}.lock", timeout=LOCK_SECONDS):
            table_folder, aside = path / f"{name}.lance", path / f"{name}{ASIDE}.lance"
            if table_folder.is_file() or table_folder.is_symlink():
                table_folder.unlink()
            elif table_folder.exists():
                shutil.rmtree(aside, ignore_errors=True)
                table_folder.replace(aside)
            purge_mark(path, name).unlink(missing_ok=True)


def other_indexes(path: Path, *keep: Fingerprint) -> list[str]:
    """The names of the tables in ``path`` whose fingerprint is not in ``keep``."""
    kept_names = {table_name(fingerprint) for fingerprint in keep}
    return sorted({folder.stem for folder in path.glob("passages_*.lance")} - kept_names)


def drop_other_indexes(path: Path, *keep: Fingerprint) -> list[str]:
    """Drop every table in ``path`` except those of ``keep``, and return the dropped names."""
    names = other_indexes(path, *keep)
    with store_errors(f"drop old indexes in {path}"):
        for name in names:
            with FileLock(path / f"{name}.lock", timeout=LOCK_SECONDS):
                if (path / f"{name}.lance").exists():
                    lancedb.connect(path).drop_table(name)  # with all its files, even damaged ones
                purge_mark(path, name).unlink(missing_ok=True)
    return names


def indexes_of(table: LanceTable) -> dict[str, FTS | BTree | Bitmap | LabelList]:
    """Return the indexes that ``table`` has or needs; a small table needs only full text."""
    existing = {index.columns[0] for index in table.list_indices()}
    large = table.count_rows() >= FILTER_INDEX_ROWS
    return {
        column: config
        for column, config in INDEXES.items()
        if large or column == WORDS or column in existing
    }


def purge_mark(path: Path, name: str) -> Path:
    """A file beside the table that exists while nothing was removed or replaced since a purge.

    It is deleted before the first change and created last, so that a kill at any moment causes
    one purge too many, never one too few. Tables of older releases lack it.
    """
    return path / f"{name}.purged"


def fold(table: LanceTable) -> None:
    """Compact the table, update its indexes and drop earlier versions."""
    table.optimize(cleanup_older_than=AT_ONCE, delete_unverified=True)


def loosen(table: LanceTable) -> None:
    """Write enough rows of every data file again for LanceDB to rewrite the file.

    Of an empty table only words keep a structure: LanceDB 0.38 cannot train vectors of no rows.
    """
    if table.count_rows() == 0:
        for index in table.list_indices():
            if index.columns != [WORDS]:
                table.drop_index(index.name)
        return
    rows = table.search().select(["kind"]).with_row_id(True)
    batches = [
        batch.column("_rowid").to_numpy(zero_copy_only=False)
        for batch in rows.to_batches(ROWS_AT_ONCE)
    ]
    addresses = np.sort(np.concatenate(batches))
    _, firsts, live = np.unique(addresses >> FRAGMENT_BITS, return_index=True, return_counts=True)
    moved = [
        int(address)
        for first, count in zip(firsts, live, strict=True)
        for address in addresses[first : first + math.ceil(count * MOVED_SHARE)]
    ]
    for first in range(0, len(moved), MOVED_AT_ONCE):
        data = table.take_row_ids(moved[first : first + MOVED_AT_ONCE]).to_arrow()
        (
            table.merge_insert("passage_id")
            .when_matched_update_all()
            .execute(data, on_bad_vectors="null")
        )


LOCK_SECONDS = 600.0
REBUILD_HINT = "'wellread verify --repair' rebuilds the index from the catalogue"
_REFUSALS = {
    errno.ENOSPC: ("no space left", "disk full", "storage full"),
    errno.EDQUOT: ("quota exceeded",),
    errno.EACCES: ("permission denied", "operation not permitted"),
    errno.EROFS: ("read-only file system",),
    errno.EMFILE: ("too many open files",),
}
_ENGINE = (RuntimeError, OSError, ValueError, LookupError, MemoryError, pa.ArrowException)


@contextmanager
def store_errors(action: str) -> Iterator[None]:
    """Convert LanceDB's errors during ``action`` to StoreError."""
    try:
        yield
    except Timeout as error:
        raise StoreError(
            f"could not {action}: another process has been writing to it for "
            f"{LOCK_SECONDS:.0f} seconds",
            hint="wait for it to end, or stop it, and try again",
        ) from error
    except BaseException as error:
        if not isinstance(error, _ENGINE) and not is_panic(error):
            raise
        raise _store_error(action, error) from error


def _store_error(action: str, error: BaseException) -> StoreError:
    message = str(error).lower()
    for number, phrases in _REFUSALS.items():
        refused = isinstance(error, OSError) and error.errno == number
        if refused or any(phrase in message for phrase in phrases):
            return StoreError(
                f"could not {action}: {phrases[0]}", hint="check the disk's space and permissions"
            )
    return DamageError(
        f"could not {action}: its files are damaged or incomplete", hint=REBUILD_HINT
    )
