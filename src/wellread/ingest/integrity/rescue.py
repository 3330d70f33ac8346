"""Mends a catalogue whose file is damaged or gone: what can be read of it, and the newest backup.

A new file is made beside the old one and takes its place in one step when it is whole; the old one
is kept among the backups. Where nothing can be read and there is no backup, nothing is touched.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wellread.errors import StoreError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.copying import backups_of
from wellread.ingest.integrity.damage import Problem
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.catalogue import Catalogue
from wellread.store.recovery.copies import CatalogueCopy, newest_sound, put_back, set_aside
from wellread.store.recovery.database_file import WAL_SUFFIXES
from wellread.store.recovery.salvage import SavedTable, complete, make_like, save_rows, take_texts

SUBJECT = "catalogue"
WORTH = ("documents", "sources", "texts", "answers")  # tables that make a file worth saving


def lost_catalogue(kb: KnowledgeBase, lost: str) -> Problem:
    """A file that cannot be used as it is, with what can be done."""
    copy = newest_sound(backups_of(kb))
    if copy is not None:
        remedy = f"the newest backup is of {_day(copy)} ({copy.name})"
    elif (kb.home / CATALOGUE_FILE).is_file():
        remedy = "there is no backup; 'wellread verify --repair' saves what can be read of it"
    else:
        remedy = "there is no backup; 'wellread verify --repair' says what to do"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=f"{lost}; {remedy}")


def rescue(kb: KnowledgeBase, lost: str) -> Problem:
    """Put a catalogue in the damaged one's place; what was wrong, and what came of it.

    The caller holds the writers' lock. Where nothing can be saved, the problem is not repaired.

    Raises:
        StoreError: there is no room, or files cannot be moved.
    """
    path, folder = kb.home / CATALOGUE_FILE, backups_of(kb)
    kb.forget_catalogue()
    copy = newest_sound(folder)
    with _beside(path, "new") as fresh:
        saved = _save(path, fresh)
        worth = any(table.rows for table in saved if table.name in WORTH)
        if not worth and copy is None:
            return _hopeless(kb, lost)
        added = 0
        if worth and copy is not None and not all(table.whole for table in saved):
            with _beside(path, "held") as held:
                shutil.copyfile(copy.path, held)
                Catalogue.open(held, home=kb.home).close()  # at the schema of today
                added = complete(fresh, held, saved)
        set_aside(path, folder)
        if worth:
            fresh.replace(path)
            told = _saved_words(saved, copy if added else None, added)
        else:
            assert copy is not None
            put_back(copy, path)
            told = f"the backup of {_day(copy)} took its place"
    detail = f"{lost}; {told}; the old file is kept in {folder.name} until the next purge"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=detail, repaired=True)


def texts_from_backup(kb: KnowledgeBase, copy: CatalogueCopy, document_ids: Sequence[str]) -> int:
    """Take damaged texts from a backup that holds the same versions; of how many documents.

    Raises:
        StoreError: the catalogue cannot be written.
    """
    try:
        return take_texts(kb.home / CATALOGUE_FILE, copy.path, document_ids)
    except sqlite3.Error as error:
        raise StoreError(f"could not take texts from the backup {copy.name}: {error}") from error


def _save(path: Path, fresh: Path) -> Sequence[SavedTable]:
    if not path.is_file() or path.stat().st_size == 0:
        return ()
    make_like(path, fresh)
    saved = save_rows(path, fresh)
    Catalogue.open(fresh, home=path.parent).close()
    return saved


def _saved_words(saved: Sequence[SavedTable], copy: CatalogueCopy | None, added: int) -> str:
    told = f"{sum(table.rows for table in saved):,} rows of it were saved"
    broken = [table.name.replace("_", " ") for table in saved if not table.whole]
    if not broken:
        return f"{told}, which is all"
    if copy is not None:
        return f"{told}, and {added:,} that could not be read came from the backup of {_day(copy)}"
    return (
        f"{told}; not all could be read of: {', '.join(broken)}; add the sources again, and what "
        "is missing of documents is read anew"
    )


def _hopeless(kb: KnowledgeBase, lost: str) -> Problem:
    folders = [path for path in (kb.home / INDEX_FOLDER, backups_of(kb)) if path.exists()]
    begin = f"move {' and '.join(map(str, folders))} away and add the sources again"
    return Problem(
        kind=damage.CATALOGUE,
        subject=SUBJECT,
        detail=f"{lost}, nothing of it can be read, and there is no backup: documents' texts, "
        f"answers and feedback are lost; nothing was touched. To begin anew, {begin}",
    )


def _day(copy: CatalogueCopy) -> str:
    return f"{copy.made_at:%Y-%m-%d %H:%M} UTC"


@contextmanager
def _beside(path: Path, name: str) -> Iterator[Path]:
    """A file name beside ``path`` that nothing is left of afterwards."""
    made = path.with_name(f"{path.name}.{name}")
    everything = [made.with_name(f"{made.name}{suffix}") for suffix in ("", ".lock", *WAL_SUFFIXES)]
    for each in everything:
        each.unlink(missing_ok=True)
    try:
        yield made
    finally:
        for each in everything:
            each.unlink(missing_ok=True)
