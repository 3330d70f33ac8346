"""Turns printed lines of a PDF into headings, paragraphs and an abstract, with page marks."""

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
HEADING_ROWS = 3  # at most in one heading
MIN_SIZE_RATIO = 1.12  # to the body's letters, for headings recognised by size alone
MIN_OUTLINE_HEADINGS = 3  # that the outline must name, ...
MIN_OUTLINE_SHARE = 0.5  # ... and the share of its entries that must be found in the text
MAX_HEADING_SHARE = 0.25  # of the lines; if more look like headings, size and weight mean nothing

_NUMBER = r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){0,3})"
_NUMBERED = re.compile(rf"(?P<number>{_NUMBER})\.?\s+(?P<words>[^\W\d_].{{2,80}})$")
_SECTION_NAME = re.compile(
    r"(?:abstract|summary|introduction|related work|background|methods?|results|discussion|"
    r"conclusions?|references|bibliography|acknowledge?ments?|appendix(?: [A-Z])?)\.?$",
    re.I,
)


class Heading(NamedTuple):
    """A heading of ``rows`` printed lines; ``level`` 0 is the title, 1 the outermost section."""

    level: int
    rows: int = 1


def headings_of(
    rows: Sequence[Row], body: float, outline: Sequence[OutlineEntry], title: range
) -> dict[int, Heading]:
    """The headings by the index of their first row, from the file's outline, else from number,
    name, size and weight.

    Args:
        title: the rows of the paper's title, which is not a section.
    """
    headings = {title.start: Heading(level=0, rows=len(title))} if title else {}
    taken, outlined = set(title), _outline_headings(rows, outline)
    for number, row in enumerate(rows):
        level = 0 if number in taken else _level(row, body)
        if level and (not outlined or _SECTION_NAME.match(row.text)):
            headings[number] = Heading(level=level, rows=1 + _continues(rows, number, body))
    numbered = sum(bool(heading.level) for heading in headings.values())
    if outlined:
        headings |= {number: entry for number, entry in outlined.items() if number not in taken}
    elif numbered < MIN_OUTLINE_HEADINGS:
        larger = _styled_headings(rows, body, taken)
        covered = sum(heading.rows for heading in larger.values())
        if covered <= MAX_HEADING_SHARE * len(rows):
            headings = larger | headings
    return headings


def is_section(words: str) -> bool:
    """Whether ``words`` are numbered or named like a section."""
    return bool(_NUMBERED.match(words) or _SECTION_NAME.match(words))


def _level(row: Row, body: float) -> int:
    """The level of a numbered or named heading in bold or large letters; 0 for other rows."""
    if len(row.text) > HEADING_CHARACTERS or row.cells:
        return 0
    if not (row.bold or row.size >= 1.05 * body):
        return 0
    match = _NUMBERED.match(row.text)
    if match and row.text[-1] not in ".,;:" and match["words"][0].isupper():
        return match["number"].count(".") + 1
    return 1 if _SECTION_NAME.match(row.text) else 0


def _continues(rows: Sequence[Row], number: int, body: float) -> bool:
    """Whether the next line continues the heading: same style, and not a heading itself."""
    row, after = rows[number], rows[number + 1] if number + 1 < len(rows) else None
    if after is None or (after.page, after.column) != (row.page, row.column):
        return False
    alike = (after.size, after.bold) == (row.size, row.bold) and not after.cells
    near = 0 < after.place.top - row.place.top < 2 * (row.place.bottom - row.place.top)
    words = len(row.text) + len(after.text) <= 2 * HEADING_CHARACTERS
    return alike and near and words and not _level(after, body)


def _outline_headings(rows: Sequence[Row], outline: Sequence[OutlineEntry]) -> dict[int, Heading]:
    """The headings in the file's outline; empty when the outline does not fit the text."""
    pages: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        pages.setdefault(row.page, []).append(number)
    headings: dict[int, Heading] = {}
    for entry in outline:
        wanted = _compare_key(entry.title)
        for number in pages.get(entry.page, ()) if wanted else ():
            count = _matching_rows(rows, number, wanted)
            if count and number not in headings:
                headings[number] = Heading(level=entry.level, rows=count)
                break
    fits = len(headings) >= max(MIN_OUTLINE_HEADINGS, MIN_OUTLINE_SHARE * len(outline))
    return headings if fits else {}


def _matching_rows(rows: Sequence[Row], number: int, wanted: str) -> int:
    """The number of rows from ``number`` on that spell ``wanted``; 0 when they do not."""
    words = ""
    for count, row in enumerate(rows[number : number + HEADING_ROWS], 1):
        words += row.text + " "
        joined = _compare_key(words)
        if joined == wanted:
            return count
        if not wanted.startswith(joined):
            return 0
    return 0


