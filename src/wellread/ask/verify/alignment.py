"""What a claim has otherwise than the sentence that it is taken from: a veto, whatever the score.

A claim and a passage can share every word and say different things: another number, another name,
doer and done-to exchanged, a denial more or less. So the claim is laid beside the sentences that
hold most of it, unit by unit (``clauses.py``). Each of its names, numbers and days is looked
for at its own place: by the words before and after it. Where that place holds another one, the
claim says something else, even though its own stands elsewhere in the passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from wellread.ask.verify.clauses import SLOTS, Unit, units_of
from wellread.ask.verify.denials import denied, turned_over
from wellread.ask.verify.unit_matches import (
    one_kind,
    one_thing,
    same_unit,
    share_held,
    told_by,
)
from wellread.models.reader import Excerpt
from wellread.models.readers.support_score import Line, compare
from wellread.text.english import ARTICLES, MONTHS, POINTING, STOP_WORDS, UNSETTLED
from wellread.text.parsed import parse

LEAST_HELD = 0.45  # of the claim's worth, from which a sentence counts as what it is taken from
AS_NEAR = 0.92  # of the best sentence's share, from which another speaks for the claim as well
BESIDE = 2  # units on either side by which a place is known
NEXT, FURTHER, SAME_LEAD = 3, 1, 1  # what the nearest unit, a further one, the preposition count
LEAST_PLACE = 3  # from which a place is known again
CLEARLY = 2  # by how much a place has to fit better than that where the same unit stands
FAR = 4  # the same, where the claim does not have what stands there
LEAST_MATCHED, NEAR_QUOTED = 0.55, 0.75  # of the claim's units in order: a sentence in its words
LEAST_SHARED = 0.4  # of a sentence's units, that a claim in its words has
LONGEST_SWAP = 5  # units that stand in place of others
OPENING = 2  # units in which a claim names what the whole passage is about
LEAST_REST = 3  # units beside the subject
WHOLE_REST = 0.75  # of the words beside the subject, that a sentence holds which has another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What speaks against a claim, in words.

    Attributes:
        doubt: the two may still mean one thing: "the ferry" can be what is named elsewhere.
    """

    kind: Literal["number", "name", "subject", "negation"]
    words: str
    doubt: bool = False


OPPOSITE = Objection(kind="negation", words="the passage says the opposite")


def objection(claim: str, sources: Sequence[Excerpt]) -> Objection | None:
    """What the passage has otherwise; None when it has nothing, or nothing that can be told."""
    compared = compare(claim, sources)
    shares = [sum(compared.worth[one] for one in line.held) for line in compared.best]
    best = max(shares, default=0.0)
    if best < LEAST_HELD:
        return None
    near = [
        line
        for line, share in zip(compared.best, shares, strict=True)
        if share >= max(LEAST_HELD, AS_NEAR * best)
    ]
    telling = [line for line in near if UNSETTLED.isdisjoint(parse(line.text.lower()).words)]
    found = [
        _against(claim, line, sources[line.source].title, _elsewhere(line, compared.lines))
        for line in telling or near
    ]
    return None if None in found else found[0]


def _elsewhere(line: Line, lines: Sequence[Line]) -> frozenset[str]:
    """What the other sentences that share something with the claim hold."""
    others = (other for other in lines if other.held and other != line)
    return frozenset(key for other in others for unit in units_of(other.text) for key in unit.keys)


def _against(claim: str, line: Line, title: str, elsewhere: frozenset[str]) -> Objection | None:
    mine, theirs = units_of(claim), units_of(line.text)
    known = frozenset(key for unit in units_of(f"of {title}") for key in unit.keys)
    found = _replaced(mine, theirs, known) or _misplaced(mine, theirs, known)
    if found is not None:
        return found
    at = _shared_start(mine, theirs)
    quoted = at is not None and len(mine) - at[0] >= LEAST_REST
    if share_held(mine, theirs) >= NEAR_QUOTED or (
        at is not None and quoted and share_held(mine[at[0] :], theirs[at[1] :]) >= NEAR_QUOTED
    ):
        found = _absent(mine, theirs) or _other_words(
            mine, theirs, elsewhere | known, definite=_definite(line.text)
        )
    elif not (_points(claim) or _points(line.text)):
        found = _other_subject(mine, theirs, known, definite=_definite(line.text))
    opposed = denied(mine, theirs) or turned_over((claim, mine), (line.text, theirs))
    return found or (OPPOSITE if opposed else None)


