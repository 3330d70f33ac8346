"""Reads the bytes of files in a process of its own, which opens nothing else.

A process that has a catalogue open never opens its files in another way than SQLite. POSIX drops
all locks that a process holds on a file when it closes any descriptor of it (sqlite.org, "How To
Corrupt An SQLite Database File", 2.2). The next program that opens and closes the catalogue then
takes itself for the last one and deletes the write-ahead log, while the first goes on writing into
the deleted file. The child's closes drop its own locks only, and it has none.

What is asked goes over standard input: the words of a command line can be read by other users.
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


def finder(wanted: Iterable[str]) -> Callable[[str], set[str]]:
    """What finds those of many words that stand in a text, at once."""
    automaton = ahocorasick.Automaton()
    for words in wanted:
        automaton.add_word(words, words)
    automaton.make_automaton()
    return lambda text: {words for _, words in automaton.iter(text)}


def search_files(paths: Sequence[Path], forms: Sequence[bytes]) -> list[tuple[Path, bytes]]:
    """Which of the files hold which of the forms, byte for byte; a file that is gone holds none."""
    asked = [form.decode("latin-1") for form in forms]
    found = _in_child({"search": [str(path) for path in paths], "forms": asked})
    return [(Path(path), form.encode("latin-1")) for path, form in found]


def copy_file(source: Path, target: Path) -> None:
    """Copy the bytes of a file that may be open here."""
    _in_child({"copy": [str(source), str(target)]})


def _in_child(asked: dict[str, list[str]]) -> Any:
    done = subprocess.run(  # noqa: S603 - our own module, no shell
        [sys.executable, "-P", "-m", __name__],  # nothing is loaded from where it was started
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise StoreError(
            f"the process that reads the files of the home failed (status {done.returncode})",
            hint="check that the machine has memory left, and try again",
        )
    told = json.loads(done.stdout)
    if "error" in told:
        raise StoreError(
            f"cannot read the files of the home: {told['error']}",
            hint="check their permissions, and that the disk has room",
        )
    return told["found"]


def _search(paths: Iterable[str], forms: Sequence[str]) -> list[tuple[str, str]]:
    within, overlap = finder(forms), max(map(len, forms))
    return [(path, form) for path in paths for form in sorted(_in_file(path, within, overlap))]


def _in_file(path: str, within: Callable[[str], set[str]], overlap: int) -> set[str]:
    found: set[str] = set()
    try:
        with open(path, "rb") as file:
            before = ""
            while content := file.read(READ_BYTES):
                # As Latin-1 every byte is one character, so any bytes can be searched like text.
                text = before + content.decode("latin-1")
                found |= within(text)
                before = text[-overlap:]
    except FileNotFoundError:
        pass  # replaced by a writer meanwhile
    return found


def main() -> None:
    """Do what standard input asks for, and say on standard output what came of it."""
    asked = json.load(sys.stdin)
    try:
        if "copy" in asked:
            shutil.copyfile(*asked["copy"])
            told: dict[str, object] = {"found": []}
        else:
            told = {"found": _search(asked["search"], asked["forms"])}
    except OSError as error:
        told = {"error": str(error)}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
