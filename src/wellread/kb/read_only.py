"""A home that may only be read can be asked: its catalogue is copied to a temporary folder.

Asking writes (the answer, what it cost, what was asked before), and SQLite needs a place for its
locks. All of that goes to the copy and ends with the program; the index is read where it is.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from wellread.errors import StoreError
from wellread.store.locks import HINT


def is_read_only(catalogue: Path) -> bool:
    """Whether there is such a file in a folder that may not be written."""
    return catalogue.is_file() and not os.access(catalogue.parent, os.W_OK)


class CatalogueCopy:
    """A copy of a catalogue, which goes when it is closed.

    Attributes:
        path: the copy.
    """

    def __init__(self, catalogue: Path) -> None:
        """Make the copy.

        Raises:
            StoreError: the catalogue cannot be read, or there is no room for the copy.
        """
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
    """Refuse what would change a home that may only be read.

    Raises:
        StoreError: it is such a home.
    """
    if read_only:
        raise StoreError(f"the home {home} is read-only", hint=HINT)
