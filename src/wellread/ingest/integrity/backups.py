"""Makes, rotates, checks and restores backups of the catalogue.

A run makes a backup when the newest is old, and a purge makes one first. Backups contain text that
was removed later, so a purge deletes the older ones: afterwards only its own backup is left.
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
    """Return the folder of the home's backups."""
    return kb.home / BACKUPS_FOLDER


def back_up(kb: KnowledgeBase) -> CatalogueCopy | None:
    """Make a backup and drop the oldest; None if backups are turned off."""
    if kb.place.url:
        raise StoreError("the catalogue is on a server", hint=SERVER)
    keep = kb.settings.backups.keep
    new_copy = take_copy(kb.home / CATALOGUE_FILE, backups_of(kb)) if keep else None
    drop_copies(backups_of(kb), keep=keep)
    return new_copy


def back_up_if_due(kb: KnowledgeBase) -> None:
    """Make a backup if the newest one is old; a failure is logged and does not fail the run."""
    if kb.place.url:
        return  # a database server makes its own backups (docs/team.md)
    copies = copies_in(backups_of(kb))
    limit = timedelta(hours=kb.settings.backups.hours)
    if copies and datetime.now(UTC) - copies[0].made_at < limit:
        return
    try:
        back_up(kb)
    except StoreError as error:
        logger.warning("%s", error)


def renew_backups(kb: KnowledgeBase) -> None:
    """Make a backup of the remaining data and delete all others; a purge starts with this."""
    keeps = kb.settings.backups.keep and not kb.place.url
    new_copy = take_copy(kb.home / CATALOGUE_FILE, backups_of(kb)) if keeps else None
    drop_copies(backups_of(kb), keep=0, besides=new_copy)
    drop_set_aside(backups_of(kb))


LIST = "'wellread backup restore --list' shows the backups"
SUBJECT = "catalogue"
SINCE = "add the sources again for later additions; questions and ratings since then are lost"


def find_copy(kb: KnowledgeBase, name: str = "") -> CatalogueCopy:
    """Return the backup with this name prefix; without one, the newest that is not damaged.

    Raises:
        StoreError: the catalogue is on a server.
        UnknownNameError: no backup matches, or several do.
        DamageError: the backup is damaged.
    """
    if kb.place.url:
        raise StoreError(
            "the catalogue is on a server, where file backups cannot be restored", hint=SERVER
        )
    copies = copies_in(backups_of(kb))
    if not copies:
        raise UnknownNameError(
            f"there is no backup in {backups_of(kb)}",
            hint="runs make backups automatically (docs/backups.md); for an export use 'import'",
        )
    if not name:
        newest = newest_sound(backups_of(kb))
        if newest is None:
            raise DamageError("every backup of this home is damaged", hint=LIST)
        return newest
    matches = [
        copy
        for copy in copies
        if copy.name.startswith(name) or copy.name.startswith(f"catalogue-{name}")
    ]
    if len(matches) != 1:
        raise UnknownNameError(
            f"{len(matches)} backups have a name that begins with {name}", hint=LIST
        )
    if not matches[0].sound():
        raise DamageError(f"the backup {matches[0].name} is damaged", hint=LIST)
    return matches[0]


def restore_copy(kb: KnowledgeBase, copy: CatalogueCopy) -> None:
    """Make ``copy`` the catalogue; the old file is moved to the backups' folder.

    The index does not match it then: ``verify`` with ``repair`` synchronises it.
    """
    with writing(kb):
        _replace_catalogue(kb, copy)


def lost_catalogue(kb: KnowledgeBase, lost: str) -> Problem:
    """Describe a damaged catalogue file and the remedy: a backup, or adding the sources again."""
    copy = newest_sound(backups_of(kb))
    if copy is None:
        return _without_backup(kb, lost)
    remedy = f"'wellread verify --repair' restores the backup of {_time_of(copy)}; {SINCE}"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=f"{lost}; {remedy}")


def replace_lost(kb: KnowledgeBase, lost: str) -> Problem:
    """Replace the damaged catalogue by the newest backup, and return the problem.

    The caller holds the writers' lock. Without a backup nothing is changed or repaired.
    """
    copy = newest_sound(backups_of(kb))
    if copy is None:
        return _without_backup(kb, lost)
    _replace_catalogue(kb, copy)
    outcome = f"the backup of {_time_of(copy)} replaced it; {SINCE}"
    location = f"the old file is kept in {backups_of(kb).name} until the next purge"
    detail = f"{lost}; {outcome}; {location}"
    return Problem(kind=damage.CATALOGUE, subject=SUBJECT, detail=detail, repaired=True)


def _replace_catalogue(kb: KnowledgeBase, copy: CatalogueCopy) -> None:
    kb.forget_catalogue()
    set_file_aside(kb.home / CATALOGUE_FILE, backups_of(kb))
    put_back(copy, kb.home / CATALOGUE_FILE)


def _without_backup(kb: KnowledgeBase, lost: str) -> Problem:
    parts = (kb.home / CATALOGUE_FILE, kb.home / INDEX_FOLDER, backups_of(kb))
    paths = " and ".join(str(path) for path in parts if path.exists())
    return Problem(
        kind=damage.CATALOGUE,
        subject=SUBJECT,
        detail=f"{lost}, and there is no backup that 'wellread backup restore' could restore; "
        f"nothing was changed. To start again, move {paths} away and add the sources again",
    )


def _time_of(copy: CatalogueCopy) -> str:
    return f"{copy.made_at:%Y-%m-%d %H:%M} UTC"


def check_backups(kb: KnowledgeBase) -> list[Problem]:
    """Report backup files whose bytes have changed since they were written."""
    return [
        Problem(kind=damage.BACKUP, subject=copy.name, detail="a new backup takes its place")
        for copy in copies_in(backups_of(kb))
        if not copy.sound() and copy.path.exists()  # else another process dropped it
    ]


def replace_backups(kb: KnowledgeBase, names: Iterable[str]) -> None:
    """Make a new backup and drop the named ones."""
    back_up(kb)
    for name in names:
        (backups_of(kb) / name).unlink(missing_ok=True)
