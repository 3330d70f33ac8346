"""Entries of feeds that are only beginnings, and the articles behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load
from wellread.ingest.sources.addresses import FetchError
from wellread.ingest.sources.fetching import (
    Fetched,
    FollowedEntry,
    NotModified,
    follow_entries,
    needs_page,
)
from wellread.types import Document

BEGINNING = "The lock at Upper Marsh was rebuilt over the winter […]"
ARTICLE = " ".join(
    f"The lock at Upper Marsh was rebuilt over the winter of year {year}, and boats waited."
    for year in range(1990, 2020)
)


def entry(
    number: int = 1,
    text: str = BEGINNING,
    *,
    title: str = "Marsh lock rebuilt",
    url: str | None = None,
    summary: str = "",
) -> Document:
    link = f"https://x.example/{number}"
    return Document(
        collection="c",
        uri=link,
        kind="article",
        title=title,
        text=text,
        url=link if url is None else url,
        source_type="rss",
        summary=summary,
        taxonomy={"tags": ("water",)},
    )


def html(text: str) -> bytes:
    return (
        '<html lang="en"><head><title>Marsh lock rebuilt</title></head>'
        f"<body><nav>Home About</nav><article><h1>Marsh lock rebuilt</h1><p>{text}</p>"
        "</article></body></html>"
    ).encode()


@dataclass
class Web:
    """Pages by address; an exception is raised instead."""

    pages: dict[str, bytes | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def fetch(self, url: str) -> Fetched | NotModified:
        self.asked.append(url)
        page = self.pages.get(url, FetchError(url, "nothing is there", status=404))
        if isinstance(page, Exception):
            raise page
        return Fetched(url=url, name="page.html", data=page)

    def parse(self, uri: str, fetched: Fetched) -> Sequence[Document]:
        source = Source(uri=uri, name=fetched.name, data=fetched.data, collection="c")
        return load(source, LoaderLimits())


def follow(
    web: Web, *entries: Document, known: dict[str, str] | None = None, limit: int = 50
) -> list[FollowedEntry]:
    return follow_entries(
        entries, digests=known or {}, fetch=web.fetch, parse=web.parse, limit=limit
    )


def test_the_article_takes_the_place_of_its_beginning() -> None:
    web = Web({"https://x.example/1": html(ARTICLE)})
    (followed,) = follow(web, entry())
    made = followed.document
    assert ARTICLE in made.text
    assert made.marks
    assert made.summary == "The lock at Upper Marsh was rebuilt over the winter"
    assert (made.uri, made.title, made.source_type) == (
        "https://x.example/1",
        "Marsh lock rebuilt",
        "rss",
    )
    assert made.taxonomy == {"tags": ("water",)}
    assert made.language == "en"  # the feed did not say
    assert followed.reason == ""


def test_an_entry_that_is_still_the_same_is_left_alone() -> None:
    web = Web({"https://x.example/1": html(ARTICLE), "https://x.example/2": html(ARTICLE)})
    first = follow(web, entry(1), entry(2))
    known = {each.document.uri: each.digest for each in first}
    assert follow(web, entry(1), entry(2), known=known) == []
    changed = entry(2, title="Marsh lock rebuilt, again")
    assert [each.document.uri for each in follow(web, entry(1), changed, known=known)] == [
        "https://x.example/2"
    ]
    assert len(web.asked) == 3


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        (entry(), True),
        (entry(text="Short."), True),
        (entry(text=ARTICLE), False),
        (entry(text=ARTICLE + " Read more »"), True),
        (entry(text=ARTICLE + " [...]"), True),
        (entry(text=ARTICLE + " Continue reading Marsh lock rebuilt →"), True),
        (entry(summary="The feed has the content as well."), False),
        (entry(url=""), False),
    ],
)
def test_which_entries_need_their_page(given: Document, needed: bool) -> None:
    assert needs_page(given) is needed
    web = Web()
    follow(web, given)
    assert bool(web.asked) is needed


@pytest.mark.parametrize(
    "page",
    [
        html("Please allow cookies to go on. " * 40),  # of another matter
        html(BEGINNING[:30]),  # no more than the feed has
        b"<html><body><a href=/>Upper Marsh lock rebuilt winter</a></body></html>",
    ],
)
def test_a_page_that_is_not_the_article_changes_nothing(page: bytes) -> None:
    (followed,) = follow(Web({"https://x.example/1": page}), entry())
    assert followed.document == entry()
    assert followed.reason == "its page contains no more of the article than the feed"
    assert followed.digest


@pytest.mark.parametrize(
    ("error", "tried_again"),
    [
        (FetchError("u", "gone", status=410), False),
        (FetchError("u", "login", status=403), False),
        (FetchError("u", "a film", status=200), False),
        (FetchError("u", "busy", status=503), True),
        (FetchError("u", "too many", status=429), True),
        (FetchError("u", "unreachable"), True),
    ],
)
def test_a_page_that_cannot_be_fetched_leaves_the_beginning(
    error: FetchError, tried_again: bool
) -> None:
    web = Web({"https://x.example/1": error, "https://x.example/2": html(ARTICLE)})
    first, second = follow(web, entry(1), entry(2))
    assert first.document == entry(1)
    assert first.reason == error.reason
    assert bool(first.digest) is not tried_again
    assert ARTICLE in second.document.text


def test_a_page_that_cannot_be_read_leaves_the_beginning() -> None:
    def parse(uri: str, fetched: Fetched) -> Sequence[Document]:
        raise SourceError(uri, "no text")

    web = Web({"https://x.example/1": b"x"})
    (followed,) = follow_entries([entry()], digests={}, fetch=web.fetch, parse=parse, limit=1)
    assert (followed.document, followed.reason) == (entry(), "no text")


def test_no_more_pages_than_allowed() -> None:
    web = Web({f"https://x.example/{number}": html(ARTICLE) for number in range(5)})
    followed = follow(web, *(entry(number) for number in range(5)), limit=2)
    assert len(web.asked) == 2
    assert [bool(each.digest) for each in followed] == [True, True, False, False, False]
    assert "pages per run" in followed[-1].reason
