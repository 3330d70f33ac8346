"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def eval_data() -> Path:
    """The folder of evaluation data; the test is skipped where there is none."""
    folder = ROOT / os.environ.get("WELLREAD_EVAL_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip(f"no evaluation data in {folder}")
    return folder.resolve()
