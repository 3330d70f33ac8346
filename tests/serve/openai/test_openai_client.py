"""OpenAI's own Python client against the server on a real port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from tests.serve.openai.conftest import COST, LENIENT, complete, listening, user

from wellread.kb import open_kb
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.testing.embedding import ReadableEmbedder


def test_models_and_errors(official: openai.OpenAI) -> None:
    assert [one.id for one in official.models.list()][:2] == ["wellread", "wellread-deep"]
    assert official.models.retrieve("wellread/town").id == "wellread/town"
    with pytest.raises(openai.NotFoundError) as missing:
        official.models.retrieve("gpt-9")
    assert missing.value.code == "model_not_found"
    asked: Any = {"model": "wellread", "messages": [user(" ")]}
    with pytest.raises(openai.BadRequestError) as bad:
        official.chat.completions.create(**asked)
    assert bad.value.param == "messages"


class Waiting:
    """A model that begins to write and then waits until it is stopped."""

    identity = "waiting:model"

    def __init__(self) -> None:
        self.begun, self.stopped = threading.Event(), threading.Event()

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        try:
            yield TextDelta(text="The ferry ")
            self.begun.set()
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


def drop_stream(address: str, model: Waiting) -> None:
    with httpx.Client(timeout=60) as client:
        body = {"model": "wellread", "messages": [user(COST)], "stream": True}
        with client.stream("POST", f"{address}/v1/chat/completions", json=body) as reply:
            lines = reply.iter_lines()  # to let go of it would hang up
            assert next(lines).startswith("data: ")
            assert model.begun.wait(60)


def drop_whole(address: str, model: Waiting) -> None:
    async def hang_up() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            asking = asyncio.create_task(complete(client, COST))
            assert await asyncio.to_thread(model.begun.wait, 60)
            asking.cancel()
            await asyncio.wait([asking])

    asyncio.run(hang_up())


@pytest.mark.parametrize("drop", [drop_stream, drop_whole])
def test_who_hangs_up_stops_the_work(
    scripted_home: Path, drop: Callable[[str, Waiting], None]
) -> None:
    model = Waiting()
    embedder = ReadableEmbedder()
    with (
        open_kb(scripted_home, overrides=LENIENT, embedder=embedder, model=model) as kb,
        listening(kb) as address,
    ):
        drop(address, model)
        assert model.stopped.wait(60)
        assert kb.catalogue.answers() == []
