"""The bodies of the OpenAI chat wire format, built from plain values."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

CREATED = 1_700_000_000
PIECE = 12


def deltas(text: str) -> list[dict[str, str]]:
    """``text`` in pieces, after the opening one that only names the role."""
    borders = [*range(0, len(text), PIECE), len(text)]
    first = {"role": "assistant", "content": ""}
    return [first, *({"content": text[start:end]} for start, end in pairwise(borders))]


def chunk(model: str, delta: Mapping[str, str], finish: str | None = None) -> dict[str, Any]:
    """One event of a streamed reply."""
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
    }


def completion(model: str, text: str, finish: str, *, refused: bool = False) -> dict[str, Any]:
    """A whole reply; ``text`` goes into the field for refusals when ``refused``."""
    message = {
        "role": "assistant",
        "content": None if refused else text,
        "refusal": text if refused else None,
    }
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish or None}],
    }


def usage(input_tokens: int, output_tokens: int) -> dict[str, int]:
    """The token counts of a reply."""
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def error_body(message: str, code: str) -> dict[str, Any]:
    """What stands in the body of a failure."""
    return {"error": {"message": message, "type": "scripted", "param": None, "code": code or None}}


def model_list(names: tuple[str, ...]) -> dict[str, Any]:
    """The models that a server has."""
    rows = [
        {"id": name, "object": "model", "created": CREATED, "owned_by": "wellread"}
        for name in names
    ]
    return {"object": "list", "data": rows}
