"""Loads OpenDocument text (odt) and e-books (EPUB 2 and 3), which are archives of pages.

Both are checked like Office files and read as HTML; OpenDocument elements are converted to HTML
elements first, since its libraries offer no more than the elements. EbookLib, the library for EPUB,
is not compatible with our licence (it is AGPL).
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

import lxml.html
from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.archives import (
    child_of,
    elements,
    name_of,
    open_archive,
    parse,
    value_of,
)
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import parse_moment
from wellread.ingest.loaders.plain import Blocks, decode, one_line, title_from_name
from wellread.ingest.loaders.text.html import ENCODING, page_blocks, plain_words
from wellread.ingest.loaders.text.html_blocks import blocks_of, write_blocks
from wellread.ingest.loaders.text.html_visible import visible_text
from wellread.types import Document

_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_NOTE_MARKER = "* "
_UNREAD = frozenset(
    "annotation tracked-changes table-of-content alphabetical-index illustration-index "
    "table-index object-index user-index bibliography sequence-decls variable-decls forms "
    "hidden-text hidden-paragraph ruby-text title desc script".split()
)
_TAGS = {
    "p": "p", "list": "ul", "list-item": "li", "list-header": "li", "line-break": "br",
    "table": "table", "table-row": "tr", "table-cell": "td",
}  # fmt: skip
_WHITE = re.compile(r"#f[0-9a-f]f[0-9a-f]f[0-9a-f]", re.IGNORECASE)


def load_odt(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load an OpenDocument text as one page."""
    with open_archive(source.data, source.uri, limits) as archive:
        if _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST):
            raise SourceError(source.uri, "password-protected: save it without a password")
        content = _part(archive, _CONTENT, source.uri)
        if content is None:
            raise SourceError(source.uri, "damaged file: it has no content.xml")
        facts = _facts(_part(archive, _META, source.uri))
        styles = _Styles(content, _part(archive, _STYLES, source.uri))
    page = lxml.html.Element("div")
    body = child_of(content, "body", "text")
    if body is not None:
        _convert(body, page, styles)
    parts, blocks = blocks_of(page), Blocks()
    write_blocks(blocks, parts)
    title_element = page.find(".//p[@class='title']")
    title = facts.get("title", [""])[0] or (
        one_line(visible_text(title_element)) if title_element is not None else ""
    )
    title = title or next((block.text for block in parts if block.level), "")
    keywords = tuple(dict.fromkeys(facts.get("keyword", ())))
    created = facts.get("creation-date") or facts.get("date")
    yield source.document(
        blocks.build(),
        kind="page",
        title=title or title_from_name(source.name),
        source_type="odt",
        language=facts.get("language", [""])[0].lower(),
        authors=tuple(facts.get("initial-creator") or facts.get("creator") or ()),
        published_at=parse_moment(created[0] if created else None),
        summary=next(iter(facts.get("description") or facts.get("subject") or ()), ""),
        taxonomy={"tags": keywords} if keywords else {},
    )


def _part(archive: zipfile.ZipFile, name: str, uri: str) -> etree._Element | None:
    try:
        return parse(archive.read(name), uri)
    except KeyError:
        return None
    except zipfile.BadZipFile as error:
        raise SourceError(uri, f"damaged file: {error}") from error


def _facts(holder: etree._Element | None) -> dict[str, list[str]]:
    facts: dict[str, list[str]] = {}
    for element in () if holder is None else holder.iter():
        words = one_line(element.text or "") if name_of(element) else ""
        if words:
            facts.setdefault(name_of(element), []).append(words)
    return facts


class _Styles:
    """Finds styles that hide text or mark the title, including inherited properties."""

    def __init__(self, *roots: etree._Element | None) -> None:
        self._parents: dict[str, str] = {}
        self._hiding: set[str] = set()
        trees = [root for root in roots if root is not None]
        for style in (style for root in trees for style in elements(root, "style")):
            name, letters = value_of(style, "name"), child_of(style, "text-properties")
            ground = value_of(letters, "background-color") or value_of(
                child_of(style, "paragraph-properties"), "background-color"
            )
            white = _WHITE.fullmatch(value_of(letters, "color")) and not ground
            self._parents[name] = value_of(style, "parent-style-name")
            if white or value_of(letters, "display") == "none":
                self._hiding.add(name)

    def hides(self, name: str) -> bool:
        """Whether text in this style is invisible."""
        return not self._hiding.isdisjoint(self._lineage(name))

    def is_title(self, name: str) -> bool:
        """Whether this is the style of the document's title."""
        return "Title" in self._lineage(name)

    def _lineage(self, name: str) -> list[str]:
        lineage: list[str] = []
        while name and name not in lineage:
            lineage.append(name)
            name = self._parents.get(name, "")
        return lineage


