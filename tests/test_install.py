"""A real installation with the oldest pip that ensurepip of Python 3.11 brings.

It needs a package index, so it runs only where ``WELLREAD_INSTALL`` is set (docs: CONTRIBUTING).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OLDEST = "22.3"  # Python 3.11.0 brings it; 3.11.7 brings 23.2.1
EVERYTHING = "import wellread.facade, wellread.serve.api.app, wellread.ingest.loaders.html.html"


@pytest.mark.skipif("WELLREAD_INSTALL" not in os.environ, reason="needs a package index")
@pytest.mark.parametrize("pip", [OLDEST, "23.2.1"])
def test_an_old_pip_installs_all_that_is_needed(tmp_path: Path, pip: str) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", f"pip=={pip}"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], check=True)
    subprocess.run([python, "-c", EVERYTHING], check=True, cwd=tmp_path)
    subprocess.run([python, "-m", "pip", "check"], check=True)
