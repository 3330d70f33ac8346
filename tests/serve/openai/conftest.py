"""Questions about the small town, and the server on a real port for OpenAI's own client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import uvicorn

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import listen, server_config, url_of

COST = "How much was the ferry Osprey bought for?"
ROOF = "When will the boathouse roof be repaired?"
LENIENT: dict[str, dict[str, Any]] = {"qa": {"confidence_threshold": 0.0}}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


async def complete(
    client: httpx.AsyncClient, messages: Sequence[dict[str, Any]] | str, **fields: Any
) -> httpx.Response:
    """One chat completion."""
    said = [user(messages)] if isinstance(messages, str) else list(messages)
    body = {"model": "wellread", "messages": said, **fields}
    return await client.post("/v1/chat/completions", json=body)


def chunks_of(stream: str) -> list[dict[str, Any]]:
    """The chunks of a stream, which has to end as OpenAI's do."""
    data = [line.removeprefix("data: ") for line in stream.split("\n") if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    return [json.loads(one) for one in data[:-1]]


class _Told(uvicorn.Server):
    """Says when it takes connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def listening(kb: KnowledgeBase) -> Iterator[str]:
    """The address of a server over ``kb``, which runs in a thread while the block lasts."""
    with listen("127.0.0.1", 0) as listener:
        server = _Told(server_config(kb))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        server.ready.wait()
        try:
            yield url_of(listener)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def official(kb: KnowledgeBase) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, of the server on a real port."""
    with (
        listening(kb) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client,
    ):
        yield client


@pytest.fixture
def scripted_home(tmp_path: Path, filled_home: Path) -> Path:
    """A copy of the filled home, to be opened with a model."""
    import shutil

    return Path(shutil.copytree(filled_home, tmp_path / "scripted"))
