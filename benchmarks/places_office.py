"""Places in Office files, read from the XML inside them."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from lxml import etree

from benchmarks.place_words import Found, bare, beginning
from wellread.types import Locator


def in_docx(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The quotation stands under the last paragraph before it that has a heading's style."""
    heading, joined = "", ""
    headings: list[str] = []
    for paragraph in _part(path, "word/document.xml").iter("{*}p"):
        words = "".join(one.text or "" for one in paragraph.iter("{*}t"))
        style = paragraph.find("{*}pPr/{*}pStyle")
        name = next(iter(style.attrib.values()), "") if style is not None else ""
        if re.fullmatch(r"Heading\d|Title", str(name)):
            heading = words
        joined += bare(words)
        headings += [heading] * len(bare(words))
    place = joined.find(beginning(quote))
    if place < 0:
        return {"heading": "not in the file"}
    last = locator.heading[-1] if locator.heading else ""
    same = bare(headings[place]) == bare(last)
    return {"heading": "" if same else f"stands under {headings[place]!r}, not {last!r}"}


def in_pptx(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The slide with the page's number holds the quotation, on it or in its notes."""
    if locator.page is None:
        return {"page": "no page"}
    held = ""
    for name in (f"slides/slide{locator.page}", f"notesSlides/notesSlide{locator.page}"):
        with zipfile.ZipFile(path) as archive:
            if f"ppt/{name}.xml" not in archive.namelist():
                continue
        held += "".join(one.text or "" for one in _part(path, f"ppt/{name}.xml").iter("{*}t"))
    words = re.sub(r"^Slide \d+: ", "", quote)
    found = beginning(words) in bare(held)
    return {"page": "" if found else f"slide {locator.page} does not hold it"}


def in_xlsx(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The row with the line's number, on the sheet that the heading names, holds the quotation."""
    sheet = locator.heading[0] if locator.heading else ""
    names = [one.get("name") for one in _part(path, "xl/workbook.xml").iter("{*}sheet")]
    if sheet not in names:
        return {"heading": f"no sheet {sheet!r}"}
    rows = _part(path, f"xl/worksheets/sheet{names.index(sheet) + 1}.xml").iter("{*}row")
    row = next((one for one in rows if one.get("r") == str(locator.line)), None)
    if row is None:
        return {"heading": "", "line": f"no row {locator.line} on {sheet!r}"}
    shared = _shared(path)
    cells = [
        shared[int(cell.findtext("{*}v") or 0)]
        if cell.get("t") == "s"
        else " ".join(str(piece) for piece in cell.itertext())
        for cell in row.iter("{*}c")
    ]
    found = beginning(quote) in bare(" ".join(cells))
    return {"heading": "", "line": "" if found else f"row {locator.line} does not hold it"}


def _shared(path: Path) -> list[str]:
    """The strings that cells refer to by number; none when each cell has its own."""
    with zipfile.ZipFile(path) as archive:
        if "xl/sharedStrings.xml" not in archive.namelist():
            return []
    items = _part(path, "xl/sharedStrings.xml").iter("{*}si")
    return ["".join(one.text or "" for one in item.iter("{*}t")) for item in items]


def _part(path: Path, name: str) -> etree._Element:
    with zipfile.ZipFile(path) as archive:
        return etree.fromstring(archive.read(name))
