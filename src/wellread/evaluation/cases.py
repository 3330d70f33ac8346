"""Reads evaluation cases: JSON lines, each a question and what is expected of its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from wellread.errors import RequestError
from wellread.evaluation.lines import CaseLine
from wellread.evaluation.values import Case
from wellread.identity import tagged_hash

FORMAT = "docs/evaluation.md describes the format"


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSON lines file, in order.

    Raises:
        RequestError: the file cannot be read, or a line is not a case; names file and line.
    """
    seen: dict[str, int] = {}
    cases = []
    for number, text in _lines(path):
        case = _case(path, number, text)
        if case.id in seen:
            raise RequestError(
                f"{path}, line {number}: the same id as line {seen[case.id]} ({case.id})",
                hint="give each case an id of its own, or drop one of them",
            )
        seen[case.id] = number
        cases.append(case)
    if not cases:
        raise RequestError(f"{path} holds no case", hint=FORMAT)
    return cases


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        whole = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text", hint=FORMAT) from error
    # Not splitlines(): it also breaks at characters that JSON strings may hold.
    for number, text in enumerate(whole.split("\n"), 1):
        if text.strip():
            yield number, text


def _case(path: Path, number: int, text: str) -> Case:
    try:
        line = CaseLine.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise RequestError(
            f"{path}, line {number}: not JSON: {error.msg} at character {error.pos + 1}",
            hint="every line is one JSON object",
        ) from error
    except ValidationError as error:
        raise RequestError(f"{path}, line {number}: {_first(error)}", hint=FORMAT) from error
    filters = line.scope.filters()
    named = line.id or tagged_hash("case", *line.question, repr(filters))
    return Case(
        id=named,
        line=number,
        turns=tuple(line.question),
        expected=line.expected.read(),
        filters=filters,
        mode=line.mode,
        type=line.type,
        tags=tuple(line.tags),
    )


def _first(error: ValidationError) -> str:
    """The first thing wrong, with the field where it is."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown field {place}"
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
