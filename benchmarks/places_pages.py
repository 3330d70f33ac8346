"""Places on pages: PDF (page and box), HTML (heading), entries of feeds."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from ctypes import c_int
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw
from lxml import etree
from lxml import html as lxml_html

from benchmarks.place_words import Found, bare, beginning, strings
from wellread.types import Box, Locator

BOX_SLACK = 0.004  # share of the page by which a letter may stand out of its box
BOX_LARGER = 1.5  # times the area that the quotation's own letters take
DEVICE = 100_000  # units for a page's width and height

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BOXES = " or ".join(
    f"self::{name}"
    for name in (
        "aside figure details dialog nav footer form blockquote section article li td th".split()
    )
)
_TAG = re.compile(r"<[^<>]*>")


def in_pdf(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The page holds the quotation's beginning, and the box holds its first letters."""
    if locator.page is None:
        return {"page": "no page"}
    pages = pdfium.PdfDocument(path)
    if not 1 <= locator.page <= len(pages):
        return {"page": f"no page {locator.page} in the file"}
    texts = [
        pages[number].get_textpage().get_text_range()
        for number in range(locator.page - 1, min(locator.page + 1, len(pages)))
    ]
    wrong = ""
    if beginning(quote) not in bare(texts[0]):
        words = {bare(word) for word in quote.split()} - {""}
        held = bare(" ".join(texts))
        share = sum(word in held for word in words) / max(1, len(words))
        wrong = f"page {locator.page} lacks its beginning ({share:.0%} of its words are there)"
    return {"page": wrong, "box": in_box(pages[locator.page - 1], quote, locator.box)}


def in_box(page: pdfium.PdfPage, quote: str, box: Box | None) -> str:
    """What is wrong with the box: it must hold the first letters of the quotation, and when all of
    it stands in one piece in the text layer, it must not be much larger than its letters.
    """
    if box is None:
        return "no box"
    joined, places = _characters(page)
    starts = [found.start() for found in re.finditer(re.escape(beginning(quote)), joined)]
    if not starts:
        return "its beginning is not in one piece on the page"
    count, whole = len(beginning(quote)), len(bare(quote))
    for start in starts:
        if not all(_inside(one, box) for one in places[start : start + count]):
            continue
        if joined[start : start + whole] != bare(quote):
            return ""
        own = places[start : start + whole]
        width = max(one.right for one in own) - min(one.left for one in own)
        height = max(one.bottom for one in own) - min(one.top for one in own)
        area = (box.right - box.left) * (box.bottom - box.top)
        return "" if area <= BOX_LARGER * width * height + 0.01 else f"the box takes {area:.0%}"
    return "the box does not hold its first letters"


def _inside(letter: Box, box: Box) -> bool:
    across, down = (letter.left + letter.right) / 2, (letter.top + letter.bottom) / 2
    return (
        box.left - BOX_SLACK <= across <= box.right + BOX_SLACK
        and box.top - BOX_SLACK <= down <= box.bottom + BOX_SLACK
    )


def _characters(page: pdfium.PdfPage) -> tuple[str, list[Box]]:
    """The bare letters of the page's text layer and where each is displayed."""
    layer = page.get_textpage()
    letters: list[str] = []
    places: list[Box] = []
    for index in range(layer.count_chars()):
        found = bare(chr(pdfium_raw.FPDFText_GetUnicode(layer, index)))
        if found:
            left, bottom, right, top = layer.get_charbox(index, loose=True)
            one, other = _displayed(page, left, bottom), _displayed(page, right, top)
            letters.append(found)
            place = Box(
                left=min(one[0], other[0]),
                top=min(one[1], other[1]),
                right=max(one[0], other[0]),
                bottom=max(one[1], other[1]),
            )
            places += [place] * len(found)
    return "".join(letters), places


