"""Printed lines joined into paragraphs, with pages, boxes, headings, and the abstract."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import TextBuilder
from wellread.ingest.loaders.pdf.pdf_headings import Heading
from wellread.ingest.loaders.pdf.pdf_rows import SIGN, Row, usual_size
from wellread.types import HeadingMark, Mark

SUMMARY_CHARACTERS = 3_000
ABSTRACT_WITHIN = 20_000  # characters from the start
INDENTED = 0.012  # share of the width
EVEN = 1.5  # the widest gap to the narrowest, between the words of a stretched line
CELLS_ALIKE = 0.006  # share of the width by which the second cells of two rows may differ

_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪‣◦●■□☐–\uf0b7]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_REFERENCES = re.compile(r"(?:references|bibliography|literature)\W*$", re.I)
_ABSTRACT = re.compile(r"abstract\s*(?:[.:—–-]\s*|$)", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperText:
    """A paper's text with its marks, and its abstract."""

    text: str
    marks: tuple[Mark, ...]
    abstract: str


def paper_text(rows: Sequence[Row], headings: Mapping[int, Heading]) -> PaperText:
    """Text, marks and abstract. A hyphen at a line's end goes when the word is known without."""
    breaks = _Breaks(rows, headings)
    words = plain.whole_words([row.text for row in rows])
    builder = TextBuilder()
    path: list[tuple[int, str]] = []
    page = 0
    for number, row in enumerate(rows):
        if row.page != page:
            page = row.page
            builder.page(page)
        heading = headings.get(number)
        if heading is not None and heading.level:
            name = joined_words(rows[number : number + heading.rows])
            path = [*(step for step in path if step[0] < heading.level), (heading.level, name)]
            builder.heading(tuple(one for _, one in path))
        last = number + 1 == len(rows)
        apart = last or breaks.before(number + 1)
        gap = _write_row(builder, row, "" if apart else rows[number + 1].text, words)
        builder.add("" if last else plain.PARAGRAPH if apart else gap)
    text, marks = builder.build()
    return PaperText(text=text, marks=marks, abstract=_abstract(text, marks))


def joined_words(rows: Sequence[Row]) -> str:
    """The words of a title or heading in one line."""
    words = " ".join(row.text for row in rows)
    return words.replace(f"{plain.BROKEN} ", "").replace(plain.BROKEN, "-")


def _write_row(builder: TextBuilder, row: Row, after: str, words: Mapping[str, int]) -> str:
    """Write the pieces with their boxes; what stands between the row and the text ``after``."""
    gap = ""
    for number, piece in enumerate(row.pieces, 1):
        if number < len(row.pieces):
            builder.box(builder.add(piece.text.replace(plain.BROKEN, "-")), row.page, piece.box)
            builder.add(" ")
        else:
            text, gap = plain.join_lines(piece.text, after, words)
            builder.box(builder.add(text), row.page, piece.box)
    return gap


def _abstract(text: str, marks: Sequence[Mark]) -> str:
    """What stands under the heading "Abstract", or the paragraph that begins with the word."""
    for mark in marks:
        if isinstance(mark, HeadingMark) and _ABSTRACT.match(mark.path[-1]):
            _, _, below = text[mark.start : mark.end].partition(plain.PARAGRAPH)
            return below.strip()[:SUMMARY_CHARACTERS]
    for paragraph in text[:ABSTRACT_WITHIN].split(plain.PARAGRAPH):
        named = _ABSTRACT.match(paragraph)
        if named and len(paragraph) > 2 * len(named.group()):
            return paragraph[named.end() :].strip()[:SUMMARY_CHARACTERS]
    return ""


