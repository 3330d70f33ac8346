"""RSS and Atom files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>Quay news</title><link>https://quay.example/</link><language>en-GB</language>
<item><title>Slipway &amp; crane</title><link>https://quay.example/slipway</link>
<author>ida@quay.example (Ida Lund)</author><category>works</category>
<pubDate>Tue, 05 Nov 2024 08:30:00 +0100</pubDate>
<enclosure url="https://quay.example/slipway.mp3" type="audio/mpeg" length="10"/>
<description>Short.</description>
<content:encoded><![CDATA[<h2>Works</h2><p>The slipway is closed
until <b>Friday</b>.</p><ul><li>Use the north ramp.</li></ul>
<script>x()</script>]]></content:encoded>
</item>
<item><title>Second</title><guid isPermaLink="false">quay-2</guid>
<description>The crane lifts
two tonnes.</description></item>
<item><title></title><description></description></item>
</channel></rss>
"""

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Reef log</title>
<id>urn:reef</id><updated>2024-03-01T10:00:00Z</updated>
<entry><title>Low water</title><id>urn:reef:1</id><link href="https://reef.example/low"/>
<updated>2024-03-01T10:00:00Z</updated><author><name>Tor Vik</name></author>
<content type="html">
&lt;h3&gt;Survey&lt;/h3&gt;&lt;p&gt;Divers counted forty urchins.&lt;/p&gt;
</content>
</entry>
<entry><title>Storm</title><id>urn:reef:2</id><updated>2024-03-02T10:00:00Z</updated>
<summary>Nobody dived today.</summary></entry></feed>
"""


class TestRss(LoaderContract):
    good = source_of("quay.rss", RSS)
    expected_kind = "article"
    quotes = (
        ("The slipway is closed until Friday.", {"heading": ("Works",)}),
        ("- Use the north ramp.", {"heading": ("Works",)}),
        ("The crane lifts two tonnes.", {"heading": ()}),
    )
    broken = (
        source_of("words.rss", "These are only words.\n"),
        source_of("page.rss", "<rss-like><nothing/></rss-like>"),
    )


class TestAtom(LoaderContract):
    good = source_of("reef.atom", ATOM)
    expected_kind = "article"
    quotes = (
        ("Divers counted forty urchins.", {"heading": ("Survey",)}),
        ("Nobody dived today.", {"heading": ()}),
    )
    broken = (source_of("cut.atom", "<feed xmlns='http://www.w3.org/2005/Atom"),)


def test_an_entry_becomes_an_article_with_its_facts() -> None:
    first, second = kinds.load(source_of("quay.xml", RSS), LoaderLimits())
    assert (first.uri, first.url) == ("https://quay.example/slipway",) * 2
    assert first.title == "Slipway & crane"
    assert first.authors == ("Ida Lund",)
    assert first.published_at == datetime(2024, 11, 5, 7, 30, tzinfo=UTC)
    assert first.media_url == "https://quay.example/slipway.mp3"
    assert first.taxonomy == {"tags": ("works",)}
    assert (first.language, first.source_type) == ("en-gb", "rss")
    assert "x()" not in first.text
    assert second.uri == "quay-2"


def test_an_entry_that_takes_the_parser_s_own_lists_apart_is_named() -> None:
    item = "<item><title>Slipway</title><links>text</links><description>Wet.</description></item>"
    feed = f'<rss version="2.0"><channel><title>Quay</title>{item}</channel></rss>'
    with pytest.raises(SourceError, match="entry 1 of the feed is damaged"):
        kinds.load(source_of("quay.rss", feed), LoaderLimits())


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2025/02/11 09:30:00", "2025-02-11"),
        ("2025.02.11", "2025-02-11"),
        ("11.02.2025", "2025-02-11"),
        ("Di, 11 Mär 2025 10:00:00 +0100", "2025-03-11"),
        ("mardi 11 février 2025", "2025-02-11"),
        ("February 11, 2025", "2025-02-11"),
        ("Tue, 11 Feb 2025 23:30:00 -0200", "2025-02-12"),
        ("02/11/2025", ""),  # February or November
        ("spring 2025", ""),
        ("2025-02", ""),
    ],
)
def test_a_date_is_read_as_it_is_written_or_not_at_all(written: str, day: str) -> None:
    item = f"<item><title>Tide</title><link>/tide</link><pubDate>{written}</pubDate></item>"
    channel = f"<channel><title>Reef</title><link>https://reef.example/</link>{item}</channel>"
    feed = source_of("reef.rss", f"<rss version='2.0'>{channel}</rss>")
    (found,) = kinds.load(feed, LoaderLimits())
    assert (f"{found.published_at:%Y-%m-%d}" if found.published_at else "") == day
    assert found.url == "https://reef.example/tide"


def test_cdata_that_was_escaped_is_read() -> None:
    item = (
        "<item><title>&lt;![CDATA[Nets]]&gt;</title><pubDate>2026/03/15</pubDate>"
        "<description>&lt;![CDATA[&lt;p>The nets are dry.&lt;/p>]]&gt;</description></item>"
    )
    markup = f'<rss version="2.0"><channel><title>Quay</title>{item}</channel></rss>'
    (document,) = kinds.load(source_of("quay.rss", markup), LoaderLimits())
    assert (document.title, document.text) == ("Nets", "The nets are dry.")
    assert document.published_at == datetime(2026, 3, 15, tzinfo=UTC)
