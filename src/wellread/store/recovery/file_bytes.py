"""Searches and copies the raw bytes of catalogue files in a separate process.

A process with an open catalogue must not open its files except through SQLite. POSIX drops all
locks of a process on a file when it closes any descriptor of it (sqlite.org, "How To Corrupt An
SQLite Database File", 2.2). The next program that opens and closes the catalogue then believes it
is the last one and deletes the write-ahead log, while the first keeps writing into the deleted
file. A child process drops only its own locks, and has none.

The request goes over standard input, because other users can read a command line.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import ahocorasick

from wellread.errors import StoreError

READ_BYTES = 1 << 23


def finder(strings: Iterable[str]) -> Callable[[str], set[str]]:
    """Return a function that finds which of many strings occur in a text, in one pass."""
    automaton = ahocorasick.Automaton()
    for string in strings:
        automaton.add_word(string, string)
    automaton.make_automaton()
    return lambda text: {string for _, string in automaton.iter(text)}


def search_files(paths: Sequence[Path], forms: Sequence[bytes]) -> list[tuple[Path, bytes]]:
    """Return the pairs of a file and a byte string found in it; missing files are skipped."""
    latin_forms = [form.decode("latin-1") for form in forms]
    pairs = _run_child({"search": [str(path) for path in paths], "forms": latin_forms})
    return [(Path(path), form.encode("latin-1")) for path, form in pairs]


def copy_file(source: Path, target: Path) -> None:
    """Copy the bytes of a file that this process may have open."""
    _run_child({"copy": [str(source), str(target)]})


def _run_child(request: dict[str, list[str]]) -> Any:
    process = subprocess.run(  # noqa: S603 - our own module, no shell
        [sys.executable, "-P", "-m", __name__],  # -P: load nothing from the working directory
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
    )
    if process.returncode:
        raise StoreError(
            f"the process that reads the files of the home failed (status {process.returncode})",
            hint="check that the machine has free memory, and try again",
        )
    reply = json.loads(process.stdout)
    if "error" in reply:
        raise StoreError(
            f"cannot read the files of the home: {reply['error']}",
            hint="check their permissions, and that the disk has free space",
        )
    return reply["found"]


def _search(paths: Iterable[str], forms: Sequence[str]) -> list[tuple[str, str]]:
    within, overlap = finder(forms), max(map(len, forms))
    return [(path, form) for path in paths for form in sorted(_in_file(path, within, overlap))]


def _in_file(path: str, within: Callable[[str], set[str]], overlap: int) -> set[str]:
    matches: set[str] = set()
    try:
        with open(path, "rb") as file:
            before = ""
            while content := file.read(READ_BYTES):
                # As Latin-1 every byte is one character, so any bytes can be searched like text.
                text = before + content.decode("latin-1")
                matches |= within(text)
                before = text[-overlap:]
    except FileNotFoundError:
        pass  # replaced by a writer meanwhile
    return matches


def main() -> None:
    """Run the request from standard input, and write its result to standard output."""
    request = json.load(sys.stdin)
    try:
        if "copy" in request:
            shutil.copyfile(*request["copy"])
            reply: dict[str, object] = {"found": []}
        else:
            reply = {"found": _search(request["search"], request["forms"])}
    except OSError as error:
        reply = {"error": str(error)}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()
