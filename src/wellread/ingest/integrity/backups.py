"""Backups of the catalogue: when one is made, when older ones go, how one is put back.

A run makes one where the newest is old; an upgrade (``kb.home_catalogue``) and a purge make one
first. A copy holds what the catalogue held, so whoever takes removed text off the disk takes the
older copies along: after a purge the only one is that which was made for it, of what is left.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from wellread.errors import DamageError, StoreError, UnknownNameError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.commit import writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import BACKUPS_FOLDER, CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.recovery.copies import (
    CatalogueCopy,
    copies_in,
    drop_copies,
    drop_set_aside,
    newest_sound,
    put_back,
    take_copy,
)
from wellread.store.recovery.copies import set_aside as set_file_aside

logger = logging.getLogger(__name__)

SERVER = "back it up with the server's own means, such as pg_dump (docs/team.md)"


def backups_of(kb: KnowledgeBase) -> Path:
    """The folder of the home's backups."""
    return kb.home / BACKUPS_FOLDER


def back_up(kb: KnowledgeBase) -> CatalogueCopy | None:
    """Make a backup and drop the oldest; None where backups are turned off."""
    if kb.place.url:
        raise StoreError("the catalogue is on a server", hint=SERVER)
    keep = kb.settings.backups.keep
    made = take_copy(kb.home / CATALOGUE_FILE, backups_of(kb)) if keep else None
    drop_copies(backups_of(kb), keep=keep)
    return made


def back_up_if_due(kb: KnowledgeBase) -> None:
    """At the end of a run: make a backup where the newest is old. That it fails fails no run."""
    if kb.place.url:
        return  # the server's own backups are (docs/team.md)
    found = copies_in(backups_of(kb))
    limit = timedelta(hours=kb.settings.backups.hours)
    if found and datetime.now(UTC) - found[0].made_at < limit:
        return
    try:
        back_up(kb)
    except StoreError as error:
        logger.warning("%s", error)


def renew_backups(kb: KnowledgeBase) -> None:
    """Before removed text leaves the disk: a backup of what is left, in place of all others."""
    keeps = kb.settings.backups.keep and not kb.place.url
    made = take_copy(kb.home / CATALOGUE_FILE, backups_of(kb)) if keeps else None
    drop_copies(backups_of(kb), keep=0, besides=made)
    drop_set_aside(backups_of(kb))


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


def check_backups(kb: KnowledgeBase) -> list[Problem]:
    """Backups whose bytes are not those that were written; those of a server are its own."""
    return [
        Problem(kind=damage.BACKUP, subject=copy.name, detail="a new one takes its place")
        for copy in copies_in(backups_of(kb))
        if not copy.sound() and copy.path.exists()  # else another process dropped it
    ]


def replace_backups(kb: KnowledgeBase, names: Iterable[str]) -> None:
    """Make a new backup, and drop those of these names."""
    back_up(kb)
    for name in names:
        (backups_of(kb) / name).unlink(missing_ok=True)