def _convert(holder: etree._Element, target: etree._Element, styles: _Styles) -> None:
    """Convert the content of ``holder`` into ``target``; notes follow their paragraph."""
    _append_text(target, holder.text)
    for child in holder:
        name, style = name_of(child), value_of(child, "style-name")
        if name in ("s", "tab"):
            _append_text(target, " ")
        elif name and name != "note" and name not in _UNREAD:
            level = value_of(child, "outline-level")
            heading = f"h{min(int(level), 6)}" if level.isdecimal() and int(level) else "h1"
            copy = etree.SubElement(target, heading if name == "h" else _TAGS.get(name, "span"))
            if styles.hides(style):
                copy.set("hidden", "")
            if name == "p" and styles.is_title(style):
                copy.set("class", "title")
            _convert(child, copy, styles)
            for note in _notes(child) if name in ("p", "h") else ():
                etree.SubElement(target, "p").text = _NOTE_MARKER + note
        _append_text(target, child.tail)


def _notes(paragraph: etree._Element) -> Iterator[str]:
    """Yield the texts of a paragraph's notes, without notes of text boxes anchored in it."""
    for body in elements(paragraph, "note-body"):
        if next(part for part in body.iterancestors() if name_of(part) in ("p", "h")) is paragraph:
            words = ("".join(map(str, part.itertext())) for part in elements(body, "p", "h"))
            if text := one_line(" ".join(words)):
                yield text


def _append_text(target: etree._Element, words: str | None) -> None:
    if words and len(target):
        target[-1].tail = (target[-1].tail or "") + words
    elif words:
        target.text = (target.text or "") + words


CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OBFUSCATED = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}  # fonts
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def load_epub(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load an e-book as one page."""
    with open_archive(source.data, source.uri, limits, document_types=True) as archive:
        _refuse_drm(archive, source.uri)
        package_path = _package_file(archive, source.uri)
        package = _xml(archive, package_path, source.uri)
        blocks = Blocks()
        for name in _pages_in_order(package, posixpath.dirname(package_path)):
            _write_page(blocks, archive, name, source)
    facts = _facts(child_of(package, "metadata"))
    first_values = {name: values[0] for name, values in facts.items()}
    subjects = tuple(dict.fromkeys(facts.get("subject", ())))
    yield source.document(
        blocks.build(),
        kind="page",
        title=first_values.get("title") or title_from_name(source.name),
        source_type="epub",
        language=first_values.get("language", "").lower(),
        authors=tuple(dict.fromkeys(facts.get("creator", ()))),
        published_at=parse_moment(first_values.get("date")),
        summary=one_line(plain_words(first_values.get("description", ""))),
        taxonomy={"tags": subjects} if subjects else {},
    )


def _refuse_drm(archive: zipfile.ZipFile, uri: str) -> None:
    """Refuse a book with encrypted pages; encrypted fonts are common and harmless."""
    if _ENCRYPTION not in archive.namelist():
        return
    methods = elements(_xml(archive, _ENCRYPTION, uri), "EncryptionMethod")
    if {value_of(method, "Algorithm") for method in methods} - _OBFUSCATED:
        raise SourceError(uri, "protected against copying (DRM): use a copy without DRM")


def _package_file(archive: zipfile.ZipFile, uri: str) -> str:
    roots = elements(_xml(archive, CONTAINER, uri), "rootfile")
    path = next((value_of(part, "full-path") for part in roots), "")
    if path not in archive.namelist():
        raise SourceError(uri, "damaged e-book: its package file is missing")
    return path


def _pages_in_order(package: etree._Element, folder: str) -> Iterator[str]:
    items = {value_of(item, "id"): item for item in elements(package, "item")}
    for reference in elements(package, "itemref"):
        item = items.get(value_of(reference, "idref"))
        if item is None or value_of(item, "media-type") not in _PAGES:
            continue
        if value_of(reference, "linear") == "no" or "nav" in value_of(item, "properties").split():
            continue
        yield posixpath.normpath(posixpath.join(folder, unquote(value_of(item, "href"))))


def _write_page(blocks: Blocks, archive: zipfile.ZipFile, name: str, source: Source) -> None:
    try:
        data = archive.read(name)
    except KeyError:  # a missing page; the others can be read
        return
    page = Source(uri=source.uri, name=name, data=data, collection=source.collection)
    page_blocks(blocks, decode(page, ENCODING), source.uri)


def _xml(archive: zipfile.ZipFile, name: str, uri: str) -> etree._Element:
    try:
        return parse(archive.read(name), uri, repair=True)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceError(uri, f"damaged e-book: {name} is missing") from error
