"""Processes for tests that begin as copies of one that has loaded the libraries: a start for free.

Loading takes one to three seconds of processor time, and dozens of tests need a process of their
own: one that is killed, one that races with this one. What is about the start of a program - what
it loads, what it prints before it works, how its interpreter was called - is no work for these.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from tests.doubles.one_thread import ONE_THREAD

FORKING = get_context("forkserver")
# Nothing that starts threads when it is loaded. ``pytest``, as children look for our main module.
FORKING.set_forkserver_preload(
    [
        "pytest",
        "wellread.ingest.run",
        "wellread.ingest.reindex",
        "wellread.ingest.integrity.verify",
        "wellread.research.research",
        "wellread.store.index.lance",
        "wellread.testing.embedding",
        "fastapi",
        "uvicorn",
        "typer",
    ]
)
PROGRAM = "from wellread.serve.cli import main; main()"  # the command
STARTED = 120.0  # seconds until a process that does not end is given up


class Forked:
    """A process that runs ``code`` as ``python -c`` does; a part of the face of ``Popen``.

    Attributes:
        stdin, stdout: text, line by line.
        returncode: None until ``communicate`` has seen its end; negative: the signal.
    """

    def __init__(self, code: str, *words: str, env: Mapping[str, str] | None = None) -> None:
        told, telling = FORKING.Pipe(duplex=False)
        hearing, heard = FORKING.Pipe(duplex=False)
        self._complaints = tempfile.NamedTemporaryFile(prefix="forked-", suffix=".txt")  # noqa: SIM115
        environ = dict(os.environ if env is None else env)
        given = (code, words, environ, told, heard, self._complaints.name)
        self.process = FORKING.Process(target=_work, args=given, daemon=True)
        self.process.start()
        self.stdin = _stream(telling, "w")
        self.stdout = _stream(hearing, "r")
        for theirs in (told, heard):
            theirs.close()
        self.returncode: int | None = None

    def communicate(self, typed: str = "") -> tuple[str, str]:
        """Type, close what it reads from, and wait for its end; what it printed and complained."""
        try:
            self.stdin.write(typed)
            self.stdin.close()
        except BrokenPipeError:  # it had ended
            pass
        said = self.stdout.read()
        self.stdout.close()
        self.process.join(STARTED)
        complained = Path(self._complaints.name).read_text(encoding="utf-8")
        self._let_go()
        return said, complained

    def terminate(self) -> None:
        """Ask it to end."""
        self.process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def wait(self, timeout: float = STARTED) -> None:
        """Until it has ended; what it printed can be read still, and is to be closed."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it does not end"
        self.stdin.close()
        self._let_go()

    def _let_go(self) -> None:
        self.returncode = self.process.exitcode
        self._complaints.close()
        self.process.close()


def run(
    code: str, *words: str, env: Mapping[str, str] | None = None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """``python -c code words``, to its end."""
    process = Forked(code, *words, env=env)
    said, complained = process.communicate(typed)
    assert process.returncode is not None, "it does not end"
    return subprocess.CompletedProcess(["-c", *words], process.returncode, said, complained)


@contextmanager
def serving(home: Path, code: str = PROGRAM) -> Iterator[str]:
    """The address of ``wellread serve`` over a home, while the block lasts."""
    env = {**os.environ, **ONE_THREAD}
    process = Forked(code, "--home", str(home), "serve", "--port", "0", env=env)
    told = re.search(r"http://\S+", process.stdout.readline())
    assert told is not None
    try:
        yield told.group()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _stream(pipe: Connection, mode: str) -> IO[str]:
    """Text of our end of a pipe."""
    stream = os.fdopen(os.dup(pipe.fileno()), mode, buffering=1, encoding="utf-8")
    pipe.close()
    return stream


def _work(
    code: str,
    words: tuple[str, ...],
    environ: dict[str, str],
    told: Connection,
    heard: Connection,
    complaints: str,
) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.dup2(told.fileno(), 0)
    os.dup2(heard.fileno(), 1)
    os.dup2(os.open(complaints, os.O_WRONLY), 2)
    for pipe in (told, heard):
        pipe.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - in place of none
    sys.argv = ["-c", *words]
    exec(compile(code, "<forked>", "exec"), {"__name__": "__main__"})
