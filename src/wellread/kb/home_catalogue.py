"""Opens the catalogue of a knowledge base folder, and detects a folder that has lost it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from wellread.config import BackupSettings
from wellread.errors import DamageError, StoreError
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.catalogue import Catalogue
from wellread.store.locks import HINT, AdvisoryLocks, FileLocks, Locks
from wellread.store.recovery.copies import copies_in, drop_copies, take_copy

CATALOGUE_FILE = "catalogue.db"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")  # the index engine accepts none of them in a path
BACKUPS_FOLDER = "backups"
OWNER_ALONE = 0o700  # the material is private to one user of the machine


def has_remains(home: Path) -> bool:
    """Whether the home holds an index or backups, and so has or had a catalogue."""
    tables = (path for path in (home / INDEX_FOLDER).glob("*") if path.is_dir())
    return any(tables) or bool(copies_in(home / BACKUPS_FOLDER))


def files_of(home: Path) -> Iterator[Path]:
    """Yield every file in the home, folder by folder.

    Folders removed meanwhile are skipped; ``Path.rglob`` raises there up to Python 3.12.
    """
    for folder, folders, names in os.walk(home):
        folders.sort()
        yield from filter(Path.is_file, (Path(folder, name) for name in sorted(names)))


class CataloguePlace:
    """The location of a catalogue: a database server's URL, or a file in the home.

    Attributes:
        home: the folder of the home.
        url: the server's URL with its password; empty for a file.
        read_only: whether the file cannot be written, so that a copy of it is opened.
        locks: excludes concurrent writers.
        upgraded: whether opening it here upgraded it from an older release.
    """

    def __init__(self, home: Path, url: str) -> None:
        """Raise StoreError when the URL or its driver cannot be used."""
        self.home = home
        self.url = url
        self.read_only = not url and is_read_only(home / CATALOGUE_FILE)
        self.locks: Locks = AdvisoryLocks(url) if url else FileLocks(home)
        self.upgraded = False
        self._copy: CatalogueCopy | None = None

    @property
    def where(self) -> str | Path:
        """The URL or path to pass to ``Catalogue.open``."""
        if self.read_only and self._copy is None:
            self._copy = CatalogueCopy(self.home / CATALOGUE_FILE)
        return self._copy.path if self._copy else self.url or self.home / CATALOGUE_FILE

    def open(self, backups: BackupSettings) -> Catalogue:
        """Open the catalogue; create it in a new home, and back a file up before an upgrade."""
        if self.read_only:
            return Catalogue.open(self.where)
        if self.url:
            return _on_server(self.home, self.url, self._upgrading)
        return _in_file(self.home, backups, self._upgrading)

    def _upgrading(self) -> None:
        self.upgraded = True

    def close(self) -> None:
        """Remove the copy and release the locks' connections."""
        if self._copy is not None:
            self._copy.close()
        if isinstance(self.locks, AdvisoryLocks):
            self.locks.close()


def is_unused(home: Path, url: str) -> bool:
    """Whether nothing seems ever to have been added to ``home``; opens nothing."""
    return not url and not (home / CATALOGUE_FILE).exists() and not has_remains(home)


def _in_file(home: Path, settings: BackupSettings, upgrading: Callable[[], object]) -> Catalogue:
    path, remains = home / CATALOGUE_FILE, has_remains(home)
    state = _state(path)
    if remains and state:
        raise DamageError(
            f"the catalogue {path} is {state}, but the rest of the home exists, so it is not new",
            hint=f"'wellread verify --repair' {_describe_repair(home)}",
        )

    def back_up() -> None:
        upgrading()
        if settings.keep:
            take_copy(path, home / BACKUPS_FOLDER)
            drop_copies(home / BACKUPS_FOLDER, keep=settings.keep)

    return Catalogue.open(path, new=not remains, before_upgrade=back_up)


def _on_server(home: Path, url: str, upgrading: Callable[[], object]) -> Catalogue:
    try:
        new = not has_remains(home)
        return Catalogue.open(url, new=new, before_upgrade=upgrading)
    except DamageError as error:
        raise DamageError(
            f"the database of catalogue.url holds no catalogue, but {home} has the index or the "
            "backups of one",
            hint="to move a base there, run 'wellread backup export', then 'backup import' into a "
            "new --home; to recover a lost catalogue, restore the server's own backup",
        ) from error


def _state(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if not path.exists():
        return "missing"
    return "" if path.stat().st_size else "empty"


def _describe_repair(home: Path) -> str:
    copies = copies_in(home / BACKUPS_FOLDER)
    if copies:
        return f"restores the newest backup, of {copies[0].made_at:%Y-%m-%d %H:%M} UTC"
    return "explains what can be done; there is no backup"


def ensure_home(home: Path) -> Path:
    """Return the absolute path of ``home``; a missing folder is created for its owner alone.

    An existing home keeps its permissions, which may have been opened to others on purpose.
    """
    home = home.expanduser().absolute()
    if _UNPRINTABLE.search(str(home)):
        raise StoreError(
            f"the home cannot be {str(home)!r}: a folder's name contains a line break or another "
            "control character",
            hint="choose another with --home",
        )
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        try:
            home.mkdir(OWNER_ALONE)
        except FileExistsError:  # it existed before, or another process has just made it
            if not home.is_dir():
                raise
    except OSError as error:
        raise StoreError(
            f"the home {home} cannot be created: {error}", hint="choose another with --home"
        ) from error
    return home


def is_read_only(catalogue: Path) -> bool:
    """Whether ``catalogue`` is a file in a folder that cannot be written."""
    return catalogue.is_file() and not os.access(catalogue.parent, os.W_OK)


class CatalogueCopy:
    """A temporary copy of a catalogue file, removed when it is closed.

    Attributes:
        path: the copy.
    """

    def __init__(self, catalogue: Path) -> None:
        """Copy the catalogue to a temporary folder."""
        self._folder = Path(tempfile.mkdtemp(prefix="wellread-"))
        self.path = self._folder / catalogue.name
        try:
            self._fill(catalogue)
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise StoreError(
                f"the catalogue of the read-only home {catalogue.parent} cannot be copied: {error}",
                hint="check that it is readable, and that the temporary folder has space",
            ) from error

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fill(self, catalogue: Path) -> None:
        # Another process may be writing: then a log lies beside the file, and SQLite reads it
        # too. Without a log SQLite would have to create one, unless told that nobody writes.
        logged = catalogue.with_name(f"{catalogue.name}-wal").exists()
        how = "mode=ro" if logged else "mode=ro&immutable=1"
        address = f"file:{quote(str(catalogue))}?{how}"
        with (
            closing(sqlite3.connect(address, uri=True)) as source,
            closing(sqlite3.connect(self.path)) as copy,
        ):
            source.backup(copy)


def refuse_writing(home: Path, *, read_only: bool) -> None:
    """Raise StoreError when the home is read-only."""
    if read_only:
        raise StoreError(f"the home {home} is read-only", hint=HINT)
