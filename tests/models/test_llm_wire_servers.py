"""The scripted servers of Anthropic and Google themselves, asked without the model library."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.doubles.anthropic_server import OVERLOADED, AnthropicServer
from tests.doubles.google_server import RATE_LIMITED, UNAUTHORIZED, GoogleServer
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.replies import Calls, Refusal, Text

QUESTION = "Which colour has the sky?"
ANSWER = "The sky is blue, mostly [e1]."


def ask_anthropic(server: AnthropicServer, **more: Any) -> httpx.Response:
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
    }
    return httpx.post(f"{server.url}/v1/messages?beta=true", json=body | more, trust_env=False)


def ask_google(server: GoogleServer, verb: str = "generateContent") -> httpx.Response:
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
    }
    url = f"{server.url}/v1beta/models/m:{verb}"
    return httpx.post(url, json=body, trust_env=False)


def events_of(reply: httpx.Response) -> list[dict[str, Any]]:
    """The JSON of each server-sent event."""
    assert reply.headers["content-type"] == "text/event-stream"
    lines = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_anthropic_plain() -> None:
    with AnthropicServer([Text(text=ANSWER), Calls(text="Hm."), Refusal(text="No.")]) as server:
        said, called, refused = (ask_anthropic(server).json() for _ in range(3))
    assert said["content"] == [{"type": "text", "text": ANSWER}]
    assert said["stop_reason"] == "end_turn"
    assert [block["type"] for block in called["content"]] == ["text", "tool_use"]
    assert called["stop_reason"] == "tool_use"
    assert refused["content"] == []
    assert refused["stop_reason"] == "refusal"
    assert refused["stop_details"]["explanation"] == "No."
    assert server.chats[0].prompt == f"Be brief.\n\n{QUESTION}"


def test_anthropic_streamed() -> None:
    with AnthropicServer([Text(text=ANSWER, thoughts="Hm.", output_tokens=4)]) as server:
        events = events_of(ask_anthropic(server, stream=True))
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == ANSWER
    assert "".join(delta.get("thinking", "") for delta in deltas) == "Hm."
    assert events[-2]["usage"] == {"output_tokens": 4}


def test_a_streamed_call_brings_its_arguments_in_pieces() -> None:
    call = Calls(name="search", arguments={"query": "the colour of the sky"})
    with AnthropicServer([call]) as anthropic, OpenAIServer([call]) as openai:
        deltas = [
            event.get("delta", {}) for event in events_of(ask_anthropic(anthropic, stream=True))
        ]
        body = {"model": "m", "stream": True, "messages": []}
        url = f"{openai.url}/chat/completions"
        lines = httpx.post(url, json=body, trust_env=False).text.split("\n\n")
    pieces = [delta["partial_json"] for delta in deltas if "partial_json" in delta]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == call.arguments
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.endswith("}")]
    calls = [c for chunk in chunks for c in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert calls[0]["function"]["name"] == "search"
    assert json.loads("".join(c["function"]["arguments"] for c in calls)) == call.arguments
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_google_plain() -> None:
    with GoogleServer([Text(text=ANSWER), Calls(text="Hm."), Refusal(text="No.")]) as server:
        said, called, refused = (ask_google(server).json() for _ in range(3))
    assert said["candidates"][0]["content"]["parts"] == [{"text": ANSWER}]
    assert said["candidates"][0]["finishReason"] == "STOP"
    assert said["modelVersion"] == "m"
    assert called["candidates"][0]["content"]["parts"][1]["functionCall"]["name"] == "search"
    assert refused["promptFeedback"]["blockReason"] == "PROHIBITED_CONTENT"
    assert "candidates" not in refused
    assert server.chats[0].prompt == f"Be brief.\n\n{QUESTION}"


def test_google_streamed() -> None:
    with GoogleServer([Text(text=ANSWER, thoughts="Hm.", output_tokens=4)]) as server:
        events = events_of(ask_google(server, "streamGenerateContent?alt=sse"))
    parts = [part for e in events for part in e["candidates"][0]["content"]["parts"]]
    assert "".join(part["text"] for part in parts if not part.get("thought")) == ANSWER
    assert "".join(part["text"] for part in parts if part.get("thought")) == "Hm."
    assert events[-1]["candidates"][0]["finishReason"] == "STOP"
    assert events[-1]["usageMetadata"]["candidatesTokenCount"] == 4


def test_failures_have_the_bodies_of_their_provider() -> None:
    with AnthropicServer([OVERLOADED]) as server:
        overloaded = ask_anthropic(server)
    assert overloaded.status_code == 529
    assert overloaded.json()["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    with GoogleServer([RATE_LIMITED, UNAUTHORIZED]) as google:
        limited, unauthorized = ask_google(google), ask_google(google)
    assert limited.headers["retry-after"] == "2"
    assert limited.json()["error"]["details"][0]["retryDelay"] == "2s"
    assert unauthorized.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert unauthorized.json()["error"]["details"][0]["reason"] == "API_KEY_INVALID"


@pytest.mark.parametrize("server", [AnthropicServer, GoogleServer])
def test_other_routes_are_not_there(server: type[AnthropicServer | GoogleServer]) -> None:
    with server([Text(text="")]) as running:
        assert httpx.get(f"{running.url}/v1/models", trust_env=False).status_code == 404
        assert httpx.post(f"{running.url}/v1/x", json={}, trust_env=False).status_code == 404
    assert running.chats == []
    with pytest.raises(ValueError, match="empty"):
        server([])
