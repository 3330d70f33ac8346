"""Whether two units of sentences can mean one thing, or could stand in each other's place.

Words are compared by how they begin, numbers by their value, names also by their initials. Names
that share a part need not be one: Lake Garda and Lake Como are two lakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from wellread.ask.verify.clauses import SLOTS, Unit

NAME_END = 4  # letters by which the last words of two names are the same


def one_kind(one: Unit, other: Unit) -> bool:
    """Whether the two could stand in each other's place."""
    numbers = ("number", "year")
    return one.kind == other.kind or (one.kind in numbers and other.kind in numbers)


def same_unit(one: Unit, other: Unit) -> bool:
    """Whether two units can mean one thing."""
    if one.keys & other.keys:
        return True
    numbers = ("number", "year")
    if one.kind in numbers and other.kind in numbers:
        pairs = ((float(a), float(b)) for a in one.keys for b in other.keys)
        return any(isclose(a, b, rel_tol=1e-6) for a, b in pairs)
    if one.kind in SLOTS[1:] or other.kind in SLOTS[1:]:
        return False
    return any(_kin(a, b) for a in one.keys for b in other.keys) or _spelled(one, other)


def _kin(one: str, other: str) -> bool:
    """Whether one word begins as the other and differs in its ending only: Canada, Canadian."""
    short = min(len(one), len(other))
    shared = min(short, max(4, short - 2))
    return short > 2 and one[:shared] == other[:shared]


def _spelled(one: Unit, other: Unit) -> bool:
    """Whether one is the other in initials, or joined: U.S., BERTLARGE."""
    for short, long in ((one, other), (other, one)):
        words = long.said.split()
        letters = "".join(char for char in short.said if char.isalnum())
        if len(words) > 1 and letters.lower() in (
            "".join(word[0] for word in words).lower(),
            "".join(char for char in long.said if char.isalnum()).lower(),
        ):
            return True
    return False


def one_thing(one: Unit, other: Unit) -> bool:
    """Whether two units can mean one thing, also where names share a part: two lakes are two."""
    if not same_unit(one, other):
        return False
    if one.kind != "name" or other.kind != "name" or one.keys <= other.keys:
        return True
    last = [[word for word in each.said.split() if not _numbered(word)] for each in (one, other)]
    return other.keys <= one.keys or not all(last) or _name_end(last[0]) == _name_end(last[1])


def _numbered(word: str) -> bool:
    return word.lstrip("vV").isdigit()


def _name_end(words: Sequence[str]) -> str:
    return words[-1].lower()[:NAME_END]


def told_by(one: Unit, other: Unit) -> bool:
    """Whether ``other`` tells of ``one``, all of its name included."""
    return same_unit(one, other) and (one.kind != "name" or one.keys <= other.keys)


def share_held(mine: Sequence[Unit], theirs: Sequence[Unit]) -> float:
    """The share (0-1) of the units of ``mine`` that ``theirs`` has, in whatever order."""
    return sum(any(same_unit(unit, other) for other in theirs) for unit in mine) / max(1, len(mine))
