"""The language model path over real HTTP, well-behaved servers and others."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.replies import Hang, Text

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta
from wellread.models.open_language_model import open_model
from wellread.testing.llm import collect

PROMPT = Prompt(system="Be brief.", user="Which colour has the sky?")
ANSWER = "The sky is blue [e1]. It turns red at dusk [e2].\n---\n"
ENVIRON = {"OPENAI_API_KEY": "sk-secret-123"}


def model_at(server: OpenAIServer, *, timeout: float = 5.0) -> LanguageModel:
    return opened(
        GenerationSettings(model="llama3.2:3b", base_url=server.url, timeout=timeout, retries=0)
    )


def opened(settings: GenerationSettings) -> LanguageModel:
    model = open_model(settings, ENVIRON)
    assert model is not None
    return model


def test_the_first_piece_does_not_wait_for_the_last() -> None:
    async def first(model: LanguageModel) -> TextDelta | ModelUsage:
        stream = model.stream(PROMPT)
        assert isinstance(stream, AsyncGenerator)
        async with aclosing(stream):
            return await anext(stream)

    with OpenAIServer([Hang(text="Blue")]) as server:
        assert asyncio.run(first(model_at(server))) == TextDelta(text="Blue")


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with OpenAIServer([Text(text="Blue.")]) as server:
        text, _ = asyncio.run(collect(model_at(server), PROMPT))
    assert text == "Blue."


def test_the_time_limit_does_not_cancel_the_reader() -> None:
    async def slow_reader(model: LanguageModel) -> None:
        async for _ in model.stream(PROMPT):
            await asyncio.sleep(0.4)  # longer than the limit: only the next wait may fail

    with OpenAIServer([Hang(text=ANSWER)]) as server, pytest.raises(ModelTimeoutError):
        asyncio.run(slow_reader(model_at(server, timeout=0.3)))


def test_without_the_extra_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wellread.models.hosted", raising=False)
    for name in ("openai", "anthropic", "google.genai", "pydantic_ai", "pydantic_ai.direct"):
        monkeypatch.setitem(sys.modules, name, None)
    for model in ("openai:gpt-4o-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"):
        with pytest.raises(ModelError, match=r'pip install "wellread\[llm\]"'):
            open_model(GenerationSettings(model=model, api_key_env="OPENAI_API_KEY"), ENVIRON)
