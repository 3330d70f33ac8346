"""Finds the files that a list of paths, folders and globs stands for."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from pathspec import GitIgnoreSpec

from wellread.errors import SourceError

IGNORE_FILE = ".wellreadignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that is there, with what tells whether it changed (bytes, nanoseconds)."""

    path: Path
    uri: str
    size: int
    mtime_ns: int


def find_files(inputs: Sequence[str], exclude: Sequence[str]) -> list[FoundFile | SourceError]:
    """Every file of ``inputs``, each once, sorted by path; what is not there as an error.

    Folders are read recursively without following links to folders (so a loop ends), leaving out
    ``exclude`` and the patterns of a ``.wellreadignore`` in the folder (form of .gitignore). A
    file that is named itself is always read.
    """
    found: dict[str, FoundFile | SourceError] = {}
    for given in inputs:
        for item in _expand(given, exclude):
            found.setdefault(item.uri, item)
    return [found[uri] for uri in sorted(found)]


def _expand(given: str, exclude: Sequence[str]) -> Iterator[FoundFile | SourceError]:
    if "://" in given and not given.startswith("file://"):
        yield SourceError(given, "adding from the web is not there yet; save it and add the file")
        return
    # os.path, not Path: its questions answer no, where Path raises for a name that is too long.
    path = Path(os.path.expanduser(_local(given)))
    if os.path.isdir(path):
        yield from _walk(path, exclude)
    elif os.path.lexists(path):
        yield _stat(path)
    elif glob.has_magic(given):
        matches = sorted(glob.glob(str(path), recursive=True))
        if not matches:
            yield SourceError(given, "nothing matches this pattern")
        for match in matches:
            yield from _expand_match(Path(match), exclude)
    else:
        yield SourceError(given, "there is no such file or folder")


def _local(given: str) -> str:
    """The path that ``given`` names; a ``file:`` address is percent-decoded."""
    if not given.startswith("file://"):
        return given
    return os.fsdecode(unquote_to_bytes(given.removeprefix("file://")))


def _expand_match(path: Path, exclude: Sequence[str]) -> Iterator[FoundFile | SourceError]:
    if path.is_dir():
        yield from _walk(path, exclude)
    else:
        yield _stat(path)


def _walk(root: Path, exclude: Sequence[str]) -> Iterator[FoundFile | SourceError]:
    try:
        spec = _ignored(root, exclude)
    except SourceError as error:
        yield error
        return
    unreadable: list[SourceError] = []

    def refuse(error: OSError) -> None:
        where = Path(error.filename or root)
        unreadable.append(SourceError(_uri(where), f"cannot be opened: {error.strerror}"))

    for folder, folders, files in os.walk(root, onerror=refuse):
        here = Path(folder)
        below = here.relative_to(root)
        folders[:] = sorted(
            name for name in folders if not spec.match_file(f"{(below / name).as_posix()}/")
        )
        for name in sorted(files):
            if not spec.match_file((below / name).as_posix()):
                yield _stat(here / name)
    yield from unreadable


def _ignored(root: Path, exclude: Sequence[str]) -> GitIgnoreSpec:
    """What is left out below ``root``.

    Raises:
        SourceError: the folder's own patterns cannot be read. It is not added without them, since
            they may keep private files out.
    """
    patterns = [*exclude]
    own = root / IGNORE_FILE
    try:
        if own.is_file():
            patterns += own.read_text(encoding="utf-8", errors="replace").splitlines()
        return GitIgnoreSpec.from_lines([*patterns, IGNORE_FILE])
    except OSError as error:
        raise SourceError(_uri(own), f"cannot be read: {error.strerror}") from error
    except (ValueError, re.error) as error:
        reason = f"not read: a pattern of {IGNORE_FILE} or of sources.exclude is wrong: {error}"
        raise SourceError(_uri(root), reason) from error


def _stat(path: Path) -> FoundFile | SourceError:
    uri = _uri(path)
    try:
        status = path.stat()
    except OSError as error:
        return SourceError(uri, f"cannot be opened: {error.strerror}")
    if not path.is_file():
        return SourceError(uri, "not a regular file")
    return FoundFile(path=path, uri=uri, size=status.st_size, mtime_ns=status.st_mtime_ns)


def _uri(path: Path) -> str:
    # Lone surrogates (names that are not UTF-8) are percent-encoded by as_uri through os.fsencode.
    return Path(os.path.abspath(path)).as_uri()
