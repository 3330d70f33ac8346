"""The HTTP reranker against a small local server that speaks both wire formats."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.doubles.post_server import PostServer, fixed, ok
from tests.doubles.readers import opened, relevance
from tests.doubles.web_server import Reply

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models import json_http as posting
from wellread.models.reader import Ranking
from wellread.models.readers.http_reader import HttpReranking, Wire
from wellread.testing.reader_contract import ReadableReader, ReaderContract

WIRES: tuple[Wire, ...] = ("jina", "tei")


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What a server of either format sends: best first."""
    tei = "texts" in request
    texts = request["texts" if tei else "documents"]
    scores = relevance(ReadableReader(), request["query"], texts)
    found = [
        {"index": index, "score" if tei else "relevance_score": float(score)}
        for index, score in enumerate(scores)
    ]
    return sorted(found, key=lambda row: -next(reversed(row.values())))


def good(request: dict[str, Any]) -> Reply:
    found = results(request)
    return ok(found if "texts" in request else {"id": "1", "results": found, "usage": {}})


@pytest.fixture
def server() -> Iterator[PostServer]:
    with PostServer(good, "/rerank", "/v1/rerank") as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def jina(server: PostServer, waits: list[float]) -> Iterator[HttpReranking]:
    reranker = HttpReranking(server.url("/v1"), model="tiny", timeout=5.0, sleep=waits.append)
    yield reranker
    reranker.close()


@pytest.fixture
def tei(server: PostServer, waits: list[float]) -> Iterator[HttpReranking]:
    reranker = HttpReranking(server.url(""), wire="tei", timeout=5.0, sleep=waits.append)
    yield reranker
    reranker.close()


class TestJina(ReaderContract):
    @pytest.fixture
    def reader(self, jina: HttpReranking) -> Ranking:
        return jina


class TestTextEmbeddingsInference(ReaderContract):
    @pytest.fixture
    def reader(self, tei: HttpReranking) -> Ranking:
        return tei


def test_what_is_sent_in_jinas_format(jina: HttpReranking, server: PostServer) -> None:
    scores = relevance(jina, "ferry to town", ["no boat", "a ferry to town"])
    assert server.requests == [
        {
            "model": "tiny",
            "query": "ferry to town",
            "documents": ["no boat", "a ferry to town"],
            "top_n": 2,
        }
    ]
    assert server.paths() == ["/v1/rerank"]
    # The server sends the best first; the scores are put back in the order of the texts.
    assert scores.tolist() == [0.0, 1.0]


def test_what_is_sent_to_text_embeddings_inference(tei: HttpReranking, server: PostServer) -> None:
    scores = relevance(tei, "ferry to town", ["no boat", "a ferry to town"])
    assert server.requests == [
        {"query": "ferry to town", "texts": ["no boat", "a ferry to town"], "truncate": True}
    ]
    assert server.paths() == ["/rerank"]
    assert scores.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("ending", ["", "/", "/rerank", "/rerank/"])
def test_the_route_may_stand_in_the_url(server: PostServer, ending: str) -> None:
    reranker = HttpReranking(server.url(f"/v1{ending}"), model="tiny")
    assert relevance(reranker, "ferry", ["ferry"]).tolist() == [1.0]
    reranker.close()
    assert server.paths() == ["/v1/rerank"]


def test_no_texts_ask_nobody(jina: HttpReranking, server: PostServer) -> None:
    assert relevance(jina, "ferry", []).shape == (0,)
    assert server.requests == []


def test_many_texts_go_in_batches(
    jina: HttpReranking, tei: HttpReranking, server: PostServer
) -> None:
    texts = [f"ferry {n}" if n % 3 else "bread" for n in range(110)]
    expected = relevance(ReadableReader(), "ferry 7", texts)
    np.testing.assert_allclose(relevance(jina, "ferry 7", texts), expected)
    assert [len(request["documents"]) for request in server.requests] == [100, 10]
    assert [request["top_n"] for request in server.requests] == [100, 10]
    server.asked.clear()
    np.testing.assert_allclose(relevance(tei, "ferry 7", texts), expected)
    assert [len(request["texts"]) for request in server.requests] == [32, 32, 32, 14]


def test_long_and_blank_texts(jina: HttpReranking, server: PostServer) -> None:
    relevance(jina, "", ["x" * 50_000, "", " \n"])
    (request,) = server.requests
    assert [len(text) for text in request["documents"]] == [8_000, 1, 1]
    assert request["query"].strip()
    assert all(text.strip() for text in request["documents"])


