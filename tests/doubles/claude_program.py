"""A stand-in for the ``claude`` command line: a small program that does what a script says.

It keeps conversations in a file beside itself, the way the real one does: an id that it knows
cannot be begun again, one that it does not know cannot be resumed.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = r"""
import json, os, signal, subprocess, sys, time

here = os.path.dirname(os.path.abspath(__file__))
given = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
call = {
    "arguments": [a.encode("utf-8", "surrogateescape").decode("utf-8") for a in sys.argv[1:]],
    "given": given,
    "folder": os.getcwd(),
    "files": os.listdir("."),
    "environ": dict(os.environ),
    "pid": os.getpid(),
}
with open(os.path.join(here, "calls.jsonl"), "a", encoding="utf-8") as file:
    file.write(json.dumps(call) + "\n")

known = os.path.join(here, "conversations")
ids = open(known).read().split() if os.path.exists(known) else []
for place, argument in enumerate(sys.argv):
    if argument == "--session-id":
        if sys.argv[place + 1] in ids:
            sys.exit("Error: Session ID " + sys.argv[place + 1] + " is already in use.")
        with open(known, "a") as file:
            file.write(sys.argv[place + 1] + "\n")
    if argument == "--resume" and sys.argv[place + 1] not in ids:
        sys.exit("No conversation found with session ID: " + sys.argv[place + 1])

for step, value in json.load(open(os.path.join(here, "steps.json"), encoding="utf-8")):
    if step == "write":
        sys.stdout.buffer.write(bytes.fromhex(value))
        sys.stdout.buffer.flush()
    elif step == "complain":
        sys.stderr.write(value)
        sys.stderr.flush()
    elif step == "wait":
        time.sleep(value)
    elif step == "deafen":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif step == "spawn":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(os.path.join(here, "child"), "w") as file:
            file.write(str(child.pid))
    elif step == "exit":
        sys.exit(value)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One run of the program: its arguments, what it read, where it ran, and its environment."""

    arguments: list[str]
    given: str
    folder: str
    files: list[str]
    environ: dict[str, str]
    pid: int


class ClaudeProgram:
    """The program in a folder of its own. POSIX only: it starts by its first line.

    Example::

        program = ClaudeProgram(tmp_path, [write("Blue.")])
        settings = GenerationSettings(model="claude-cli", command=str(program.path))
    """

    def __init__(self, folder: Path, steps: Sequence[tuple[str, Any]]) -> None:
        self.path = folder / "claude"
        self._folder = folder
        source = folder / "claude.py"
        source.write_text(SOURCE, encoding="utf-8")
        command = shlex.join([sys.executable, "-S", str(source)])
        self.path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        self.path.chmod(0o700)
        self.does(steps)

    def does(self, steps: Sequence[tuple[str, Any]]) -> None:
        """What it does from its next run on."""
        (self._folder / "steps.json").write_text(json.dumps(steps), encoding="utf-8")

    @property
    def calls(self) -> list[Call]:
        """Its runs so far."""
        path = self._folder / "calls.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [Call(**json.loads(line)) for line in lines]

    @property
    def child(self) -> int:
        """The process id of what it spawned last."""
        return int((self._folder / "child").read_text())


def write(text: str | bytes) -> tuple[str, str]:
    """The step that writes to the standard output."""
    return "write", (text.encode() if isinstance(text, str) else text).hex()


def complain(text: str) -> tuple[str, str]:
    """The step that writes to the standard error."""
    return "complain", text


def wait(seconds: float) -> tuple[str, float]:
    """The step that does nothing for a while."""
    return "wait", seconds


def leave(status: int) -> tuple[str, int]:
    """The step that ends the program."""
    return "exit", status


DEAFEN = ("deafen", None)
SPAWN = ("spawn", None)
