"""The HTTP embedder against a small local server that speaks the wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.doubles.post_server import PostServer, fixed, ok
from tests.doubles.web_server import Reply

from wellread.config import EmbeddingSettings
from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.base import Embedder
from wellread.models.embedders.http_embedder import HttpEmbedder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.testing.embedding import EmbedderContract, ReadableEmbedder


def vectors_of(texts: list[str]) -> list[dict[str, Any]]:
    vectors = ReadableEmbedder().embed(texts, "passage") * 7.5
    return [
        {"object": "embedding", "index": index, "embedding": vector.tolist()}
        for index, vector in enumerate(vectors)
    ]


def good(request: dict[str, Any]) -> Reply:
    return ok({"object": "list", "data": vectors_of(request["input"]), "model": request["model"]})


@pytest.fixture
def server() -> Iterator[PostServer]:
    with PostServer(good, "/v1/embeddings") as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def http(server: PostServer, waits: list[float]) -> Iterator[HttpEmbedder]:
    embedder = HttpEmbedder(server.url("/v1"), "tiny", timeout=5.0, sleep=waits.append)
    yield embedder
    embedder.close()


class TestHttpEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, http: HttpEmbedder) -> Embedder:
        return http


def test_identity_names_model_server_and_dimensions(http: HttpEmbedder, server: PostServer) -> None:
    assert http.identity == f"http:tiny@127.0.0.1:{server.port}/128"
    assert len(server.requests) == 1


def test_vectors_are_put_in_order_by_their_index(http: HttpEmbedder, server: PostServer) -> None:
    texts = ["ferry", "bread", "interest rates"]
    server.script = [lambda request: ok({"data": vectors_of(request["input"])[::-1]})]
    found = http.embed(texts, "passage")
    np.testing.assert_allclose(found, ReadableEmbedder().embed(texts, "passage"), atol=1e-5)


def test_many_texts_go_in_batches(http: HttpEmbedder, server: PostServer) -> None:
    texts = [f"text {n}" for n in range(150)]
    found = http.embed(texts, "passage")
    assert [len(request["input"]) for request in server.requests] == [64, 64, 22]
    np.testing.assert_allclose(found, ReadableEmbedder().embed(texts, "passage"), atol=1e-5)


def test_the_key_is_sent(
    server: PostServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    settings = EmbeddingSettings(
        backend="http", url=server.url("/v1/"), model="tiny", api_key_env="MY_KEY"
    )
    embedder = open_embedder(settings, tmp_path)
    assert isinstance(embedder, HttpEmbedder)
    embedder.embed(["ferry"], "query")
    embedder.close()
    assert server.keys == ["Bearer secret"]


@pytest.mark.parametrize("missing", ["url", "model"])
def test_missing_settings_are_named(missing: str, tmp_path: Path) -> None:
    values = {"url": "http://localhost/v1", "model": "tiny"} | {missing: ""}
    settings = EmbeddingSettings(backend="http", url=values["url"], model=values["model"])
    with pytest.raises(SettingsError, match=f"embedding.{missing} is not set"):
        open_embedder(settings, tmp_path)


def test_a_key_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(SettingsError, match="api_key_env"):
        HttpEmbedder("http://localhost/v1", "tiny", api_key="schlüssel")


def test_a_rate_limit_is_waited_for(
    http: HttpEmbedder, server: PostServer, waits: list[float]
) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server.script = [
        fixed(Reply(status=429, headers={"Retry-After": "7"})),
        fixed(Reply(status=429, headers={"Retry-After": moment})),
        fixed(Reply(status=429, headers={"Retry-After": "soon"})),
    ]
    assert http.embed(["ferry"], "query").shape == (1, 128)
    assert waits[0] == 7
    assert 10 < waits[1] <= 20
    assert 0 < waits[2] <= 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_passing_failure_is_tried_again(
    http: HttpEmbedder, server: PostServer, waits: list[float], status: int
) -> None:
    server.script = [fixed(Reply(status=status))] * 2
    assert http.embed(["ferry"], "query").shape == (1, 128)
    assert len(waits) == 2
    assert waits[0] < waits[1]


def test_a_lasting_failure_is_reported_with_the_servers_words(
    http: HttpEmbedder, server: PostServer, waits: list[float]
) -> None:
    server.script = [fixed(Reply(status=500, body=b'{"error": "out of\\n memory"}'))] * 9
    with pytest.raises(ModelError, match=r"tiny at 127.*HTTP 500: out of memory") as caught:
        http.embed(["ferry"], "query")
    assert caught.value.retryable
    assert len(server.requests) == 5
    assert len(waits) == 4


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, b'{"error": {"message": "wrong key"}}', "wrong key.*api_key_env"),
        (404, b'{"message": "no such model"}', "no such model.*embedding.model"),
        (400, b"<html>bad</html>", "<html>bad</html>"),
        (413, b"", "chunking.tokens"),
    ],
)
def test_a_refusal_is_not_tried_again(
    http: HttpEmbedder, server: PostServer, status: int, body: bytes, message: str
) -> None:
    server.script = [fixed(Reply(status=status, body=body))]
    with pytest.raises(ModelError, match=message) as caught:
        http.embed(["ferry"], "query")
    assert not caught.value.retryable
    assert len(server.requests) == 1


def test_a_time_out_is_its_own_error(server: PostServer, waits: list[float]) -> None:
    server.script = [fixed(Reply(), delay=0.4)] * 5
    embedder = HttpEmbedder(server.url("/v1"), "tiny", timeout=0.05, sleep=waits.append)
    with pytest.raises(ModelTimeoutError, match=r"0\.05 s.*embedding\.timeout"):
        embedder.embed(["ferry"], "query")
    embedder.close()
    assert len(waits) == 4


def test_a_server_that_is_not_there_is_reported(waits: list[float]) -> None:
    gone = PostServer(good)
    gone.close()
    embedder = HttpEmbedder(gone.url("/v1"), "tiny", sleep=waits.append)
    with pytest.raises(ModelError, match=r"ConnectError.*server is running") as caught:
        embedder.embed(["ferry"], "query")
    embedder.close()
    assert caught.value.retryable


def one(embedding: object, index: object = 0) -> dict[str, Any]:
    return {"index": index, "embedding": embedding}


@pytest.mark.parametrize(
    "body",
    [
        b"not JSON",
        b'{"data": null}',
        json.dumps({"data": [one([1.0])]}).encode(),
        json.dumps({"data": [one([1.0]), one([1.0])]}).encode(),
        json.dumps({"data": [one([1.0]), one([1.0], 2)]}).encode(),
        json.dumps({"data": [one([1.0]), one([1.0, 2.0], 1)]}).encode(),
        json.dumps({"data": [one([1.0]), one([float("nan")], 1)]}).encode(),
        json.dumps({"data": [one([1.0]), one([10**400], 1)]}).encode(),
        json.dumps({"data": [one([1.0]), one([0.0], 1)]}).encode(),
    ],
)
def test_a_useless_reply_is_an_error(http: HttpEmbedder, server: PostServer, body: bytes) -> None:
    server.script = [fixed(Reply(body=body))]
    with pytest.raises(ModelError, match="the reply") as caught:
        http.embed(["ferry", "bread"], "passage")
    assert not caught.value.retryable


def test_other_dimensions_than_before_are_an_error(http: HttpEmbedder, server: PostServer) -> None:
    assert http.dimensions == 128
    server.script = [fixed(ok({"data": [one([1.0, 2.0])]}))]
    with pytest.raises(ModelError, match="2 dimensions after 128"):
        http.embed(["ferry"], "query")
