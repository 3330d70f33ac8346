"""A limit as it was read: the constraint, and the words that say nothing about the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.questions import Constraint, ConstraintKind
from wellread.types import Filters, Span

_DANGLING = re.compile(r"\s+([,;:?.!])")
_REPEATED = re.compile(r"([,;:])\s*(?=[,;:?.!])")
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'”’)]*(?=\s+[\"“(]?[A-Z])|$)", re.DOTALL)
_EDGE = re.compile(r"^[\s,;:.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint; ``cut`` are the words that do not belong to what is searched for."""

    constraint: Constraint
    cut: Span | None


def limit(
    kind: ConstraintKind, span: Span, value: str, filters: Filters, cut: Span | None = None
) -> Limit:
    """A limit whose own words are cut, unless ``cut`` says which are."""
    constraint = Constraint(kind=kind, span=span, value=value, filters=filters)
    return Limit(constraint=constraint, cut=cut if cut is not None else span)


def asked_part(text: str) -> tuple[Span, ...]:
    """The sentences that ask, where others tell ("I moved here in 2019. What ...?"); else all."""
    spans = [
        Span(start=match.start(), end=match.end())
        for match in _SENTENCE.finditer(text)
        if match.group().strip()
    ]
    asking = tuple(span for span in spans if span.of(text).rstrip(" \"'”’)").endswith("?"))
    return asking or (Span(start=0, end=len(text)),)


def without(text: str, cuts: Sequence[Span]) -> str:
    """``text`` without the cut words and what they leave behind."""
    kept, place = [], 0
    for cut in sorted(cuts, key=lambda span: span.start):
        if cut.end > place:
            kept.append(text[place : max(place, cut.start)])
            place = cut.end
    rest = " ".join(" ".join([*kept, text[place:]]).split())
    return _EDGE.sub("", _REPEATED.sub("", _DANGLING.sub(r"\1", rest)))
