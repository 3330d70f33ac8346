"""Loads PowerPoint files (pptx, pptm, ppsx) with python-pptx: one section per slide, with notes.

Hidden slides and objects are left out.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree
from pptx.exc import PackageNotFoundError
from pptx.opc.package import PartFactory
from pptx.package import Package
from pptx.parts.presentation import PresentationPart
from pptx.slide import Slide

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import child_of, elements, name_of, open_office, value_of
from wellread.ingest.loaders.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.plain import PARAGRAPH, header_of, one_line, table_row
from wellread.types import Document

NOTES = "Notes"
MAX_DEPTH = 8  # levels of indented text

# python-pptx knows presentations with and without macros; slide shows and templates only have
# other names.
for _name in (
    "vnd.openxmlformats-officedocument.presentationml.slideshow",
    "vnd.openxmlformats-officedocument.presentationml.template",
    "vnd.ms-powerpoint.slideshow.macroEnabled",
    "vnd.ms-powerpoint.template.macroEnabled",
):
    PartFactory.part_type_for[f"application/{_name}.main+xml"] = PresentationPart

_TITLES = ("title", "ctrTitle")
_BODIES = ("body", "obj", "")  # placeholders whose paragraphs are a list
_FURNITURE = ("sldNum", "dt", "ftr", "hdr", "sldImg")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{12,}(?:[eE]-?\d+)?")
_BULLETS = ("buChar", "buAutoNum", "buBlip")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a presentation as one page, with slide numbers as page marks."""
    file = open_office(source, limits)
    slides = _slides(file.data, source.uri, limits)
    writer = _Writer()
    titles = [
        writer.write(number, slide)
        for number, slide in enumerate(slides, 1)
        if value_of(slide.element, "show") not in ("0", "false")
    ]
    source.require(writer.words)
    title = file.title or next(iter(titles), "")
    yield file.page(source, writer.builder.build(), source_type="pptx", title=title)


def _slides(data: bytes, uri: str, limits: LoaderLimits) -> list[Slide]:
    try:
        part = Package.open(io.BytesIO(data)).main_document_part
        if not isinstance(part, PresentationPart):
            raise SourceError(uri, f"not a presentation: its content type is {part.content_type}")
        id_list = child_of(part.presentation.element, "sldIdLst")
        count = sum(name_of(item) == "sldId" for item in id_list) if id_list is not None else 0
        if count > limits.max_pages:
            raise SourceError(uri, f"too many slides: {count}, the limit is {limits.max_pages}")
        return list(part.presentation.slides)
    except (PackageNotFoundError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise SourceError(uri, f"damaged presentation: {error}") from error
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        reason = f"not a presentation that can be read: save it as .pptx ({error})"
        raise SourceError(uri, reason) from error


_Line = str | tuple[str, ...]  # or the names of the columns of the rows that follow


class _Writer:
    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.words = ""  # text of the slides, without generated headings

    def write(self, number: int, slide: Slide) -> str:
        """Write one slide and return its title."""
        title: Any = next(
            (item for item in slide.shapes if _placeholder_type(item) in _TITLES), None
        )
        words = one_line(title.text_frame.text) if title is not None else ""
        heading = f"Slide {number}: {words}" if words else f"Slide {number}"
        self.builder.add(PARAGRAPH if self.builder.length else "")
        self.builder.page(number)
        self.builder.heading((heading,))
        self.builder.add(heading)
        self.words = self.words or words
        for lines in _shape_lines(slide.shapes):
            self._block(lines)
            self.builder.columns(())
        # Checked first, because reading missing notes would create a notes page.
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        lines = (
            [one_line(paragraph.text) for paragraph in frame.paragraphs]
            if frame is not None
            else list[_Line]()
        )
        if any(lines):
            self.builder.add(PARAGRAPH)
            self.builder.heading((heading, NOTES))
            self.builder.add(NOTES)
            self._block(lines)
        return words

    def _block(self, lines: list[_Line]) -> None:
        gap = PARAGRAPH
        for line in lines:
            if isinstance(line, tuple):
                self.builder.columns(line)
            elif line:
                self.builder.add(gap)
                self.builder.add(line)
                self.words, gap = self.words or line, "\n"


def _shape_lines(shapes: Any) -> Iterator[list[_Line]]:
    """Yield the lines of each visible shape, table and chart, except the title."""
    for shape in shapes:
        properties = next((part for part in shape._element if name_of(part).startswith("nv")), None)
        if value_of(child_of(properties, "cNvPr"), "hidden") in ("1", "true"):
            continue
        if name_of(shape._element) == "grpSp":
            yield from _shape_lines(shape.shapes)
        elif shape.has_chart:
            yield _chart_rows(shape.chart_part._element)
        elif shape.has_table:
            rows = [
                [one_line(part.text_frame.text) for part in row.cells] for row in shape.table.rows
            ]
            columns = tuple(rows[0]) if rows and shape.table.first_row else header_of(rows)
            first, *others = map(table_row, rows)
            yield [first, columns, *others]
        elif shape.has_text_frame and _placeholder_type(shape) not in (*_TITLES, *_FURNITURE):
            paragraphs = [part for part in shape.text_frame.paragraphs if one_line(part.text)]
            is_list = _placeholder_type(shape) in _BODIES and len(paragraphs) > 1
            yield [_list_line(part, is_list=is_list) for part in paragraphs]


def _placeholder_type(shape: Any) -> str | None:
    """The shape's placeholder type (empty: the default type); None if it is not a placeholder."""
    placeholder = child_of(shape._element, "nvSpPr", "nvPr", "ph")
    return None if placeholder is None else value_of(placeholder, "type")


def _list_line(paragraph: Any, *, is_list: bool) -> str:
    words, settings = one_line(paragraph.text), child_of(paragraph._p, "pPr")
    names = {name_of(setting) for setting in settings} if settings is not None else set()
    has_bullet = bool(names & set(_BULLETS)) or (is_list and "buNone" not in names)
    return "  " * min(paragraph.level, MAX_DEPTH) + f"- {words}" if has_bullet else words


def _chart_rows(root: etree._Element) -> list[_Line]:
    """Return a chart as table rows: its title, the names of its series, and a row per category.

    Read from the XML, because the library refuses charts of unknown types.
    """
    title = next(elements(root, "title"), None)
    series = list(elements(root, "ser"))
    columns = [_points(element, "val", "yVal") for element in series]
    names = [" ".join(_points(element, "tx").values()) for element in series]
    categories: dict[int, str] = {}
    for element in series:
        categories = {**_points(element, "cat", "xVal"), **categories}
    rows: list[_Line] = [] if title is None else [one_line(" ".join(map(str, title.itertext())))]
    if any(names):
        rows += [table_row(["", *names]), ("", *names)]
    for index in sorted({*categories, *(key for column in columns for key in column)}):
        rows.append(table_row([column.get(index, "") for column in (categories, *columns)]))
    return rows


def _points(series: etree._Element, *names: str) -> dict[int, str]:
    values: dict[int, str] = {}
    for holder in (child_of(series, name) for name in names):
        for point in elements(holder, "pt") if holder is not None else ():
            value, index = child_of(point, "v"), value_of(point, "idx")
            if value is not None and index.isdecimal():
                text = one_line(value.text or "")
                # Charts store 0.30000000000000004 for 0.3.
                values[int(index)] = f"{float(text):.12g}" if _LONG_NUMBER.fullmatch(text) else text
    return values