def _displayed(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    """A point of the page as shares of the page as a viewer shows it, from the top left."""
    across, down = c_int(), c_int()
    pdfium_raw.FPDF_PageToDevice(page, 0, 0, DEVICE, DEVICE, 0, x, y, across, down)
    return across.value / DEVICE, down.value / DEVICE


def in_feed(path: Path, quote: str, _: Locator, address: str) -> Found:
    """The entry with the document's link holds the quotation."""
    root = etree.fromstring(path.read_bytes())
    for entry in root.iter("{*}item", "{*}entry"):
        links = [link.get("href") or link.text or "" for link in entry.iter("{*}link", "{*}guid")]
        if address in (link.strip() for link in links):
            words = _TAG.sub(" ", html.unescape(" ".join(str(piece) for piece in entry.itertext())))
            held = bare(html.unescape(words))
            return {"entry": "" if beginning(quote) in held else "the entry does not hold it"}
    return {"entry": f"no entry with the link {address}"}


def in_json_feed(path: Path, quote: str, _: Locator, address: str) -> Found:
    """The item with the document's address holds the quotation."""
    for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
        if item.get("url") == address:
            held = bare(html.unescape(_TAG.sub(" ", " ".join(strings(item)))))
            return {"entry": "" if beginning(quote) in held else "the item does not hold it"}
    return {"entry": f"no item with the url {address}"}


def in_html(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The quotation stands under the heading."""
    root = page_tree(path.read_bytes())
    joined = ""
    places: list[lxml_html.HtmlElement] = []
    for element, words in _texts(root):
        piece = bare(words)
        joined += piece
        places += [element] * len(piece)
    starts = [found.start() for found in re.finditer(re.escape(beginning(quote)), joined)]
    if not starts:
        return {"heading": "not in the page"}
    found = {bare(heading_over(places[start])) for start in starts}
    last = bare(locator.heading[-1]) if locator.heading else ""
    # Under the page's own title there may be no heading, and some headings repeat it.
    titles = [bare(" ".join(one.itertext())) for one in root.xpath("//title|//h1")]
    repeated = last in titles and any(last in one for one in found)
    if last in found or repeated or (not last and any(not one or one in titles for one in found)):
        return {"heading": ""}
    return {"heading": f"stands under {sorted(found)}, the locator has {locator.heading!r}"}


def page_tree(data: bytes) -> lxml_html.HtmlElement:
    """The parsed page: UTF-8, unless it is none."""
    parser = lxml_html.HTMLParser(encoding="utf-8" if _is_utf8(data) else None)
    return lxml_html.document_fromstring(data, parser=parser)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _texts(root: lxml_html.HtmlElement) -> Iterator[tuple[lxml_html.HtmlElement, str]]:
    """Every text of the page with the element that it stands in, in order."""
    for text in root.xpath(".//text()[not(ancestor::script or ancestor::style)]"):
        parent = text.getparent()
        yield (parent.getparent() if text.is_tail else parent), str(text)


def heading_over(element: lxml_html.HtmlElement) -> str:
    """The nearest heading before or around ``element`` that is about it: one in a box of its own
    (an aside, a card with more than its heading) says nothing of what stands outside.
    """
    around = set(element.iterancestors()) | {element}
    names = " or ".join(f"self::{name}" for name in _HEADINGS)
    own = element.xpath(f"ancestor-or-self::*[{names}]")
    if own and not _is_other(own[0], " ".join(" ".join(own[0].itertext()).split())):
        return " ".join(own[0].itertext())
    for heading in reversed(element.xpath(f"preceding::*[{names}]")):
        boxes = heading.xpath(f"ancestor::*[{_BOXES}]")
        closed = [box for box in boxes if box not in around and _is_closed(box, heading)]
        words = " ".join(" ".join(heading.itertext()).split())
        if words and not closed and not _is_other(heading, words):
            return words
    return ""


def _is_other(heading: lxml_html.HtmlElement, words: str) -> bool:
    """Whether a heading's element is used for something else: a link to another page, or sentences
    that are set in large letters.
    """
    links = heading.xpath("ancestor-or-self::a[@href]|descendant::a[@href]")
    away = [one for one in links if not one.get("href").startswith("#")]
    title = " ".join(str(one) for one in heading.getroottree().xpath("//title//text()"))
    if bare(words) in bare(title):
        return False
    linked = "".join(" ".join(one.itertext()) for one in away)
    return len(bare(linked)) >= 0.9 * len(bare(words)) or (len(words) > 60 and words[-1] in ".!")


def _is_closed(box: lxml_html.HtmlElement, heading: lxml_html.HtmlElement) -> bool:
    if box.tag in ("section", "article", "li", "td", "th"):
        beside = len(" ".join(box.text_content().split())) - len(heading.text_content())
        return heading.tag != "h1" and beside > 20
    return True
