"""Questions answered through a real OpenAI-compatible server, over HTTP, misbehaviour included."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.replies import Failure, Reply, Text

from wellread.ask.answer import answer, final
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer, Event, Question, TokenEvent

QUESTION = "What was the price of the ferry Osprey?"
FERRY = "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021.\n"
GOOD = "The Osprey was bought for 2.6 million euros [e1]."
TAIL = '\n---\n{"confidence": 0.8, "data_gaps": ["who sold it"]}'


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(default={"ferry.md": FERRY})


async def ask(
    home: Path, server: OpenAIServer, timeout: float = 10.0, by: str = "off"
) -> tuple[Answer, str]:
    """The answer, and the text that was streamed on the way."""
    overrides: dict[str, dict[str, object]] = {
        "qa": {"confidence_threshold": 0.05},
        "generation": {
            "model": "small",
            "base_url": server.url,
            "timeout": timeout,
            "retries": 0,
        },
        "verification": {"by": by},
    }
    shown = []
    with open_kb(home, overrides=overrides, embedder=ReadableEmbedder()) as kb:

        async def listened() -> AsyncIterator[Event]:
            async for event in answer(kb, Question(text=QUESTION)):
                if isinstance(event, TokenEvent):
                    shown.append(event.text)
                yield event

        given = await final(listened())
    return given, "".join(shown)


async def test_a_streamed_reply_is_checked_and_cited(home: Path) -> None:
    with OpenAIServer([Text(text=GOOD + TAIL, input_tokens=90, output_tokens=20)]) as server:
        given, shown = await ask(home, server)
        (chat,) = server.chats
    assert given.answered_by.startswith("small@")
    assert given.text == "The Osprey was bought for 2.6 million euros. [1]"
    assert given.citations[0].quote in FERRY
    assert shown == GOOD
    assert given.confidence.model_claim == 0.8
    assert "who sold it" in given.data_gaps
    assert (given.usage.input_tokens, given.usage.output_tokens) == (90, 20)
    assert chat.body["stream"] is True
    assert "2.6 million euros" in chat.prompt


async def test_a_server_judges_by_a_schema_and_without_one_where_it_takes_none(home: Path) -> None:
    entry = {"number": 1, "verdict": "supported", "key": "e1", "quote": "2.6 million euros"}
    verdicts = Text(text=json.dumps({"sentences": [entry], "conflicts": []}))
    refusal = Failure(status=400, message="response_format is not supported")
    taken: list[Reply] = [Text(text=GOOD), verdicts]
    for replies in (taken, [taken[0], refusal, verdicts]):
        with OpenAIServer(replies) as server:
            given, _ = await ask(home, server, by="model")
            chats = server.chats
        assert given.sentences[0].verdict.method == "judge"
        asked = chats[1].body
        assert asked["response_format"]["type"] == "json_schema"
        assert asked["temperature"] == 0
        assert chats[0].body["messages"][0] == asked["messages"][0]
        assert "response_format" not in chats[-1].body or len(chats) == 2
