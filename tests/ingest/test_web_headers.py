"""Names, charsets and moments out of the headers of an answer."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.sources.fetching import as_utf8, content_type, file_name, tag


@pytest.mark.parametrize(
    ("path", "header", "name"),
    [
        ("/", "text/html", "x.example.html"),
        ("/a/", "text/html; charset=utf-8", "a.html"),
        ("/a.htm", "text/html", "a.htm"),
        ("/paper.pdf", "text/html", "paper.pdf.html"),  # a login where the paper was
        ("/2401.00001", "application/pdf", "2401.00001.pdf"),
        ("/README.md", "text/plain", "README.md"),
        ("/notes", "text/plain", "notes.txt"),
        ("/notes", "", "notes"),
        ("/feed", "application/rss+xml", "feed.rss"),
        ("/feed.xml", "application/rss+xml", "feed.xml"),
        ("/feed.xml", "text/xml", "feed.xml"),
        ("/feed", "application/feed+json", "feed.json"),
        ("/x.md", "text/markdown; variant=GFM", "x.md"),
        ("/x.docx", "application/octet-stream", "x.docx"),
        ("/a%20b%0A%C3%A9.md", "TEXT/MARKDOWN", "a bé.md"),
        ("/caf%E9.md", "text/markdown", "caf\ufffd.md"),
        ("/a%2Fb.md", "text/markdown", "b.md"),
    ],
)
def test_the_name_tells_the_kind(path: str, header: str, name: str) -> None:
    assert file_name(httpx.URL(f"https://x.example{path}?q=1"), content_type(header)) == name


@pytest.mark.parametrize(
    ("data", "named", "text"),
    [
        ("Größe".encode("utf-16"), "utf-16", "Größe"),
        ("Größe".encode("utf-16-le"), "utf-16-le", "Größe"),
        ("水".encode("iso2022_jp"), "iso2022_jp", "水"),
        ("Größe".encode(), "iso8859-1", "Größe"),
        ("Größe".encode("cp1252"), "iso8859-1", "Größe"),
        (b"plain", "utf-8", "plain"),
    ],
)
def test_text_comes_as_utf8(data: bytes, named: str, text: str) -> None:
    assert as_utf8(data, "text/html", named).decode("utf-8-sig") == text


def test_what_is_no_text_or_not_in_that_charset_stays() -> None:
    assert as_utf8(b"%PDF\xe9", "application/pdf", "iso8859-1") == b"%PDF\xe9"
    assert as_utf8(b"caf\xe9", "text/html", "utf-8") == b"caf\xe9"
    assert as_utf8(b"caf\xe9", "text/html", "hex") == b"caf\xe9"
    assert as_utf8(b"caf\xe9", "text/html", "") == b"caf\xe9"


@given(st.binary(max_size=60), st.sampled_from(["utf-8", "cp1252", "utf-16", "shift_jis", "hex"]))
def test_any_bytes_in_any_charset(data: bytes, named: str) -> None:
    made = as_utf8(data, "text/html", named)
    assert made == data or made.decode("utf-8-sig") is not None


def test_tags_that_can_be_sent_back() -> None:
    assert tag('W/"abc"') == 'W/"abc"'
    for bad in ('"a\r\nX: y"', '"é"', '"' + "a" * 600 + '"'):
        assert tag(bad) == ""
