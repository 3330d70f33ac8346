"""Backups by themselves: when a copy of the catalogue is made, and when older ones go.

A run makes one where the newest is old; an upgrade (``kb.home_catalogue``) and a purge make one
first. A copy holds what the catalogue held, so whoever takes removed text off the disk takes the
older copies along: after a purge the only one is that which was made for it, of what is left.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

from wellread.errors import StoreError
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import BACKUPS_FOLDER, CATALOGUE_FILE
from wellread.store.recovery.copies import (
    CatalogueCopy,
    copies_in,
    drop_copies,
    drop_set_aside,
    take_copy,
)

logger = logging.getLogger(__name__)

SERVER = "back it up with the server's own means, such as pg_dump (docs/team.md)"


def backups_of(kb: KnowledgeBase) -> Path:
    """The folder of the home's backups."""
    return kb.home / BACKUPS_FOLDER


def back_up(kb: KnowledgeBase) -> CatalogueCopy | None:
    """Make a backup and drop the oldest; None where backups are turned off.

    Raises:
        StoreError: there is no room, or the catalogue cannot be read whole.
    """
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
    """Before removed text leaves the disk: a backup of what is left, in place of all others.

    Raises:
        StoreError: as ``back_up``; the others stay then.
    """
    keeps = kb.settings.backups.keep and not kb.place.url
    made = take_copy(kb.home / CATALOGUE_FILE, backups_of(kb)) if keeps else None
    drop_copies(backups_of(kb), keep=0, besides=made)
    drop_set_aside(backups_of(kb))
