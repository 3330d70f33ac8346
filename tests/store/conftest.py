"""With ``WELLREAD_TEST_POSTGRES`` set, these tests run on PostgreSQL (``make postgres-tests``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.doubles import on_postgres
from tests.doubles.on_postgres import URL_VARIABLE, Placed
from tests.doubles.postgres_server import VARIABLE

if os.environ.get(VARIABLE):

    @pytest.fixture(scope="session", autouse=True)
    def _placed(request: pytest.FixtureRequest) -> Iterator[Placed]:
        """Catalogues are on a server."""
        yield from on_postgres.placed(request.getfixturevalue("postgres"))

    @pytest.fixture
    def place_of(_placed: Placed) -> Callable[[Path], str]:
        """The URL of the database that stands for a file."""
        return _placed.of

    @pytest.fixture(autouse=True)
    def _dropped(
        _placed: Placed, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        """The databases of a test go with it."""
        if "tmp_path" not in request.fixturenames:
            yield
            return
        folder: Path = request.getfixturevalue("tmp_path")
        if {"subprocess", "forked"} & vars(request.module).keys():
            monkeypatch.setenv(URL_VARIABLE, _placed.of(folder / "home" / "catalogue.db"))
        yield
        _placed.drop(folder)
