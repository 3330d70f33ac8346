"""PowerPoint files (pptx, pptm, ppsx): one section a slide, with its notes.

Hidden slides and hidden objects are left out.

python-pptx opens the package and finds slides, notes and charts; the shapes are walked here,
because it passes over diagrams and shapes that a slide gives in two versions.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from lxml import etree
from pptx.exc import PackageNotFoundError
from pptx.opc.package import PartFactory
from pptx.package import Package
from pptx.parts.presentation import PresentationPart
from pptx.slide import Slide

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.office.archives import (
    child_of,
    elements,
    name_of,
    open_office,
    parse,
    shown,
    table_row,
    value_of,
)
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
_BULLETS = ("buChar", "buAutoNum", "buBlip")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One page; slide numbers are its page marks."""
    file = open_office(source, limits)
    slides = _slides(file.data, source.uri, limits)
    writer = _Writer(source.uri)
    titles = [
        writer.write(number, slide)
        for number, slide in enumerate(slides, 1)
        if value_of(slide.element, "show") not in ("0", "false")
    ]
    source.require(writer.words)
    title = file.title or next(iter(titles), "")
    yield file.page(source, writer.builder.build(), source_type="pptx", title=title)


def _slides(data: bytes, uri: str, limits: LoaderLimits) -> list[Slide]:
    """The slides in the order in which they are shown."""
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
    """Writes slides one after the other."""

    def __init__(self, uri: str) -> None:
        self.builder = TextBuilder()
        self.words = ""  # what slides say, without the headings that were made for them
        self._uri = uri

    def write(self, number: int, slide: Slide) -> str:
        """Write one slide; its title."""
        shapes = child_of(slide.element, "cSld", "spTree")
        titles = [] if shapes is None else list(elements(shapes, "sp"))
        title = next((shape for shape in titles if _holder(shape) in _TITLES), None)
        words = " ".join(_lines(title)) if title is not None else ""
        heading = f"Slide {number}: {words}" if words else f"Slide {number}"
        self.builder.add(PARAGRAPH if self.builder.length else "")
        self.builder.page(number)
        self.builder.heading((heading,))
        self.builder.add(heading)
        self.words = self.words or words
        if shapes is not None:
            self._write_shapes(shapes, title, slide)
        self._write_notes(heading, slide)
        return words

    def _write_shapes(
        self, holder: etree._Element, title: etree._Element | None, slide: Slide
    ) -> None:
        for shape in shown(holder):
            name = name_of(shape)
            if _unseen(shape):
                continue
            if name == "grpSp":
                self._write_shapes(shape, title, slide)
            elif name == "sp" and shape is not title and _holder(shape) not in _FURNITURE:
                self._block(_paragraphs(shape))
            elif name == "graphicFrame":
                self._write_frame(shape, slide)

    def _write_frame(self, frame: etree._Element, slide: Slide) -> None:
        """A table, a chart or a diagram."""
        for table in elements(frame, "tbl"):
            rows = [
                table_row([" ".join(_lines(cell)) for cell in row if name_of(cell) == "tc"])
                for row in table
                if name_of(row) == "tr"
            ]
            self._block(rows)
        for element in elements(frame, "chart", "relIds"):
            sort = "id" if name_of(element) == "chart" else "dm"
            part = slide.part.rels.get(value_of(element, sort))
            if part is not None and not part.is_external:
                root = parse(part.target_part.blob, self._uri)
                is_chart = name_of(element) == "chart"
                self._block(_chart_rows(root) if is_chart else _lines(root))

    def _write_notes(self, heading: str, slide: Slide) -> None:
        # Looked for first: asking for the notes of a slide without any would make a page of them.
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        lines = _lines(frame._txBody) if frame is not None else []
        if lines:
            self.builder.add(PARAGRAPH)
            self.builder.heading((heading, NOTES))
            self.builder.add(NOTES)
            self._block(lines)

    def _block(self, lines: list[str]) -> None:
        text = "\n".join(line for line in lines if line)
        if text:
            self.builder.add(PARAGRAPH)
            self.builder.add(text)
            self.words = self.words or text


def _unseen(shape: etree._Element) -> bool:
    """Whether it is switched off in the list of the slide's objects."""
    about = next((one for one in shape if name_of(one).startswith("nv")), None)
    return value_of(child_of(about, "cNvPr"), "hidden") in ("1", "true")


def _holder(shape: etree._Element) -> str | None:
    """The type of placeholder that a shape is (empty: of the common sort); None for others."""
    place = child_of(shape, "nvSpPr", "nvPr", "ph")
    return None if place is None else value_of(place, "type")


def _paragraphs(shape: etree._Element) -> list[str]:
    """The lines of a shape; those of a list as items."""
    body = child_of(shape, "txBody")
    if body is None:
        return []
    found = [(one, _text(one)) for one in body if name_of(one) == "p" and _text(one)]
    is_list = _holder(shape) in _BODIES and len(found) > 1
    return [_item(one, words, is_list=is_list) for one, words in found]


def _item(paragraph: etree._Element, words: str, *, is_list: bool) -> str:
    settings = child_of(paragraph, "pPr")
    names = {name_of(one) for one in settings} if settings is not None else set()
    marked = bool(names & set(_BULLETS)) or (is_list and "buNone" not in names)
    if not marked:
        return words
    level = value_of(settings, "lvl")
    return "  " * (min(int(level), DEEPEST) if level.isdecimal() else 0) + f"- {words}"


def _lines(holder: etree._Element) -> list[str]:
    """The paragraphs below ``holder`` that have words."""
    return [words for one in elements(holder, "p") if (words := _text(one))]


def _text(paragraph: etree._Element) -> str:
    pieces = (
        " " if name_of(one) in ("br", "tab") else one.text or ""
        for one in elements(paragraph, "t", "br", "tab")
    )
    return one_line("".join(pieces))


def _chart_rows(root: etree._Element) -> list[str]:
    """A chart as a table: its title, the names of its series, and a row for each category."""
    title = next(elements(root, "title"), None)
    series = list(elements(root, "ser"))
    columns = [_points(one, "val", "yVal") for one in series]
    names = [" ".join(_points(one, "tx").values()) for one in series]
    categories: dict[int, str] = {}
    for one in series:
        categories = {**_points(one, "cat", "xVal"), **categories}
    rows = [" ".join(_lines(title))] if title is not None else []
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
                found[int(place)] = _number(one_line(value.text or ""))
    return found


def _number(text: str) -> str:
    """Numbers as people write them: charts keep ``0.30000000000000004``."""
    if not re.fullmatch(r"-?\d+\.\d{12,}(?:[eE]-?\d+)?", text):
        return text
    return f"{float(text):.12g}"
