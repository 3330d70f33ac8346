"""Printed lines as headings and paragraphs, with pages and boxes; a paper's abstract."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import TextBuilder
from wellread.ingest.loaders.pdf.pdf_layer import OutlineEntry
from wellread.ingest.loaders.pdf.pdf_rows import SIGN, Row, usual_size
from wellread.types import HeadingMark, Mark

HEADING_CHARACTERS = 90
BOLD_CHARACTERS = 70
HEADING_ROWS = 3  # lines of one heading
LARGER = 1.12  # times the body's letters, of a heading that is told by its size alone
OUTLINE_LEAST = 3  # headings that the outline must name, ...
OUTLINE_SHARE = 0.5  # ... and the share of its entries that must be found in the text
MOST_ROWS = 0.25  # share of the lines; where more would be headings, size and weight say nothing

_NUMBER = r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){0,3})"
_NUMBERED = re.compile(rf"(?P<number>{_NUMBER})\.?\s+(?P<words>[^\W\d_].{{2,80}})$")
_NAMED = re.compile(
    r"(?:abstract|summary|introduction|related work|background|methods?|results|discussion|"
    r"conclusions?|references|bibliography|acknowledge?ments?|appendix(?: [A-Z])?)\.?$",
    re.I,
)


class Heading(NamedTuple):
    """A heading of ``rows`` printed lines; ``level`` 1 is the outermost, 0 is the title."""

    level: int
    rows: int = 1


def headings_of(
    rows: Sequence[Row], body: float, outline: Sequence[OutlineEntry], title: range
) -> dict[int, Heading]:
    """Index of the first row to the heading that begins there: by the file's outline, else by
    number, name, size and weight.

    Args:
        title: the rows of the paper's title, which is no section.
    """
    found = {title.start: Heading(level=0, rows=len(title))} if title else {}
    taken, outlined = set(title), _outlined(rows, outline)
    for number, row in enumerate(rows):
        level = 0 if number in taken else _level(row, body)
        if level and (not outlined or _NAMED.match(row.text)):
            found[number] = Heading(level=level, rows=1 + _runs_on(rows, number, body))
    numbered = sum(bool(heading.level) for heading in found.values())
    if outlined:
        found |= {number: one for number, one in outlined.items() if number not in taken}
    elif numbered < OUTLINE_LEAST:
        larger = _larger(rows, body, taken)
        covered = sum(heading.rows for heading in larger.values())
        if covered <= MOST_ROWS * len(rows):
            found = larger | found
    return found


def is_section(words: str) -> bool:
    """Whether ``words`` are numbered or named as a section is."""
    return bool(_NUMBERED.match(words) or _NAMED.match(words))


def _level(row: Row, body: float) -> int:
    """The level of a heading that is numbered or named, and set apart; 0 for what is none."""
    if len(row.text) > HEADING_CHARACTERS or row.cells:
        return 0
    if not (row.bold or row.size >= 1.05 * body):
        return 0
    numbered = _NUMBERED.match(row.text)
    if numbered and row.text[-1] not in ".,;:" and numbered["words"][0].isupper():
        return numbered["number"].count(".") + 1
    return 1 if _NAMED.match(row.text) else 0


def _runs_on(rows: Sequence[Row], number: int, body: float) -> bool:
    """Whether the line below belongs to the numbered heading: set alike, and no heading itself."""
    row, after = rows[number], rows[number + 1] if number + 1 < len(rows) else None
    if after is None or (after.page, after.column) != (row.page, row.column):
        return False
    alike = (after.size, after.bold) == (row.size, row.bold) and not after.cells
    near = 0 < after.place.top - row.place.top < 2 * (row.place.bottom - row.place.top)
    words = len(row.text) + len(after.text) <= 2 * HEADING_CHARACTERS
    return alike and near and words and not _level(after, body)


def _outlined(rows: Sequence[Row], outline: Sequence[OutlineEntry]) -> dict[int, Heading]:
    """The headings that the file's outline names; empty when it does not fit the text."""
    pages: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        pages.setdefault(row.page, []).append(number)
    found: dict[int, Heading] = {}
    for entry in outline:
        wanted = _bare(entry.title)
        for number in pages.get(entry.page, ()) if wanted else ():
            count = _matches(rows, number, wanted)
            if count and number not in found:
                found[number] = Heading(level=entry.level, rows=count)
                break
    fits = len(found) >= max(OUTLINE_LEAST, OUTLINE_SHARE * len(outline))
    return found if fits else {}


def _matches(rows: Sequence[Row], number: int, wanted: str) -> int:
    """How many rows from ``number`` on are the words ``wanted``; 0 when they are not."""
    words = ""
    for count, row in enumerate(rows[number : number + HEADING_ROWS], 1):
        words += row.text + " "
        held = _bare(words)
        if held == wanted:
            return count
        if not wanted.startswith(held):
            return 0
    return 0


def _larger(rows: Sequence[Row], body: float, taken: set[int]) -> dict[int, Heading]:
    """Short lines in larger letters, and bold ones over a paragraph; levels by size."""
    found: dict[int, tuple[float, int]] = {}
    number = 0
    while number < len(rows):
        size, count = rows[number].size, _larger_rows(rows, number, body)
        if number not in taken and count:
            found[number] = (round(size, 0), count)
        elif number not in taken and _bold_alone(rows, number, body):
            found[number], count = (0.0, 1), 1
        number += max(count, 1)
    order = sorted({size for size, _ in found.values()}, reverse=True)
    return {
        number: Heading(level=min(order.index(size) + 1, 6), rows=count)
        for number, (size, count) in found.items()
    }