def _definite(sentence: str) -> bool:
    words = parse(sentence).words
    return bool(words) and (words[0].lower() == "the" or words[0].lower() in POINTING)


# --- names, numbers and days -----------------------------------------------------------------


def _replaced(
    mine: Sequence[Unit], theirs: Sequence[Unit], known: frozenset[str]
) -> Objection | None:
    """What stands in the claim instead of another thing, where the words around are the same."""
    matcher = SequenceMatcher(
        None, [unit.key for unit in mine], [unit.key for unit in theirs], autojunk=False
    )
    blocks = matcher.get_opcodes()
    matched = sum(b - a for tag, a, b, _, _ in blocks if tag == "equal")
    if matched < LEAST_MATCHED * len(mine):
        return None
    near_quoted = matched >= NEAR_QUOTED * len(mine)
    for tag, a, b, c, d in blocks:
        if tag != "replace" or max(b - a, d - c) > LONGEST_SWAP:
            continue
        for unit in mine[a:b]:
            others = theirs[c:d]
            if unit.kind not in SLOTS or any(same_unit(unit, other) for other in others):
                continue
            there = [other for other in others if other.kind in SLOTS]
            if not near_quoted:
                there = [each for each in there if not _spoken_for(each, mine)]
                if any(same_unit(unit, each) for each in theirs) or unit.keys & known:
                    continue
            rival = next((each for each in there if one_kind(unit, each)), None)
            if rival is not None and not any(same_unit(rival, each) for each in mine[a:b]):
                return _instead(unit, rival)
    return None


def _instead(unit: Unit, rival: Unit) -> Objection:
    return Objection(
        kind="name" if unit.kind == "name" else "number",
        words=f"the passage says {_told(rival)}, not {_told(unit)}",
    )


def _absent(mine: Sequence[Unit], theirs: Sequence[Unit]) -> Objection | None:
    """What the claim has and the sentence has not, where that has another thing of its kind."""
    for unit in mine:
        if unit.kind not in SLOTS or any(same_unit(unit, other) for other in theirs):
            continue
        rivals = [each for each in theirs if one_kind(unit, each) and not _spoken_for(each, mine)]
        if rivals:
            return _instead(unit, rivals[0])
    return None


def _misplaced(
    mine: Sequence[Unit], theirs: Sequence[Unit], known: frozenset[str]
) -> Objection | None:
    """What stands in the claim at a place at which the sentence has another thing."""
    for at, unit in enumerate(mine):
        if unit.kind not in SLOTS:
            continue
        places = [place for place, other in enumerate(theirs) if one_kind(unit, other)]
        best = max(places, key=lambda place: _fit(mine, at, theirs, place), default=None)
        if best is None or same_unit(unit, theirs[best]):
            continue
        rival, fit = theirs[best], _fit(mine, at, theirs, best)
        own = [place for place in places if same_unit(unit, theirs[place])]
        same = max((_fit(mine, at, theirs, place) for place in own), default=None)
        if fit < LEAST_PLACE:
            continue
        if same is None:
            opens = at < OPENING and unit.keys & known
            if not (opens or _spoken_for(rival, mine)):
                return _instead(unit, rival)
            continue
        exchanged = fit >= same + CLEARLY and _displaced(mine, theirs, rival, own)
        if exchanged or (fit >= same + FAR and not _spoken_for(rival, mine)):
            return _instead(unit, rival)
    return None


def _displaced(
    mine: Sequence[Unit], theirs: Sequence[Unit], rival: Unit, places: Sequence[int]
) -> bool:
    """Whether the claim has ``rival`` where the sentence has what the claim puts in its place."""
    for at, unit in enumerate(mine):
        if not one_kind(unit, rival) or not same_unit(unit, rival):
            continue
        own = [place for place, other in enumerate(theirs) if same_unit(unit, other)]
        here = max((_fit(mine, at, theirs, place) for place in own), default=0)
        if max(_fit(mine, at, theirs, place) for place in places) >= max(1, here):
            return True
    return False


def _spoken_for(unit: Unit, mine: Sequence[Unit]) -> bool:
    """Whether the claim has the same thing, too."""
    return any(one_kind(unit, other) and bool(unit.keys & other.keys) for other in mine)


