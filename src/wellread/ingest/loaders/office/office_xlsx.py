"""Excel files (xlsx, xlsm): one section a sheet, one line a row; line marks are row numbers.

Sheets that are hidden are left out.

The names of a table's columns become part of the heading path of its rows, so that a row far
down is still found and understood by them.
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
from wellread.ingest.loaders.archives import open_office, table_row
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.plain import PARAGRAPH, one_line
from wellread.types import Document

LAST_ROW = 1_048_576  # of a sheet, by the format
HEADER_CHARACTERS = 100  # of the column names in a heading path
DIGITS = 15  # that a number of a sheet has; the rest comes from binary fractions

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
    """One page. Formulas are read as the values that were last computed and saved."""
    file = open_office(source, limits)
    writer = _Writer(source.uri, limits.max_cells)
    try:
        with warnings.catch_warnings():
            # Of parts that are of no interest here: data validation, default styles, headers.
            warnings.simplefilter("ignore")
            book: Workbook = load_workbook(
                io.BytesIO(file.data), read_only=True, data_only=True, keep_links=False
            )
            with closing(book):
                for sheet in book.worksheets:
                    if sheet.sheet_state != "visible":
                        continue
                    # The size that a sheet claims may be that of the whole grid.
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
        """Write the rows of a sheet that have values; nothing when there are none."""
        name = one_line(sheet.title)
        begun = named = False
        for number, row in enumerate(sheet.iter_rows(), 1):
            if number > LAST_ROW:
                raise SourceError(self._uri, f"a sheet with more than {LAST_ROW:,} rows")
            cells = [_words(cell.value, cell.number_format) if row else "" for cell in row]
            line = table_row(cells)
            if not line:
                continue
            self.cells += sum(bool(cell) for cell in cells)
            if self.cells > self._most_cells:
                raise SourceError(self._uri, f"more than {self._most_cells:,} filled cells")
            if not begun:
                begun = True
                self.builder.add(PARAGRAPH if self.builder.length else "")
                self.builder.heading((name,))
                self.builder.add(name)
            self.builder.add("\n" if named else PARAGRAPH)
            self.builder.line(number)
            self.builder.add(line)
            if not named and _names_columns([cell.value for cell in row]):
                named = True
                self.builder.heading((name, _short(line)))


def _names_columns(values: Sequence[object]) -> bool:
    """Whether a row is the head of a table: words alone, in two columns or more."""
    given = [value for value in values if value is not None and value != ""]
    return len(given) > 1 and all(isinstance(value, str) for value in given)


def _short(line: str) -> str:
    if len(line) <= HEADER_CHARACTERS:
        return line
    return line[:HEADER_CHARACTERS].rpartition(" | ")[0] + " | …"


def _words(value: object, form: str) -> str:
    """A cell as a reader would note it down: dates in ISO form, shares in percent."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        whole_day = value.time() == time()
        return value.date().isoformat() if whole_day else value.isoformat(" ", "seconds")
    if isinstance(value, int | float) and _PERCENT.fullmatch(form):
        return f"{value * 100:.{DIGITS}g}%"
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else one_line(str(value))
