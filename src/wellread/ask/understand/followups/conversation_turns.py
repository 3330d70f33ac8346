"""What was asked and answered so far, and what a question was rewritten to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its answer.

    Attributes:
        question: as it was understood: the rewritten one, where it was rewritten.
        answer: the delivered text without citation markers.
        names: entities and titles that the answer cites, the most important first.
        items: what was shown as a list, in the order shown.
    """

    question: str
    answer: str = ""
    names: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A question that stands alone.

    Attributes:
        changed: whether ``text`` differs from what was asked.
        reasons: what was put in for what, in words; empty when nothing was.
    """

    text: str
    changed: bool = False
    reasons: tuple[str, ...] = ()
