"""The language model path over real HTTP, well-behaved servers and others."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import pytest
from tests.doubles.openai_server import (
    MODEL_NOT_FOUND,
    NO_CREDIT,
    OVERLOADED,
    RATE_LIMITED,
    SERVER_ERROR,
    UNAUTHORIZED,
    OpenAIServer,
)
from tests.doubles.replies import (
    EMPTY,
    CutOff,
    ErrorEvent,
    Failure,
    Hang,
    Malformed,
    Page,
    Refusal,
    Reply,
    Text,
)

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import LanguageModel, ModelUsage, Prompt, TextDelta
from wellread.models.language.open_language_model import open_model
from wellread.testing.llm import LanguageModelContract, collect

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


def failure_of(reply: Reply, *, timeout: float = 5.0) -> ModelError:
    with OpenAIServer([reply]) as server:
        model = model_at(server, timeout=timeout)
        with pytest.raises(ModelError) as caught:
            asyncio.run(collect(model, PROMPT))
        assert len(server.chats) == 1, "the client must not retry by itself"
    return caught.value


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self) -> Iterator[LanguageModel]:
        with OpenAIServer([Text(text=ANSWER)]) as server:
            yield model_at(server)

    @pytest.fixture
    def failing_model(self) -> Iterator[LanguageModel]:
        with OpenAIServer([UNAUTHORIZED]) as server:
            yield model_at(server)


def test_the_reply_arrives_in_pieces_and_unchanged() -> None:
    with OpenAIServer([Text(text=ANSWER, input_tokens=31, output_tokens=17)]) as server:
        text, pieces = asyncio.run(collect(model_at(server), PROMPT))
    assert text == ANSWER
    assert len(pieces) > 3
    assert pieces[-1] == ModelUsage(model="llama3.2:3b", input_tokens=31, output_tokens=17)


def test_the_first_piece_does_not_wait_for_the_last() -> None:
    async def first(model: LanguageModel) -> TextDelta | ModelUsage:
        stream = model.stream(PROMPT)
        assert isinstance(stream, AsyncGenerator)
        async with aclosing(stream):
            return await anext(stream)

    with OpenAIServer([Hang(text="Blue")]) as server:
        assert asyncio.run(first(model_at(server))) == TextDelta(text="Blue")


def test_the_request_says_what_the_settings_say() -> None:
    with OpenAIServer([Text(text="Blue.")]) as server:
        settings = GenerationSettings(
            model="openai:my-model", base_url=server.url + "/", temperature=0.7, max_tokens=321
        )
        model = open_model(settings, ENVIRON)
        assert model is not None
        asyncio.run(collect(model, PROMPT))
    request = server.chats[0]
    assert request.headers["authorization"] == "Bearer sk-secret-123"
    assert request.body["model"] == "my-model"
    assert request.body["temperature"] == 0.7
    assert request.body["max_tokens"] == 321
    assert request.body["stream"] is True
    assert request.body["stream_options"] == {"include_usage": True}
    assert [(m["role"], m["content"]) for m in request.body["messages"]] == [
        ("system", PROMPT.system),
        ("user", PROMPT.user),
    ]


def test_a_server_without_keys_gets_a_placeholder() -> None:
    with OpenAIServer([Text(text="Blue.")]) as server:
        settings = GenerationSettings(model="llama3", base_url=server.url)
        model = open_model(settings, {})
        assert model is not None
        asyncio.run(collect(model, PROMPT))
        assert model.identity == f"llama3@{server.url.removeprefix('http://').removesuffix('/v1')}"
    assert server.chats[0].headers["authorization"] == "Bearer none"


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with OpenAIServer([Text(text="Blue.")]) as server:
        text, _ = asyncio.run(collect(model_at(server), PROMPT))
    assert text == "Blue."


@pytest.mark.parametrize(
    ("reply", "says", "retryable"),
    [
        (UNAUTHORIZED, ("401", "Incorrect API key", "OPENAI_API_KEY"), False),
        (MODEL_NOT_FOUND, ("404", "llama3.2:3b", "base URL"), False),
        (RATE_LIMITED, ("429", "Rate limit reached", "later"), True),
        (NO_CREDIT, ("429", "quota", "credit"), False),
        (SERVER_ERROR, ("500", "Internal error"), True),
        (OVERLOADED, ("503", "overloaded"), True),
        (Failure(status=400, message="too many tokens"), ("400", "context.max_tokens"), False),
        (Refusal(), ("refused", "can't help with that"), False),
        (EMPTY, ("empty reply",), True),
        (Text(text="", finish="length"), ("empty", "generation.max_tokens"), False),
        (Text(text="I", finish="content_filter"), ("content filter",), False),
        (CutOff(text="The sky is"), ("cut off",), True),
        (CutOff(text="The sky is", cleanly=True), ("cut off", "finish reason"), True),
        (CutOff(), ("cut off",), True),
        (Malformed(text="The sky"), ("not a streamed chat reply", "/v1"), True),
        (ErrorEvent(text="The sky"), ("had an error",), True),
        (Page(), ("not a streamed chat reply", "base URL"), True),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, bool | tuple) else None,
)
def test_misbehaviour_becomes_an_error_that_helps(
    reply: Reply, says: tuple[str, ...], retryable: bool
) -> None:
    error = failure_of(reply)
    assert type(error) is ModelError
    for words in ("llama3.2:3b at 127.0.0.1", *says):
        assert words in str(error)
    assert error.retryable is retryable


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    assert failure_of(RATE_LIMITED).retry_after == 2
    assert failure_of(SERVER_ERROR).retry_after is None


@pytest.mark.parametrize("text", ["", "The sky is"])
def test_a_hanging_server_is_given_up(text: str) -> None:
    error = failure_of(Hang(text=text), timeout=0.3)
    assert isinstance(error, ModelTimeoutError)
    assert error.retryable
    assert "0.3 s" in str(error)
    assert "generation.timeout" in str(error)


def test_the_time_limit_does_not_cancel_the_reader() -> None:
    async def slow_reader(model: LanguageModel) -> None:
        async for _ in model.stream(PROMPT):
            await asyncio.sleep(0.4)  # longer than the limit: only the next wait may fail

    with OpenAIServer([Hang(text=ANSWER)]) as server, pytest.raises(ModelTimeoutError):
        asyncio.run(slow_reader(model_at(server, timeout=0.3)))


def test_a_server_that_is_not_there() -> None:
    with OpenAIServer([EMPTY]) as server:
        gone = server.url
    model = opened(GenerationSettings(model="m", base_url=gone, timeout=5, retries=0))
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        asyncio.run(collect(model, PROMPT))
    assert caught.value.retryable
    assert gone in str(caught.value)


def test_a_key_that_the_server_sends_back_is_not_shown() -> None:
    error = failure_of(Failure(status=401, message="bad key sk-secret-123 " + "x" * 1000))
    assert "sk-secret-123" not in str(error)
    assert "***" in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "reply", [Text(text="Blue.", finish=""), Text(text="Blue.", counted=False)]
)
def test_either_sign_of_an_end_is_enough(reply: Text) -> None:
    with OpenAIServer([reply]) as server:
        text, pieces = asyncio.run(collect(model_at(server), PROMPT))
    assert text == "Blue."
    assert isinstance(pieces[-1], ModelUsage)
    assert (pieces[-1].output_tokens == 7) is reply.counted


def test_thoughts_are_not_part_of_the_answer() -> None:
    with OpenAIServer([Text(text="<think>Hm, the sky.</think>Blue.")]) as server:
        text, _ = asyncio.run(collect(model_at(server), PROMPT))
    assert "Hm" not in text
    assert text.strip() == "Blue."


def test_an_opened_model_retries_failures_of_the_server() -> None:
    replies: list[Reply] = [Failure(status=503, message="busy", retry_after="0"), Text(text="Blue")]
    with OpenAIServer(replies) as server:
        settings = GenerationSettings(model="m", base_url=server.url, retries=1)
        model = open_model(settings, {})
        assert model is not None
        text, _ = asyncio.run(collect(model, PROMPT))
    assert text == "Blue"
    assert len(server.chats) == 2


def test_without_the_extra_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wellread.models.language.hosted", raising=False)
    for name in ("openai", "anthropic", "google.genai", "pydantic_ai", "pydantic_ai.direct"):
        monkeypatch.setitem(sys.modules, name, None)
    for model in ("openai:gpt-4o-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"):
        with pytest.raises(ModelError, match=r'pip install "wellread\[llm\]"'):
            open_model(GenerationSettings(model=model, api_key_env="OPENAI_API_KEY"), ENVIRON)
