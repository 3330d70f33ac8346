"""HTML pages, and markup inside feeds and Markdown: from elements to readable blocks.

A page's main text is found by trafilatura. Where it finds none, the whole visible body is taken,
and ``source_type`` says so (``html-full``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import lxml.html
from charset_normalizer import from_bytes
from lxml.etree import LxmlError, _Element
from trafilatura import bare_extraction
from trafilatura.metadata import Document as Extracted

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits, Source
from wellread.ingest.front_matter import moment, web_address
from wellread.ingest.plain import PARAGRAPH, Blocks, require_text, title_from_name
from wellread.types import Document, Kind

HEAD_BYTES = 4096

_DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I
)
_LANGUAGE = re.compile(
    rb"""<html[^>]{0,500}?\slang\s*=\s*["']?([A-Za-z]{2,3}(?:-[\w-]{1,20})?)""", re.I
)
_ARTICLE_TYPE = re.compile(
    r"""property=["']og:type["'][^>]{0,80}content=["']article|content=["']article["'][^>]{0,80}"""
    r"""property=["']og:type|"@type"\s*:\s*\[?\s*"(?:News|Blog|Reportage|Opinion)?\w{0,20}Article""",
    re.I,
)
_SPACES = re.compile(r"[ \t\n\r\f\v]+")
_INVISIBLE = frozenset(
    "script style noscript template iframe svg object embed canvas math select option textarea "
    "button input graphic".split()
)
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "list"})
_ITEMS = frozenset({"li", "item"})
_ROWS = frozenset({"tr", "row"})
_CELLS = frozenset({"td", "th", "cell"})
_VERBATIM = frozenset({"pre"})
_BLOCKS = frozenset(
    "p div section article main header footer aside nav blockquote quote figure figcaption address "
    "dl dt dd table thead tbody tfoot caption form fieldset details summary hr body ab".split()
)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page, or one article when the page says that it is one and when it was published."""
    html = decode(source)
    found = bare_extraction(html, with_metadata=True, include_comments=False, include_links=False)
    extracted = found if isinstance(found, Extracted) else None
    source_type = "html"
    blocks = Blocks()
    if extracted is not None and extracted.body is not None:
        write(blocks, extracted.body)
    if blocks.empty:
        source_type = "html-full"
        write(blocks, _parse(html, source.uri))
    text, marks = blocks.build()
    require_text(source, text)
    published = moment(extracted.date) if extracted else None
    kind: Kind = "article" if published and _ARTICLE_TYPE.search(html) else "page"
    language = _LANGUAGE.search(source.data[: HEAD_BYTES * 4])
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind=kind,
        title=(extracted.title if extracted and extracted.title else _title(html, source)),
        text=text,
        marks=marks,
        url=_address(extracted, source),
        source_type=source_type,
        language=language.group(1).decode().lower() if language else "",
        authors=_authors(extracted),
        published_at=published,
        summary=(extracted.description or "") if extracted else "",
    )


def decode(source: Source) -> str:
    """The page as text: by byte order mark, UTF-8, the declared charset, or detection.

    Raises:
        SourceError: none of them fits.
    """
    data = source.data
    declared = _DECLARED.search(data[:HEAD_BYTES])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        names = ["utf-16"]
    else:
        names = ["utf-8-sig", *([declared.group(1).decode("ascii")] if declared else [])]
    for name in names:
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):  # LookupError: a charset that nobody knows
            continue
    best = from_bytes(data).best()
    if best is None:
        raise SourceError(source.uri, "not UTF-8, and no other encoding fits")
    return str(best)


def fragment_blocks(blocks: Blocks, markup: str) -> None:
    """Write a piece of HTML that is no page of its own (an entry of a feed)."""
    if markup.strip():
        write(blocks, lxml.html.fragment_fromstring(_without_controls(markup), create_parent="div"))


def markup_text(markup: str) -> str:
    """The visible text of a piece of HTML."""
    blocks = Blocks()
    fragment_blocks(blocks, markup)
    return blocks.build()[0]


def write(blocks: Blocks, element: _Element) -> None:
    """Write everything visible below ``element``: HTML, or the tree that trafilatura returns."""
    writer = _Writer(blocks)
    writer.walk(element)
    writer.flush()


class _Writer:
    """Gathers inline text until a block begins or ends, then writes it."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._pieces: list[str] = []
        self._depth = 0
        self._bullet = False
        self._gap = PARAGRAPH

    def walk(self, element: _Element) -> None:
        tag = element.tag if isinstance(element.tag, str) else ""
        tag = tag.rpartition("}")[2].lower()
        if not tag or tag in _INVISIBLE or _hidden(element):
            return
        if tag == "head" and element.get("rend") is None:
            return  # of an HTML page; a head with "rend" is a heading of trafilatura's tree
        if tag in ("br", "lb"):
            self._pieces.append("\n")
        elif tag in _HEADINGS or tag == "head":
            self._write_heading(element, _HEADINGS.get(tag) or _level(element))
        elif tag in _VERBATIM or (tag == "code" and _is_block_code(element)):
            self.flush()
            self._blocks.block(_all_text(element).strip("\n").rstrip())
        elif tag in _LISTS:
            self._walk_list(element)
        elif tag in _ROWS:
            self._write_row(element)
        else:
            self._walk_plain(element, tag)

    def flush(self) -> None:
        """Write what was gathered as one block."""
        text = _squeeze("".join(self._pieces))
        self._pieces = []
        if not text:
            return
        if self._bullet:
            text = "  " * max(self._depth - 1, 0) + "- " + text
            self._bullet = False
        self._blocks.block(text, gap=self._gap)
        self._gap = PARAGRAPH

    def _walk_plain(self, element: _Element, tag: str) -> None:
        apart = tag in _BLOCKS or tag in _ITEMS
        if apart:
            self.flush()
        if tag == "table":
            self._gap = PARAGRAPH
        if tag in _ITEMS:
            self._bullet = True
        self._walk_children(element)
        if apart:
            self.flush()
        if tag in _ITEMS:
            self._bullet = False
            self._gap = "\n"
        if tag == "table":
            self._gap = PARAGRAPH

    def _walk_children(self, element: _Element) -> None:
        # A line break of the markup is a space to a reader; only <br> breaks a line.
        self._pieces.append(_SPACES.sub(" ", element.text or ""))
        for child in element:
            self.walk(child)
            self._pieces.append(_SPACES.sub(" ", child.tail or ""))

    def _walk_list(self, element: _Element) -> None:
        self.flush()
        self._gap = "\n" if self._depth else PARAGRAPH
        self._depth += 1
        self._walk_children(element)
        self.flush()
        self._depth -= 1
        self._gap = "\n" if self._depth else PARAGRAPH

    def _write_heading(self, element: _Element, level: int) -> None:
        self.flush()
        self._gap = PARAGRAPH
        self._blocks.heading(level, visible_text(element))

    def _write_row(self, element: _Element) -> None:
        self.flush()
        cells = [
            visible_text(cell)
            for cell in element
            if isinstance(cell.tag, str) and cell.tag.lower() in _CELLS
        ]
        if any(cells):
            self._blocks.block(" | ".join(cells), gap=self._gap)
            self._gap = "\n"


