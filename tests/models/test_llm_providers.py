"""Every provider over real HTTP in its own wire format: what is said, and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.doubles import forked
from tests.doubles.replies import (
    EMPTY,
    Calls,
    CutOff,
    ErrorEvent,
    Failure,
    Hang,
    Page,
    Refusal,
    Reply,
    Request,
    Text,
)
from tests.models.conftest import ENVIRON, KEY, Provider, model_at

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Prompt
from wellread.testing.llm import LanguageModelContract, collect

PROMPT = Prompt(system="Be brief.", user="Which colour has the sky?", session="s1")
ANSWER = "The sky is blue [e1]. It turns red at dusk [e2].\n---\n"


def reply_of(provider: Provider, reply: Reply) -> tuple[str, ModelUsage]:
    with provider.server([reply]) as server:
        text, pieces = asyncio.run(collect(model_at(provider, server), PROMPT))
    usage = pieces[-1]
    assert isinstance(usage, ModelUsage)
    return text, usage


def failure_of(provider: Provider, reply: Reply, **settings: Any) -> ModelError:
    with provider.server([reply]) as server:
        model = model_at(provider, server, **settings)
        with pytest.raises(ModelError) as caught:
            asyncio.run(collect(model, PROMPT))
        assert len(server.chats) == 1, "the client must not retry by itself"
    assert f"{provider.name} at 127.0.0.1" in str(caught.value)
    assert KEY not in str(caught.value)
    return caught.value


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self, provider: Provider) -> Iterator[LanguageModel]:
        with provider.server([Text(text=ANSWER)]) as server:
            yield model_at(provider, server)

    @pytest.fixture
    def failing_model(self, provider: Provider) -> Iterator[LanguageModel]:
        with provider.server([provider.fails.UNAUTHORIZED]) as server:
            yield model_at(provider, server)


def test_the_reply_arrives_in_pieces_and_unchanged(provider: Provider) -> None:
    with provider.server([Text(text=ANSWER, input_tokens=31, output_tokens=17)]) as server:
        text, pieces = asyncio.run(collect(model_at(provider, server), PROMPT))
    assert text == ANSWER
    assert len(pieces) > 3
    assert pieces[-1] == ModelUsage(model=provider.name, input_tokens=31, output_tokens=17)


def test_the_prompt_and_the_limits_are_sent(provider: Provider) -> None:
    with provider.server([Text(text="Blue.")]) as server:
        model = model_at(provider, server, temperature=0.7, max_tokens=321)
        asyncio.run(collect(model, PROMPT))
        assert model.identity == f"{provider.name}@{server.url.split('/')[2]}"
    request = server.chats[0]
    assert request.prompt == f"{PROMPT.system}\n\n{PROMPT.user}"
    assert "'temperature': 0.7" in str(request.body)
    assert ": 321" in str(request.body)
    assert not request.body.get("tools")
    assert KEY in str(request.headers)


def test_thoughts_are_not_part_of_the_answer(provider: Provider) -> None:
    text, _ = reply_of(provider, Text(text="Blue.", thoughts="Hm, what may the sky be like?"))
    assert text == "Blue."


def test_a_tool_call_beside_text_is_left_out(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    text, _ = reply_of(provider, Calls(text="I look it up.", name="search"))
    assert text == "I look it up."
    assert "called tools that were not offered: search" in caplog.text


def test_a_tool_call_instead_of_text_is_an_error(provider: Provider) -> None:
    error = failure_of(provider, Calls(name="search"))
    assert "called search instead of answering" in str(error)
    assert error.retryable


def test_the_models_own_failures(provider: Provider) -> None:
    refused = failure_of(provider, Refusal(text="Not this."))
    assert "Not this." in str(refused) or "PROHIBITED_CONTENT" in str(refused)
    filtered = failure_of(provider, Text(text="I", finish="content_filter"))
    assert "content filter" in str(filtered) or "refused to answer" in str(filtered)
    assert not refused.retryable
    assert not filtered.retryable
    assert "empty reply" in str(failure_of(provider, EMPTY))
    assert "generation.max_tokens" in str(failure_of(provider, Text(text="", finish="length")))


def test_http_failures(provider: Provider) -> None:
    unauthorized = failure_of(provider, provider.fails.UNAUTHORIZED)
    assert f"check the key in the environment variable {provider.variable}" in str(unauthorized)
    assert not unauthorized.retryable
    not_found = failure_of(provider, provider.fails.MODEL_NOT_FOUND)
    assert f"has a model {provider.name!r}" in str(not_found)
    assert not not_found.retryable
    limited = failure_of(provider, provider.fails.RATE_LIMITED)
    assert "429" in str(limited)
    assert limited.retry_after == 2
    for reply in (
        provider.fails.SERVER_ERROR,
        provider.fails.OVERLOADED,
        provider.fails.RATE_LIMITED,
    ):
        error = failure_of(provider, reply)
        assert f"answered {reply.status}: {reply.message}" in str(error)
        assert error.retryable


@pytest.mark.parametrize("text", ["", "The sky is"])
def test_broken_streams(provider: Provider, text: str) -> None:
    for reply in (CutOff(text=text), CutOff(text=text or "The", cleanly=True)):
        error = failure_of(provider, reply)
        assert "was cut off" in str(error)
        assert error.retryable
    failed = failure_of(provider, ErrorEvent(text=text, message="The server had an error"))
    assert "The server had an error" in str(failed)
    assert failed.retryable


def test_what_is_not_the_wire_format(provider: Provider) -> None:
    for reply in (provider.broken, Page()):
        error = failure_of(provider, reply)
        assert "not a streamed chat reply" in str(error)
        assert error.retryable
    for strange in provider.strange:
        assert failure_of(provider, strange).retryable


def test_a_hanging_server_is_given_up(provider: Provider) -> None:
    for reply in (Hang(), Hang(text="The sky")):
        error = failure_of(provider, reply, timeout=0.6)
        assert isinstance(error, ModelTimeoutError)
        assert "0.6 s" in str(error)


def test_a_server_that_is_not_there(provider: Provider) -> None:
    with provider.server([EMPTY]) as server:
        model = model_at(provider, server)
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        asyncio.run(collect(model, PROMPT))
    assert caught.value.retryable


def test_a_wait_that_the_server_asks_for_is_kept_and_the_call_repeated(provider: Provider) -> None:
    busy = replace(provider.fails.RATE_LIMITED, retry_after="0")
    with provider.server([busy, busy, Text(text="Blue.")]) as server:
        text, _ = asyncio.run(collect(model_at(provider, server, retries=2), PROMPT))
    assert text == "Blue."
    assert len(server.chats) == 3


def test_a_refused_temperature_is_left_out_from_then_on(provider: Provider) -> None:
    def answers(request: Request) -> Text | Failure:
        refused = "'temperature'" in str(request.body)
        return provider.fails.NO_TEMPERATURE if refused else Text(text="Blue.")

    with provider.server([answers]) as server:
        model = model_at(provider, server)
        texts = [asyncio.run(collect(model, PROMPT))[0] for _ in range(2)]
    assert texts == ["Blue.", "Blue."]
    assert len(server.chats) == 3


def test_only_the_chosen_library_is_loaded() -> None:
    code = (
        "import sys\n"
        "from wellread.config import GenerationSettings\n"
        "from wellread.models.open_language_model import open_model\n"
        f"open_model(GenerationSettings(model='anthropic:any'), {ENVIRON!r})\n"
        "libraries = 'openai', 'anthropic', 'google.genai'\n"
        "print(*[name for name in libraries if name in sys.modules])\n"
    )
    assert forked.run(code).stdout.split() == ["anthropic"]
