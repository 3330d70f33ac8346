"""Runs over web pages, feeds and lists of feeds, from a local server over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles.web_server import Asked, Reply, WebServer
from tests.ingest.conftest import statuses

from wellread.ask.retrieve.search import search
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

NEAR = {"web": {"allow_private": True, "any_port": True, "interval": 0, "robots": False}}
PAGE = """<html><head><title>{0}</title></head><body><article><h1>{0}</h1>
<p>The {0} was opened on Monday by the harbour master, who thanked all who had helped.</p>
<p>It stands at the {0} quay, where the old crane used to be until the storm of last winter.</p>
<p>Visitors may come on any weekday in the afternoon, and on the first Sunday of a month.</p>
</article></body></html>"""


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as made:
        yield made


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", overrides=NEAR, embedder=ReadableEmbedder()) as opened:
        yield opened


def page(server: WebServer, name: str, etag: str = "") -> None:
    """Serve a page, with an answer to conditional requests when it has a tag."""

    def answer(asked: Asked) -> Reply:
        if etag and asked.headers.get("if-none-match") == etag:
            return Reply(status=304, headers={"ETag": etag})
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return Reply(
            body=PAGE.format(name).encode(), headers={**headers, **({"ETag": etag} if etag else {})}
        )

    server.pages[f"/{name}"] = answer


def feed(server: WebServer, path: str, names: list[str]) -> None:
    """Serve a feed whose entries carry a summary each."""
    items = "".join(
        f"<item><title>{name}</title><link>{server.url(f'/{name}')}</link>"
        f"<description>The {name} was opened on Monday by the harbour master.</description></item>"
        for name in names
    )
    body = (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>H</title>{items}</channel></rss>'
    )
    server.pages[path] = Reply(body=body.encode(), headers={"Content-Type": "application/rss+xml"})


def held(kb: KnowledgeBase) -> set[str]:
    return {each.uri.rsplit("/", 1)[-1] for each in kb.catalogue.documents("default")}


def test_a_page_is_read_and_asked_again_with_its_tag(server: WebServer, kb: KnowledgeBase) -> None:
    page(server, "lighthouse", etag='"1"')
    assert statuses(add(kb, [server.url("/lighthouse")])) == {"lighthouse": "added"}
    (found,) = search(kb, "harbour master", Filters())
    assert found.document.uri == server.url("/lighthouse")
    assert statuses(add(kb, [server.url("/lighthouse")])) == {"lighthouse": "unchanged"}
    page(server, "lighthouse", etag='"2"')
    assert statuses(add(kb, [server.url("/lighthouse")])) == {"lighthouse": "unchanged"}  # by hash
    server.pages["/lighthouse"] = Reply(
        body=PAGE.format("beacon").encode(), headers={"Content-Type": "text/html"}
    )
    assert statuses(add(kb, [server.url("/lighthouse")])) == {"lighthouse": "updated"}
    assert verify(kb).problems == ()


def test_a_page_that_is_gone_for_good_goes_with_sync_only(
    server: WebServer, kb: KnowledgeBase
) -> None:
    for name in ("mill", "pier"):
        page(server, name)
        add(kb, [server.url(f"/{name}")])
    server.pages["/mill"] = Reply(status=410)
    server.pages["/pier"] = Reply(status=404)
    urls = [server.url("/mill"), server.url("/pier")]
    assert set(statuses(add(kb, urls)).values()) == {"failed"}
    assert held(kb) == {"mill", "pier"}
    sync(kb, urls)
    assert held(kb) == {"pier"}


def test_a_feed_keeps_the_entries_that_left_it(server: WebServer, kb: KnowledgeBase) -> None:
    for name in ("lighthouse", "ferry", "mill"):
        page(server, name)
    feed(server, "/news.rss", ["lighthouse", "ferry"])
    report = add(kb, [server.url("/news.rss")])
    assert (report.rows[0].status, report.rows[0].documents) == ("added", 2)
    assert held(kb) == {"lighthouse", "ferry"}
    # The pages behind the entries were read: what only they say is found.
    assert len(search(kb, "old crane storm", Filters())) == 2
    feed(server, "/news.rss", ["ferry", "mill"])
    for again in (add, sync):
        again(kb, [server.url("/news.rss")])
        assert held(kb) == {"lighthouse", "ferry", "mill"}
    asked = [path for path in server.paths() if path == "/ferry"]
    assert len(asked) == 1  # an entry that is still what it was is not read again
    assert verify(kb).problems == ()


@pytest.mark.parametrize(
    ("ending", "transcript"),
    [
        ("vtt", "WEBVTT\n\n00:01.000 --> 00:04.000\n<v Ada>The dredger came in May.\n"),
        (
            "json",
            '{"segments": [{"speaker": "Ada", "startTime": 1,'
            ' "body": "The dredger came in May."}]}',
        ),
        ("html", "<cite>Ada:</cite><time>0:01</time><p>The dredger came in May.</p>"),
    ],
    ids=["vtt", "json", "html"],
)
def test_the_transcript_that_a_feed_names_is_read_as_its_episode(
    server: WebServer, kb: KnowledgeBase, ending: str, transcript: str
) -> None:
    server.pages[f"/1.{ending}"] = Reply(body=transcript.encode())
    named = f'<podcast:transcript url="/1.{ending}" type="x"/>'
    for more, kind in (("", "article"), (named, "transcript"), (named, "transcript")):
        text = (
            '<rss version="2.0" xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel>'
            f"<link>{server.url('/')}</link><item><title>Silt</title><guid>e1</guid>"
            f'<enclosure url="{server.url("/1.mp3")}" type="audio/mpeg"/>'
            f"<description>On silt.</description>{more}</item></channel></rss>"
        )
        server.pages["/cast.rss"] = Reply(body=text.encode())
        add(kb, [server.url("/cast.rss")])
        (document,) = kb.catalogue.documents("default")
        assert (document.title, document.kind) == ("Silt", kind)
    (hit,) = search(kb, "dredger", Filters())
    assert "The dredger came in May." in hit.passage.text
    assert hit.passage.speakers == (() if ending == "html" else ("Ada",))
    assert hit.document.media_url == server.url("/1.mp3")
    assert server.paths().count(f"/1.{ending}") == 1  # not fetched again


def test_a_list_of_feeds_brings_its_feeds_and_takes_them_away(
    server: WebServer, kb: KnowledgeBase, tmp_path: Path
) -> None:
    for name in ("lighthouse", "ferry"):
        page(server, name)
        feed(server, f"/{name}.rss", [name])
    path = tmp_path / "lists" / "feeds.opml"
    path.parent.mkdir()
    given = str(path.parent)

    def listed(names: list[str]) -> None:
        lines = "".join(f'<outline xmlUrl="{server.url(f"/{name}.rss")}"/>' for name in names)
        path.write_text(f'<opml version="2.0"><body>{lines}</body></opml>')

    listed(["lighthouse", "ferry"])
    assert statuses(add(kb, [given])) == {"lighthouse.rss": "added", "ferry.rss": "added"}
    assert held(kb) == {"lighthouse", "ferry"}
    path.write_text("no list any more")
    sync(kb, [given])
    assert held(kb) == {"lighthouse", "ferry"}
    listed(["ferry"])
    sync(kb, [given])
    assert held(kb) == {"ferry"}


def test_a_list_at_an_address_keeps_its_feeds_and_drops_those_it_does_not_name_any_more(
    server: WebServer, kb: KnowledgeBase
) -> None:
    for name in ("lighthouse", "ferry"):
        page(server, name)
        feed(server, f"/{name}.rss", [name])

    def listed(names: list[str]) -> None:
        lines = "".join(f'<outline xmlUrl="{server.url(f"/{name}.rss")}"/>' for name in names)
        body = f'<opml version="2.0"><body>{lines}</body></opml>'
        server.pages["/all.opml"] = Reply(body=body.encode())

    url = server.url("/all.opml")
    listed(["lighthouse", "ferry"])
    for _ in range(3):
        sync(kb, [url])
        assert held(kb) == {"lighthouse", "ferry"}
    listing = server.pages.pop("/all.opml")
    sync(kb, [url])  # a list that cannot be read says nothing about its feeds
    assert held(kb) == {"lighthouse", "ferry"}
    server.pages["/all.opml"] = listing
    listed(["ferry"])
    sync(kb, [url])
    assert held(kb) == {"ferry"}


def test_an_address_of_this_machine_is_refused_unless_allowed(
    server: WebServer, tmp_path: Path
) -> None:
    page(server, "mill")
    with open_kb(tmp_path / "strict", embedder=ReadableEmbedder()) as kb:
        report = add(kb, [server.url("/mill")])
    assert statuses(report) == {"mill": "failed"}
    assert server.paths() == []
