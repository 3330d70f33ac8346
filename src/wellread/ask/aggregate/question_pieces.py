"""The words of a question as pieces: names of entities and limits are one piece each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.questions import Analysis, Constraint, NamedEntity
from wellread.text.stems import stem
from wellread.text.tokens import tokens_of
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A word, or the name of entities (several when collections share it).

    Attributes:
        plain: the word in lower case; empty for a name.
    """

    span: Span
    plain: str = ""
    entities: tuple[NamedEntity, ...] = ()

    @property
    def stem(self) -> str:
        """The stem of the word; empty for a name."""
        return stem(self.plain) if self.plain else ""


def items_of(analysis: Analysis, noun: Span) -> list[Item]:
    """The question's pieces, without the words of limits; those of ``noun`` are words always."""
    entities = [one for one in analysis.entities if not one.span.overlaps(noun)]
    limits = limits_beside(analysis, noun)
    found: list[Item] = []
    done = 0
    for token in tokens_of(analysis.question):
        span = Span(start=token.start, end=token.end)
        if span.start < done or any(limit.span.overlaps(span) for limit in limits):
            continue
        named = _longest([one for one in entities if one.span.overlaps(span)])
        if named and not any(limit.span.overlaps(named[0].span) for limit in limits):
            found.append(Item(span=named[0].span, entities=named))
            done = named[0].span.end
        else:
            found.append(Item(span=span, plain=token.plain))
    return found


def limits_beside(analysis: Analysis, noun: Span) -> list[Constraint]:
    """The limits of the question other than the noun itself ("papers" is a kind, too)."""
    return [limit for limit in analysis.constraints if not limit.span.overlaps(noun)]


def place_of(items: Sequence[Item], stems: Sequence[str]) -> int | None:
    """Where the stems stand one after the other; None when they do not."""
    held = [item.stem for item in items]
    for start in range(len(held) - len(stems) + 1):
        if held[start : start + len(stems)] == list(stems):
            return start
    return None


def _longest(named: Sequence[NamedEntity]) -> tuple[NamedEntity, ...]:
    """The entities with the longest of the spans."""
    if not named:
        return ()
    best = max(named, key=lambda one: len(one.span)).span
    return tuple(one for one in named if one.span == best)
