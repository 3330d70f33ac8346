"""Changes of a question's words, each with its reason, and how they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """``text`` goes where ``span`` was."""

    span: Span
    text: str
    reason: str


def applied(question: str, edits: Sequence[Edit]) -> str:
    """``question`` with the edits; of two that overlap, the earlier one counts."""
    kept, place = [], 0
    for edit in sorted(edits, key=lambda one: one.span.start):
        if edit.span.start < place:
            continue
        kept += [question[place : edit.span.start], edit.text]
        place = edit.span.end
    return " ".join("".join([*kept, question[place:]]).split())


def means(said: str, meant: str) -> str:
    """The reason of a replacement, in words."""
    return f"“{said}” is “{meant}”"


def before_end(question: str, words: str) -> str:
    """``question`` with ``words`` before its closing mark."""
    bare = question.rstrip(" ?.!")
    return f"{bare} {words}{question[len(bare) :].strip() or ''}"


def possessive(name: str) -> str:
    """ "Rosa's", "the Cardigans'"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"
