"""The bound on the C library's arenas."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from wellread.store.index.lancedb_import import bound_arenas

# Every thread allocates while all others live, so that each would have an arena of its own.
COUNTING = """
import ctypes, sys, threading
if sys.argv[1] == "bound":
    import wellread.store.index.lancedb_import
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(6)
def work():
    together.wait()
    for _ in range(200):
        assert libc.malloc(ctypes.c_size_t(600))
    together.wait()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
assert libc.malloc_info(0, file) == 0
libc.fclose(file)
"""


def arenas(folder: Path, how: str) -> int:
    """How many arenas a process of its own ends with."""
    told = folder / f"{how}.xml"
    subprocess.run([sys.executable, "-c", COUNTING, how, str(told)], check=True, env={})
    return told.read_text().count("<heap nr=")


def test_threads_share_two_arenas(tmp_path: Path) -> None:
    if platform.libc_ver()[0] != "glibc":
        assert not bound_arenas()
        return
    assert arenas(tmp_path, "bound") <= 2
    assert arenas(tmp_path, "free") > 2


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert not bound_arenas()
