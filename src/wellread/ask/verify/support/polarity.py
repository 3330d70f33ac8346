"""Words that turn a sentence's meaning round while leaving most of its words as they were.

Negations, and directions: "raises" against "lowers". The lists hold stems (Snowball English), so
that "increase", "increases" and "increasing" are one entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from wellread.text.parsed import parse
from wellread.text.stems import stem


def _stems(listed: str) -> frozenset[str]:
    return frozenset(stem(word) for word in listed.split())


RISING = _stems(
    """
    increase raise rise rose risen grow grew growth elevate enhance boost expand gain higher more
    greater larger upregulate up-regulate up stronger improve promote induce activate stimulate
    accelerate amplify augment enable facilitate worsen exacerbate longer prolong extend encourage
    cause drive lead contribute essential critical necessary support sufficient trigger
    """
)
FALLING = _stems(
    """
    decrease reduce reduction lower fall fell fallen decline drop shrink diminish less fewer smaller
    downregulate down-regulate down weaker inhibit suppress impair block prevent deactivate
    inactivate slow attenuate decelerate disrupt abolish abrogate protect shorter shorten deplete
    ameliorate alleviate delay hamper hinder limit disturb interfere repress loss lose deficiency
    knockdown silence antagonize counteract relieve minimize fail restrict unaffected unrelated
    independent
    """
)


# Words that deny the sentence they stand in. "Without" or "lack" deny no more than a part of it.
DENIALS = frozenset("no not never none nobody nothing neither nor cannot".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """How one text is turned: how many negations it has, which words of direction."""

    negations: int
    rising: frozenset[str]
    falling: frozenset[str]


def turns_of(text: str) -> Turns:
    """Read ``text``."""
    held = frozenset(stem(word) for word in parse(text).words)
    plain = [word.lower().replace("’", "'") for word in parse(text).words]
    negations = sum(word in DENIALS or word.endswith("n't") for word in plain)
    return Turns(negations=negations, rising=held & RISING, falling=held & FALLING)


def opposed(claim: Turns, text: Turns) -> bool:
    """Whether the claim says one direction in words the text has not, and the text the other."""
    return _lacks(claim.rising, text.rising, text.falling) or _lacks(
        claim.falling, text.falling, text.rising
    )


def agreed(claim: Turns, text: Turns) -> bool:
    """Whether every word of one direction in the claim is in the text, and there is one."""
    return (bool(claim.rising) and claim.rising <= text.rising) or (
        bool(claim.falling) and claim.falling <= text.falling
    )


def denied(claim: Turns, text: Turns) -> bool:
    """Whether one of the two is negated and the other is not (two negations cancel out)."""
    return claim.negations % 2 != text.negations % 2


def _lacks(mine: frozenset[str], same: frozenset[str], other: frozenset[str]) -> bool:
    return bool(mine) and mine.isdisjoint(same) and bool(other)
