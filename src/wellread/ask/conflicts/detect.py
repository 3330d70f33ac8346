"""Finds where passages answer one question differently, and where they mean different things.

Of every document the sentence that answers best is taken. Two such sentences are at odds when

- they are the same but for a number or a name, or one of them is negated;
- both speak of all that is asked for, and give other dates, numbers or people.

When two documents say that they are about different bearers of the name in the question, their
answers do not disagree: the question can mean several things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask import words
from wellread.ask.conflicts.identity import Identity, differ, identities
from wellread.ask.conflicts.values import opposed, swapped, values
from wellread.ask.extract_new.expected import Expected, expected_of
from wellread.ask.extract_new.score import Reading
from wellread.ask.extract_new.sentences import Option
from wellread.questions import Analysis
from wellread.types import Evidence

MOST_VIEWS = 5
COVERED = 0.75  # of the question's terms, that a sentence and what is above it hold
ON_TOPIC = 0.3  # of them, that a sentence holds which repeats another with other values
LEAST_FOCUS = 0.45  # of how well the best sentence answers, for another view to count


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A document's answer.

    Attributes:
        worth: how well it answers, to compare documents by.
        focus: share of what is asked about the name that it holds.
        covered: share of all terms of the question that it, title and headings hold.
    """

    option: Option
    document: str
    worth: float
    focus: float
    covered: float
    values: frozenset[str]
    identities: tuple[Identity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Documents that answer differently.

    Attributes:
        kind: ``meanings`` when they are about different things of one name.
        views: sentences that agree stand together; best first.
    """

    kind: Literal["conflict", "meanings"]
    about: str
    views: tuple[tuple[Option, ...], ...]


def disagreement(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    readings: Sequence[Reading],
) -> Disagreement | None:
    """What the evidence disagrees on; None when it speaks with one voice or none can tell."""
    kind = expected_of(analysis.question)
    name = _subject(analysis)
    sides = _sides(analysis, evidence, options, readings, kind, name)
    meanings = _meanings(sides)
    if len(meanings) > 1:
        views = [view for meaning in meanings for view in _views(meaning, kind)]
        return Disagreement(
            kind="meanings", about=name, views=tuple(_options(view) for view in views[:MOST_VIEWS])
        )
    views = _views(sides, kind)
    if len(views) > 1:
        return Disagreement(
            kind="conflict",
            about=analysis.question,
            views=tuple(_options(view) for view in views[:MOST_VIEWS]),
        )
    return None


def _subject(analysis: Analysis) -> str:
    """What the question is about: its longest name."""
    named = [name for name in analysis.names if not name[:1].isdigit()]
    return max(named, key=len, default="")


def _sides(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    readings: Sequence[Reading],
    kind: Expected,
    name: str,
) -> list[Side]:
    """The best answering sentence of every document, best document first."""
    asked = frozenset(words.stems(analysis.question))
    focus = (asked - frozenset(words.stems(name))) or asked or frozenset([""])
    who = [identities(name, piece) if name else () for piece in evidence]
    best: dict[str, Side] = {}
    for option, reading in zip(options, readings, strict=True):
        if not option.readable:
            continue
        document = evidence[option.evidence].hit.document.id
        held = len(focus & option.stems) / len(focus)
        side = Side(
            option=option,
            document=document,
            focus=held,
            covered=reading.terms + reading.above,
            worth=held + 0.6 * reading.terms + 0.5 * (reading.expected - reading.lacking)
            + 0.25 * (option.place == 0) + 0.2 * reading.pairs,
            values=values(kind, option.text, analysis.question),
            identities=who[option.evidence],
        )
        if document not in best or side.worth > best[document].worth:
            best[document] = side
    return sorted(best.values(), key=lambda side: (-side.worth, side.option.evidence))


def _meanings(sides: Sequence[Side]) -> list[list[Side]]:
    """The sides by what they are about; those that do not say so are left out."""
    groups: list[list[Side]] = []
    for side in sides:
        if not side.identities or side.worth < LEAST_FOCUS * sides[0].worth:
            continue
        for group in groups:
            if not differ(group[0].identities, side.identities):
                group.append(side)
                break
        else:
            groups.append([side])
    return groups


def _views(sides: Sequence[Side], kind: Expected) -> list[list[Side]]:
    """The sides by what they say: one group unless a side is at odds with the first."""
    if not sides:
        return []
    views: list[list[Side]] = [[sides[0]]]
    for side in sides[1:]:
        if side.worth < LEAST_FOCUS * sides[0].worth:
            continue
        if all(_at_odds(view[0], side, kind) for view in views):
            views.append([side])
            continue
        for view in views:
            if view[0].values & side.values:
                view.append(side)
                break
    return views


def _at_odds(one: Side, other: Side, kind: Expected) -> bool:
    if one.covered >= ON_TOPIC and other.covered >= ON_TOPIC:
        if swapped(one.option.text, other.option.text) is not None:
            return True
        if opposed(one.option.text, other.option.text):
            return True
    if kind not in ("date", "number", "person"):
        return False
    both = min(one.covered, other.covered) >= COVERED
    told = bool(one.values) and bool(other.values)
    return both and told and one.values.isdisjoint(other.values)


def _options(view: Sequence[Side]) -> tuple[Option, ...]:
    return tuple(side.option for side in view[:2])
