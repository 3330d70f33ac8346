"""Whether a claim denies what a sentence says, or says what it denies."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.verify.clauses import Unit
from wellread.ask.verify.unit_matches import same_unit, share_held
from wellread.text.parsed import parse

REACH = 3  # units that a denial reaches
SAME_WORDING = 0.9  # of each one's units, that the other has


def denied(mine: Sequence[Unit], theirs: Sequence[Unit]) -> bool:
    """Whether one of the two denies what the other says."""
    for one, other in ((mine, theirs), (theirs, mine)):
        for place, unit in enumerate(one):
            if not unit.denied:
                continue
            same = _places(unit, other)
            if not same and _goes_on(one, place):
                same = _places(one[place + 1], other)
            if same and not any(_reached(other, at) for at in same):
                return True
    return False


def turned_over(claim: tuple[str, Sequence[Unit]], sentence: tuple[str, Sequence[Unit]]) -> bool:
    """Whether two sentences of one wording deny unequally often: one denial beside another.

    Args:
        claim, sentence: each as text and in its units.
    """
    (one, mine), (other, theirs) = claim, sentence
    if (parse(one).negations - parse(other).negations) % 2 == 0:
        return False
    return min(share_held(mine, theirs), share_held(theirs, mine)) >= SAME_WORDING


def _places(unit: Unit, units: Sequence[Unit]) -> list[int]:
    return [at for at, each in enumerate(units) if same_unit(unit, each)]


def _goes_on(units: Sequence[Unit], at: int) -> bool:
    """Whether a denial reaches over its word: "not linked with a rise", "no clear rise"."""
    after = units[at + 1] if at + 1 < len(units) else None
    if after is None or after.clause != units[at].clause or after.kind != "word":
        return False
    return bool(after.led) or units[at].denied == "no"


def _reached(units: Sequence[Unit], at: int) -> bool:
    """Whether a denial stands at the unit, or shortly before it."""
    return any(unit.denied for unit in units[max(0, at - REACH) : at + 1])
