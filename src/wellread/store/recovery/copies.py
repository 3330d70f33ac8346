"""Backups of the catalogue: whole, consistent copies of its file, made while it is in use.

SQLite writes the copy (``VACUUM INTO``): one snapshot, rows only. Copying page by page would take
the bytes along that deleted rows leave between pages. A copy carries its moment and the start of
its own SHA-256 in its name, and gets that name when it is whole; so a damaged one tells.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from wellread.errors import DamageError, StoreError
from wellread.store.recovery.file_bytes import copy_file
from wellread.store.schema.sqlite import WAL_SUFFIXES, is_damage

DIGITS = 16
MOMENT = "%Y%m%dT%H%M%SZ"
SET_ASIDE = "damaged-"  # begins the name of a file that another one took the place of
PRIVATE = 0o600
_NAME = re.compile(r"catalogue-(\d{8}T\d{6}Z)-([0-9a-f]{16})\.db")
_BUSY_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueCopy:
    """One copy."""

    path: Path
    made_at: datetime
    digest: str
    size: int

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.name

    def sound(self) -> bool:
        """Whether its bytes are those that were written."""
        try:
            return _digest_of(self.path) == self.digest
        except OSError:
            return False


def copies_in(folder: Path) -> list[CatalogueCopy]:
    """The copies in a folder, newest first."""
    found = []
    for path in folder.glob("catalogue-*.db"):
        named = _NAME.fullmatch(path.name)
        if named is None:
            continue
        try:
            made_at = datetime.strptime(named[1], MOMENT).replace(tzinfo=UTC)
            size = path.stat().st_size
        except (ValueError, FileNotFoundError):  # no moment; or another process dropped it
            continue
        found.append(CatalogueCopy(path=path, made_at=made_at, digest=named[2], size=size))
    return sorted(found, key=lambda copy: (copy.made_at, copy.name), reverse=True)


def newest_sound(folder: Path) -> CatalogueCopy | None:
    """The newest copy that is not damaged."""
    return next((copy for copy in copies_in(folder) if copy.sound()), None)


def take_copy(catalogue: Path, folder: Path) -> CatalogueCopy:
    """Copy the catalogue's file into ``folder``; it is read and written meanwhile."""
    part = folder / "catalogue.part"  # one name: what a killed process left goes
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        source = f"{catalogue.absolute().as_uri()}?mode=rw"  # never made where it is not there
        with closing(sqlite3.connect(source, uri=True, timeout=_BUSY_SECONDS)) as live:
            _vacuum_into(live, part)
        part.chmod(PRIVATE)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        digest = _digest_of(part)
        path = folder / f"catalogue-{datetime.now(UTC):{MOMENT}}-{digest}.db"
        part.replace(path)
    except (sqlite3.Error, OSError) as error:
        if is_damage(error):
            raise DamageError(
                "could not back up the catalogue: its file is damaged",
                hint="'wellread verify --repair' puts the newest backup in its place",
            ) from error
        raise StoreError(
            f"could not back up the catalogue: {error}",
            hint="make room on the disk, or turn backups off (backups.keep: 0)",
        ) from error
    return next(copy for copy in copies_in(folder) if copy.path == path)


def _vacuum_into(live: sqlite3.Connection, part: Path) -> None:
    try:
        live.execute("VACUUM INTO ?", (str(part),))
    except sqlite3.Error:
        part.unlink(missing_ok=True)
        raise


def drop_copies(folder: Path, *, keep: int, besides: CatalogueCopy | None = None) -> None:
    """Drop all but the newest ``keep`` copies, and but the one of ``besides``."""
    kept = {copy.path for copy in copies_in(folder)[:keep]}
    if besides:
        kept.add(besides.path)
    _drop(copy.path for copy in copies_in(folder) if copy.path not in kept)


def set_aside(catalogue: Path, folder: Path) -> Path | None:
    """Give the catalogue's file, with what belongs to it, a second name in ``folder``; that name.

    None where there is none. The file itself stays until another takes its place in one step, so
    that a kill between leaves it there. What was set aside stays until removed text leaves the
    disk (``ingest.integrity``).
    """
    aside = folder / f"{SET_ASIDE}{datetime.now(UTC):{MOMENT}}.db"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = catalogue.exists()
        if catalogue.is_dir():
            catalogue.replace(aside)
        elif there:
            aside.unlink(missing_ok=True)
            _second_name(catalogue, aside)
        for suffix in WAL_SUFFIXES:  # a log that stayed would be read into the next file
            beside = catalogue.with_name(f"{catalogue.name}{suffix}")
            if beside.exists():
                beside.replace(aside.with_name(f"{aside.name}{suffix}"))
    except OSError as error:
        raise StoreError(f"could not set {catalogue} aside: {error}") from error
    return aside if there else None


def _second_name(file: Path, name: Path) -> None:
    try:
        os.link(file, name)
    except OSError:  # a disk without links
        copy_file(file, name)


def drop_set_aside(folder: Path) -> None:
    """Drop what was set aside."""
    _drop(folder.glob(f"{SET_ASIDE}*"))


def put_back(copy: CatalogueCopy, catalogue: Path) -> None:
    """Make ``copy`` the catalogue's file, in one step; what was there is set aside before."""
    part = catalogue.with_name(f"{catalogue.name}.part")
    try:
        shutil.copyfile(copy.path, part)
        part.chmod(PRIVATE)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(catalogue)
    except OSError as error:
        raise StoreError(f"could not put {copy.name} back: {error}") from error


def _drop(paths: Iterable[Path]) -> None:
    try:
        for path in list(paths):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"an old backup cannot be dropped: {error}") from error


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]
