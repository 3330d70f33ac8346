"""Loads Excel files (xlsx, xlsm): one section per sheet, one line per row, with row numbers.

Numbers stand as their format shows them ("180.00 €"). Hidden sheets, rows and columns are left
out. A formula whose value no program has stored says so in its cell; the report counts both.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, time
from itertools import chain, islice
from xml.etree.ElementTree import ParseError

from lxml import etree
from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string, range_boundaries
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.workbook import Workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import child_of, name_of, open_office, value_of
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.plain import PARAGRAPH, header_of, joined_names, one_line, table_row
from wellread.types import Document

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # in a sheet, by the format
MAX_MERGED_ROWS, MAX_MERGED_COLUMNS = 10_000, 100  # more keep their text at its place
PEEKED_ROWS = 20  # by which it is decided whether a row names the columns
SIGNIFICANT_DIGITS = 15  # Excel's precision; further digits come from binary fractions
MAX_DECIMALS = 30  # in a number format, by the program
NO_VALUE = "no stored value"
UNCOMPUTED = "{} without a stored value: open the file in a spreadsheet program and save it"

# The parts of a number format (ECMA-376, 18.8.31): text, currency, conditions and colours, padding,
# digits, and signs that stand for themselves.
_FORMAT = re.compile(
    r'"(?P<text>[^"]*)"|\\(?P<sign>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.'
    r"|(?P<digits>[0#?][0#?,]*(?:\.[0#?]*)?,*)|(?P<plain>[ $€£¥+\-()%])|(?P<other>.)"
)
_PERCENT = re.compile(r"0(?:\.0+)?%")
_ERRORS = (
    zipfile.BadZipFile,
    InvalidFileException,
    ParseError,
    etree.XMLSyntaxError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a workbook as one page; formulas are read as their last saved values."""
    file = open_office(source, limits)
    writer = _Writer(source.uri, limits.max_cells)
    try:
        with warnings.catch_warnings():
            # About parts that are not read: data validation, default styles, headers.
            warnings.simplefilter("ignore")
            book: Workbook = load_workbook(
                io.BytesIO(file.data), read_only=True, data_only=True, keep_links=False
            )
            with closing(book):
                for sheet in book.worksheets:
                    if sheet.sheet_state != "visible":
                        continue
                    # The declared size of a sheet may be the whole grid.
                    sheet.reset_dimensions()
                    writer.write(sheet, _read_layout(sheet))
    except _ERRORS as error:
        raise SourceError(
            source.uri, f"damaged workbook: {type(error).__name__}: {one_line(str(error))[:120]}"
        ) from error
    if not writer.cells:
        raise EmptyError(source.uri, "no text: every cell is empty")
    if writer.remark:
        source.remark(writer.remark)
    yield file.page(source, writer.builder.build(), source_type="xlsx", title=file.title)


@dataclass(slots=True)
class _Layout:
    """What a sheet hides (numbers from 1), and what it has at a row and column.

    ``formulas`` have no value; ``merged`` has for each cell of an area the place of its text.
    """

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    formulas: dict[tuple[int, int], str] = field(default_factory=dict)
    merged: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)

    def spread(self, row: int, texts: dict[int, str]) -> dict[int, str]:
        """The texts of a row by column, with those of merged cells in each of their places."""
        places = self.merged.get(row, {})
        self.texts |= {(row, at): texts.get(at, "") for at in places if places[at] == (row, at)}
        shown = {at: self.texts.get(places[at], "") for at in places if at not in self.columns}
        filled = {at: shown.get(at) or texts.get(at, "") for at in sorted({*texts, *shown})}
        return filled if len({*filled.values()} - {""}) > 1 else texts  # a title stands once


def _read_layout(sheet: ReadOnlyWorksheet) -> _Layout:
    """Read what the library does not tell about a sheet that it reads row by row."""
    layout, row, column = _Layout(), 0, 0
    with closing(sheet._get_source()) as file:
        for event, element in etree.iterparse(file, ("start", "end"), resolve_entities=False):
            name = name_of(element)
            hidden = value_of(element, "hidden") in ("1", "true")
            if name == "row" and event == "start":
                row, column = int(value_of(element, "r") or row + 1), 0
                layout.rows |= {row} if hidden else set()
            elif name == "col" and event == "end" and hidden:
                first, last = int(value_of(element, "min")), int(value_of(element, "max"))
                layout.columns.update(range(first, min(last, MAX_COLUMNS) + 1))
            elif name == "c" and event == "end":
                place = value_of(element, "r").rstrip("0123456789")
                column = column_index_from_string(place) if place else column + 1
                formula, value = child_of(element, "f"), child_of(element, "v")
                computed = value_of(element, "t") == "str" or (value is not None and value.text)
                if formula is not None and not computed:
                    layout.formulas[row, column] = one_line(formula.text or "")
            elif name == "mergeCell" and event == "end" and len(layout.merged) < MAX_MERGED_ROWS:
                left, top, right, low = range_boundaries(value_of(element, "ref"))
                for covered in range(top, min(low, top + MAX_MERGED_ROWS) + 1):
                    across = range(left, min(right, left + MAX_MERGED_COLUMNS) + 1)
                    layout.merged.setdefault(covered, {}).update(dict.fromkeys(across, (top, left)))
            elif name == "row":
                element.clear()
    return layout


_Row = tuple[int, list[str], list[object]]  # number, texts and values of the cells


