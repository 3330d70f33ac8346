"""E-books (EPUB 2 and 3): the chapters in reading order, with their headings.

An EPUB is a zip file of pages with a list of them, so it is checked like an Office file and each
page is read like one of the web. EbookLib, the library for it, may not be used under our licence
(AGPL), and would add nothing to those two.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment
from wellread.ingest.loaders.html.html import decode, page_blocks, plain_words
from wellread.ingest.loaders.office.archives import name_of, open_archive, parse
from wellread.ingest.loaders.office.office import child_of, elements, value_of
from wellread.ingest.loaders.plain import Blocks, one_line, title_from_name
from wellread.types import Document

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OBFUSCATED = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}  # fonts
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One page: the book."""
    with open_archive(source.data, source.uri, limits, document_types=True) as archive:
        _refuse_locked(archive, source.uri)
        place = _package_file(archive, source.uri)
        package = _xml(archive, place, source.uri)
        blocks = Blocks()
        for name in _pages_in_order(package, posixpath.dirname(place)):
            _write_page(blocks, archive, name, source)
    facts = _facts(package)
    first = {name: values[0] for name, values in facts.items()}
    subjects = tuple(dict.fromkeys(facts.get("subject", ())))
    yield source.document(
        blocks.build(),
        kind="page",
        title=first.get("title") or title_from_name(source.name),
        source_type="epub",
        language=first.get("language", "").lower(),
        authors=tuple(dict.fromkeys(facts.get("creator", ()))),
        published_at=moment(first.get("date")),
        summary=one_line(plain_words(first.get("description", ""))),
        taxonomy={"tags": subjects} if subjects else {},
    )


def _facts(package: etree._Element) -> dict[str, list[str]]:
    """What the book says of itself."""
    found: dict[str, list[str]] = {}
    metadata = child_of(package, "metadata")
    for element in () if metadata is None else metadata.iter():
        if name := name_of(element):
            words = one_line(element.text or "")
            found.setdefault(name, []).extend([words] if words else [])
    return {name: words for name, words in found.items() if words}


def _refuse_locked(archive: zipfile.ZipFile, uri: str) -> None:
    """Refuse a book whose pages are encrypted; that its fonts are is common, and does no harm."""
    if _ENCRYPTION not in archive.namelist():
        return
    methods = elements(_xml(archive, _ENCRYPTION, uri), "EncryptionMethod")
    if {value_of(one, "Algorithm") for one in methods} - _OBFUSCATED:
        raise SourceError(uri, "protected against copying (DRM): get it without")


def _package_file(archive: zipfile.ZipFile, uri: str) -> str:
    """The name of the file that lists all others."""
    roots = elements(_xml(archive, CONTAINER, uri), "rootfile")
    named = next((value_of(one, "full-path") for one in roots), "")
    if named not in archive.namelist():
        raise SourceError(uri, "damaged e-book: it does not say what belongs to it")
    return named


def _pages_in_order(package: etree._Element, folder: str) -> Iterator[str]:
    """The names of the pages, as the reader turns them."""
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
    except KeyError:  # it is listed and not there; the others can be read
        return
    page = Source(uri=source.uri, name=name, data=data, collection=source.collection)
    page_blocks(blocks, decode(page), source.uri)


def _xml(archive: zipfile.ZipFile, name: str, uri: str) -> etree._Element:
    try:
        return parse(archive.read(name), uri, repair=True)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceError(uri, f"damaged e-book: {name} is not there") from error
