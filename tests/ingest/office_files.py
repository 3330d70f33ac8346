"""Office files for tests, made in memory, and the surgery on them that attackers do."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import openpyxl
from docx import Document as WordDocument
from docx.document import Document as Word
from lxml import etree
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
NOTES_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
NOTES_CONTENT = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"


def saved(book: object) -> bytes:
    """The bytes of anything with a ``save`` method."""
    stream = io.BytesIO()
    save: Callable[[io.BytesIO], None] = getattr(book, "save")  # noqa: B009 three libraries
    save(stream)
    return stream.getvalue()


def with_parts(data: bytes, parts: Mapping[str, bytes], *, drop: str = "") -> bytes:
    """The zip file with some entries replaced or added."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as before,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            if name not in parts and name != drop:
                after.writestr(name, before.read(name))
        for name, content in parts.items():
            after.writestr(name, content)
    return stream.getvalue()


def part(data: bytes, name: str) -> bytes:
    """One entry of a zip file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def changed(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """The zip file with a piece of one entry replaced."""
    content = part(data, name)
    assert old in content
    return with_parts(data, {name: content.replace(old, new, 1)})


def append(document: Word, markup: str) -> None:
    """Put an element in front of the document's last properties."""
    element = etree.fromstring(f'<w:root xmlns:w="{W}">{markup}</w:root>')
    body = document.element.body
    for child in element:
        body.insert(len(body) - 1, child)


def word() -> Word:
    """A document with what the loader knows about."""
    document = WordDocument()
    document.core_properties.title = "Harbour rules"
    document.core_properties.author = "Ida Lund; Tor Vik"
    document.core_properties.created = datetime(2024, 5, 6, 7, 8, 9)
    document.core_properties.keywords = "harbour, tide"
    document.add_heading("Tides", 1)
    document.add_paragraph("The tide turns at noon.")
    document.add_heading("Spring tide", 2)
    document.add_paragraph("Rope", style="List Bullet")
    document.add_paragraph("Tar", style="List Number")
    table = document.add_table(2, 3)
    for place, words in enumerate(("Berth", "Depth", "", "North", "4 m\nat ebb", "")):
        table.cell(place // 3, place % 3).text = words
    document.add_heading("Mooring", 1)
    document.add_paragraph("Moor at the north quay.")
    return document


def slides() -> bytes:
    """A presentation with a list, notes, a group, a table and a chart."""
    show = Presentation()
    show.core_properties.title = "Budget"
    show.core_properties.author = "Ida Lund"
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Costs of\nthe quay"
    frame = first.placeholders[1].text_frame
    frame.text = "Stone is dear"
    inner = frame.add_paragraph()
    inner.text, inner.level = "Granite most of all", 1
    first.notes_slide.notes_text_frame.text = "Say this slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    group = second.shapes.add_group_shape()
    inside = group.shapes.add_group_shape()
    inside.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Deep in a group"
    table = second.shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    for place, words in enumerate(("Stone", "Price", "Granite", "900")):
        table.cell(place // 2, place % 2).text = words
    data: Any = CategoryChartData  # the library has types for all but this
    chart = data()
    chart.categories = ["North", "South"]
    chart.add_series("Tonnes", (0.1 + 0.2, 7))
    second.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, Inches(2), Inches(2), chart)
    return saved(show)


def workbook() -> bytes:
    """A workbook with a table, gaps, dates, shares and a second sheet."""
    book = openpyxl.Workbook()
    book.properties.title = "Members"
    book.properties.creator = "openpyxl"
    book.properties.created = datetime(2024, 1, 2, tzinfo=UTC).replace(tzinfo=None)
    sheet = book.active
    sheet.title = "People"
    sheet["A1"] = "Members of the guild"
    for row, cells in (
        (3, ("Name", "Joined", "Share")),
        (4, ("Ida Lund", date(2024, 1, 2), 0.29)),
        (9, ("Tor\nVik", datetime(2024, 3, 4, 5, 6), 0.1 + 0.2)),
    ):
        for column, value in enumerate(cells, 1):
            sheet.cell(row, column, value)
    sheet["C4"].number_format = "0%"
    sheet["E9"] = True
    book.create_sheet("Empty")
    other = book.create_sheet("Boats")
    other.append(["Only one column"])
    other.append([1234567890123])
    return saved(book)
