"""A parser process has no keys and no network, whatever a file makes it do."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ingest.pipeline import workers
from wellread.ingest.pipeline.parse import ParseRequest
from wellread.ingest.pipeline.worker import parser_environment
from wellread.ingest.pipeline.workers import WorkerPool, end_idle

LINUX = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
PREPARED = "from wellread.ingest.pipeline.worker import close_network; print(close_network());"


@pytest.fixture
def listener() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made.getsockname()[1]


def confined(code: str) -> list[str]:
    """What a program that was cut off prints."""
    ran = subprocess.run(
        [sys.executable, "-c", PREPARED + code], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


def test_no_variable_with_a_key_is_passed_on() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "a", "lang": "en"}
    keys = {"OPENAI_API_KEY": "k", "AWS_SECRET_ACCESS_KEY": "k", "WELLREAD_EMBEDDING_URL": "u"}
    assert parser_environment({**given, **keys}) == given


@pytest.mark.skipif(not LINUX, reason="looks at the process as Linux shows it")
def test_a_running_parser_has_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    end_idle()
    monkeypatch.setenv("CANARY_API_KEY", "sk-canary")
    request = ParseRequest(uri="file:///a.md", name="a.md", collection="c")
    with WorkerPool(seconds=60, memory=0, workers=1) as pool:
        assert pool.submit(request, b"# Ferry\n\nIt sails.\n").result().status == "parsed"
        (worker,) = workers._idle
        folder = Path(f"/proc/{worker._process.pid}")
        assert b"canary" not in (folder / "environ").read_bytes()
        status = (folder / "status").read_text()
    end_idle()
    assert "Seccomp:\t2" in status
    assert "NoNewPrivs:\t1" in status


ATTEMPTS = {
    "connect": "socket.create_connection(('127.0.0.1', {port}))",
    "look up": "socket.getaddrinfo('localhost', {port})",
    "datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'a', ('127.0.0.1', 9))",
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "unix": "socket.socket(socket.AF_UNIX).connect('/run/docker.sock')",
    "fetch": "urllib.request.urlopen('http://127.0.0.1:{port}/')",
}


@pytest.mark.skipif(os.name == "nt", reason="no Unix sockets")
def test_python_is_refused_sockets(listener: int) -> None:
    lines = ["import socket, urllib.request\n"]
    for attempt in ATTEMPTS.values():
        said = attempt.format(port=listener)
        lines.append(
            f"try: {said}\nexcept OSError as e: print('no' if 'no network' in str(e) or "
            f"e.errno == 13 else 'odd')\nelse: print('yes')\n"
        )
    lines.append("a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1).decode())\n")
    assert confined("\n" + "".join(lines))[1:] == ["no"] * len(ATTEMPTS) + ["x"]


@pytest.mark.skipif(not LINUX, reason="only Linux filters system calls")
def test_native_code_and_other_programs_are_refused_them_too() -> None:
    code = (
        "import ctypes, subprocess, sys;"
        "c = ctypes.CDLL(None, use_errno=True);"
        "print(*[c.socket(family, 1, 0) for family in (1, 2, 10, 16)], ctypes.get_errno());"
        "inner = 'import socket\\ntry: socket.socket()\\nexcept OSError as e: print(e.errno)';"
        "print(subprocess.run([sys.executable, '-c', inner], capture_output=1, text=1).stdout)"
    )
    assert confined(code) == ["True", "-1", "-1", "-1", "-1", "13", "13"]