def _styled_headings(rows: Sequence[Row], body: float, taken: set[int]) -> dict[int, Heading]:
    """Short lines in larger letters or in bold above a paragraph, with levels by size."""
    headings: dict[int, tuple[float, int]] = {}
    number = 0
    while number < len(rows):
        size, count = rows[number].size, _large_row_count(rows, number, body)
        if number not in taken and count:
            headings[number] = (round(size, 0), count)
        elif number not in taken and _is_bold_heading(rows, number, body):
            headings[number], count = (0.0, 1), 1
        number += max(count, 1)
    order = sorted({size for size, _ in headings.values()}, reverse=True)
    return {
        number: Heading(level=min(order.index(size) + 1, 6), rows=count)
        for number, (size, count) in headings.items()
    }


def _large_row_count(rows: Sequence[Row], number: int, body: float) -> int:
    row, near = rows[number], rows[number : number + HEADING_ROWS + 1]
    alike = takewhile(lambda other: (other.size, other.page) == (row.size, row.page), near)
    texts = [other.text for other in alike]
    count, words = len(texts), " ".join(texts)
    fits = row.size >= MIN_SIZE_RATIO * body and count <= HEADING_ROWS and _is_heading(words)
    return count if fits and len(words) <= HEADING_CHARACTERS and number + count < len(rows) else 0


def _is_bold_heading(rows: Sequence[Row], number: int, body: float) -> bool:
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


def _compare_key(text: str) -> str:
    """The letters and digits for comparison, without a leading section number."""
    match = _NUMBERED.match(text.strip())
    return plain.letters_of(match["words"] if match else text)


SUMMARY_CHARACTERS = 3_000
ABSTRACT_WITHIN = 20_000  # of the start of the text
MIN_INDENT = 0.012  # of the page width
GAP_RATIO = 1.5  # of the widest to the narrowest gap in a justified line
CELLS_ALIKE = 0.006  # of the width, by which the second cells of two rows may differ

_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪‣◦●■□☐–\uf0b7]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_REFERENCES = re.compile(r"(?:references|bibliography|literature)\W*$", re.I)
_ABSTRACT = re.compile(r"abstract\s*(?:[.:—–-]\s*|$)", re.I)


class PaperText(NamedTuple):
    """The text of a paper with its marks and its abstract."""

    text: str
    marks: tuple[Mark, ...]
    abstract: str


def paper_text(rows: Sequence[Row], headings: Mapping[int, Heading]) -> PaperText:
    """Write the text; hyphens at line ends are removed when the joined word occurs elsewhere."""
    breaks = _Breaks(rows, headings)
    words = plain.count_words([row.text for row in rows])
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
            builder.heading(tuple(part for _, part in path))
        last = number + 1 == len(rows)
        apart = last or breaks.before(number + 1)
        gap = _write_row(builder, row, "" if apart else rows[number + 1].text, words)
        builder.add("" if last else plain.PARAGRAPH if apart else gap)
    text, marks = builder.build()
    return PaperText(text=text, marks=marks, abstract=_abstract(text, marks))


def joined_words(rows: Sequence[Row]) -> str:
    """The rows of a title or heading in one line."""
    words = " ".join(row.text for row in rows)
    return words.replace(f"{plain.HYPHEN} ", "").replace(plain.HYPHEN, "-")


def _write_row(builder: TextBuilder, row: Row, after: str, words: Mapping[str, int]) -> str:
    """Write a row's pieces with their boxes; return the separator before the text ``after``."""
    gap = ""
    for number, piece in enumerate(row.pieces, 1):
        if number < len(row.pieces):
            builder.box(builder.add(piece.text.replace(plain.HYPHEN, "-")), row.page, piece.box)
            builder.add(" ")
        else:
            text, gap = plain.join_lines(piece.text, after, words)
            builder.box(builder.add(text), row.page, piece.box)
    return gap


def _abstract(text: str, marks: Sequence[Mark]) -> str:
    """The text under the heading "Abstract", or the paragraph that begins with this word."""
    for mark in marks:
        if isinstance(mark, HeadingMark) and _ABSTRACT.match(mark.path[-1]):
            below = text[mark.start : mark.end].partition(plain.PARAGRAPH)[2]
            return below.strip()[:SUMMARY_CHARACTERS]
    for paragraph in text[:ABSTRACT_WITHIN].split(plain.PARAGRAPH):
        match = _ABSTRACT.match(paragraph)
        if match and len(paragraph) > 2 * len(match.group()):
            return paragraph[match.end() :].strip()[:SUMMARY_CHARACTERS]
    return ""


