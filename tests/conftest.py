"""What every test may use."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from wellread import plugins

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


AddPackage = Callable[[Path, str, str], None]


@pytest.fixture
def add_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddPackage]:
    """Installs a package of one module for the length of a test, also for processes it starts.

    Called with the module's file, the group of its entry point, and ``name = module:attribute``.
    """
    site = tmp_path / "site-packages"
    added: list[str] = []

    def add(module: Path, group: str, point: str) -> None:
        made = site / f"{module.stem}-1.0.dist-info"
        made.mkdir(parents=True)
        (made / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module.stem}\nVersion: 1.0\n"
        )
        (made / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        shutil.copy(module, site)
        added.append(module.stem)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
        plugins.installed.cache_clear()

    yield add
    for name in added:
        sys.modules.pop(name, None)
    plugins.installed.cache_clear()
