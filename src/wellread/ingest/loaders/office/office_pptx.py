"""PowerPoint files (pptx, pptm, ppsx): one section a slide, with its notes, by python-pptx.

Hidden slides and hidden objects are left out.
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
from wellread.ingest.loaders.archives import (
    child_of,
    elements,
    name_of,
    open_office,
    table_row,
    value_of,
)
from wellread.ingest.loaders.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.plain import PARAGRAPH, one_line
from wellread.types import Document

NOTES = "Notes"
DEEPEST = 8  # levels of indented text

# python-pptx knows presentations with and without macros; slide shows and templates are the same
# under other names.
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
    """One page; slide numbers are its page marks."""
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
            raise SourceError(uri, f"not a presentation: its content is {part.content_type}")
        listed = child_of(part.presentation.element, "sldIdLst")
        count = sum(name_of(one) == "sldId" for one in listed) if listed is not None else 0
        if count > limits.max_pages:
            raise SourceError(uri, f"too many slides: {count}, the limit is {limits.max_pages}")
        return list(part.presentation.slides)
    except (PackageNotFoundError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise SourceError(uri, f"damaged presentation: {error}") from error
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        reason = f"not a presentation that can be read: save it as .pptx ({error})"
        raise SourceError(uri, reason) from error


class _Writer:
    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.words = ""  # what slides say, without the headings that were made for them

    def write(self, number: int, slide: Slide) -> str:
        """Write one slide; its title."""
        title: Any = next((one for one in slide.shapes if _holder(one) in _TITLES), None)
        words = one_line(title.text_frame.text) if title is not None else ""
        heading = f"Slide {number}: {words}" if words else f"Slide {number}"
        self.builder.add(PARAGRAPH if self.builder.length else "")
        self.builder.page(number)
        self.builder.heading((heading,))
        self.builder.add(heading)
        self.words = self.words or words
        for lines in _parts(slide.shapes):
            self._block(lines)
        # Looked for first: asking for the notes of a slide without any would make a page of them.
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        lines = [one_line(each.text) for each in frame.paragraphs] if frame is not None else []
        if any(lines):
            self.builder.add(PARAGRAPH)
            self.builder.heading((heading, NOTES))
            self.builder.add(NOTES)
            self._block(lines)
        return words

    def _block(self, lines: list[str]) -> None:
        text = "\n".join(line for line in lines if line)
        if text:
            self.builder.add(PARAGRAPH)
            self.builder.add(text)
            self.words = self.words or text


def _parts(shapes: Any) -> Iterator[list[str]]:
    """The lines of each shape, table and chart but the title and what is not shown."""
    for shape in shapes:
        about = next((one for one in shape._element if name_of(one).startswith("nv")), None)
        if value_of(child_of(about, "cNvPr"), "hidden") in ("1", "true"):
            continue
        if name_of(shape._element) == "grpSp":
            yield from _parts(shape.shapes)
        elif shape.has_chart:
            yield _chart_rows(shape.chart_part._element)
        elif shape.has_table:
            yield [
                table_row([one_line(cell.text_frame.text) for cell in row.cells])
                for row in shape.table.rows
            ]
        elif shape.has_text_frame and _holder(shape) not in (*_TITLES, *_FURNITURE):
            found = [one for one in shape.text_frame.paragraphs if one_line(one.text)]
            is_list = _holder(shape) in _BODIES and len(found) > 1
            yield [_item(one, is_list=is_list) for one in found]


def _holder(shape: Any) -> str | None:
    """The type of placeholder that a shape is (empty: of the common sort); None for others."""
    place = child_of(shape._element, "nvSpPr", "nvPr", "ph")
    return None if place is None else value_of(place, "type")


def _item(paragraph: Any, *, is_list: bool) -> str:
    words, settings = one_line(paragraph.text), child_of(paragraph._p, "pPr")
    names = {name_of(one) for one in settings} if settings is not None else set()
    marked = bool(names & set(_BULLETS)) or (is_list and "buNone" not in names)
    return "  " * min(paragraph.level, DEEPEST) + f"- {words}" if marked else words


def _chart_rows(root: etree._Element) -> list[str]:
    """A chart as a table: its title, the names of its series, and a row for each category.

    Of its XML, because the library refuses a file with a chart of a sort that it does not know.
    """
    title = next(elements(root, "title"), None)
    series = list(elements(root, "ser"))
    columns = [_points(one, "val", "yVal") for one in series]
    names = [" ".join(_points(one, "tx").values()) for one in series]
    categories: dict[int, str] = {}
    for one in series:
        categories = {**_points(one, "cat", "xVal"), **categories}
    rows = [] if title is None else [one_line(" ".join(map(str, title.itertext())))]
    if any(names):
        rows.append(table_row(["", *names]))
    for place in sorted({*categories, *(key for column in columns for key in column)}):
        rows.append(table_row([one.get(place, "") for one in (categories, *columns)]))
    return rows


def _points(series: etree._Element, *names: str) -> dict[int, str]:
    """The values that a chart keeps of the cells it was drawn from, by place."""
    found: dict[int, str] = {}
    for holder in (child_of(series, name) for name in names):
        for point in elements(holder, "pt") if holder is not None else ():
            value, place = child_of(point, "v"), value_of(point, "idx")
            if value is not None and place.isdecimal():
                text = one_line(value.text or "")
                # Charts keep 0.30000000000000004; people write 0.3.
                found[int(place)] = f"{float(text):.12g}" if _LONG_NUMBER.fullmatch(text) else text
    return found
