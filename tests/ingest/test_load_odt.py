"""OpenDocument text: a file that docutils makes, and what other programs put into one."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime

import pytest
from docutils.core import publish_string

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document

NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "style": "style",
        "draw": "drawing",
        "meta": "meta",
    }.items()
)
MORE = (
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
BODY = """
<text:p text:style-name="P1">The harbour rules</text:p>
<text:tracked-changes><text:p>deleted words</text:p></text:tracked-changes>
<text:table-of-content><text:p>Contents 1</text:p></text:table-of-content>
<text:h text:outline-level="1">Tides</text:h>
<text:p>The tide<text:s text:c="2"/>turns <text:span>at</text:span>
 noon<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Summer
 time.</text:p></text:note-body></text:note>.<office:annotation><text:p>a
 remark</text:p></office:annotation></text:p>
<text:section><text:h text:outline-level="2">Spring tide</text:h>
<text:list><text:list-item><text:p>Rope</text:p><text:list><text:list-item><text:p>long</text:p>
</text:list-item></text:list></text:list-item><text:list-item><text:p>Tar</text:p></text:list-item>
</text:list></text:section>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Berth</text:p>
</table:table-cell><table:table-cell><text:p>Depth</text:p></table:table-cell></table:table-row>
</table:table-header-rows><table:table-row><table:table-cell><text:p>North</text:p>
</table:table-cell><table:table-cell><text:p>4 m</text:p></table:table-cell></table:table-row>
</table:table>
<text:p>Above<draw:frame><draw:text-box><text:p>In a
 box</text:p></draw:text-box></draw:frame></text:p>
<text:p><text:span text:style-name="T1">unseen</text:span>
<text:span text:style-name="T2">white</text:span>
Seen.</text:p>
"""
STYLES = """
<style:style style:name="P1" style:parent-style-name="Title"/>
<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>
<style:style style:name="T2"><style:text-properties fo:color="#ffffff"/></style:style>
"""
META = (
    f"<office:document-meta {NAMES} {MORE}><office:meta>"
    "<meta:initial-creator>Ida Brandt</meta:initial-creator>"
    "<meta:creation-date>2024-05-06T07:08:09</meta:creation-date><dc:language>en-GB</dc:language>"
    "<meta:keyword>tides</meta:keyword><dc:description>What holds.</dc:description>"
    "</office:meta></office:document-meta>"
)


def odt(body: str = BODY, **parts: str) -> bytes:
    held = io.BytesIO()
    content = (
        f"<office:document-content {NAMES} {MORE}><office:automatic-styles>{STYLES}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        kind = zipfile.ZipInfo("mimetype")
        archive.writestr(kind, "application/vnd.oasis.opendocument.text")
        for name, text in {"content.xml": content, "meta.xml": META, **parts}.items():
            archive.writestr(name, text)
    return held.getvalue()


GOOD = odt()
LOCKED = odt(**{"META-INF/manifest.xml": "<m><encryption-data/></m>"})
EVIL = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'


def load(data: bytes, name: str = "rules.odt") -> Document:
    (document,) = kinds.load(source_of(name, data), LoaderLimits())
    return document


class TestOdt(LoaderContract):
    good = source_of("rules.odt", GOOD)
    expected_kind = "page"
    quotes = (
        ("The tide turns at noon.", {"heading": ("Tides",)}),
        ("* Summer time.", {"heading": ("Tides",)}),
        ("- Rope\n  - long\n- Tar", {"heading": ("Tides", "Spring tide")}),
        ("Berth | Depth\nNorth | 4 m", {"heading": ("Tides", "Spring tide")}),
        ("Above\n\nIn a box", {}),
    )
    broken = (
        source_of("cut.odt", GOOD[: len(GOOD) // 2]),
        source_of("empty.odt", odt("")),
        source_of("locked.odt", LOCKED),
        source_of("evil.odt", odt(**{"content.xml": EVIL})),
    )


def test_what_is_not_shown_is_not_read() -> None:
    text = load(GOOD).text
    for unseen in ("deleted", "Contents 1", "remark", "unseen", "white"):
        assert unseen not in text
    assert text.endswith("Seen.")


def test_its_properties_become_facts() -> None:
    document = load(GOOD, "anything.bin")
    assert document.title == "The harbour rules"
    assert document.authors == ("Ida Brandt",)
    assert document.published_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert (document.language, document.summary) == ("en-gb", "What holds.")
    assert document.taxonomy == {"tags": ("tides",)}


def test_a_file_of_another_program_is_read() -> None:
    words = "Tides\n-----\n\nThe tide turns at *noon*.\n\n- Rope\n- Tar\n"
    made = publish_string(words, writer="odt", settings_overrides={"report_level": 5})
    document = load(made)
    assert "The tide turns at noon." in document.text
    assert "- Rope\n- Tar" in document.text


def test_a_password_is_told() -> None:
    with pytest.raises(SourceError, match="password-protected"):
        load(LOCKED)
