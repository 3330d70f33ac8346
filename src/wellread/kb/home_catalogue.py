"""Opens the catalogue of a knowledge base folder, and detects a folder that has lost it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from wellread.config import BackupSettings
from wellread.errors import DamageError, StoreError
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.catalogue import Catalogue
from wellread.store.locks import AdvisoryLocks, FileLocks, Locks
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

    ``upgraded`` says whether opening it here upgraded it from an older release.
    """

    def __init__(self, home: Path, url: str) -> None:
        """Raise StoreError when the URL or its driver cannot be used."""
        self.home = home
        self.url = url
        self.where: str | Path = url or home / CATALOGUE_FILE
        self.locks: Locks = AdvisoryLocks(url) if url else FileLocks(home)
        self.upgraded = False

    def open(self, backups: BackupSettings) -> Catalogue:
        """Open the catalogue; create it in a new home, and back a file up before an upgrade."""
        if self.url:
            return _on_server(self.home, self.url, self._upgrading)
        return _in_file(self.home, backups, self._upgrading)

    def _upgrading(self) -> None:
        self.upgraded = True

    def close(self) -> None:
        """Release the locks' connections."""
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
