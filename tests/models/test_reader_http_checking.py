"""A fact-checking server over real HTTP: replies, errors, time limits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.post_server import PostServer, fixed, ok
from tests.doubles.readers import opened
from tests.doubles.web_server import Reply

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.kb import open_kb
from wellread.models.reader import Case, excerpts
from wellread.models.readers.http_reader import HttpChecking
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import CheckingContract


def shares(request: dict[str, Any]) -> Reply:
    """The share of the claim's words that the document holds."""
    wanted = request["claim"].lower().split()
    held = request["document"].lower().split()
    share = sum(word in held for word in wanted) / len(wanted)
    return ok({"probability": share})


@pytest.fixture
def server() -> Iterator[PostServer]:
    with PostServer(shares, "/", "/check", "/a/b") as running:
        yield running


@pytest.fixture
def judge(server: PostServer) -> Iterator[HttpChecking]:
    made = HttpChecking(server.url("/check"), api_key="secret", timeout=5.0, sleep=lambda _: None)
    yield made
    made.close()


class TestHttpChecking(CheckingContract):
    @pytest.fixture
    def reader(self, judge: HttpChecking) -> HttpChecking:
        return judge


def case(claim: str, *passages: str) -> Case:
    return Case(claim=claim, passages=excerpts(*(passages or ("the ferry leaves at seven",))))


def test_probabilities_become_rulings(judge: HttpChecking, server: PostServer) -> None:
    found = judge.entails([case("ferry leaves"), case("ferry bread dough"), case("bread")])
    assert [ruling.name for ruling in found] == ["supported", "partial", "unsupported"]
    assert found[0].reason == "a fact-checking model gives it 100%"
    assert set(server.paths()) == {"/check"}
    assert set(server.keys) == {"Bearer secret"}


def test_what_is_sent(judge: HttpChecking, server: PostServer) -> None:
    judge.entails([case("ferry", "one " * 9_000, "two")])
    (sent,) = server.requests
    assert set(sent) == {"document", "claim"}
    assert len(sent["document"]) == 20_000
    judge.entails([case("ferry", "one", "two")])
    assert server.requests[1] == {"document": "one\ntwo", "claim": "ferry"}


@pytest.mark.parametrize(
    "body", [{"probability": 0.9}, {"score": 0.9}, {"score": 1}, [{"score": 0.9}]]
)
def test_forms_of_a_reply(judge: HttpChecking, server: PostServer, body: object) -> None:
    server.usual = fixed(ok(body))
    assert judge.entails([case("bread")])[0].name == "supported"


@pytest.mark.parametrize(
    "body",
    [{}, [], "yes", {"score": "0.9"}, {"score": 1.1}, {"score": -0.1}, {"score": True}, [1, 2]],
)
def test_a_reply_that_is_no_probability_is_an_error(
    judge: HttpChecking, server: PostServer, body: object
) -> None:
    server.usual = fixed(ok(body))
    with pytest.raises(ModelError, match=r"cannot be used.*\{probability\}"):
        judge.entails([case("bread")])


def test_a_server_error_is_tried_once_more(judge: HttpChecking, server: PostServer) -> None:
    server.usual = fixed(Reply(status=503, body=b'{"error": "busy"}'))
    with pytest.raises(ModelError, match=r"HTTP 503: busy"):
        judge.entails([case("bread")])
    assert len(server.requests) == 2


def test_a_refusal_is_not_tried_again(judge: HttpChecking, server: PostServer) -> None:
    server.usual = fixed(Reply(status=422, body=b'{"error": "what?"}'))
    with pytest.raises(ModelError, match=r"422: what\?.*must take \{document, claim\}"):
        judge.entails([case("bread")])
    assert len(server.requests) == 1


def test_one_failure_among_others_is_undecided(judge: HttpChecking, server: PostServer) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return Reply(status=400, body=b"no") if request["claim"] == "bread" else shares(request)

    server.usual = script
    first, second = judge.entails([case("bread"), case("ferry")])
    assert (first.name, second.name) == ("undecided", "supported")
    assert "HTTP 400" in first.reason


def test_claims_are_sent_side_by_side(judge: HttpChecking, server: PostServer) -> None:
    together = threading.Barrier(3, timeout=5)

    def script(request: dict[str, Any]) -> Reply:
        together.wait()
        return shares(request)

    server.usual = script
    found = judge.entails([case("ferry"), case("bread"), case("leaves")])
    assert [ruling.name for ruling in found] == ["supported", "unsupported", "supported"]


def test_a_hanging_server_is_given_up(server: PostServer) -> None:
    server.usual = fixed(ok({"score": 1.0}), delay=0.6)
    judge = HttpChecking(server.url(""), timeout=0.1, sleep=lambda _: None)
    with pytest.raises(ModelTimeoutError, match=r"no reply within 0\.1 s.*reader\.timeout"):
        judge.entails([case("bread")])
    judge.close()


def test_nobody_there(server: PostServer) -> None:
    judge = HttpChecking("http://127.0.0.1:9/check", timeout=2.0, sleep=lambda _: None)
    with pytest.raises(ModelError, match=r"reader\.entails_url"):
        judge.entails([case("bread")])
    judge.close()
    bare = HttpChecking(server.url(""), timeout=2.0)
    assert bare.entails([case("ferry")])[0].name == "supported"
    assert server.paths() == ["/"]
    assert bare.entails([]) == []
    bare.close()


def test_settings_choose_it(server: PostServer) -> None:
    judge = opened(
        environ={"CHECKER_KEY": "k", "READER_API_KEY": "of another server"},
        entails="http",
        entails_url=server.url("/a/b"),
        entails_key_env="CHECKER_KEY",
    )
    assert judge.heads == {"entails"}
    judge.entails([case("ferry")])
    assert (server.paths(), server.keys) == (["/a/b"], ["Bearer k"])
    judge.close()
    with pytest.raises(SettingsError, match=r"reader\.entails_url is not set"):
        opened(entails="http")
    with pytest.raises(SettingsError, match=r"reader\.entails_url is not an http URL"):
        HttpChecking("ftp://x/check")


def test_what_a_home_asks_it_stands_in_the_books(server: PostServer, tmp_path: Path) -> None:
    overrides = {"reader": {"entails": "http", "entails_url": f"{server.url('/check')}"}}
    with open_kb(tmp_path, overrides=overrides, embedder=ReadableEmbedder()) as kb:
        assert kb.reader.entails([case("ferry"), case("bread")])[0].name == "supported"
        (call,) = kb.catalogue.calls.newest(5)
        assert (call.purpose, call.model) == ("judge", "fact-checking model")
        assert call.provider == f"127.0.0.1:{server.port}"