class _Writer:
    def __init__(self, uri: str, most_cells: int) -> None:
        self.builder = TextBuilder()
        self.cells = 0
        self._uri = uri
        self._most_cells = most_cells
        self._uncomputed = 0
        self._hidden = 0

    @property
    def remark(self) -> str:
        """What the report says: formulas without a value, and what was left out."""
        formulas = f"{self._uncomputed:,} formula{'s' * (self._uncomputed != 1)}"
        hidden = f"{self._hidden:,} hidden row{'s' * (self._hidden != 1)} left out"
        parts = [UNCOMPUTED.format(formulas)] if self._uncomputed else []
        return "; ".join([*parts, hidden] if self._hidden else parts)

    def write(self, sheet: ReadOnlyWorksheet, layout: _Layout) -> None:
        """Write the visible rows of a sheet that have values."""
        name = one_line(sheet.title)
        rows = self._rows(sheet, layout)
        peeked = list(islice(rows, PEEKED_ROWS))
        has_header, names = False, list[list[str]]()
        groups = {row for row, places in layout.merged.items()
                  if any(left < at for at, (_, left) in places.items())}  # fmt: skip
        for at, (number, cells, values) in enumerate(chain(peeked, rows)):
            if not at:
                self.builder.columns(())
                self.builder.add(PARAGRAPH if self.builder.length else "")
                self.builder.heading((name,))
                self.builder.add(name)
            below = [texts for _, texts, _ in peeked[at:]]
            is_header = not has_header and at < PEEKED_ROWS and _is_header(values, below)
            if is_header:
                self.builder.columns(())
            self.builder.add("\n" if names else PARAGRAPH)
            self.builder.line(number)
            self.builder.add(table_row(cells))
            if is_header:
                names.append(cells)
                self.builder.columns(joined_names(names))
            # A name over several columns is that of a group; the next row names its columns.
            has_header = bool(names) and not (is_header and number in groups)

    def _rows(self, sheet: ReadOnlyWorksheet, layout: _Layout) -> Iterator[_Row]:
        for number, row in enumerate(sheet.iter_rows(), 1):
            if number > MAX_ROWS:
                raise SourceError(self._uri, f"a sheet with more than {MAX_ROWS:,} rows")
            shown = {at: cell for at, cell in enumerate(row, 1) if at not in layout.columns}
            texts = {at: _cell_text(cell.value, cell.number_format) for at, cell in shown.items()}
            for column in shown:
                formula = layout.formulas.get((number, column))
                if formula is not None:
                    texts[column] = f"{NO_VALUE} (={formula})" if formula else NO_VALUE
            texts = layout.spread(number, texts)
            cells = list(texts.values())
            if number in layout.rows:
                self._hidden += any(cells)
                continue
            if any(cells):
                self.cells += sum(map(bool, cells))
                self._uncomputed += sum(cell.startswith(NO_VALUE) for cell in cells)
                if self.cells > self._most_cells:
                    raise SourceError(self._uri, f"more than {self._most_cells:,} filled cells")
                given = [shown[at].value if at in shown else None for at in texts]
                yield (
                    number,
                    cells,
                    [a if a is not None else b for a, b in zip(given, cells, strict=True)],
                )


def _is_header(values: Sequence[object], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of ``rows`` names the columns: text, or years beside text."""
    filled = [value for value in values if value is not None and value != ""]
    words = sum(isinstance(value, str) for value in filled)
    years = sum(isinstance(value, int) and 1500 <= value < 2100 for value in filled)
    if len(filled) < 2 or not words or words + years < len(filled):
        return False
    return len(rows[0]) > 2 or bool(header_of(rows))


def _cell_text(value: object, form: str) -> str:
    """Return the text of a cell, with dates in ISO form and percentages."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        whole_day = value.time() == time()
        return value.date().isoformat() if whole_day else value.isoformat(" ", "seconds")
    if isinstance(value, int | float) and _PERCENT.fullmatch(form):
        return f"{value * 100:.{SIGNIFICANT_DIGITS}g}%"
    if isinstance(value, int | float) and (shown := _formatted(value, form)):
        return shown
    return f"{value:.{SIGNIFICANT_DIGITS}g}" if isinstance(value, float) else one_line(str(value))


def _formatted(value: float, form: str) -> str:
    """``value`` as its number format shows it; empty for a format with other parts than digits."""
    sections = form.split(";")
    negative = value < 0 and len(sections) > 1
    before, digits, after = "", "", ""
    for part in _FORMAT.finditer(sections[1] if negative else sections[0]):
        literal = part["text"] or part["sign"] or part["currency"] or part["plain"] or ""
        if part["other"] or (digits and part["digits"]):  # a fraction, an exponent, a date
            return ""
        digits = digits or part["digits"] or ""
        before, after = (before, after + literal) if digits else (before + literal, after)
    whole, _, decimals = digits.rstrip(",").partition(".")
    if not digits or len(decimals) > MAX_DECIMALS:
        return ""
    value = abs(value) if negative else value
    value = value * 100 if "%" in before + after else value
    value /= 1000 ** (len(digits) - len(digits.rstrip(",")))
    text = f"{abs(value):{',' if ',' in whole else ''}.{len(decimals)}f}"
    optional = len(decimals) - len(decimals.rstrip("#?"))
    for _ in range(optional):
        text = text.removesuffix("0")
    text = text.removesuffix(".").zfill(
        whole.count("0") + len(decimals) + bool(decimals) - optional
    )
    return one_line(f"{'-' * (value < 0)}{before}{text}{after}")