def _larger_rows(rows: Sequence[Row], number: int, body: float) -> int:
    row, near = rows[number], rows[number : number + HEADING_ROWS + 1]
    alike = takewhile(lambda one: (one.size, one.page) == (row.size, row.page), near)
    texts = [one.text for one in alike]
    count, words = len(texts), " ".join(texts)
    fits = row.size >= LARGER * body and count <= HEADING_ROWS and _is_heading(words)
    return count if fits and len(words) <= HEADING_CHARACTERS and number + count < len(rows) else 0


def _bold_alone(rows: Sequence[Row], number: int, body: float) -> bool:
    row = rows[number]
    if not row.bold or row.size < 0.95 * body or row.cells or len(row.pieces) > 2:
        return False
    if len(row.text) > BOLD_CHARACTERS or not _is_heading(row.text) or number + 1 == len(rows):
        return False
    after, before = rows[number + 1], rows[number - 1] if number else None
    same = (after.page, after.column) == (row.page, row.column)
    alone = before is None or not before.bold
    return alone and same and not after.bold and not after.cells and len(after.text) > len(row.text)


def _is_heading(words: str) -> bool:
    letters = [letter for letter in words if letter.isalpha()]
    return len(letters) > 2 and words[-1] not in ".,;:" and not letters[0].islower()


def _bare(text: str) -> str:
    """The letters, without a section's number in front."""
    numbered = _NUMBERED.match(text.strip())
    return plain.bare(numbered["words"] if numbered else text)


SUMMARY_CHARACTERS = 3_000
ABSTRACT_WITHIN = 20_000  # characters from the start
INDENTED = 0.012  # share of the width
EVEN = 1.5  # the widest gap to the narrowest, between the words of a stretched line
CELLS_ALIKE = 0.006  # share of the width by which the second cells of two rows may differ

_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪‣◦●■□☐–\uf0b7]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_REFERENCES = re.compile(r"(?:references|bibliography|literature)\W*$", re.I)
_ABSTRACT = re.compile(r"abstract\s*(?:[.:—–-]\s*|$)", re.I)


class PaperText(NamedTuple):
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
        if heading and heading.level:
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
            below = text[mark.start : mark.end].partition(plain.PARAGRAPH)[2]
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
            edges.setdefault(row.side, []).append(row)
        self._begin = {key: median(row.begin for row in found) for key, found in edges.items()}
        self._end = {key: max(row.end for row in found) for key, found in edges.items()}
        steps = [b.place.top - a.place.top for a, b in pairwise(rows) if _under(a, b)]
        self._step = median(steps) if steps else 0.0
        self._cells = {number for number in range(len(rows)) if self._in_table(number)}
        spans = [range(begin, begin + one.rows) for begin, one in headings.items()]
        self._inside = {number for span in spans for number in span[1:]}
        self._edges = {edge for span in spans for edge in (span.start, span.stop)}
        self._first = set(headings)
        self._references = _under_references(rows, headings)

    def before(self, number: int) -> bool:
        """Whether row ``number`` begins a paragraph."""
        before, row = self._rows[number - 1], self._rows[number]
        signed = SIGN.fullmatch(before.text) and _under(before, row, 0.02)
        if number in self._inside or (signed and number not in self._first):
            return False
        ended = bool(_SENTENCE_END.search(before.text))
        lower = row.text[0].islower()
        resized = abs(before.size - row.size) > 0.12 * max(before.size, row.size)
        if self._is_other(number) or (resized and (ended or not lower)):
            return True
        if not _under(before, row):  # the next column or page
            return ended or not (lower or self._full(before))
        entry = number in self._references
        return self._set_apart(before, row, ended=ended, entry=entry)

    def _is_other(self, number: int) -> bool:
        table = number in self._cells or number - 1 in self._cells
        return number in self._edges or table or bool(_BULLET.match(self._rows[number].text))

    def _set_apart(self, before: Row, row: Row, *, ended: bool, entry: bool) -> bool:
        """Whether a gap, an indentation or a short line parts two lines of one column."""
        left, right = self._begin[row.side], self._end[row.side]
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
        return self._end[row.side] - row.end < 0.02

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
        full = self._full(row) and row.begin - self._begin[row.side] < INDENTED
        words = sum(any(map(str.isalpha, piece.text)) for piece in row.pieces)
        wide = [b.place.left - a.place.right for a, b in pairwise(row.pieces)]
        return full and 2 * words > len(row.pieces) and max(wide) < EVEN * max(min(wide), 1e-6)


def _under_references(rows: Sequence[Row], headings: Mapping[int, Heading]) -> set[int]:
    begins = sorted(number for number, heading in headings.items() if heading.level)
    return {
        number
        for begin, end in pairwise([*begins, len(rows)])
        if _REFERENCES.search(rows[begin].text)
        for number in range(begin + headings[begin].rows, end)
    }


def _under(before: Row, row: Row, slack: float = 0.0) -> bool:
    """Whether ``row`` stands lower in the same column."""
    column = (before.page, before.column) == (row.page, row.column)
    return column and row.place.top > before.place.top - slack
