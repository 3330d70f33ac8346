"""A text in the form in which names are looked for, with the way back to every character.

Case, Unicode forms, hyphens and the width of white space do not count. Folding may change the
length (``ß`` becomes ``ss``, two spaces become one), so places are led back by ``span``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

from wellread.types import Span

HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")
_QUOTES = {"‘": "'", "’": "'", "ʼ": "'"}
BREAK = "\n"  # stands for a blank line; no name has one


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A folded text.

    Attributes:
        starts, originals: where each stretch begins, in the folded and in the original text.
        lengths: of a stretch that folding made longer or shorter, its original length; -1 for a
            stretch whose characters stand for one each.
    """

    text: str
    starts: list[int]
    originals: list[int]
    lengths: list[int]

    def span(self, start: int, end: int) -> Span | None:
        """Where ``text[start:end]`` (not empty) stands in the original; None inside a character."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        inside = start - self.starts[first]
        if inside and self.lengths[first] >= 0:
            return None
        if self.lengths[last] < 0:
            finish = self.originals[last] + end - self.starts[last]
        elif last + 1 == len(self.starts) or self.starts[last + 1] > end:
            return None
        else:
            finish = self.originals[last] + self.lengths[last]
        return Span(start=self.originals[first] + inside, end=finish)


def fold(text: str) -> Folded:
    """``text`` folded, character by character; runs of white space become one space."""
    table = {char: _fold_character(char) for char in set(text)}
    uneven = "".join(char for char, plain in table.items() if len(plain) != 1)
    special = re.compile(rf"[{re.escape(uneven)}]|\s\s+" if uneven else r"\s\s+")
    mapping = str.maketrans({char: plain for char, plain in table.items() if plain != char})
    pieces: list[str] = []
    starts, originals, lengths = [0], [0], [-1]
    length = place = 0
    for found in special.finditer(text):
        begin, end = found.span()
        pieces.append(text[place:begin].translate(mapping))
        length += begin - place
        run = found.group()
        plain = table[run] if len(run) == 1 else BREAK if run.count("\n") > 1 else " "
        pieces.append(plain)
        starts += (length, length + len(plain))
        originals += (begin, end)
        lengths += (end - begin, -1)
        length += len(plain)
        place = end
    pieces.append(text[place:].translate(mapping))
    # The end is a stretch of its own, so that the last one is known to be over.
    starts.append(length + len(text) - place)
    originals.append(len(text))
    lengths.append(-1)
    return Folded(text="".join(pieces), starts=starts, originals=originals, lengths=lengths)


def _fold_character(char: str) -> str:
    """What one character folds to; nothing for one that is not seen (a soft hyphen)."""
    if char.isspace() or char in HYPHENS:
        return " "
    if char in _QUOTES:
        return "'"
    if unicodedata.category(char) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", char).casefold()
    return " ".join(unicodedata.normalize("NFKD", plain).split())
