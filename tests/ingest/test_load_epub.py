"""E-books: chapters in reading order, with their headings and the facts of the book."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" '
    'media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>The Lock
 Keepers</dc:title><dc:creator>Ida Brandt</dc:creator><dc:language>en</dc:language>
<dc:date>2019-04-05</dc:date><dc:subject>canals</dc:subject>
<dc:description>Of locks.</dc:description>
</metadata>
<manifest>
<item id="two" href="text/b%20chapter.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/a.xhtml" media-type="application/xhtml+xml"/>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="gone" href="text/gone.xhtml" media-type="application/xhtml+xml"/>
<item id="picture" href="cover.jpg" media-type="image/jpeg"/>
</manifest>
<spine><itemref idref="nav"/><itemref idref="two"/><itemref idref="gone"/><itemref idref="one"/>
<itemref idref="picture"/></spine></package>"""
PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
    '"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd"><html xmlns="http://www.w3.org/1999/xhtml">'
    "<head><title>t</title></head><body><h1>{heading}</h1>"
    '<p>{text}</p><p style="display:none">unseen</p></body></html>'
)
FIRST = PAGE.format(heading="Locks", text="The lock at Aldermoor was dug by forty&nbsp;navvies.")
SECOND = PAGE.format(heading="Wharves", text="Coal was landed until the frost of 1895.")


def epub(**changed: str) -> bytes:
    """A book; ``changed``: other parts, a name's dots and slashes as in the keys below."""
    parts = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE,
        "OEBPS/nav.xhtml": PAGE.format(heading="Contents", text="Locks, wharves"),
        "OEBPS/text/a.xhtml": SECOND,
        "OEBPS/text/b chapter.xhtml": FIRST,
        **changed,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        for name, text in parts.items():
            archive.writestr(name, text)
    return held.getvalue()


GOOD = epub()


def locked(algorithm: str) -> bytes:
    way = f'<encryption><EncryptedData><EncryptionMethod Algorithm="{algorithm}"/></EncryptedData>'
    return epub(**{"META-INF/encryption.xml": f"{way}</encryption>"})


def load(data: bytes, name: str = "book.epub") -> Document:
    (document,) = kinds.load(source_of(name, data), LoaderLimits())
    return document


class TestEpub(LoaderContract):
    good = source_of("book.epub", GOOD)
    expected_kind = "page"
    quotes = (
        ("dug by forty\u00a0navvies", {"heading": ("Locks",)}),
        ("the frost of 1895", {"heading": ("Wharves",)}),
    )
    broken = (
        source_of("cut.epub", GOOD[: len(GOOD) // 2]),
        source_of("lost.epub", epub(**{"META-INF/container.xml": "<container/>"})),
        source_of("empty.epub", epub(**{"OEBPS/book.opf": "<package/>"})),
        source_of("locked.epub", locked("http://www.w3.org/2001/04/xmlenc#aes128-cbc")),
    )


def test_the_book_s_facts_are_kept() -> None:
    book = load(GOOD, "anything.zip")
    assert book.title == "The Lock Keepers"
    assert book.authors == ("Ida Brandt",)
    assert book.published_at == datetime(2019, 4, 5, tzinfo=UTC)
    assert (book.language, book.summary, book.source_type) == ("en", "Of locks.", "epub")
    assert book.taxonomy == {"tags": ("canals",)}


def test_a_locked_book_is_told_and_locked_fonts_do_no_harm() -> None:
    with pytest.raises(SourceError, match="protected against copying"):
        load(locked("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))
    assert "Aldermoor" in load(locked("http://www.idpf.org/2008/embedding")).text


def test_entities_of_one_s_own_are_refused() -> None:
    evil = FIRST.replace("<html", '<!DOCTYPE a [<!ENTITY b "c">]><html')
    with pytest.raises(SourceError, match="declares entities"):
        load(epub(**{"OEBPS/text/a.xhtml": evil}))
