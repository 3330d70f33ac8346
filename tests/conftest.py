"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# A build draws the same examples every time; everybody else draws new ones.
settings.register_profile("build", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("build")


@pytest.fixture(scope="session")
def eval_data() -> Path:
    """The folder of evaluation data; the test is skipped where there is none."""
    folder = ROOT / os.environ.get("WELLREAD_EVAL_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip(f"no evaluation data in {folder}")
    return folder.resolve()
