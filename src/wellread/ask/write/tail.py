"""The machine-readable tail of a model's reply: where it begins, and what it says.

A reply is Markdown, then a line ``---``, then one JSON object. Models leave the line out, wrap the
object in a code fence, or are cut off in the middle; all of that is read. ``---`` alone is a rule
between paragraphs, so a line only begins the tail when an object follows it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic_core import from_json

FIELDS = ("answered", "confidence", "data_gaps", "conflicts", "relevance", "answer")
Answered = Literal["yes", "partly", "no"]
LONGEST_TAIL = 50_000

_CANDIDATE = re.compile(r"^[ \t]*[-`{]", re.MULTILINE)
_FENCE = r"`{3,}[ \t]*(?:json)?[ \t]*\r?\n\s*"
_BEGINNING = re.compile(
    rf"[ \t]*(?:-{{3,}}[ \t]*\r?\n\s*(?:{_FENCE})?\{{"
    rf'|(?:{_FENCE})?\{{\s*"(?:{"|".join(FIELDS)})")',
    re.IGNORECASE,
)
_RULE = re.compile(r"-{3,}[ \t]*\r?\n\s*")
_RULE_SO_FAR = re.compile(r"-+|-{3,}[ \t]*\r?")
_FENCE_LINE = re.compile(_FENCE, re.IGNORECASE)
_FENCE_SO_FAR = re.compile(r"`+|`{3,}[ \t]*(?:j|js|jso|json)?[ \t]*\r?", re.IGNORECASE)
_SURELY_MEANT = re.compile(r"[ \t]*-{3}|.*\{|.*json", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What the model says about its answer. Fields that it left out are empty.

    Attributes:
        answered: whether the evidence answers the question.
        confidence: its own claim, 0-1.
        relevance: why a source matters, by its key.
        answer: the text, where all of the reply is one object.
        citations: keys or titles that such an object cites for all of its text.
    """

    answered: Answered | None = None
    confidence: float | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    relevance: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    citations: tuple[str, ...] = ()


def find_tail(
    text: str, start: int = 0, *, final: bool = True
) -> tuple[int, Literal["tail", "maybe", "none"]]:
    """Where the tail begins, looking from ``start`` on.

    ``maybe``: what stands there may become a tail once more text has come; never when ``final``.
    ``none`` comes with the text's length.
    """
    for candidate in _CANDIDATE.finditer(text, start):
        place = candidate.start()
        if _BEGINNING.match(text, place):
            return place, "tail"
        if _may_become_tail(text[place:]):
            if not final:
                return place, "maybe"
            if _SURELY_MEANT.match(text, place):
                return place, "tail"
    return len(text), "none"


def read_tail(section: str) -> Tail | None:
    """The tail in ``section``; of a broken object the fields that can be read."""
    start = section.find("{")
    values, _ = load_object(section[start : start + LONGEST_TAIL]) if start >= 0 else (None, True)
    if values is None:
        return None
    answer = values.get("answer")
    said = str(values.get("answered", "")).strip().casefold()
    answered = next((one for one in get_args(Answered) if one == said), None)
    return Tail(
        answered=answered,
        confidence=_share(values.get("confidence")),
        answer=answer.strip() if isinstance(answer, str) else "",
        citations=_strings(values.get("citations")),
        data_gaps=_strings(values.get("data_gaps")),
        conflicts=_strings(values.get("conflicts")),
        relevance=_by_key(values.get("relevance")),
    )


def _may_become_tail(rest: str) -> bool:
    """Whether ``rest``, which reaches to the end of the text so far, is the start of a tail."""
    rest = rest.lstrip(" \t")
    if rest.startswith("-"):
        if _RULE_SO_FAR.fullmatch(rest):
            return True
        rule = _RULE.match(rest)
        if rule is None:
            return False
        rest = rest[rule.end() :]
    if rest.startswith("`"):
        if _FENCE_SO_FAR.fullmatch(rest):
            return True
        fence = _FENCE_LINE.match(rest)
        if fence is None:
            return False
        rest = rest[fence.end() :]
    if not rest.startswith("{"):
        return not rest
    first = rest[1:].lstrip().lower()
    return any(f'"{name}"'.startswith(first) for name in FIELDS)


def load_object(text: str) -> tuple[dict[str, Any] | None, bool]:
    """The object at the beginning of ``text``, whole or as far as it goes."""
    try:
        values, _ = json.JSONDecoder().raw_decode(text)
        return values, False
    except (ValueError, RecursionError):
        pass  # cut off or malformed: what can be read of it is read below
    try:
        partial = from_json(text, allow_partial=True)
    except ValueError:
        return None, True
    return (partial, True) if isinstance(partial, dict) else (None, True)


def _share(value: object) -> float | None:
    """A number from 0 to 1, also out of ``"0.8"``, ``80`` and ``"80 %"``."""
    if isinstance(value, str):
        value = value.strip().removesuffix("%").strip()
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return min(max(number / 100 if number > 1 else number, 0.0), 1.0)


def _by_key(value: object) -> dict[str, str]:
    """The strings of an object, by their names."""
    said = value.items() if isinstance(value, dict) else ()
    found = {str(key).strip("[] "): "".join(_strings(text)[:1]) for key, text in said}
    return {key: text for key, text in found.items() if text}


def _strings(value: object) -> tuple[str, ...]:
    """The strings of a list; one string stands for a list of one."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    lines = (" ".join(item.split()) for item in items if isinstance(item, str))
    return tuple(line for line in lines if line)
