"""Turns printed lines of a PDF into headings, paragraphs and an abstract, with page marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import TextBuilder
from wellread.ingest.loaders.pdf.pdf_layer import OutlineEntry
from wellread.ingest.loaders.pdf.pdf_rows import NOTE_SIGN, NOTES, Row, usual_size
from wellread.ingest.loaders.pdf.pdf_tables import Cell, find_tables, table_cells
from wellread.types import HeadingMark, Mark

MAX_HEADING_CHARS = 90
MAX_BOLD_HEADING_CHARS = 70
MAX_HEADING_ROWS = 3
MIN_SIZE_RATIO = 1.12  # letter size to the body's, of headings recognised by size alone
MIN_OUTLINE_HEADINGS = 3  # headings of the outline that must be found in the text,
MIN_OUTLINE_SHARE = 0.5  # and their share of the outline
MAX_HEADING_SHARE = 0.25  # if more of the lines look like headings, size and weight mean nothing

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
    """Return the headings by the index of their first row.

    They come from the file's outline, else from number, name, size and weight.

    Args:
        body: the letter size of the body.
        title: the rows of the paper's title, which is not a section.
    """
    headings = {title.start: Heading(level=0, rows=len(title))} if title else {}
    titled, outlined = set(title), _outline_headings(rows, outline)
    for number, row in enumerate(rows):
        level = 0 if number in titled else _level(row, body)
        if level and (not outlined or _SECTION_NAME.match(row.text)):
            headings[number] = Heading(level=level, rows=1 + _continues(rows, number, body))
    numbered = sum(bool(heading.level) for heading in headings.values())
    if outlined:
        headings |= {number: entry for number, entry in outlined.items() if number not in titled}
    elif numbered < MIN_OUTLINE_HEADINGS:
        styled = _styled_headings(rows, body, titled)
        covered = sum(heading.rows for heading in styled.values())
        if covered <= MAX_HEADING_SHARE * len(rows):
            headings = styled | headings
    return headings


def is_section(words: str) -> bool:
    """Whether ``words`` are numbered or named like a section."""
    return bool(_NUMBERED.match(words) or _SECTION_NAME.match(words))


def _level(row: Row, body: float) -> int:
    """Return the level of a numbered or named heading in bold or large letters; 0 for others."""
    if len(row.text) > MAX_HEADING_CHARS or row.cells:
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
    same_style = (after.size, after.bold) == (row.size, row.bold) and not after.cells
    is_near = 0 < after.box.top - row.box.top < 2 * (row.box.bottom - row.box.top)
    is_short = len(row.text) + len(after.text) <= 2 * MAX_HEADING_CHARS
    return same_style and is_near and is_short and not _level(after, body)


def _outline_headings(rows: Sequence[Row], outline: Sequence[OutlineEntry]) -> dict[int, Heading]:
    """Return the headings in the file's outline; none when the outline does not fit the text."""
    pages: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        pages.setdefault(row.page, []).append(number)
    headings: dict[int, Heading] = {}
    for entry in outline:
        key = _compare_key(entry.title)
        for number in pages.get(entry.page, ()) if key else ():
            count = _matching_rows(rows, number, key)
            if count and number not in headings:
                headings[number] = Heading(level=entry.level, rows=count)
                break
    fits = len(headings) >= max(MIN_OUTLINE_HEADINGS, MIN_OUTLINE_SHARE * len(outline))
    return headings if fits else {}


def _matching_rows(rows: Sequence[Row], number: int, key: str) -> int:
    """Return how many rows from ``number`` on spell the text with ``key``; 0 if they do not."""
    words = ""
    for count, row in enumerate(rows[number : number + MAX_HEADING_ROWS], 1):
        words += row.text + " "
        joined = _compare_key(words)
        if joined == key:
            return count
        if not key.startswith(joined):
            return 0
    return 0


