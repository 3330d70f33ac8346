"""Which addresses may be asked, and that what was judged is what is asked."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doubles.web_server import Reply, WebServer

from wellread.config import WebSettings
from wellread.ingest.sources.addresses import (
    FetchError,
    is_public,
    parse_address,
    without_credentials,
)
from wellread.ingest.sources.exchange import Exchange
from wellread.ingest.sources.fetching import Fetched, Fetcher

USUAL = WebSettings(any_port=True, interval=0, robots=False).model_copy(
    update={"connect_timeout": 0.5}
)
NEAR = USUAL.model_copy(update={"allow_private": True})


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer({"/": Reply(body=b"secret")}) as made:
        yield made


class Names:
    """A resolver: every name has a list of answers, given one after another; the last repeats."""

    def __init__(self, **answers: Sequence[str | Sequence[str]]) -> None:
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.answers[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [found] if isinstance(found, str) else list(found)


def reason(url: str, settings: WebSettings = USUAL, names: Names | None = None) -> str:
    fetcher = Fetcher(Exchange(settings, resolve=names)) if names else Fetcher(Exchange(settings))
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(url)
    return caught.value.reason


NOT_PUBLIC = """
127.0.0.1 127.1.2.3 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 169.254.169.254
192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1
::7f00:1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:c0a8:101::1 3fff::1 5f00::1
fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1
"""


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_addresses_that_are_no_machine_of_the_public_web(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert "is not a public address" in reason(
        "http://name.example/", names=Names(name_example=[address])
    )


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::1", "64:ff9b::808:808"],
)
def test_addresses_of_the_public_web(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_no_wrapping_makes_an_address_public(v4: ipaddress.IPv4Address, prefix: str) -> None:
    wrapped = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(v4))
    assert is_public(wrapped) == is_public(v4)
    assert not is_public(v4) or v4.is_global


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"],
)
def test_this_machine_is_not_asked_however_it_is_written(server: WebServer, host: str) -> None:
    said = reason(f"http://{host}:{server.port}/")
    # Some systems do not know the short ways of writing an address.
    assert "is not a public address" in said or "was not found" in said
    assert server.asked == []


def test_the_reason_says_what_to_do() -> None:
    names = Names(intranet_example=["10.0.0.7"])
    assert reason("http://intranet.example/", names=names) == (
        "intranet.example (10.0.0.7) is not a public address; "
        "web.allow_private allows intranet addresses"
    )


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::"])
def test_some_addresses_are_refused_on_an_intranet_too(address: str) -> None:
    """Link-local addresses are where clouds answer with keys."""
    names = Names(name_example=[address])
    assert "is not a public address" in reason("http://name.example/", NEAR, names=names)


def test_the_connection_goes_to_the_address_that_was_judged(server: WebServer) -> None:
    """The name is asked for once; its second meaning (DNS rebinding) is never used."""
    names = Names(name_example=["127.0.0.1", "169.254.169.254"])
    fetcher = Fetcher(Exchange(NEAR, resolve=names))
    found = fetcher.fetch(f"http://name.example:{server.port}/")
    assert isinstance(found, Fetched)
    assert found.data == b"secret"
    assert names.asked == ["name.example"]
    assert server.asked[0].headers["host"] == f"name.example:{server.port}"


def test_every_hop_is_judged_anew(server: WebServer) -> None:
    server.pages["/again"] = Reply(status=302, headers={"Location": "/"})
    names = Names(name_example=["127.0.0.1", "169.254.169.254"])
    said = reason(f"http://name.example:{server.port}/again", NEAR, names)
    assert said.startswith("name.example (169.254.169.254) is not a public address")
    assert server.paths() == ["/again"]


def test_one_private_address_among_others_is_enough(server: WebServer) -> None:
    names = Names(name_example=[["127.0.0.1", "169.254.169.254"]])
    assert "169.254.169.254" in reason(f"http://name.example:{server.port}/", NEAR, names)
    assert server.asked == []


def test_an_address_that_does_not_answer_gives_way_to_the_next(server: WebServer) -> None:
    names = Names(name_example=[["127.0.0.2", "127.0.0.1"]])
    found = Fetcher(Exchange(NEAR, resolve=names)).fetch(f"http://name.example:{server.port}/")
    assert isinstance(found, Fetched)


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is not a public address"),
        ("//[fe80::1]/", "fe80::1 is not a public address"),
        ("file:///etc/passwd", "only http and https are supported, not file"),
        ("gopher://127.0.0.1:70/", "only http and https are supported, not gopher"),
        ("http://me:secret@name.example/", "a user name or password"),
        ("http://[", "not a web address"),
    ],
)
def test_redirects_lead_nowhere_else(server: WebServer, location: str, said: str) -> None:
    server.pages["/away"] = Reply(status=302, headers={"Location": location})
    found = reason(server.url("/away"), NEAR)
    assert found.startswith(said) or said in found
    assert "secret@" not in found
    assert server.paths() == ["/away"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x.example/a", "only http and https are supported, not ftp"),
        ("javascript:alert(1)", "only http and https are supported, not javascript"),
        ("http://", "not a web address: no host"),
        ("http://a\nb.example/", "not a web address: Invalid non-printable"),
        ("http://x.example:99999/", "not a web address"),
        ("http://x.example/" + "a" * 5_000, "longer than 4,000 characters"),
    ],
)
def test_what_is_no_address(url: str, said: str) -> None:
    assert reason(url).startswith(said)


def test_ports() -> None:
    usual = WebSettings(robots=False)
    assert (
        reason("http://x.example:22/", usual)
        == "port 22 is not allowed unless web.any_port is true"
    )
    for url in ("http://x.example", "https://x.example", "http://x.example:8080"):
        assert parse_address(url, usual)
    assert parse_address("http://x.example:22/")


def test_a_password_is_neither_sent_nor_shown() -> None:
    fetcher = Fetcher(Exchange(USUAL))
    with pytest.raises(FetchError, match="a user name or password") as caught:
        fetcher.fetch("https://me:s3cr3t@x.example/a@b")
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.uri == "https://…@x.example/a@b"
    assert without_credentials("https://x.example/me@home") == "https://x.example/me@home"


def test_hosts_that_are_not_there() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    def silent(host: str, port: int) -> list[str]:
        return []

    for resolve in (unknown, silent):
        with pytest.raises(FetchError, match=r"the host x\.example was not found"):
            Fetcher(Exchange(USUAL, resolve=resolve)).fetch("http://x.example/")


def test_a_resolver_that_takes_too_long_is_not_waited_for(server: WebServer) -> None:
    def slow(host: str, port: int) -> list[str]:
        server.closing.wait(60)
        return ["127.0.0.1"]

    hasty = NEAR.model_copy(update={"connect_timeout": 0.1})
    with pytest.raises(FetchError, match="was not found in time"):
        Fetcher(Exchange(hasty, resolve=slow)).fetch("http://x.example/")


def test_a_certificate_is_asked_for(server: WebServer) -> None:
    said = reason(server.url().replace("http:", "https:"), NEAR)
    assert said.startswith(("cannot be reached", "the answer breaks off"))


def test_the_systems_proxy_is_used_only_when_the_settings_say_so(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url().rstrip("/"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    names = Names(name_example=["10.0.0.1"])
    assert "is not a public address" in reason("http://name.example/", names=names)
    assert server.asked == []
    server.pages["http://name.example/"] = Reply(body=b"through the proxy")
    found = Fetcher(Exchange(USUAL.model_copy(update={"use_proxy": True}))).fetch(
        "http://name.example/"
    )
    assert isinstance(found, Fetched)
    assert found.data == b"through the proxy"


@pytest.mark.parametrize(
    ("url", "usual"),
    [
        ("HTTP://Example.ORG:80", "http://example.org/"),
        ("https://example.org:443/a/../b?q=1#part", "https://example.org/b?q=1"),
        (" https://bücher.example/ä b ", "https://xn--bcher-kva.example/%C3%A4%20b"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ],
)
def test_one_address_has_one_form(url: str, usual: str) -> None:
    assert str(parse_address(url)) == usual
    assert str(parse_address(usual)) == usual
