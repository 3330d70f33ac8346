"""Opens the catalogue of a home, and does not take a home that lost it for a new one."""

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
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")  # the index's engine takes none of them in a path
BACKUPS_FOLDER = "backups"
OWNER_ALONE = 0o700  # what a home says of its material is nobody else's on the machine


def has_remains(home: Path) -> bool:
    """Whether the home holds an index or backups, and so has a catalogue, or had one."""
    tables = (path for path in (home / INDEX_FOLDER).glob("*") if path.is_dir())
    return any(tables) or bool(copies_in(home / BACKUPS_FOLDER))


def files_of(home: Path) -> Iterator[Path]:
    """Every file in the home, folder by folder; a folder that a writer removes meanwhile has none.

    ``Path.rglob`` raises there, up to Python 3.12.
    """
    for folder, folders, names in os.walk(home):
        folders.sort()
        yield from filter(Path.is_file, (Path(folder, name) for name in sorted(names)))


class CataloguePlace:
    """Where the catalogue of a home is: at a URL of a server, else in its file.

    Attributes:
        home: the folder of the home.
        url: of the server, with its password; empty for a file.
        read_only: whether it is a file that may not be written; then a copy of it is opened.
        locks: what keeps its writers apart.
        upgraded: whether it was opened here as that of an older release.
    """

    def __init__(self, home: Path, url: str) -> None:
        """Raises StoreError when the URL, or its driver, cannot be used."""
        self.home = home
        self.url = url
        self.read_only = not url and is_read_only(home / CATALOGUE_FILE)
        self.locks: Locks = AdvisoryLocks(url) if url else FileLocks(home)
        self.upgraded = False
        self._copy: CatalogueCopy | None = None

    @property
    def where(self) -> str | Path:
        """What ``Catalogue.open`` takes."""
        if self.read_only and self._copy is None:
            self._copy = CatalogueCopy(self.home / CATALOGUE_FILE)
        return self._copy.path if self._copy else self.url or self.home / CATALOGUE_FILE

    def open(self, backups: BackupSettings) -> Catalogue:
        """The catalogue: made in a new home, and a file backed up before it is upgraded."""
        if self.read_only:
            return Catalogue.open(self.where)
        if self.url:
            return _on_server(self.home, self.url, self._upgrading)
        return _in_file(self.home, backups, self._upgrading)

    def _upgrading(self) -> None:
        self.upgraded = True

    def close(self) -> None:
        """Give back what it took."""
        if self._copy is not None:
            self._copy.close()
        if isinstance(self.locks, AdvisoryLocks):
            self.locks.close()


def is_unused(home: Path, url: str) -> bool:
    """Whether nothing was ever added to ``home``, as far as that shows without opening it."""
    return not url and not (home / CATALOGUE_FILE).exists() and not has_remains(home)


def _in_file(home: Path, settings: BackupSettings, upgrading: Callable[[], object]) -> Catalogue:
    path, remains = home / CATALOGUE_FILE, has_remains(home)
    state = _state(path)
    if remains and state:
        raise DamageError(
            f"the catalogue {path} is {state}, and the rest of the home is there: it is no new one",
            hint=f"'wellread verify --repair' {_what_repair_does(home)}",
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
            f"the database of catalogue.url holds no catalogue, and {home} holds what belongs to "
            "one",
            hint="'wellread backup export', then 'backup import' into a new --home, moves a "
            "base there; one that was lost comes back from the server's own backup",
        ) from error


def _state(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    if not path.exists():
        return "gone"
    return "" if path.stat().st_size else "empty"


def _what_repair_does(home: Path) -> str:
    copies = copies_in(home / BACKUPS_FOLDER)
    if copies:
        return f"takes the newest backup, of {copies[0].made_at:%Y-%m-%d %H:%M} UTC"
    return "says what can be done; there is no backup"


def made_home(home: Path) -> Path:
    """The folder of a home, whole and made when it is not there, for its owner alone.

    A home that is there keeps its rights: somebody may have opened it to others on purpose.
    """
    home = home.expanduser().absolute()
    if _UNPRINTABLE.search(str(home)):
        raise StoreError(
            f"a home cannot stand in {str(home)!r}: a folder's name holds a line break or another "
            "control character",
            hint="choose another with --home",
        )
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        try:
            home.mkdir(OWNER_ALONE)
        except FileExistsError:  # since before, or another process made it at this moment
            if not home.is_dir():
                raise
    except OSError as error:
        raise StoreError(
            f"the home {home} cannot be made: {error}", hint="choose another with --home"
        ) from error
    return home


def is_read_only(catalogue: Path) -> bool:
    """Whether there is such a file in a folder that may not be written."""
    return catalogue.is_file() and not os.access(catalogue.parent, os.W_OK)


class CatalogueCopy:
    """A copy of a catalogue, which goes when it is closed.

    Attributes:
        path: the copy.
    """

    def __init__(self, catalogue: Path) -> None:
        """Make the copy."""
        self._folder = Path(tempfile.mkdtemp(prefix="wellread-"))
        self.path = self._folder / catalogue.name
        try:
            self._fill(catalogue)
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise StoreError(
                f"the catalogue of the read-only home {catalogue.parent} cannot be copied: {error}",
                hint="check that it can be read, and that the folder for temporary files has room",
            ) from error

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fill(self, catalogue: Path) -> None:
        # Somebody else may be writing: then there is a log beside the file, which SQLite reads
        # too. Without one it would have to make it, unless it is told that nobody writes.
        logged = catalogue.with_name(f"{catalogue.name}-wal").exists()
        how = "mode=ro" if logged else "mode=ro&immutable=1"
        address = f"file:{quote(str(catalogue))}?{how}"
        with (
            closing(sqlite3.connect(address, uri=True)) as source,
            closing(sqlite3.connect(self.path)) as copy,
        ):
            source.backup(copy)


def refuse_writing(home: Path, *, read_only: bool) -> None:
    """Refuse what would change a home that may only be read."""
    if read_only:
        raise StoreError(f"the home {home} is read-only", hint=HINT)