def _styled_headings(rows: Sequence[Row], body: float, title: set[int]) -> dict[int, Heading]:
    """Return short lines in larger letters, or in bold above a paragraph, with levels by size."""
    headings: dict[int, tuple[float, int]] = {}
    number = 0
    while number < len(rows):
        size, count = rows[number].size, _large_row_count(rows, number, body)
        if number not in title and count:
            headings[number] = (round(size, 0), count)
        elif number not in title and _is_bold_heading(rows, number, body):
            headings[number], count = (0.0, 1), 1
        number += max(count, 1)
    order = sorted({size for size, _ in headings.values()}, reverse=True)
    return {
        number: Heading(level=min(order.index(size) + 1, 6), rows=count)
        for number, (size, count) in headings.items()
    }


def _large_row_count(rows: Sequence[Row], number: int, body: float) -> int:
    row, following = rows[number], rows[number : number + MAX_HEADING_ROWS + 1]
    same = takewhile(lambda other: (other.size, other.page) == (row.size, row.page), following)
    texts = [other.text for other in same]
    count, text = len(texts), " ".join(texts)
    is_large = row.size >= MIN_SIZE_RATIO * body
    fits = is_large and count <= MAX_HEADING_ROWS and len(text) <= MAX_HEADING_CHARS
    return count if fits and _is_heading(text) and number + count < len(rows) else 0


def _is_bold_heading(rows: Sequence[Row], number: int, body: float) -> bool:
    row = rows[number]
    if not row.bold or row.size < 0.95 * body or row.cells or len(row.pieces) > 2:
        return False
    if (
        len(row.text) > MAX_BOLD_HEADING_CHARS
        or not _is_heading(row.text)
        or number + 1 == len(rows)
    ):
        return False
    after, before = rows[number + 1], rows[number - 1] if number else None
    same_column = (after.page, after.column) == (row.page, row.column)
    is_prose = not after.bold and not after.cells and len(after.text) > len(row.text)
    return same_column and is_prose and (before is None or not before.bold)


def _is_heading(words: str) -> bool:
    letters = [letter for letter in words if letter.isalpha()]
    return len(letters) > 2 and words[-1] not in ".,;:" and not letters[0].islower()


def _compare_key(text: str) -> str:
    match = _NUMBERED.match(text.strip())
    return plain.letters_of(match["words"] if match else text)


MAX_SUMMARY_CHARS = 3_000
MAX_ABSTRACT_POSITION = 20_000  # characters; an abstract begins before this position
MIN_INDENT = 0.012  # share of the page width
MAX_GAP_RATIO = 1.5  # ratio of the widest to the narrowest gap in a justified line
MAX_WORD_GAP = 0.04  # share of the page width between two words of a justified line

