"""Backs up the catalogue: consistent copies of its SQLite file, made while it is in use.

SQLite writes the copy (``VACUUM INTO``) as one snapshot of the rows. Copying page by page would
include the bytes of deleted rows. A finished copy is named after its time and the start of its
own SHA-256, so that damage can be detected.
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
SET_ASIDE = "damaged-"  # prefix of a file that has been replaced
PRIVATE = 0o600
_NAME = re.compile(r"catalogue-(\d{8}T\d{6}Z)-([0-9a-f]{16})\.db")
_BUSY_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueCopy:
    """One backup file of the catalogue."""

    path: Path
    made_at: datetime
    digest: str
    size: int

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    def sound(self) -> bool:
        """Whether the file is undamaged, by its hash."""
        try:
            return _digest_of(self.path) == self.digest
        except OSError:
            return False


def copies_in(folder: Path) -> list[CatalogueCopy]:
    """The copies in a folder, newest first."""
    copies = []
    for path in folder.glob("catalogue-*.db"):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        try:
            made_at = datetime.strptime(match[1], MOMENT).replace(tzinfo=UTC)
            size = path.stat().st_size
        except (ValueError, FileNotFoundError):  # not a time; or another process dropped it
            continue
        copies.append(CatalogueCopy(path=path, made_at=made_at, digest=match[2], size=size))
    return sorted(copies, key=lambda copy: (copy.made_at, copy.name), reverse=True)


def newest_sound(folder: Path) -> CatalogueCopy | None:
    """The newest copy that is not damaged."""
    return next((copy for copy in copies_in(folder) if copy.sound()), None)


def take_copy(catalogue: Path, folder: Path) -> CatalogueCopy:
    """Copy the catalogue's file into ``folder``, while it may be in use."""
    part = folder / "catalogue.part"  # always the same name: replaces what a killed process left
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        source = f"{catalogue.absolute().as_uri()}?mode=rw"  # never creates a missing file
        with closing(sqlite3.connect(source, uri=True, timeout=_BUSY_SECONDS)) as live:
            live.execute("VACUUM INTO ?", (str(part),))
        part.chmod(PRIVATE)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        path = folder / f"catalogue-{datetime.now(UTC):{MOMENT}}-{_digest_of(part)}.db"
        part.replace(path)
    except (sqlite3.Error, OSError) as error:
        if part.is_file():
            part.unlink()
        if is_damage(error):
            raise DamageError(
                "could not back up the catalogue: its file is damaged",
                hint="'wellread verify --repair' restores the newest backup",
            ) from error
        raise StoreError(
            f"could not back up the catalogue: {error}",
            hint="free some disk space, or turn backups off (backups.keep: 0)",
        ) from error
    return next(copy for copy in copies_in(folder) if copy.path == path)


def drop_copies(folder: Path, *, keep: int, besides: CatalogueCopy | None = None) -> None:
    """Drop all copies except the newest ``keep`` and ``besides``."""
    kept_paths = {copy.path for copy in copies_in(folder)[:keep]}
    if besides:
        kept_paths.add(besides.path)
    _drop(copy.path for copy in copies_in(folder) if copy.path not in kept_paths)


def set_aside(catalogue: Path, folder: Path) -> Path | None:
    """Link the catalogue's file, and move its logs, into ``folder``; return the new path.

    None when the file is missing. The original stays until it is replaced in one step, so that
    it survives a kill in between. The quarantined file stays until removed text is purged from
    the disk (``ingest.integrity``).
    """
    aside = folder / f"{SET_ASIDE}{datetime.now(UTC):{MOMENT}}.db"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        exists = catalogue.exists()
        if catalogue.is_dir():
            catalogue.replace(aside)
        elif exists:
            aside.unlink(missing_ok=True)
            try:
                os.link(catalogue, aside)
            except OSError:  # a file system without hard links
                copy_file(catalogue, aside)
        for suffix in WAL_SUFFIXES:  # a log left behind would be applied to the next file
            log_file = catalogue.with_name(f"{catalogue.name}{suffix}")
            if log_file.exists():
                log_file.replace(aside.with_name(f"{aside.name}{suffix}"))
    except OSError as error:
        raise StoreError(f"could not set {catalogue} aside: {error}") from error
    return aside if exists else None


def drop_set_aside(folder: Path) -> None:
    """Drop the files that ``set_aside`` moved."""
    _drop(folder.glob(f"{SET_ASIDE}*"))


def put_back(copy: CatalogueCopy, catalogue: Path) -> None:
    """Replace the catalogue's file with ``copy`` in one step; call ``set_aside`` before."""
    part = catalogue.with_name(f"{catalogue.name}.part")
    try:
        shutil.copyfile(copy.path, part)
        part.chmod(PRIVATE)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(catalogue)
    except OSError as error:
        raise StoreError(f"could not restore the backup {copy.name}: {error}") from error


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
