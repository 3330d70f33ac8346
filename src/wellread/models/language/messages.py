"""A prompt as the messages of pydantic-ai, and the calls in its reply.

Needs the extra ``llm``; only ``hosted.py`` imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from wellread.models.base import Exchange, Prompt, ToolCall

NO_WORDS = "(no words)"  # some servers refuse an empty message


def messages_of(prompt: Prompt, *, marked: bool = False) -> list[ModelMessage]:
    """The prompt with what was said since.

    Args:
        marked: whether the server wants a mark behind what other prompts begin with as well.
    """
    asked: str | list[UserContent] = prompt.user
    if marked and prompt.shared:
        asked = [prompt.user[: prompt.shared], CachePoint(), prompt.user[prompt.shared :]]
    first = ModelRequest(
        parts=[SystemPromptPart(content=prompt.system), UserPromptPart(content=asked)]
    )
    messages: list[ModelMessage] = [first]
    for exchange in prompt.history:
        # A server that is offered no tools refuses results of some.
        messages += _with_calls(exchange) if prompt.tools and exchange.calls else _words(exchange)
    return messages


def offered(prompt: Prompt, *, structured: bool = False) -> ModelRequestParameters:
    """The tools of the prompt as the library takes them; its schema where it is ``structured``."""
    schema = dict(prompt.schema) if prompt.schema and structured else None
    return ModelRequestParameters(
        output_mode="native" if schema else "text",
        output_object=OutputObjectDefinition(name="reply", json_schema=schema) if schema else None,
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in prompt.tools
        ],
    )


def called_in(reply: ModelResponse) -> tuple[ToolCall, ...]:
    """The calls of a whole reply."""
    return tuple(
        ToolCall(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else json.dumps(part.args or {}),
        )
        for part in reply.tool_calls
    )


def _with_calls(exchange: Exchange) -> Iterator[ModelMessage]:
    said: list[ModelResponsePart] = [TextPart(content=exchange.text)] if exchange.text else []
    said += [
        ToolCallPart(tool_name=call.name, args=_object_in(call.arguments), tool_call_id=call.id)
        for call in exchange.calls
    ]
    yield ModelResponse(parts=said)
    told: list[ModelRequestPart] = [
        ToolReturnPart(tool_name=call.name, content=result, tool_call_id=call.id)
        for call, result in zip(exchange.calls, exchange.results, strict=True)
    ]
    if exchange.told:
        told.append(UserPromptPart(content=exchange.told))
    yield ModelRequest(parts=told)


def _words(exchange: Exchange) -> Iterator[ModelMessage]:
    yield ModelResponse(parts=[TextPart(content=exchange.text or NO_WORDS)])
    yield ModelRequest(parts=[UserPromptPart(content=exchange.heard or NO_WORDS)])


def _object_in(arguments: str) -> dict[str, object]:
    """The arguments as an object: servers refuse a history with broken ones."""
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