_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*$")
_BULLET = re.compile(r"[•▪‣◦●■□☐–\uf0b7]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_REFERENCES = re.compile(r"(?:references|bibliography|literature)\W*$", re.I)
_ABSTRACT = re.compile(r"abstract\s*(?:[.:—–-]\s*|$)", re.I)


class PaperText(NamedTuple):
    """The text of a paper with its marks and its abstract."""

    text: str
    marks: tuple[Mark, ...]
    abstract: str


def paper_text(
    rows: Sequence[Row], headings: Mapping[int, Heading], labels: Sequence[str]
) -> PaperText:
    """Write the text; hyphens at line ends are removed when the joined word occurs elsewhere.

    Args:
        labels: the printed number of each page; empty if it has none of its own.
    """
    breaks = _Breaks(rows, headings)
    words = plain.count_words([row.text for row in rows])
    builder = TextBuilder()
    path: list[tuple[int, str]] = []
    page, columns = 0, tuple[str, ...]()
    for number, row in enumerate(rows):
        if row.page != page:
            page = row.page
            builder.page(page, plain.one_line(labels[page - 1]))
        cells, names = breaks.tables.get(number, ([], ()))
        if names != columns:
            builder.columns(names)
            columns = names
        heading = headings.get(number)
        if heading and heading.level:
            name = joined_words(rows[number : number + heading.rows])
            path = [*(step for step in path if step[0] < heading.level), (heading.level, name)]
            builder.heading(tuple(part for _, part in path))
        is_last = number + 1 == len(rows)
        ends_paragraph = is_last or breaks.before(number + 1)
        if cells:
            _write_cells(builder, cells)
            gap = "\n" if breaks.goes_on(number) else plain.PARAGRAPH
        else:
            gap = _write_row(builder, row, "" if ends_paragraph else rows[number + 1].text, words)
            gap = plain.PARAGRAPH if ends_paragraph else gap
        builder.add("" if is_last else gap)
    text, marks = builder.build()
    return PaperText(text=text, marks=marks, abstract=_abstract(text, marks))


def joined_words(rows: Sequence[Row]) -> str:
    """Return the text of a title's or heading's rows in one line."""
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


def _write_cells(builder: TextBuilder, cells: Sequence[Cell]) -> None:
    """Write a table row without the empty cells at its end."""
    count = max(at for at, cell in enumerate(cells, 1) if cell)
    for at, cell in enumerate(cells[:count]):
        builder.add(" | " if at else "")
        for number, piece in enumerate(cell):
            builder.add(" " if number else "")
            text = piece.text.replace(plain.HYPHEN, "-")
            builder.box(builder.add(text), piece.page, piece.box)


def _abstract(text: str, marks: Sequence[Mark]) -> str:
    """Return the text under the heading "Abstract", or the paragraph that begins with this word."""
    for mark in marks:
        if isinstance(mark, HeadingMark) and _ABSTRACT.match(mark.path[-1]):
            below = text[mark.start : mark.end].partition(plain.PARAGRAPH)[2]
            return below.strip()[:MAX_SUMMARY_CHARS]
    for paragraph in text[:MAX_ABSTRACT_POSITION].split(plain.PARAGRAPH):
        match = _ABSTRACT.match(paragraph)
        if match and len(paragraph) > 2 * len(match.group()):
            return paragraph[match.end() :].strip()[:MAX_SUMMARY_CHARS]
    return ""


class _Breaks:
    """Decides where paragraphs begin, by columns, letter sizes and usual line distances."""

    def __init__(self, rows: Sequence[Row], headings: Mapping[int, Heading]) -> None:
        self._rows = rows
        self._body = usual_size(rows)
        by_side: dict[tuple[int, int, bool], list[Row]] = {}
        for row in rows:
            by_side.setdefault(row.side, []).append(row)
        self._begin = {key: median(row.begin for row in side) for key, side in by_side.items()}
        self._end = {key: max(row.end for row in side) for key, side in by_side.items()}
        steps = [b.box.top - a.box.top for a, b in pairwise(rows) if _is_below(a, b)]
        self._step = median(steps) if steps else 0.0
        spans = [range(begin, begin + heading.rows) for begin, heading in headings.items()]
        self._in_heading = {number for span in spans for number in span[1:]}
        self._heading_edges = {edge for span in spans for edge in (span.start, span.stop)}
        self._heading_starts = set(headings)
        self._references = _reference_rows(rows, headings)
        allowed = {
            number
            for number, row in enumerate(rows)
            if row.gaps and number not in self._in_heading | self._heading_starts
            if not _BULLET.match(row.text) and not (row.cells and self._is_justified(row))
        }
        self._runs = find_tables([row.pieces for row in rows], allowed)
        self.tables = {n: cells for run in self._runs for n, cells in self._table(run)}

    def before(self, number: int) -> bool:
        """Whether a paragraph begins at row ``number``."""
        before, row = self._rows[number - 1], self._rows[number]
        follows_sign = NOTE_SIGN.fullmatch(before.text) and _is_below(before, row, 0.02)
        if number in self._in_heading or (follows_sign and number not in self._heading_starts):
            return False
        ended = bool(_SENTENCE_END.search(before.text))
        is_lower = row.text[0].islower()
        resized = abs(before.size - row.size) > 0.12 * max(before.size, row.size)
        if self._begins_element(number) or (resized and (ended or not is_lower)):
            return True
        if not _is_below(before, row):  # the next column or page
            return ended or not (is_lower or self._is_full(before))
        in_references = number in self._references
        return self._is_separated(before, row, ended=ended, in_references=in_references)

    def _begins_element(self, number: int) -> bool:
        """Whether a heading, a list item, a table row or the text after these begins here."""
        in_table = number in self.tables or number - 1 in self.tables
        row, before = self._rows[number], self._rows[number - 1]
        is_note = NOTES in (row.column, before.column) or before.pieces[-1].field is not None
        is_note = is_note or [piece.field is None for piece in row.pieces] == [True, False]
        is_bullet = bool(_BULLET.match(row.text))
        return number in self._heading_edges or in_table or is_bullet or is_note

    def _is_separated(self, before: Row, row: Row, *, ended: bool, in_references: bool) -> bool:
        left, right = self._begin[row.side], self._end[row.side]
        short = before.end < right - 0.15 * (right - left)
        indented = row.begin - left > MIN_INDENT and before.begin - left < 0.006
        indented = indented and not _BULLET.match(before.text)  # a hanging indent
        step = row.box.top - before.box.top
        far = step > 1.35 * self._step * max(1.0, row.size / self._body)
        opens = not row.text[0].islower() and row.size <= 1.15 * self._body  # not a title
        if in_references:
            return far or before.begin - row.begin > 0.006 or (short and ended)
        return far or (indented and (ended or short)) or (short and (ended or opens))

    def _is_full(self, row: Row) -> bool:
        return self._end[row.side] - row.end < 0.02

    def goes_on(self, number: int) -> bool:
        """Whether the next row belongs to the same table as row ``number``."""
        return any(number in run and number + 1 in run for run in self._runs)

    def _table(self, run: range) -> Iterator[tuple[int, tuple[list[Cell], tuple[str, ...]]]]:
        """Yield the rows of a table with their cells and the names of the columns."""
        table = table_cells([self._rows[number].pieces for number in run])
        texts = [[" ".join(piece.text for piece in cell) for cell in row] for row in table]
        if len(table[0]) == 1 or all(len(row) == 2 and row[0].endswith(":") for row in texts):
            return  # the second: labels with their values
        names = plain.header_of(texts)
        for at, (number, cells) in enumerate(zip(run, table, strict=True)):
            yield number, (cells, names if at else ())

    def _is_justified(self, row: Row) -> bool:
        """Whether the row is a justified line: words spread evenly over the column."""
        is_full = self._is_full(row) and row.begin - self._begin[row.side] < MIN_INDENT
        words = sum(any(map(str.isalpha, piece.text)) for piece in row.pieces)
        boxes = [piece.upright for piece in row.pieces]
        gaps = [b.left - a.right for a, b in pairwise(boxes)]
        is_even = max(gaps) < min(MAX_GAP_RATIO * max(min(gaps), 1e-6), MAX_WORD_GAP)
        return is_full and 2 * words > len(row.pieces) and is_even


def _reference_rows(rows: Sequence[Row], headings: Mapping[int, Heading]) -> set[int]:
    begins = sorted(number for number, heading in headings.items() if heading.level)
    return {
        number
        for begin, end in pairwise([*begins, len(rows)])
        if _REFERENCES.search(rows[begin].text)
        for number in range(begin + headings[begin].rows, end)
    }


def _is_below(before: Row, row: Row, slack: float = 0.0) -> bool:
    column = (before.page, before.column) == (row.page, row.column)
    return column and row.box.top > before.box.top - slack
