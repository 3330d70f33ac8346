"""What tests of the stores begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.store.catalogue import Catalogue


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    """An empty catalogue in a file, ``catalogue.db``."""
    opened = Catalogue.open(tmp_path / "catalogue.db")
    yield opened
    opened.close()
