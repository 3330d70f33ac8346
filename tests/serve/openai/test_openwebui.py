"""What Open WebUI shows of a stream, with its events and without them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from openai.types.chat import ChatCompletionChunk
from tests.doubles.openwebui_reader import OpenWebUiReader
from tests.serve.openai.conftest import COST, ROOF, chunks_of, complete

from wellread.kb import open_kb
from wellread.serve.server.app import create_app
from wellread.testing.embedding import ReadableEmbedder

EVENTS = {"serve": {"openwebui_events": True}}


@pytest.fixture
async def told(scripted_home: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application with the setting on."""
    with open_kb(scripted_home, overrides=EVENTS, embedder=ReadableEmbedder()) as kb:
        transport = httpx.ASGITransport(create_app(kb))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


@pytest.mark.parametrize("model", ["wellread", "wellread-deep"])
async def test_the_panel_shows_title_address_and_quotation(
    told: httpx.AsyncClient, model: str
) -> None:
    stream = (await complete(told, ROOF, stream=True, model=model)).text
    reader = OpenWebUiReader().read(stream)
    results = chunks_of(stream)[-1]["search_results"]
    entry = reader.panel()[0]
    assert entry.name == "Talk, 01:10 · Ben"
    assert entry.url == results[0]["url"]
    assert entry.url.startswith("http://127.0.0.1/view/")
    assert entry.quotes == ["The boathouse roof will be repaired in March."]
    assert reader.panel(older=True) == reader.panel()
    assert [one.quotes for one in reader.panel()] == [[one["snippet"]] for one in results]
    assert "The boathouse roof will be repaired in March." in reader.content
    assert reader.statuses[-1] == ("answer written and checked", True)
    assert all(not done for _, done in reader.statuses[:-1])
    assert len(reader.statuses) > 1
    assert reader.reasoning == ""


async def test_events_ride_on_chunks_that_openai_s_client_reads(told: httpx.AsyncClient) -> None:
    chunks = chunks_of((await complete(told, COST, stream=True)).text)
    assert any("event" in chunk for chunk in chunks)
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk, strict=True)
        assert not ("event" in chunk and chunk["choices"])


async def test_without_the_setting_the_panel_has_titles_and_addresses(
    client: httpx.AsyncClient,
) -> None:
    stream = (await complete(client, ROOF, stream=True)).text
    reader = OpenWebUiReader().read(stream)
    assert all("event" not in chunk for chunk in chunks_of(stream))
    assert reader.statuses == []
    assert reader.panel()[0].quotes == ["Talk"]


async def test_a_whole_completion_is_the_same_with_the_setting(told: httpx.AsyncClient) -> None:
    body = (await complete(told, COST)).json()
    assert body["choices"][0]["message"]["annotations"]
