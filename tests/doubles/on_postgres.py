"""Runs tests that open catalogues in files on PostgreSQL: each file stands for a database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.postgres_server import Databases

from wellread.kb import home_catalogue
from wellread.kb.home_catalogue import CATALOGUE_FILE, CataloguePlace
from wellread.store.catalogue import Catalogue
from wellread.store.schema.database import Database
from wellread.store.schema.tables import metadata

URL_VARIABLE = "WELLREAD_CATALOGUE_URL"


class Placed:
    """Path of a catalogue's file to the URL of the database that stands for it."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._urls: dict[Path, str] = {}
        self._free: list[str] = []
        self._full = databases.new()
        Catalogue.open(self._full).close()

    def of(self, path: Path) -> str:
        """The URL; the database is made with the tables of today when it is asked for."""
        path = Path(os.path.abspath(path))
        if path not in self._urls:
            self._urls[path] = (
                self._free.pop() if self._free else self._databases.new(like=self._full)
            )
        return self._urls[path]

    def copied(self, source: Path, target: Path) -> None:
        """A folder was copied: so are the databases of the files in it."""
        for path, url in list(self._urls.items()):
            if path.is_relative_to(source):
                there = target / path.relative_to(source)
                self._urls[there] = self._databases.copy(url, over=self._urls.get(there, ""))

    def drop(self, folder: Path) -> None:
        """Empty the databases of the files in a folder: that is quicker than to make new ones."""
        for path in [one for one in self._urls if one.is_relative_to(folder)]:
            url = self._urls.pop(path)
            self._databases.end_connections(url)
            self._databases.empty(url, [table.name for table in metadata.sorted_tables])
            self._free.append(url)


def placed(databases: Databases) -> Iterator[Placed]:
    """Everything that opens a catalogue's file opens a database instead, in this process.

    Processes that a test starts open that of the home ``tmp_path / "home"``.
    """
    places = Placed(databases)
    init_place, init_database, copy = CataloguePlace.__init__, Database.__init__, shutil.copytree

    def at_home(self: CataloguePlace, home: Path, url: str) -> None:
        init_place(self, home, places.of(home / CATALOGUE_FILE))

    def at(self: Database, where: str | Path) -> None:
        plain = str(where).removeprefix("sqlite:///")
        init_database(self, where if "://" in plain else places.of(Path(plain)))

    def copying(source: Any, target: Any, *args: Any, **options: Any) -> Any:
        made = copy(source, target, *args, **options)
        places.copied(Path(source), Path(target))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CataloguePlace, "__init__", at_home)
        patch.setattr(Database, "__init__", at)
        patch.setattr(shutil, "copytree", copying)
        patch.setattr(home_catalogue, "is_unused", lambda _home, _url: False)
        yield places
