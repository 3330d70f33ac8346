"""Writes one result file per run: what was measured, by which command, commit and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.paths import RESULTS, ROOT


def save(name: str, figures: Mapping[str, Any]) -> Path:
    """Write ``results/<name>.json``; the file of an earlier run of that name is replaced."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(provenance() | dict(figures), indent=1) + "\n", encoding="utf-8")
    return path


def load(name: str) -> dict[str, Any] | None:
    """The result file ``name``, or None when that was not measured yet."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def names(prefix: str) -> list[str]:
    """The names of all result files that start with ``prefix``, sorted."""
    return sorted(path.stem for path in RESULTS.glob(f"{prefix}*.json"))


def provenance() -> dict[str, str]:
    """When, by which command, from which commit, on which machine and how busy it was."""
    module = Path(sys.argv[0]).stem
    return {
        "command": " ".join(["python -m", f"benchmarks.{module}", *sys.argv[1:]]),
        "commit": commit(),
        "machine": f"{machine()}, load {os.getloadavg()[0]:.1f} over the last minute",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def memory_of(process: int) -> dict[str, int]:
    """Resident memory of a process in mebibytes: now (``VmRSS``) and at its peak (``VmHWM``).

    ``ru_maxrss`` is at least what the process had that started this one.
    """
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":") for line in lines if line.startswith(("VmRSS", "VmHWM")))
    return {name: int(value.split()[0]) >> 10 for name, value in pairs}


def commit() -> str:
    """The short commit, with ``+`` when the working tree differs from it."""
    short = _git("rev-parse", "--short", "HEAD") or "unknown"
    return short + ("+" if _git("status", "--porcelain") else "")


def machine() -> str:
    """Processor, cores, memory, Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {cores} cores, {_memory()}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    info = Path("/proc/meminfo")
    if info.exists():
        first = info.read_text(encoding="utf-8").splitlines()[0]
        return f"{int(first.split()[1]) / 1024**2:.0f} GiB memory"
    return "memory unknown"