class _Breaks:
    """Decides where paragraphs begin, by columns, letter sizes and usual line distances."""

    def __init__(self, rows: Sequence[Row], headings: Mapping[int, Heading]) -> None:
        self._rows = rows
        self._body = usual_size(rows)
        edges: dict[tuple[int, int, bool], list[Row]] = {}
        for row in rows:
            edges.setdefault(row.side, []).append(row)
        self._begin = {key: median(row.begin for row in side) for key, side in edges.items()}
        self._end = {key: max(row.end for row in side) for key, side in edges.items()}
        steps = [b.place.top - a.place.top for a, b in pairwise(rows) if _is_below(a, b)]
        self._step = median(steps) if steps else 0.0
        self._cells = {number for number in range(len(rows)) if self._in_table(number)}
        spans = [range(begin, begin + heading.rows) for begin, heading in headings.items()]
        self._inside = {number for span in spans for number in span[1:]}
        self._edges = {edge for span in spans for edge in (span.start, span.stop)}
        self._first = set(headings)
        self._references = _reference_rows(rows, headings)

    def before(self, number: int) -> bool:
        """Whether a paragraph begins at row ``number``."""
        before, row = self._rows[number - 1], self._rows[number]
        signed = SIGN.fullmatch(before.text) and _is_below(before, row, 0.02)
        if number in self._inside or (signed and number not in self._first):
            return False
        ended = bool(_SENTENCE_END.search(before.text))
        lower = row.text[0].islower()
        resized = abs(before.size - row.size) > 0.12 * max(before.size, row.size)
        if self._is_other(number) or (resized and (ended or not lower)):
            return True
        if not _is_below(before, row):  # the next column or page
            return ended or not (lower or self._full(before))
        entry = number in self._references
        return self._is_separated(before, row, ended=ended, entry=entry)

    def _is_other(self, number: int) -> bool:
        table = number in self._cells or number - 1 in self._cells
        return number in self._edges or table or bool(_BULLET.match(self._rows[number].text))

    def _is_separated(self, before: Row, row: Row, *, ended: bool, entry: bool) -> bool:
        """Whether a gap, an indentation or a short line separates two lines of a column."""
        left, right = self._begin[row.side], self._end[row.side]
        short = before.end < right - 0.15 * (right - left)
        indented = row.begin - left > MIN_INDENT and before.begin - left < 0.006
        indented = indented and not _BULLET.match(before.text)  # a hanging indent
        step = row.place.top - before.place.top
        far = step > 1.35 * self._step * max(1.0, row.size / self._body)
        opens = not row.text[0].islower() and row.size <= 1.15 * self._body  # not a title
        if entry:
            return far or before.begin - row.begin > 0.006 or (short and ended)
        return far or (indented and (ended or short)) or (short and (ended or opens))

    def _full(self, row: Row) -> bool:
        return self._end[row.side] - row.end < 0.02

    def _in_table(self, number: int) -> bool:
        """Whether the row belongs to a table: a nearby row has cells or the same gap too.

        Justified lines have gaps too, but do not count.
        """
        row = self._rows[number]
        reach = range(max(number - 2, 0), min(number + 3, len(self._rows)))
        near = [self._rows[n] for n in reach if n != number and self._rows[n].page == row.page]
        if row.cells:
            return not self._stretched(row) and any(other.cells for other in near)
        return len(row.gaps) == 1 and any(
            len(other.gaps) == 1 and abs(other.gaps[0] - row.gaps[0]) < CELLS_ALIKE
            for other in near
        )

    def _stretched(self, row: Row) -> bool:
        """Whether the row is a justified line: words spread evenly over the column."""
        full = self._full(row) and row.begin - self._begin[row.side] < MIN_INDENT
        words = sum(any(map(str.isalpha, piece.text)) for piece in row.pieces)
        wide = [b.place.left - a.place.right for a, b in pairwise(row.pieces)]
        return full and 2 * words > len(row.pieces) and max(wide) < GAP_RATIO * max(min(wide), 1e-6)


def _reference_rows(rows: Sequence[Row], headings: Mapping[int, Heading]) -> set[int]:
    begins = sorted(number for number, heading in headings.items() if heading.level)
    return {
        number
        for begin, end in pairwise([*begins, len(rows)])
        if _REFERENCES.search(rows[begin].text)
        for number in range(begin + headings[begin].rows, end)
    }


def _is_below(before: Row, row: Row, slack: float = 0.0) -> bool:
    """Whether ``row`` is lower in the same column."""
    column = (before.page, before.column) == (row.page, row.column)
    return column and row.place.top > before.place.top - slack
