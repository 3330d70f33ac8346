"""Fetching over real HTTP from a local server, well-behaved and not."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from itertools import repeat

import pytest
from tests.doubles.web_server import Asked, Reply, WebServer

from wellread.config import WebSettings
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline.kinds import load, loader_name
from wellread.ingest.sources.addresses import FetchError
from wellread.ingest.sources.exchange import Exchange
from wellread.ingest.sources.fetching import Fetched, Fetcher, NotModified

NEAR = WebSettings(allow_private=True, any_port=True, interval=0).model_copy(
    update={"read_timeout": 5, "timeout": 15, "max_bytes": 100_000}  # constants of the section
)
HASTY = NEAR.model_copy(update={"read_timeout": 0.3, "timeout": 0.6})
WORDS = b"Quiet rivers carry much. " * 40


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as made:
        yield made


def get(server: WebServer, path: str, settings: WebSettings = NEAR) -> Fetched:
    found = Fetcher(Exchange(settings)).fetch(server.url(path))
    assert isinstance(found, Fetched)
    return found


def refused(server: WebServer, path: str, settings: WebSettings = NEAR) -> FetchError:
    with pytest.raises(FetchError) as caught:
        Fetcher(Exchange(settings)).fetch(server.url(path))
    assert caught.value.uri == server.url(path)
    return caught.value


def drip(server: WebServer, pieces: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    for piece in pieces:
        if server.closing.wait(seconds):
            return
        yield piece


def test_a_page_with_everything_that_the_server_says_of_it(server: WebServer) -> None:
    headers = {
        "Content-Type": "text/markdown; charset=utf-8",
        "ETag": '"v1"',
        "Last-Modified": "Wed, 01 May 2024 10:00:00 GMT",
    }
    server.pages["/notes/river.md"] = Reply(body=WORDS, headers=headers)
    found = get(server, "/notes/river.md#a-heading")
    assert (found.url, found.name, found.data) == (server.url("/notes/river.md"), "river.md", WORDS)
    assert (found.etag, found.last_modified) == ('"v1"', "Wed, 01 May 2024 10:00:00 GMT")
    (asked,) = (each for each in server.asked if each.path != "/robots.txt")
    assert asked.headers["user-agent"].startswith("wellread/")
    assert asked.headers["host"] == f"127.0.0.1:{server.port}"
    assert "cookie" not in asked.headers


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(WORDS, mtime=0)),
        (
            "x-gzip",
            gzip.compress(WORDS[:50], mtime=0) + gzip.compress(WORDS[50:], mtime=0) + b"\0" * 9,
        ),
        ("identity", WORDS),
    ],
)
def test_packed_answers_are_unpacked(server: WebServer, encoding: str, packed: bytes) -> None:
    pieces = [packed[:1], packed[1:7], packed[7:]]
    server.pages["/"] = Reply(body=pieces, headers={"Content-Encoding": encoding})
    assert get(server, "/").data == WORDS


@pytest.mark.parametrize(
    ("encoding", "packed", "reason"),
    [
        ("gzip", gzip.compress(WORDS, mtime=0)[:-9], "compressed data is incomplete"),
        ("gzip", b"\x1f", "compressed data is incomplete"),
        ("gzip", WORDS, "declared as gzip, but is not"),
        ("br", WORDS, "compressed as br, which was not requested"),
        (
            "gzip, gzip",
            gzip.compress(gzip.compress(WORDS, mtime=0), mtime=0),
            "which was not requested",
        ),
    ],
)
def test_broken_packing_is_no_page(
    server: WebServer, encoding: str, packed: bytes, reason: str
) -> None:
    server.pages["/"] = Reply(body=packed, headers={"Content-Encoding": encoding})
    assert reason in refused(server, "/").reason


def test_a_bomb_is_cut_off_at_the_limit(server: WebServer) -> None:
    bomb = gzip.compress(bytes(30_000_000))
    assert len(bomb) < NEAR.max_bytes
    server.pages["/"] = Reply(body=bomb, headers={"Content-Encoding": "gzip"})
    assert refused(server, "/").reason == "too large: more than 100,000 bytes"


def test_large_answers_are_given_up_early(server: WebServer) -> None:
    server.pages["/endless"] = lambda asked: Reply(body=repeat(b"x" * 1_000))
    server.pages["/announced"] = Reply(body=b"x", headers={"Content-Length": "100001"})
    server.pages["/just"] = Reply(body=b"x" * 100_000)
    for path in ("/endless", "/announced"):
        assert "too large: more than 100,000 bytes" in refused(server, path).reason
    assert len(get(server, "/just").data) == 100_000


def test_slow_servers_are_given_up(server: WebServer) -> None:
    server.pages["/silent"] = lambda asked: Reply(body=drip(server, [b"x"], 60))
    server.pages["/drip"] = lambda asked: Reply(body=drip(server, repeat(b"x"), 0.05))
    head = [b"HTTP/1.1 200 OK\r\nX-Long: ", *repeat(b"y", 1_000)]
    server.pages["/header"] = lambda asked: Reply(raw=drip(server, head, 0.05))
    silent = "the server sent nothing for 0.3 seconds"
    assert refused(server, "/silent", HASTY).reason == silent
    for path in ("/drip", "/header"):
        # On a busy machine a pause between two pieces may be as long as silence.
        assert refused(server, path, HASTY).reason in ("took longer than 0.6 seconds", silent)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"abc", headers={"Content-Length": "10"}),
        Reply(raw=[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"]),
        Reply(raw=[b"HTTP/1.1 200 OK\r\nContent-Le"]),
        Reply(raw=[b"SSH-2.0-OpenSSH_9.6\r\n"]),
        Reply(raw=[b""]),
    ],
)
def test_half_an_answer_is_no_answer(server: WebServer, reply: Reply) -> None:
    server.pages["/"] = reply
    assert refused(server, "/").reason.startswith("the answer is incomplete or not HTTP")


def test_redirects_are_followed(server: WebServer) -> None:
    server.pages["/old"] = Reply(status=301, headers={"Location": "new/place?a=b#c"})
    server.pages["/new/place?a=b"] = Reply(status=307, headers={"Location": server.url("/end")})
    server.pages["/end"] = Reply(body=b"there")
    found = get(server, "/old")
    assert (found.url, found.data) == (server.url("/end"), b"there")


def test_redirects_end(server: WebServer) -> None:
    for number in range(9):
        onward = {"Location": f"/{number + 1}"}
        server.pages[f"/{number}"] = Reply(status=302, headers=onward)
    server.pages["/8"] = Reply(status=302, headers={"Location": "/7"})
    server.pages["/self"] = Reply(status=302, headers={"Location": "/self"})
    assert "more than 5 redirects" in refused(server, "/0").reason
    assert "redirects form a loop" in refused(server, "/6").reason
    assert refused(server, "/self").reason == "the redirects form a loop"
    server.pages["/nowhere"] = Reply(status=302)
    assert refused(server, "/nowhere").reason == "the server answered 302 Found"


def test_what_has_not_changed_is_not_sent_again(server: WebServer) -> None:
    def page(asked: Asked) -> Reply:
        if asked.headers.get("if-none-match") == '"v1"':
            return Reply(status=304, headers={"ETag": '"v1"'})
        if asked.headers.get("if-modified-since") == "Wed, 01 May 2024 10:00:00 GMT":
            return Reply(status=304)
        return Reply(body=b"x")

    server.pages["/"] = page
    fetcher = Fetcher(Exchange(NEAR))
    same = fetcher.fetch(server.url(), etag='"v1"')
    assert isinstance(same, NotModified)
    assert same.etag == '"v1"'
    by_date = fetcher.fetch(server.url(), last_modified="Wed, 01 May 2024 10:00:00 GMT")
    assert isinstance(by_date, NotModified)
    assert isinstance(fetcher.fetch(server.url(), etag='"v2"'), Fetched)
    server.pages["/"] = Reply(status=304)
    assert refused(server, "/").reason == "the server answered 304 Not Modified"


def test_a_tag_cannot_smuggle_headers(server: WebServer) -> None:
    server.pages["/"] = Reply(body=b"x")
    Fetcher(Exchange(NEAR)).fetch(server.url(), etag='"v1"\r\nX-More: yes')
    assert all("if-none-match" not in asked.headers for asked in server.asked)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "the page does not exist (404 Not Found)"),
        (410, "the page was removed permanently (410 Gone)"),
        (401, "the server refuses access (401 Unauthorized)"),
        (500, "the server answered 500 Internal Server Error"),
        (429, "the server answered 429 Too Many Requests"),
        (503, "the server answered 503 Service Unavailable"),
        (204, "the server answered 204 No Content"),
        (299, "the server answered 299"),
    ],
)
def test_statuses(server: WebServer, status: int, reason: str) -> None:
    server.pages["/"] = Reply(status=status)
    error = refused(server, "/")
    assert (error.reason, error.status) == (reason, status)


def test_requests_to_a_host_keep_their_distance(server: WebServer) -> None:
    server.pages.update({"/a": Reply(body=b"a"), "/b": Reply(body=b"b")})
    waited: list[float] = []
    calm = NEAR.model_copy(update={"interval": 3_000.0, "robots": False})
    fetcher = Fetcher(Exchange(calm, wait=waited.append))
    for path in ("/a", "/b"):
        fetcher.fetch(server.url(path))
    assert len(waited) == 1
    assert 2_000 < waited[0] <= 3_000


def test_media_are_not_loaded(server: WebServer) -> None:
    film = {"Content-Type": "video/mp4"}
    server.pages["/"] = lambda asked: Reply(body=repeat(b"x"), headers=film)
    assert refused(server, "/").reason == "unsupported file type: video/mp4"


def test_robots_are_asked_for_pages_and_not_for_feeds(server: WebServer) -> None:
    server.pages["/robots.txt"] = Reply(body=b"User-agent: Wellread\nDisallow: /private")
    server.pages["/private/x"] = Reply(body=b"x")
    server.pages["/way"] = Reply(status=302, headers={"Location": "/private/x"})
    reason = refused(server, "/private/x").reason
    assert "robots.txt of 127.0.0.1 does not allow it" in reason
    assert "does not allow it" in refused(server, "/way").reason
    assert "/private/x" not in server.paths()
    assert get(server, "/private/x", NEAR.model_copy(update={"robots": False})).data == b"x"
    assert Fetcher(Exchange(NEAR)).fetch(server.url("/private/x"), as_feed=True)


def test_a_site_whose_robots_cannot_be_read_is_left_alone(server: WebServer) -> None:
    server.pages["/robots.txt"] = Reply(status=503, headers={"Retry-After": "90"})
    server.pages["/a"] = Reply(body=b"a")
    error = refused(server, "/a")
    assert error.reason.startswith(
        "the robots.txt of 127.0.0.1 cannot be read: the server answered"
    )
    server.pages["/robots.txt"] = Reply(status=403)
    assert get(server, "/a").data == b"a"


def test_the_pause_that_robots_ask_for_is_kept(server: WebServer) -> None:
    server.pages["/robots.txt"] = Reply(body=b"User-agent: *\nCrawl-delay: 7")
    server.pages["/a"] = Reply(body=b"a")
    waited: list[float] = []
    fetcher = Fetcher(Exchange(NEAR, wait=waited.append))
    fetcher.fetch(server.url("/a"))
    fetcher.fetch(server.url("/a"))
    assert [round(seconds) for seconds in waited] == [7]


def read(found: Fetched) -> str:
    source = Source(uri=found.url, name=found.name, data=found.data, collection="c")
    assert loader_name(source)
    return "\n".join(document.text for document in load(source, LoaderLimits()))
