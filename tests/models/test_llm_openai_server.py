"""The scripted server itself, asked without the model library."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.doubles.openai_server import OVERLOADED, OpenAIServer
from tests.doubles.replies import CutOff, Malformed, Refusal, Text

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Which colour?"}]}


def ask(server: OpenAIServer, **more: Any) -> httpx.Response:
    return httpx.post(f"{server.url}/chat/completions", json={**QUESTION, **more}, trust_env=False)


def test_a_whole_reply() -> None:
    with OpenAIServer([Text(text="Blue.", input_tokens=3, output_tokens=2)]) as server:
        reply = ask(server).json()
    assert reply["model"] == "m"
    assert reply["choices"][0]["message"]["content"] == "Blue."
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert server.chats[0].prompt == "Which colour?"
    assert server.chats[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("counted", [True, False])
def test_a_streamed_reply_counts_tokens_when_asked(counted: bool) -> None:
    text = "The sky is blue, mostly [e1]."
    with OpenAIServer([Text(text=text)]) as server:
        reply = ask(server, stream=True, stream_options={"include_usage": counted})
    assert reply.headers["content-type"] == "text/event-stream"
    lines = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    events = [json.loads(line) for line in lines[:-1]]
    pieces = [choice["delta"].get("content", "") for e in events for choice in e["choices"]]
    assert "".join(pieces) == text
    assert len(pieces) > 3
    assert [bool(event.get("usage")) for event in events].count(True) == int(counted)


def test_the_script_goes_on_and_its_last_reply_repeats() -> None:
    with OpenAIServer([OVERLOADED, Refusal(text="No."), Text(text="Blue.")]) as server:
        replies = [ask(server) for _ in range(4)]
    assert [reply.status_code for reply in replies] == [503, 200, 200, 200]
    assert replies[0].json()["error"]["message"] == "The model is overloaded"
    assert replies[1].json()["choices"][0]["message"]["refusal"] == "No."
    assert replies[3].json()["choices"][0]["message"]["content"] == "Blue."


def test_a_reply_may_depend_on_the_request() -> None:
    with OpenAIServer([lambda request: Text(text=request.prompt.upper())]) as server:
        assert ask(server).json()["choices"][0]["message"]["content"] == "WHICH COLOUR?"


def test_models_are_listed_and_other_routes_are_not_there() -> None:
    with OpenAIServer([Text(text="")], models=("a", "b")) as server:
        listed = httpx.get(f"{server.url}/models", trust_env=False).json()
        assert [row["id"] for row in listed["data"]] == ["a", "b"]
        assert httpx.get(f"{server.url}/nothing", trust_env=False).status_code == 404
        wrong = httpx.post(f"{server.url}/embeddings", json={}, trust_env=False)
        assert wrong.status_code == 404
        bad = httpx.post(f"{server.url}/chat/completions", content=b"{", trust_env=False)
        assert bad.status_code == 400
    assert len(server.requests) == 3
    assert server.chats == []


def test_misbehaviour_without_streaming() -> None:
    with OpenAIServer([Malformed(), CutOff()]) as server:
        with pytest.raises(json.JSONDecodeError):
            ask(server).json()
        with pytest.raises(httpx.RemoteProtocolError):
            ask(server)


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        OpenAIServer([])
