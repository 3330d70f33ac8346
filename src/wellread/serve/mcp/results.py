"""What a tool gives back: the same facts as text and as JSON, never longer than clients take.

Some clients show a model the text alone, others the JSON alone, so each holds all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from wellread.errors import RequestError
from wellread.models.word_pieces import count_tokens
from wellread.serve.error_shapes import Problem
from wellread.text.words import harmless

MOST_TOKENS = 20_000  # of text and JSON together
BUDGETS = (7_500, 4_500, 2_500, 1_200, 500, 150)
"""Tokens of what varies in a result, tried one after the other until the whole is short enough."""


def told(text: str, body: BaseModel) -> CallToolResult:
    """A result: ``text`` for people and models, ``body`` for programs."""
    shown = TextContent(text=harmless(text).strip() + "\n")
    return CallToolResult(content=[shown], structured_content=_plain(body))


def exactly(body: BaseModel) -> CallToolResult:
    """A result whose text is its JSON, as connectors read it that want one shape."""
    plain = _plain(body)
    shown = TextContent(text=json.dumps(plain, ensure_ascii=False))
    return CallToolResult(content=[shown], structured_content=plain)


def failed(problem: Problem) -> CallToolResult:
    """An error: what happened, and what to do about it."""
    hint = f"\nWhat to do: {problem.hint}" if problem.hint else ""
    shown = TextContent(text=harmless(f"{problem.detail}{hint}"))
    return CallToolResult(content=[shown], structured_content=problem.body(), is_error=True)


def fitted(build: Callable[[int], CallToolResult]) -> CallToolResult:
    """The largest result of ``build``, which is given a number of tokens, that is short enough.

    Raises:
        RequestError: even the smallest is too long.
    """
    for budget in BUDGETS:
        result = build(budget)
        if tokens_of(result) <= MOST_TOKENS:
            return result
    raise RequestError(
        "the result is too long for one message, and cannot be cut", hint="ask for less at once"
    )


def tokens_of(result: CallToolResult) -> int:
    """How long a result is."""
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return sum(map(count_tokens, texts))


def _plain(body: BaseModel) -> dict[str, object]:
    return body.model_dump(mode="json", by_alias=True, exclude_none=True)