def visible_text(element: _Element) -> str:
    """The words of ``element`` in one line, without what a browser does not show."""
    pieces = [element.text or ""]
    for child in element:
        shown = isinstance(child.tag, str) and child.tag not in _INVISIBLE and not _hidden(child)
        apart = shown and child.tag in (_BLOCKS | _ITEMS | {"br", "lb"})
        pieces += [" " if apart else "", visible_text(child) if shown else "", " " if apart else ""]
        pieces.append(child.tail or "")
    return _SPACES.sub(" ", "".join(pieces))


def _squeeze(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _hidden(element: _Element) -> bool:
    return (
        "hidden" in element.attrib
        or element.get("aria-hidden") == "true"
        or bool(_HIDING_STYLE.search(element.get("style") or ""))
    )


def _all_text(element: _Element) -> str:
    return "".join(str(piece) for piece in element.itertext())


def _level(element: _Element) -> int:
    """The level of trafilatura's ``<head rend="h2">``."""
    return _HEADINGS.get(element.get("rend") or "", 2)


def _is_block_code(element: _Element) -> bool:
    return element.find("code") is not None or "\n" in _all_text(element).strip()


def _without_controls(markup: str) -> str:
    """lxml refuses NUL and other control characters."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", markup)


def _parse(html: str, uri: str) -> _Element:
    # A declared encoding in a text that is decoded already makes lxml refuse it.
    try:
        return lxml.html.document_fromstring(
            _without_controls(html).encode(), parser=_utf8_parser()
        )
    except (LxmlError, ValueError) as error:
        raise SourceError(uri, f"not HTML: {error}") from error


def _utf8_parser() -> lxml.html.HTMLParser:
    return lxml.html.HTMLParser(encoding="utf-8")


def _title(html: str, source: Source) -> str:
    found = re.search(r"<title[^>]{0,200}>(.{1,500}?)</title>", html, re.I | re.S)
    return (markup_text(found.group(1)) if found else "") or title_from_name(source.name)


def _address(extracted: Extracted | None, source: Source) -> str:
    """The source's own address on the web, else the canonical one that the page names."""
    if web_address(source.uri):
        return source.uri
    return web_address(extracted.url or "") if extracted else ""


def _authors(extracted: Extracted | None) -> tuple[str, ...]:
    named = (extracted.author or "") if extracted else ""
    return tuple(dict.fromkeys(name.strip() for name in named.split(";") if name.strip()))
