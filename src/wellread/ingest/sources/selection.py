"""Which sources are looked at, of all that inputs stand for: a choice by uri, and what is ignored.

As with git, a ``.wellreadignore`` may stand in every folder; its patterns are relative to it, and
the innermost file that says something about a path decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

from wellread.errors import SourceError

_FILE = "file://"


class Selection:
    """Sources by uri. A folder's uri stands for everything below it, there or not any more.

    Args:
        uris: ``file:`` uris of files and folders, and web addresses.
    """

    def __init__(self, uris: Iterable[str]) -> None:
        self._chosen = frozenset(uris)
        self._above = frozenset(above for uri in self._chosen for above in _above(uri))

    def covers(self, uri: str) -> bool:
        """Whether ``uri`` was chosen, or a folder that it lies in."""
        return uri in self._chosen or any(above in self._chosen for above in _above(uri))

    def leads_to(self, folder: str) -> bool:
        """Whether something chosen is the folder itself, or in it, or around it."""
        return folder in self._above or self.covers(folder)


def _above(uri: str) -> Iterator[str]:
    """The uris of the folders that a file lies in, innermost first."""
    if not uri.startswith(_FILE):
        return
    place = uri.rstrip("/").rfind("/")
    while place >= len(_FILE):
        yield uri[: max(place, len(_FILE) + 1)]
        place = uri.rfind("/", 0, place)


IGNORE_FILE = ".wellreadignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """What is left out of one folder.

    Attributes:
        below: the folder's path below the input, ending in a slash (empty for the input itself).
        rules: patterns with the ``below`` of the folder they stand in, innermost first.
    """

    below: str = ""
    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def by_settings(cls, exclude: Sequence[str], uri: str) -> Self:
        """The start, at an input: only what the settings say.

        Raises:
            SourceError: a pattern is wrong.
        """
        return cls(rules=(("", _compile(exclude, uri, "sources.exclude")),) if exclude else ())

    def inside(self, below: str, folder: Path, uri: str, *, own: bool) -> Self:
        """The same one folder further in.

        Args:
            own: whether the folder holds an ignore file.

        Raises:
            SourceError: its own patterns cannot be read. It is not read without them, since they
                may keep private files out.
        """
        rules = self.rules
        if own:
            rules = ((below, _own_rules(folder, uri)), *rules)
        return type(self)(below=below, rules=rules)

    def leaves_out(self, name: str) -> bool:
        """Whether the entry ``name`` of this folder (with a slash when a folder) is left out."""
        if name == IGNORE_FILE:
            return True
        path = self.below + name
        for base, spec in self.rules:
            decided = spec.check_file(path[len(base) :]).include
            if decided is not None:
                return decided
        return False


def _own_rules(folder: Path, uri: str) -> GitIgnoreSpec:
    try:
        text = (folder / IGNORE_FILE).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SourceError(f"{uri}/{IGNORE_FILE}", f"cannot be read: {error.strerror}") from error
    return _compile(text.splitlines(), uri, IGNORE_FILE)


def _compile(patterns: Iterable[str], uri: str, where: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(patterns)
    except (ValueError, re.error) as error:
        raise SourceError(uri, f"not read: a pattern of {where} is wrong: {error}") from error
