"""Tools over each provider's wire format: offered, called, and their results sent back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.doubles.replies import Calls, Failure, Request, Text
from tests.models.conftest import Provider, model_at

from wellread.errors import ModelError
from wellread.models.base import (
    Exchange,
    ModelUsage,
    Prompt,
    TextDelta,
    Tool,
    ToolCall,
    takes_tools,
)
from wellread.testing.llm import collect

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH = Tool(name="search", description="Searches the notes.", parameters=QUERY)
PROMPT = Prompt(system="Look it up.", user="Which colour has the sky?", tools=(SEARCH,))
BOTH = Calls(
    text="I look.",
    arguments={"query": "colour of the sky"},
    more=(("search", {"query": "sky at dusk"}), ("open", {"url": "http://evil.example"})),
)


def _openai_offered(body: Mapping[str, Any]) -> tuple[str, str, Any]:
    function = body["tools"][0]["function"]
    return function["name"], function["description"], function["parameters"]


def _openai_sent(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for message in body["messages"][2:]:
        for call in message.get("tool_calls", ()):
            found.append((call["id"], json.loads(call["function"]["arguments"])))
        if message["role"] == "tool":
            found.append((message["tool_call_id"], message["content"]))
        elif message["role"] == "user":
            found.append(("", message["content"]))
    return found


def _anthropic_offered(body: Mapping[str, Any]) -> tuple[str, str, Any]:
    tool = body["tools"][0]
    return tool["name"], tool["description"], tool["input_schema"]


def _anthropic_sent(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for message in body["messages"][1:]:
        for block in message["content"]:
            if block["type"] == "tool_use":
                found.append((block["id"], block["input"]))
            elif block["type"] == "tool_result":
                content = block["content"]
                text = content if isinstance(content, str) else content[0]["text"]
                found.append((block["tool_use_id"], text))
            elif message["role"] == "user":
                found.append(("", block["text"]))
    return found


def _google_offered(body: Mapping[str, Any]) -> tuple[str, str, Any]:
    declared = body["tools"][0].get("functionDeclarations") or body["tools"][0]
    schema = declared[0].get("parametersJsonSchema") or declared[0]["parameters_json_schema"]
    return declared[0]["name"], declared[0]["description"], schema


def _google_sent(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for content in body["contents"][1:]:
        for part in content["parts"]:
            if call := part.get("functionCall"):
                found.append((call.get("id", ""), call["args"]))
            elif result := part.get("functionResponse"):
                given = result["response"]
                found.append((result.get("id", ""), next(iter(given.values()))))
            elif content["role"] == "user":
                found.append(("", part["text"]))
    return found


Body = Mapping[str, Any]
# Where the requests of a provider hold the tool that is offered, and calls with what they gave.
OFFERED: dict[str, Callable[[Body], tuple[str, str, Any]]] = {
    "openai": _openai_offered,
    "anthropic": _anthropic_offered,
    "google": _google_offered,
}
SENT: dict[str, Callable[[Body], list[tuple[str, Any]]]] = {
    "openai": _openai_sent,
    "anthropic": _anthropic_sent,
    "google": _google_sent,
}


def test_tools_are_offered_and_several_calls_come_back(provider: Provider) -> None:
    with provider.server([BOTH]) as server:
        model = model_at(provider, server)
        assert takes_tools(model)
        text, pieces = asyncio.run(collect(model, PROMPT))
    name, description, schema = OFFERED[provider.wire](server.chats[0].body)
    assert (name, description) == ("search", "Searches the notes.")
    assert schema["properties"]["query"]["type"].lower() == "string"
    assert text == "I look."
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    # One that was not offered comes back as well: its result says so.
    assert [call.name for call in calls] == ["search", "search", "open"]
    assert [json.loads(call.arguments) for call in calls] == [
        {"query": "colour of the sky"},
        {"query": "sky at dusk"},
        {"url": "http://evil.example"},
    ]
    assert len({call.id for call in calls}) == 3
    assert isinstance(pieces[-1], ModelUsage)
    assert not any(isinstance(piece, TextDelta) for piece in pieces[-4:])


def test_what_calls_gave_is_sent_back(provider: Provider) -> None:
    with provider.server([BOTH, Text(text="Blue.")]) as server:
        model = model_at(provider, server)
        _, pieces = asyncio.run(collect(model, PROMPT))
        calls = tuple(piece for piece in pieces if isinstance(piece, ToolCall))
        looked = Exchange(
            text="I look.", calls=calls, results=("Blue.", "Red.", "no such tool"), told="Go on."
        )
        text, _ = asyncio.run(collect(model, replace(PROMPT, history=(looked,))))
    assert text == "Blue."
    sent = SENT[provider.wire](server.chats[1].body)
    assert [value for _, value in sent] == [
        {"query": "colour of the sky"},
        {"query": "sky at dusk"},
        {"url": "http://evil.example"},
        "Blue.",
        "Red.",
        "no such tool",
        "Go on.",
    ]
    ids = [known for known, _ in sent]
    assert ids[:3] == ids[3:6], "each result under the id of its call"


def test_broken_arguments_are_told_as_they_are_and_sent_back_as_none(provider: Provider) -> None:
    with provider.server([Text(text="Blue.")]) as server:
        model = model_at(provider, server)
        call = ToolCall(id="c1", name="search", arguments='{"query": "sk')
        looked = Exchange(text="", calls=(call,), results=("not JSON",))
        text, _ = asyncio.run(collect(model, replace(PROMPT, history=(looked,))))
    assert text == "Blue."
    assert [value for _, value in SENT[provider.wire](server.chats[0].body)] == [{}, "not JSON"]


def test_a_server_that_refuses_tools_is_not_offered_them_again(provider: Provider) -> None:
    refused = Failure(
        status=400, message="this model does not support tools", code="invalid_request_error"
    )

    def answers(request: Request) -> Text | Failure:
        return refused if request.body.get("tools") else Text(text="Blue.")

    with provider.server([answers]) as server:
        model = model_at(provider, server)
        with pytest.raises(ModelError, match="does not support tools") as caught:
            asyncio.run(collect(model, PROMPT))
        assert not caught.value.retryable
        assert not takes_tools(model)
        text, _ = asyncio.run(collect(model, replace(PROMPT, tools=())))
    assert text == "Blue."
