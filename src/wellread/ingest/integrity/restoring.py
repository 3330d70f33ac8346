"""Puts a backup in place of the catalogue: on request, or where its file is damaged or gone."""

from __future__ import annotations

from wellread.errors import DamageError, StoreError, UnknownNameError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.copying import SERVER, backups_of
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.commit import writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.recovery.copies import CatalogueCopy, copies_in, newest_sound, put_back
from wellread.store.recovery.copies import set_aside as set_file_aside

LIST = "'wellread backup restore --list' shows the backups"
SUBJECT = "catalogue"
SINCE = "add the sources again for what came since; what was asked and rated since is lost"


def copy_named(kb: KnowledgeBase, name: str = "") -> CatalogueCopy:
    """The backup whose name begins so; without a name, the newest that is not damaged.

    Raises:
        StoreError: the catalogue is on a server.
        UnknownNameError: there is none, or more than one.
        DamageError: it is damaged.
    """
    if kb.place.url:
        raise StoreError(
            "the catalogue is on a server, and backups of files do not fit there", hint=SERVER
        )
    found = copies_in(backups_of(kb))
    if not found:
        raise UnknownNameError(
            f"there is no backup in {backups_of(kb)}",
            hint="runs make one by themselves (docs/backups.md); an export is read by 'import'",
        )
    if not name:
        newest = newest_sound(backups_of(kb))
        if newest is None:
            raise DamageError("every backup of this home is damaged", hint=LIST)
        return newest
    wanted = [
        copy
        for copy in found
        if copy.name.startswith(name) or copy.name.startswith(f"catalogue-{name}")
    ]
    if len(wanted) != 1:
        raise UnknownNameError(
            f"{len(wanted)} backups have a name that begins so: {name}", hint=LIST
        )
    if not wanted[0].sound():
        raise DamageError(f"the backup {wanted[0].name} is damaged", hint=LIST)
    return wanted[0]


def restore_copy(kb: KnowledgeBase, copy: CatalogueCopy) -> None:
    """Make ``copy`` the catalogue; the file that was there is set aside among the backups.

    The index does not fit it then: ``verify`` with ``repair`` makes it follow.

    Raises:
        StoreError: files cannot be moved, or another process is writing.
    """
    with writing(kb):
        _take(kb, copy)


def lost_catalogue(kb: KnowledgeBase, lost: str) -> Problem:
    """A file that cannot be used as it is, and what can be done: a backup, or adding again."""
    copy = newest_sound(backups_of(kb))
    if copy is None:
        return _without_backup(kb, lost)
    remedy = f"'wellread verify --repair' puts the backup of {_day(copy)} in its place; {SINCE}"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=f"{lost}; {remedy}")


def replace_lost(kb: KnowledgeBase, lost: str) -> Problem:
    """Put the newest backup in the damaged catalogue's place; what was wrong, and what came of it.

    The caller holds the writers' lock. Without a backup nothing is touched: it is not repaired.

    Raises:
        StoreError: there is no room, or files cannot be moved.
    """
    copy = newest_sound(backups_of(kb))
    if copy is None:
        return _without_backup(kb, lost)
    _take(kb, copy)
    told = f"the backup of {_day(copy)} took its place; {SINCE}"
    kept = f"the old file is kept in {backups_of(kb).name} until the next purge"
    detail = f"{lost}; {told}; {kept}"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=detail, repaired=True)


def _take(kb: KnowledgeBase, copy: CatalogueCopy) -> None:
    kb.forget_catalogue()
    set_file_aside(kb.home / CATALOGUE_FILE, backups_of(kb))
    put_back(copy, kb.home / CATALOGUE_FILE)


def _without_backup(kb: KnowledgeBase, lost: str) -> Problem:
    parts = (kb.home / CATALOGUE_FILE, kb.home / INDEX_FOLDER, backups_of(kb))
    there = " and ".join(str(path) for path in parts if path.exists())
    return Problem(
        kind=damage.CATALOGUE,
        subject=SUBJECT,
        detail=f"{lost}, and there is no backup that 'wellread backup restore' could bring back; "
        f"nothing was touched. To begin anew, move {there} away and add the sources again",
    )


def _day(copy: CatalogueCopy) -> str:
    return f"{copy.made_at:%Y-%m-%d %H:%M} UTC"
