"""Addresses that run something, or name what is not theirs, are dropped when a source is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wellread.ingest.pipeline.parse import safe_addresses
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.types import Document

SOURCE = "file:///shelf/news.xml"
RUNS = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " java\tscript:alert(1)",
    "\x01javascript:alert(1)",
    "java\u200bscript:alert(1)",
    "\u202ejavascript:alert(1)",
    "vbscript:msgbox(1)",
    "data:text/html,<script>alert(1)</script>",
    "blob:https://x.example/1",
    "view-source:javascript:1",
)
FINE = ("https://x.example/javascript:1", "urn:isbn:1", "obsidian://open?vault=a", "", "datascape")


def document(uri: str, url: str = "", media_url: str = "") -> Document:
    return Document(
        collection="c", uri=uri, kind="article", title="T", text="x", url=url, media_url=media_url
    )


@pytest.mark.parametrize("bad", RUNS)
def test_what_runs_is_no_address(bad: str) -> None:
    found = safe_addresses(document(bad, bad, bad), SOURCE)
    assert (found.url, found.media_url) == ("", "")
    assert found.uri.startswith(f"{SOURCE}#adr_")
    assert "script" not in found.uri


@pytest.mark.parametrize("fine", FINE)
def test_other_addresses_stay(fine: str) -> None:
    given = document(fine or f"{SOURCE}#1", fine, fine)
    assert safe_addresses(given, SOURCE) == given


def test_an_entry_does_not_take_the_place_of_a_file() -> None:
    assert safe_addresses(document("file:///home/me/notes.md"), SOURCE).uri.startswith(SOURCE)
    assert safe_addresses(document(f"{SOURCE}#2"), SOURCE).uri == f"{SOURCE}#2"


def test_feeds_and_records_are_read_without_them(kb: KnowledgeBase, tmp_path: Path) -> None:
    made = tmp_path / "papers"
    made.mkdir()
    bad = "javascript:alert(1)"
    words = "Nineteen grey seals were counted on the northern pier."
    entry = {"id": bad, "url": bad, "title": "Bell", "content_text": words}
    version = "https://jsonfeed.org/version/1.1"
    (made / "feed.json").write_text(json.dumps({"version": version, "items": [entry]}))
    (made / "rows.jsonl").write_text(json.dumps({"id": bad, "url": bad, "text": words}) + "\n")
    (made / "news.xml").write_text(
        f'<rss version="2.0"><channel><title>H</title><item><title>S</title><link>{bad}</link>'
        f'<guid>{bad}</guid><description>{words}</description><enclosure url="{bad}" '
        'type="audio/mpeg" length="1"/></item></channel></rss>'
    )
    (made / "page.md").write_text(f"---\nurl: {bad}\nmedia_url: {bad}\n---\n# Page\n\n{words}\n")
    report = add(kb, [str(made)])
    assert report.counts()["added"] == 4
    found = kb.catalogue.documents("default")
    assert len(found) == 4
    assert "script" not in str([(one.uri, one.url, one.media_url) for one in found])


def test_a_page_with_references_to_controls_is_read(kb: KnowledgeBase, tmp_path: Path) -> None:
    made = tmp_path / "papers"
    made.mkdir()
    words = "The mill&#1; grinds&#x8; barley &#0; in &#147;the&#x94; west&#xD800; wind&#65534;"
    (made / "page.html").write_text(f"<html><body><p>{words}&#38; rain.</p></body></html>")
    escaped = words.replace("&", "&amp;")
    (made / "news.xml").write_text(
        '<rss version="2.0"><channel><title>H</title><item><title>S</title>'
        f"<link>https://x.example/mill</link><description>&lt;p&gt;{escaped} and rain."
        "&lt;/p&gt;</description></item></channel></rss>"
    )
    report = add(kb, [str(made)])
    assert [row.reason for row in report.rows] == ["", ""]
    found = [kb.catalogue.document(one.id) for one in kb.catalogue.documents("default")]
    assert {one.text for one in found if one} == {
        "The mill grinds barley in “the” west wind & rain.",
        "The mill grinds barley in “the” west wind and rain.",
    }