class _Breaks:
    """Where paragraphs begin, by what is usual: columns, letter sizes, the step between lines."""

    def __init__(self, rows: Sequence[Row], headings: Mapping[int, Heading]) -> None:
        self._rows = rows
        self._body = usual_size(rows)
        edges: dict[tuple[int, int, bool], list[Row]] = {}
        for row in rows:
            edges.setdefault((row.page, row.column, row.leftward), []).append(row)
        self._begin = {key: median(row.begin for row in found) for key, found in edges.items()}
        self._end = {key: max(row.end for row in found) for key, found in edges.items()}
        steps = [b.place.top - a.place.top for a, b in pairwise(rows) if _under(a, b)]
        self._step = median(steps) if steps else 0.0
        self._cells = {number for number in range(len(rows)) if self._in_table(number)}
        self._first = set(headings)
        self._inside = {
            number
            for begin, one in headings.items()
            for number in range(begin + 1, begin + one.rows)
        }
        self._references = _under_references(rows, headings)
        self._after = {begin + one.rows for begin, one in headings.items()}

    def before(self, number: int) -> bool:
        """Whether row ``number`` begins a paragraph."""
        before, row = self._rows[number - 1], self._rows[number]
        signed = SIGN.fullmatch(before.text) and _under(before, row, 0.02)
        if number in self._inside or (signed and number not in self._first):
            return False
        ended = bool(_SENTENCE_END.search(before.text))
        lower = row.text[0].islower()
        if self._is_other(number) or (self._resized(before, row) and (ended or not lower)):
            return True
        if not _under(before, row):  # the next column or page
            return ended or not (lower or self._full(before))
        entry = number in self._references
        return self._set_apart(before, row, ended=ended, entry=entry)

    def _is_other(self, number: int) -> bool:
        """Whether a heading, a list item or a table begins or ends before row ``number``."""
        edges = number in self._first or number in self._after
        table = number in self._cells or number - 1 in self._cells
        return edges or table or bool(_BULLET.match(self._rows[number].text))

    def _resized(self, before: Row, row: Row) -> bool:
        return abs(before.size - row.size) > 0.12 * max(before.size, row.size)

    def _set_apart(self, before: Row, row: Row, *, ended: bool, entry: bool) -> bool:
        """Whether a gap, an indentation or a short line parts two lines of one column.

        Args:
            entry: the lines are of a list of references, whose entries hang.
        """
        key = (row.page, row.column, row.leftward)
        left, right = self._begin[key], self._end[key]
        short = before.end < right - 0.15 * (right - left)
        indented = row.begin - left > INDENTED and before.begin - left < 0.006
        indented = indented and not _BULLET.match(before.text)  # hangs
        step = row.place.top - before.place.top
        far = step > 1.35 * self._step * max(1.0, row.size / self._body)
        opens = not row.text[0].islower() and row.size <= 1.15 * self._body  # not a title
        if entry:
            return far or before.begin - row.begin > 0.006 or (short and ended)
        return far or (indented and (ended or short)) or (short and (ended or opens))

    def _full(self, row: Row) -> bool:
        """Whether the line reaches the end of its column, as inside a paragraph."""
        key = (row.page, row.column, row.leftward)
        return self._end[key] - row.end < 0.02

    def _in_table(self, number: int) -> bool:
        """Whether the row is one of a table: several cells like a row near it, or two above two.

        A line that is stretched to the width of its column has gaps too.
        """
        row = self._rows[number]
        reach = range(max(number - 2, 0), min(number + 3, len(self._rows)))
        near = [self._rows[n] for n in reach if n != number and self._rows[n].page == row.page]
        if row.cells:
            return not self._stretched(row) and any(one.cells for one in near)
        return len(row.gaps) == 1 and any(
            len(one.gaps) == 1 and abs(one.gaps[0] - row.gaps[0]) < CELLS_ALIKE for one in near
        )

    def _stretched(self, row: Row) -> bool:
        """Whether it is words set apart evenly until they fill the column."""
        key = (row.page, row.column, row.leftward)
        full = self._full(row) and row.begin - self._begin[key] < INDENTED
        words = sum(any(map(str.isalpha, piece.text)) for piece in row.pieces)
        wide = [b.place.left - a.place.right for a, b in pairwise(row.pieces)]
        return full and 2 * words > len(row.pieces) and max(wide) < EVEN * max(min(wide), 1e-6)


def _under_references(rows: Sequence[Row], headings: Mapping[int, Heading]) -> set[int]:
    """The rows of the list of references."""
    found: set[int] = set()
    begins = sorted(number for number, heading in headings.items() if heading.level)
    for begin, end in pairwise([*begins, len(rows)]):
        if _REFERENCES.search(rows[begin].text):
            found.update(range(begin + headings[begin].rows, end))
    return found


def _under(before: Row, row: Row, slack: float = 0.0) -> bool:
    """Whether ``row`` stands lower in the same column."""
    column = (before.page, before.column) == (row.page, row.column)
    return column and row.place.top > before.place.top - slack
