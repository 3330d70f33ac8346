"""Loads Excel files (xlsx, xlsm): one section per sheet, one line per row, with row numbers.

Hidden sheets are left out.

The column names of a table become part of the heading path of its rows, so that rows far down are
still found and understood.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, time
from xml.etree.ElementTree import ParseError

from lxml import etree
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.workbook import Workbook
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import open_office
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.plain import PARAGRAPH, one_line, table_row
from wellread.types import Document

MAX_ROWS = 1_048_576  # in a sheet, by the format
MAX_HEADER_CHARS = 100  # characters of column names in a heading path
SIGNIFICANT_DIGITS = 15  # Excel's precision; further digits come from binary fractions

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
                    writer.write(sheet)
    except _ERRORS as error:
        raise SourceError(
            source.uri, f"damaged workbook: {type(error).__name__}: {one_line(str(error))[:120]}"
        ) from error
    if not writer.cells:
        raise EmptyError(source.uri, "no text: every cell is empty")
    yield file.page(source, writer.builder.build(), source_type="xlsx", title=file.title)


class _Writer:
    def __init__(self, uri: str, most_cells: int) -> None:
        self.builder = TextBuilder()
        self.cells = 0
        self._uri = uri
        self._most_cells = most_cells

    def write(self, sheet: ReadOnlyWorksheet) -> None:
        """Write the rows of a sheet that have values."""
        name = one_line(sheet.title)
        started = has_header = False
        for number, row in enumerate(sheet.iter_rows(), 1):
            if number > MAX_ROWS:
                raise SourceError(self._uri, f"a sheet with more than {MAX_ROWS:,} rows")
            cells = [_cell_text(cell.value, cell.number_format) if row else "" for cell in row]
            line = table_row(cells)
            if not line:
                continue
            self.cells += sum(bool(cell) for cell in cells)
            if self.cells > self._most_cells:
                raise SourceError(self._uri, f"more than {self._most_cells:,} filled cells")
            if not started:
                started = True
                self.builder.add(PARAGRAPH if self.builder.length else "")
                self.builder.heading((name,))
                self.builder.add(name)
            self.builder.add("\n" if has_header else PARAGRAPH)
            self.builder.line(number)
            self.builder.add(line)
            if not has_header and _is_header([cell.value for cell in row]):
                has_header = True
                self.builder.heading((name, _shorten(line)))


def _is_header(values: Sequence[object]) -> bool:
    """Whether a row is the header of a table: only text, in two or more columns."""
    filled = [value for value in values if value is not None and value != ""]
    return len(filled) > 1 and all(isinstance(value, str) for value in filled)


def _shorten(line: str) -> str:
    if len(line) <= MAX_HEADER_CHARS:
        return line
    return line[:MAX_HEADER_CHARS].rpartition(" | ")[0] + " | …"


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
    return f"{value:.{SIGNIFICANT_DIGITS}g}" if isinstance(value, float) else one_line(str(value))