def test_the_settings_make_it_and_the_key_is_sent(server: PostServer) -> None:
    reranker = opened(
        environ={"MY_KEY": "secret"},
        relevance="http",
        answers="lexical",
        url=server.url("/v1"),
        model="tiny",
        api_key_env="MY_KEY",
    )
    assert reranker.identity == f"http:tiny@127.0.0.1:{server.port} lexical"
    assert reranker.reranks
    relevance(reranker, "ferry", ["ferry"])
    reranker.close()
    assert server.keys == ["Bearer secret"]
    other = {"OPENAI_API_KEY": "not for it"}
    plain: dict[str, Any] = {"answers": "lexical"}
    reranker = opened(environ=other, relevance="http", url=server.url(""), format="tei", **plain)
    assert reranker.identity == f"http:tei@127.0.0.1:{server.port} lexical"
    relevance(reranker, "ferry", ["ferry"])
    reranker.close()
    assert server.keys[1:] == [None]


@pytest.mark.parametrize("missing", ["url", "model"])
def test_missing_settings_are_named(missing: str) -> None:
    given = {"url": "http://localhost/v1", "model": "tiny"} | {missing: ""}
    with pytest.raises(SettingsError, match=f"reader.{missing} is not set.*WELLREAD_READER_"):
        opened(relevance="http", url=given["url"], model=given["model"])


@pytest.mark.parametrize("url", ["localhost:8080/v1", "ftp://localhost/v1", "http://", "rerank"])
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"reader\.url is not an http URL"):
        HttpReranking(url, model="tiny")


def test_a_key_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"reader\.api_key_env"):
        HttpReranking("http://localhost/v1", model="tiny", api_key="schlüssel")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_passing_failure_is_tried_again(
    jina: HttpReranking, server: PostServer, waits: list[float], status: int
) -> None:
    server.script = [fixed(Reply(status=status))] * 2
    assert relevance(jina, "ferry", ["ferry"]).tolist() == [1.0]
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_a_rate_limit_is_waited_for(
    jina: HttpReranking, server: PostServer, waits: list[float]
) -> None:
    server.script = [fixed(Reply(status=429, headers={"Retry-After": "3"}))]
    assert relevance(jina, "ferry", ["ferry"]).tolist() == [1.0]
    assert waits == [3]


def test_a_wait_beyond_the_time_limit_is_not_made(
    jina: HttpReranking, server: PostServer, waits: list[float]
) -> None:
    """The answer would come late; the search's own order is there at once."""
    server.script = [fixed(Reply(status=429, headers={"Retry-After": "7"}))]
    with pytest.raises(ModelError, match=r"HTTP 429.*rate limit") as caught:
        relevance(jina, "ferry", ["ferry"])
    assert caught.value.retryable
    assert waits == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_lasting_failure_is_reported_with_the_servers_words(
    server: PostServer, waits: list[float], wire: Wire
) -> None:
    body = b'{"error": "model\\n overloaded", "error_type": "Overloaded"}'
    server.script = [fixed(Reply(status=503, body=body))] * 9
    reranker = HttpReranking(server.url(""), model="tiny", wire=wire, sleep=waits.append)
    with pytest.raises(ModelError, match=r"tiny at 127.*HTTP 503: model overloaded") as caught:
        relevance(reranker, "ferry", ["ferry"])
    reranker.close()
    assert caught.value.retryable
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, b'{"detail": "no such model"}', r"no such model.*reader\.model"),
        (401, b'{"error": {"message": "wrong key"}}', r"wrong key.*reader\.api_key_env"),
        (404, b'{"message": "no route"}', r"no route.*reader\.url"),
        (413, b'{"error": "too long"}', r"too long.*chunking\.tokens"),
        (422, b'[{"loc": ["documents"]}]', r"documents.*reader\.format"),
        (301, b"", "HTTP 301"),
        (400, b"\xff<html>", "HTTP 400"),
    ],
)
def test_a_refusal_is_not_tried_again(
    jina: HttpReranking, server: PostServer, status: int, body: bytes, message: str
) -> None:
    server.script = [fixed(Reply(status=status, body=body))]
    with pytest.raises(ModelError, match=message) as caught:
        relevance(jina, "ferry", ["ferry"])
    assert not caught.value.retryable
    assert len(server.requests) == 1


def test_a_slow_server_is_given_up(server: PostServer, waits: list[float]) -> None:
    server.script = [fixed(Reply(), delay=0.5)]
    reranker = HttpReranking(server.url(""), model="tiny", timeout=0.05, sleep=waits.append)
    with pytest.raises(ModelTimeoutError, match=r"0\.05 s.*reader\.timeout"):
        relevance(reranker, "ferry", ["ferry"])
    reranker.close()
    assert waits == []


