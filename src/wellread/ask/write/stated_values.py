"""Finds the line that states an asked value: a row of a table, or a line "name: value".

The words that all lines of a window share (the names of the columns) say nothing about which one
is asked for, so words count by their rarity among the lines. Cells are told with the name of
their column ("2024 · 5 to 8 m: 130"), and an empty cell is said to be empty.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from wellread.text.english import STOP_WORDS
from wellread.text.parsed import lowercase, parse
from wellread.text.sentences import BETWEEN_CELLS, EMPTY, cells_of
from wellread.values.answers import Evidence

MAX_CELLS = 8  # told of a row when the question names no column; of more, the filled ones
MAX_TOLD_CHARS = 600
FUNCTION_WORD = 0.05  # the weight of a stop word ("over"), which only decides between equals
_NAMED_NUMBER = re.compile(
    r"(?P<name>[^\W\d_]+)\s+(?P<number>\d{1,3}(?:\.\d{1,3})*)(?![\w.,]*\d)(?:\s+(?P<next>[^\W\d_]+))?"
)


def is_row(line: str) -> bool:
    """Whether a line is a table row in the loaders' format."""
    return BETWEEN_CELLS in line.strip()


def columns_at(piece: Evidence, place: int) -> tuple[str, ...]:
    """The column names of the row at ``place`` in the document; empty outside tables."""
    marks = (mark for mark in piece.tables if mark.start <= place < mark.end)
    return next((mark.columns for mark in marks), ())


def most_stated(question: str, texts: Sequence[str], order: Sequence[int]) -> tuple[int, ...]:
    """The indexes in ``order`` of the texts that share the rarest words with ``question``.

    Several are equally good; none is when no word of the question is rarer than another's.
    """
    words = _words(question)
    bags = [frozenset(_words(text)) for text in texts]
    weights = _weights(words, bags)
    scores = {at: math.fsum(weights[word] for word in words.keys() & bags[at]) for at in order}
    most = max(scores.values(), default=0.0)
    if most < 2 * FUNCTION_WORD:
        return ()
    return tuple(at for at in order if scores[at] > most - FUNCTION_WORD / 10)


def named_numbers(question: str) -> frozenset[str]:
    """The numbers that name something in a question ("clause 2.2", "option 3"), not amounts.

    A whole number names something if no word that it could count follows.
    """
    return frozenset(
        match["number"]
        for match in _NAMED_NUMBER.finditer(question)
        if match["name"].lower() not in STOP_WORDS
        and ("." in match["number"] or (match["next"] or "is").lower() in STOP_WORDS)
    )


def told(question: str, line: str, columns: Sequence[str]) -> str:
    """The cells of a row that answer, with the names of row and column; empty if it has no names.

    The asked column is the one with the rarest words of the question. Without one the whole row
    is told.
    """
    cells = cells_of(line, columns)
    names = [*columns, *[""] * (len(cells) - len(columns))]
    words = _words(question)
    used = [bool(words.keys() & set(_words(cell))) for cell in cells]
    if len(cells) < 2 or not any(columns):
        return f"{cells[0]}: {cells[1]}" if len(cells) == 2 and used[0] else ""
    others = [at for at in range(1, len(cells)) if not used[at]]
    asked = most_stated(question, names, [at for at in range(1, len(cells)) if names[at]])
    asked = asked or (tuple(others) if len(cells) == 2 else ())
    label = ", ".join(cells[at] for at, match in enumerate(used) if match and at not in asked)
    label = label or cells[0]
    if asked and label:
        return "; ".join(f"{names[at]} · {label}: {cells[at] or EMPTY}" for at in asked)
    shown = [at for at, cell in enumerate(cells) if cell or len(cells) <= MAX_CELLS]
    text = " · ".join(
        f"{names[at]}: {cells[at] or EMPTY}" if names[at] else cells[at] for at in shown
    )
    return text if len(text) <= MAX_TOLD_CHARS else ""


def _words(text: str) -> dict[str, float]:
    """The stems of the content words with the weight 1, and the stop words with less."""
    parsed = parse(text)
    stops = {lowercase(word) for word in parsed.words} - set(parsed.terms)
    return dict.fromkeys(stops, FUNCTION_WORD) | dict.fromkeys(parsed.stems, 1.0)


def _weights(words: dict[str, float], bags: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(word for bag in bags for word in bag)
    total = len(bags)
    return {
        word: value * math.log((total + 1) / (counts[word] or total + 1))
        for word, value in words.items()
    }