def _points(sentence: str) -> bool:
    """Whether a sentence begins with a word that points at its subject elsewhere."""
    words = parse(sentence).words
    first = words[0].lower() if words else ""
    return first in POINTING or (first in STOP_WORDS and first not in ARTICLES)


def _fit(mine: Sequence[Unit], at: int, theirs: Sequence[Unit], place: int) -> int:
    """How well the place of ``theirs[place]`` is that of ``mine[at]``."""
    fit = SAME_LEAD * bool(mine[at].led and mine[at].led == theirs[place].led)
    for step in (-1, 1):
        one, other = list(_beside(mine, at, step)), list(_beside(theirs, place, step))
        if one and other and same_unit(one[0], other[0]):
            fit += NEXT
        elif not one and not other:
            fit += FURTHER
        else:
            fit += FURTHER * any(same_unit(a, b) for a in one for b in other)
    return fit


def _beside(units: Sequence[Unit], at: int, step: int) -> Iterator[Unit]:
    for place in range(at + step, at + step * (BESIDE + 1), step):
        if 0 <= place < len(units):
            yield units[place]


def _told(unit: Unit) -> str:
    return MONTHS[int(unit.key) - 1].capitalize() if unit.kind == "month" else unit.said


# --- who did it ------------------------------------------------------------------------------


def _other_words(
    mine: Sequence[Unit], theirs: Sequence[Unit], elsewhere: frozenset[str], *, definite: bool
) -> Objection | None:
    """Where a claim in a sentence's own words has what other sentences tell of in place of its own.

    What it has in words of its own may be put otherwise; what stands elsewhere is another thing.

    Args:
        definite: whether the sentence begins with "the" or a word that points.
    """
    matcher = SequenceMatcher(
        None, [unit.key for unit in mine], [unit.key for unit in theirs], autojunk=False
    )
    blocks = matcher.get_opcodes()
    if sum(b - a for tag, a, b, _, _ in blocks if tag == "equal") < LEAST_SHARED * len(theirs):
        return None
    for tag, a, b, c, d in blocks:
        if tag != "replace" or max(b - a, d - c) > LONGEST_SWAP:
            continue
        here = theirs if a else theirs[c:d]  # a subject may stand in the sentence as something else
        new = [unit for unit in mine[a:b] if not any(one_thing(unit, each) for each in here)]
        old = [unit for unit in theirs[c:d] if not any(told_by(unit, each) for each in mine)]
        named = any(unit.kind in SLOTS for unit in old)
        told = any(unit.kind in SLOTS for unit in new) or not a
        if new and old and (named or told) and all(unit.keys <= elsewhere for unit in new):
            said, is_said = (" ".join(unit.said for unit in units) for units in (new, old))
            return Objection(
                kind="subject",
                words=f"the passage says so of {is_said}, not of {said}",
                doubt=not named and (definite or a > 0),
            )
    return None


def _other_subject(
    mine: Sequence[Unit], theirs: Sequence[Unit], known: frozenset[str], *, definite: bool
) -> Objection | None:
    """Where the claim tells of another subject all that a sentence tells of its own.

    Args:
        definite: whether the sentence begins with "the" or a word that points.
    """
    at = _shared_start(mine, theirs)
    if at is None:
        return None
    one, other, rest = mine[: at[0]], theirs[: at[1]], mine[at[0] :]
    held = sum(any(same_unit(unit, each) for each in theirs) for unit in rest)
    # "The ferry" may be a thing that is named elsewhere.
    named = [any(unit.kind == "name" for unit in units) for units in (one, other)]
    another = named[0] == named[1] and (named[1] or not definite)
    if (
        not (one and other and another)
        or any(same_unit(a, b) for a in one for b in theirs)
        or any(same_unit(a, b) for a in mine for b in other)
        or any(unit.keys & known for unit in one)
        or len(rest) < LEAST_REST
        or held < WHOLE_REST * len(rest)
    ):
        return None
    said, is_said = (" ".join(unit.said for unit in units) for units in (one, other))
    return Objection(kind="subject", words=f"the passage says so of {is_said}, not of {said}")


def _shared_start(mine: Sequence[Unit], theirs: Sequence[Unit]) -> tuple[int, int] | None:
    """Where, after their subjects, two sentences begin to say the same."""
    for at, unit in enumerate(mine[:6]):
        for place, other in enumerate(theirs[:6]):
            if same_unit(unit, other):
                return at, place
    return None
