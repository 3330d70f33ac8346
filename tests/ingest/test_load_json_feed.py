"""JSON Feed, and what Atom and RSS entries take from their feed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of

FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Quay news",
    "language": "en-GB",
    "authors": [{"name": "The harbour office"}],
    "items": [
        {
            "id": "https://quay.example/1",
            "url": "https://quay.example/1",
            "title": "The <slipway>",
            "content_html": "<h2>Works</h2><p>The slipway is <b>closed</b>.</p><script>x</script>",
            "summary": "Closed.",
            "date_published": "2024-11-05T08:30:00+01:00",
            "authors": [{"name": "Ida Lund"}, {"url": "https://tor.example"}],
            "tags": ["works", "tide"],
            "language": "de",
            "attachments": [
                {"url": "https://quay.example/1.pdf", "mime_type": "application/pdf"},
                {"url": "https://quay.example/1.mp3", "mime_type": "audio/mpeg"},
            ],
        },
        {
            "id": 7,
            "content_text": "First paragraph.\n\nThe crane lifts two tonnes.",
            "external_url": "https://crane.example/",
        },
        {"id": "empty"},
    ],
}
OLD = {
    "version": "https://jsonfeed.org/version/1",
    "title": "Reef",
    "author": {"name": "Tor Vik"},
    "items": [{"id": "a", "content_text": "Low water."}, {"id": "a", "content_text": "Storm."}],
}


class TestJsonFeed(LoaderContract):
    good = source_of("quay.json", json.dumps(FEED, indent=1))
    expected_kind = "article"
    quotes = (
        ("The slipway is closed.", {"heading": ("Works",)}),
        ("The crane lifts two tonnes.", {"heading": ()}),
    )
    broken = (
        source_of("item.json", json.dumps({**FEED, "items": [FEED["items"], 7]})),
        source_of("other.rss", json.dumps({"version": "2", "items": []})),
        source_of("cut.rss", json.dumps(FEED)[:-40]),
    )


def test_an_item_becomes_an_article_with_its_facts() -> None:
    first, second = kinds.load(source_of("quay.json", json.dumps(FEED)), LoaderLimits())
    assert (first.uri, first.url) == ("https://quay.example/1",) * 2
    assert (first.title, first.source_type, first.language) == ("The <slipway>", "json-feed", "de")
    assert first.authors == ("Ida Lund",)
    assert first.published_at == datetime(2024, 11, 5, 7, 30, tzinfo=UTC)
    assert first.taxonomy == {"tags": ("works", "tide")}
    assert first.media_url == "https://quay.example/1.mp3"
    assert first.summary == "Closed."
    assert (second.uri, second.language) == ("https://crane.example/", "en-gb")
    assert second.authors == ("The harbour office",)


def test_version_one_has_one_author_and_a_repeated_id_is_told_apart() -> None:
    first, second = kinds.load(source_of("reef.json", json.dumps(OLD)), LoaderLimits())
    assert first.authors == ("Tor Vik",)
    assert (first.uri, second.uri) == ("a", "file:///shelf/reef.json#2")


def test_an_atom_entry_is_by_its_feeds_author_and_an_rss_item_is_not() -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>R</title>
    <author><name>Tor Vik</name></author><entry><title>x</title><id>urn:1</id>
    <category term="t1" label="Tides"/><content xml:lang="fr">La marée.</content></entry></feed>"""
    (entry,) = kinds.load(source_of("a.atom", atom), LoaderLimits())
    assert (entry.authors, entry.language) == (("Tor Vik",), "fr")
    assert entry.taxonomy == {"tags": ("Tides",)}
    rss = """<rss version="2.0"><channel><title>R</title><managingEditor>e@x.example (Ed)
    </managingEditor><item><description>Words.</description></item></channel></rss>"""
    (item,) = kinds.load(source_of("a.rss", rss), LoaderLimits())
    assert item.authors == ()


def test_a_list_of_records_is_read_item_by_item_with_lines() -> None:
    records = [{"text": "One."}, {"body": "Two.", "publishedAt": "2024-01-02"}]
    source = source_of("items.json", json.dumps(records, indent=1))
    first, second = kinds.load(source, LoaderLimits())
    assert (first.uri, second.uri) == ("file:///shelf/items.json#1", "file:///shelf/items.json#2")
    assert [getattr(document.marks[0], "line", 0) for document in (first, second)] == [2, 5]
    assert second.published_at == datetime(2024, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(("tail", "line"), [("", 3), (" 7]", 3), ("}", 3), ("\n{]", 4), ("] x", 3)])
def test_a_broken_list_names_the_line(tail: str, line: int) -> None:
    text = '[{"text": "One."},\n\n{"text": "Two."}' + tail
    with pytest.raises(SourceError, match=f"malformed line {line}"):
        kinds.load(source_of("items.json", text), LoaderLimits())
