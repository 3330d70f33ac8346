"""The program as a person runs it: processes, a real port, the packaged model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.conftest import PlaceModel
from tests.doubles import forked
from tests.doubles.one_thread import ONE_THREAD

from wellread.ingest.run import add
from wellread.kb import open_kb

pytestmark = pytest.mark.sqlite_only  # its processes open the home by themselves
PROGRAM = (sys.executable, "-m", "wellread.serve.cli")
HEAVY = ("numpy", "lancedb", "sqlalchemy", "onnxruntime", "fastapi", "httpx")


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        **ONE_THREAD,
        "WELLREAD_HOME": str(home),
        "COLUMNS": "100",
        "PYTHONUTF8": "1",
    }


def wellread(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words],
        env=environment(home),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_help_and_version_load_nothing_heavy(tmp_path: Path) -> None:
    check = (
        "import sys\n"
        "from wellread.serve.cli import app\n"
        "for words in (['--help'], ['--version'], ['frobnicate']):\n"
        "    try:\n"
        "        app(words)\n"
        "    except SystemExit as stop:\n"
        "        assert stop.code == 2 * (words == ['frobnicate'])\n"
        f"print('loaded', *set({HEAVY!r}) & set(sys.modules))\n"
        "print('loaded', *(name for name in sys.modules if name.endswith('_cli')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert "No such command 'frobnicate'" in done.stderr
    assert "Usage:" in done.stdout
    assert re.findall(r"^loaded.*$", done.stdout, re.MULTILINE) == ["loaded", "loaded"]
    assert re.search(r"^wellread \d+\.\d+", done.stdout, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, town: Path, place_model: PlaceModel) -> Path:
    """A home that was filled with the model that comes with the package."""
    home = tmp_path_factory.mktemp("process") / "a home"
    place_model(home)
    with open_kb(home) as kb:
        add(kb, [str(town)])
    return home


def test_ask_with_the_packaged_model(filled: Path) -> None:
    asked = wellread(filled, "ask", "What did the ferry Osprey cost?", "--json")
    assert asked.returncode == 0, asked.stderr
    assert "2.6 million euros" in json.loads(asked.stdout)["answer"]
    assert asked.stderr == ""


# Interrupts the process by a real signal when the module of that name is imported, or anything in
# a thread.
INTERRUPTING = """
import os, signal, sys, threading

signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it

def hook(event, args, at=[os.environ["INTERRUPTED_AT"]]):
    if event == "import" and at:
        threaded = threading.current_thread() is not threading.main_thread()
        if at[0] == ("a thread" if threaded else args[0]):
            at.clear()
            os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(hook)
"""


@pytest.mark.parametrize("moment", ["typer", "a thread"])
def test_an_interrupt_while_it_starts_is_one_line(
    filled: Path, tmp_path: Path, moment: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING, encoding="utf-8")
    known = {"INTERRUPTED_AT": moment, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*PROGRAM, "ask", "What did the ferry Osprey cost?"],
        env={**environment(filled), **known},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


@pytest.fixture(scope="module")
def server(filled: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``wellread serve`` on a free port over the material; the last test ends it."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", "--json"],
        env=environment(filled),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    told = ""
    for line in process.stdout:  # ends when the process does
        told += line
        if line == "}\n":
            break
    try:
        yield json.loads(told)["url"], process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_stream_over_a_real_socket(server: tuple[str, subprocess.Popen[str]]) -> None:
    url, _ = server
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    body = {"question": "What did the ferry Osprey cost?", "stream": True}
    names: list[str] = []
    data = ""
    with (
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("POST", f"{url}/api/ask", json=body) as response,
    ):
        assert response.status_code == 200
        assert response.headers["transfer-encoding"] == "chunked"
        for line in response.iter_lines():
            if line.startswith("event: "):
                names.append(line.removeprefix("event: "))
            elif line.startswith("data: "):
                data = line.removeprefix("data: ")
    assert names[0] == "step"
    assert names[-1] == "final"
    answer = json.loads(data)
    with httpx.Client(trust_env=False, timeout=60, base_url=url) as client:
        view = client.get(answer["citations"][0]["viewUrl"])
        assert view.status_code == 200
        assert 'id="cited"' in view.text
        assert client.post("/api/ask", content=b"x" * 2_000_000).status_code == 413
        assert client.get("/healthz").json()["documents"] == 3


def test_a_port_that_is_taken_is_told(
    filled: Path, server: tuple[str, subprocess.Popen[str]]
) -> None:
    words = ("serve", "--port", server[0].rpartition(":")[2])
    done = forked.run(forked.PROGRAM, *words, env=environment(filled))
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_is_a_clean_end(server: tuple[str, subprocess.Popen[str]]) -> None:
    _, process = server
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    # 0 where the tests themselves run with interrupts ignored, as in a shell's background.
    assert process.returncode in (0, 130)
    assert "Traceback" not in err
