"""Which lines of a paper are headings: by its outline, else by number, name, size and weight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.ingest.loaders.pdf.pdf_layer import OutlineEntry
from wellread.ingest.loaders.pdf.pdf_rows import Row
from wellread.ingest.loaders.plain import bare

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of ``rows`` printed lines; ``level`` 1 is the outermost, 0 is the title."""

    level: int
    rows: int = 1


def headings_of(
    rows: Sequence[Row], body: float, outline: Sequence[OutlineEntry], title: range
) -> dict[int, Heading]:
    """Index of the first row to the heading that begins there.

    Args:
        body: the usual letter size.
        title: the rows of the paper's title, which is no section.
    """
    found = {title.start: Heading(level=0, rows=len(title))} if title else {}
    taken = set(title)
    outlined = _outlined(rows, outline)
    for number, row in enumerate(rows):
        if number in taken:
            continue
        level = _level(row, body)
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
    size = rows[number].size
    count = 0
    for row in rows[number : number + HEADING_ROWS + 1]:
        if row.size != size or row.page != rows[number].page:
            break
        count += 1
    words = " ".join(row.text for row in rows[number : number + count])
    fits = size >= LARGER * body and count <= HEADING_ROWS and _is_heading(words)
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
    return bare(numbered["words"] if numbered else text)
