"""Title, authors, date, address and language of a page."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Document

BODY = (
    "<main><h1>Ice in the harbour</h1><p>The outer buoys are lifted in November, since the ice "
    "would drag them under the pier and nobody could find them again in spring.</p></main>"
)


def page(head: str, body: str = BODY, language: str = "") -> Document:
    markup = f"<!DOCTYPE html><html{language}><head>{head}</head><body>{body}</body></html>"
    (document,) = kinds.load(source_of("page.html", markup), LoaderLimits())
    return document


def linked_data(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def test_linked_data_is_read() -> None:
    graph = {
        "@context": "https://schema.org",
        "@graph": [
            {"@type": "Organization", "name": "Port News"},
            {
                "@type": ["NewsArticle"],
                "headline": "Ice in the harbour",
                "author": [
                    {"@type": "Person", "name": "Ida Lund"},
                    {"@type": "Person", "name": "Tor Vik"},
                ],
                "datePublished": "2019-11-18T20:30:00-06:00",
            },
        ],
    }
    found = page(linked_data(graph))
    assert found.kind == "article"
    assert found.authors == ("Ida Lund", "Tor Vik")
    assert found.published_at == datetime(2019, 11, 19, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("head", "body", "authors"),
    [
        ('<meta name="author" content="By Ida Lund and Tor Vik">', "", ("Ida Lund", "Tor Vik")),
        ('<meta property="article:author" content="https://x.example/ida">', "", ()),
        ('<meta name="author" content="admin">', "", ()),
        ("", '<a rel="author" href="/ida">Ida Lund</a>', ("Ida Lund",)),
        ("", '<span itemprop="author">Ida Lund</span>', ("Ida Lund",)),
    ],
)
def test_authors(head: str, body: str, authors: tuple[str, ...]) -> None:
    assert page(head, BODY + body).authors == authors


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('<meta property="article:published_time" content="2019-11-18T08:00:00Z">', ""),
        ('<meta itemprop="datePublished" content="2019-11-18T08:00:00+0000">', ""),
        ("", '<time pubdate datetime="2019-11-18T08:00Z">yesterday</time>'),
        ("", '<time itemprop="datePublished" datetime="2019-11-18T09:00+01:00">now</time>'),
    ],
)
def test_dates(head: str, body: str) -> None:
    assert page(head, BODY + body).published_at == datetime(2019, 11, 18, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Ice in the harbour | Port News</title>", "Ice in the harbour"),
        ("<title>Port News: Ice in the harbour</title>", "Ice in the harbour"),
        (
            '<title>Port News</title><meta property="og:title" content="Winter has come early">',
            "Winter has come early",
        ),
    ],
)
def test_the_title_is_the_heading_that_readers_see_when_it_is_declared(
    head: str, title: str
) -> None:
    assert page(head).title == title


def test_address_language_and_summary() -> None:
    found = page(
        '<link rel="canonical" href="https://port.example/ice"><meta name="description" '
        'content="The buoys are lifted.">',
        language=' lang="en-GB"',
    )
    assert found.url == "https://port.example/ice"
    assert found.language == "en-gb"
    assert found.summary == "The buoys are lifted."


@pytest.mark.parametrize("name", ["main", "article", "section", "div"])
def test_a_page_without_tags_of_head_and_body_is_read(name: str) -> None:
    markup = f"<!doctype html><title>Ice</title><{name}><p>The buoys are lifted.</p></{name}>"
    (found,) = kinds.load(source_of("ice.html", markup), LoaderLimits())
    assert (found.title, found.text) == ("Ice", "The buoys are lifted.")


def test_front_matter_above_markup_is_no_text() -> None:
    markup = "---\ntitle: Ice: a report\nauthor: Ida Lund\nlayout: post\n---\n<p>It came early.</p>"
    (found,) = kinds.load(source_of("2024-03-15-ice.html", markup), LoaderLimits())
    assert (found.title, found.text) == ("Ice: a report", "It came early.")
    assert (found.authors, found.kind) == (("Ida Lund",), "article")
    assert found.published_at == datetime(2024, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "beside",
    [
        "<p>The winch was first tried on 2021-05-06, when the ice had gone from the slip.</p>",
        "<p>It opened in <time datetime='1998-05-06'>May 1998</time> with a small feast.</p>",
        "<footer>© 12 May 2022 Port News</footer>",
        "<footer><p>Copyright 2022-03-04 Port News</p></footer>",
    ],
)
def test_a_date_in_a_sentence_or_of_a_copyright_is_none_of_publication(beside: str) -> None:
    assert page("", BODY + beside).published_at is None
    posted = page("", f"{BODY}{beside}<p class='date'>Posted on 3 May 2024 by Ida Lund</p>")
    assert posted.published_at == datetime(2024, 5, 3, tzinfo=UTC)
