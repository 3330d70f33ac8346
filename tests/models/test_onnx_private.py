"""onnxruntime leaves nothing behind and sends nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def test_importing_it_notes_no_id_of_the_machine(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", "import wellread.models.onnx_runtime"],
        env={**kept, **homes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*")) == []


def test_nothing_imports_it_in_another_way() -> None:
    source = Path(__file__).parents[2] / "src"
    importing = [
        path.name
        for path in source.rglob("*.py")
        if re.search(
            r"^(import|from) onnxruntime\b", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert importing == ["onnx_runtime.py"]
