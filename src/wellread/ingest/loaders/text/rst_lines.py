"""Where the blocks of a reStructuredText file stand in it.

docutils is off by some lines for titles (it gives the line below them), for directives, and for
what is nested in them. So the words of a block are looked for around the line that it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from docutils import nodes

ALIKE = 5  # lines of code that are compared to find its place
NEAR = 12  # lines around the parser's guess in which words are looked for

_WORD = re.compile(r"\w+")


class SourceLines:
    """The lines of a source file, and look-ups in them. Lines are counted from 1."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def of(self, node: nodes.Element, words: str, *, verbatim: bool = False) -> int | None:
        """The line on which a block begins; None when the parser gives no hint.

        Args:
            words: its text.
            verbatim: the text stands in the file as it is, line by line.
        """
        given: nodes.Element | None = node
        while given is not None and given.line is None:
            given = given.parent
        if given is None:
            return None
        lines = words.split("\n")
        if verbatim and (found := self._block(int(given.line), lines[:ALIKE])):
            return found
        return self.near(int(given.line), lines[:1])

    def near(self, line: int, texts: Sequence[str]) -> int | None:
        """The line next to ``line`` that holds the first word of each text."""
        for at in _around(line):
            if self._holds(at, texts):
                return at
        return line if 1 <= line <= len(self._lines) else None

    def below(self, line: int, texts: Sequence[str]) -> int:
        """The first line after ``line`` that holds the first word of each text; else ``line``."""
        after = range(line + 1, line + 1 + NEAR)
        return next((at for at in after if self._holds(at, texts)), line)

    def _block(self, line: int, lines: Sequence[str]) -> int | None:
        for at in _around(line):
            there = self._lines[at - 1 : at - 1 + len(lines)] if at > 0 else ()
            if len(there) == len(lines) and all(
                a.strip() in b for a, b in zip(lines, there, strict=True)
            ):
                return at
        return None

    def _holds(self, line: int, texts: Sequence[str]) -> bool:
        if not 1 <= line <= len(self._lines):
            return False
        written = self._lines[line - 1]
        there = set(_WORD.findall(written))
        firsts = ((_WORD.search(text), text) for text in texts)
        return all(word.group() in there if word else text in written for word, text in firsts)


def _around(line: int) -> Iterator[int]:
    """Line numbers, the nearest first."""
    yield line
    for distance in range(1, NEAR + 1):
        yield from (line - distance, line + distance)