def test_a_trickle_is_given_up(server: PostServer) -> None:
    """Each byte comes in time, all of them do not."""

    def bytewise() -> Iterator[bytes]:
        for _ in range(60):
            yield b" "
            time.sleep(0.02)

    server.script = [fixed(Reply(body=bytewise(), headers={"content-length": "60"}))]
    reranker = HttpReranking(server.url(""), model="tiny", timeout=0.25)
    with pytest.raises(ModelTimeoutError, match=r"0\.25 s"):
        relevance(reranker, "ferry", ["ferry"])
    reranker.close()


def test_a_reply_without_end_is_given_up(
    jina: HttpReranking, server: PostServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "MAX_REPLY_BYTES", 1_000)
    server.script = [fixed(Reply(body=b" " * 100_000))]
    with pytest.raises(ModelError, match="longer than 1,000 bytes"):
        relevance(jina, "ferry", ["ferry"])


def test_a_server_that_is_not_there_is_reported(waits: list[float]) -> None:
    gone = PostServer(good)
    gone.close()
    reranker = HttpReranking(gone.url(""), model="tiny", sleep=waits.append)
    with pytest.raises(ModelError, match=r"ConnectError.*server is running") as caught:
        relevance(reranker, "ferry", ["ferry"])
    reranker.close()
    assert caught.value.retryable


def row(score: object, index: object = 0, name: str = "relevance_score") -> dict[str, object]:
    return {"index": index, name: score}


USELESS: list[object] = [
    [],
    [row(1.0)],
    [row(1.0), row(1.0)],
    [row(1.0), row(1.0, 2)],
    [row(1.0), row(1.0, -1)],
    [row(1.0), row(1.0, "1")],
    [row(1.0), row(1.0, True)],
    [row(1.0), row(1.0, 1), row(1.0, 2)],
    [row(1.0), row(1.0, 1), "x"],
    [row(1.0), "x"],
    [row(1.0), {"index": 1}],
    [row(1.0), row(1.0, 1, "relevance")],
    [row(1.0), row(None, 1)],
    [row(1.0), row("0.5", 1)],
    [row(1.0), row(True, 1)],
    [row(1.0), row([0.5], 1)],
    [row(1.0), row(float("nan"), 1)],
    [row(1.0), row(float("inf"), 1)],
    [row(1.0), row(1e300, 1)],
    [row(1.0), row(10**400, 1)],
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("found", USELESS)
def test_useless_results_are_an_error(server: PostServer, wire: Wire, found: object) -> None:
    body = found if wire == "tei" else {"results": found}
    text = json.dumps(body)
    server.script = [
        fixed(Reply(body=(text.replace("relevance_", "") if wire == "tei" else text).encode()))
    ]
    reranker = HttpReranking(server.url(""), model="tiny", wire=wire)
    with pytest.raises(ModelError, match=f"reply cannot be used.*reader.format is {wire}") as it:
        relevance(reranker, "ferry", ["ferry", "bread"])
    reranker.close()
    assert not it.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "body", [b"", b"not JSON", b"3", b"null", b"{}", b'{"results": null}', b"[" * 50_000, b"\xff"]
)
def test_a_body_of_another_form_is_an_error(server: PostServer, wire: Wire, body: bytes) -> None:
    server.script = [fixed(Reply(body=body))]
    reranker = HttpReranking(server.url(""), model="tiny", wire=wire)
    with pytest.raises(ModelError, match="the reply cannot be used"):
        relevance(reranker, "ferry", ["ferry"])
    reranker.close()


def test_the_other_format_is_named(
    jina: HttpReranking, tei: HttpReranking, server: PostServer
) -> None:
    server.script = [fixed(ok([row(1.0, name="score")])), fixed(ok({"results": [row(1.0)]}))]
    with pytest.raises(ModelError, match=r"format is jina.*Cohere"):
        relevance(jina, "ferry", ["ferry"])
    with pytest.raises(ModelError, match=r"format is tei.*Text Embeddings"):
        relevance(tei, "ferry", ["ferry"])


def test_whole_numbers_are_scores_too(jina: HttpReranking, server: PostServer) -> None:
    server.script = [fixed(ok({"results": [row(-3, 1), row(2)]}))]
    assert relevance(jina, "ferry", ["ferry", "bread"]).tolist() == [2.0, -3.0]


def test_several_threads_at_once(jina: HttpReranking) -> None:
    seen: list[list[float]] = []

    def ask(number: int) -> None:
        seen.append(relevance(jina, f"ferry {number}", [f"ferry {n}" for n in range(4)]).tolist())

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(scores.index(1.0) for scores in seen) == [0, 1, 2, 3]
