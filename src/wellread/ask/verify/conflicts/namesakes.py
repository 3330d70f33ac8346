"""Which of several things of one name a passage is about ("Springfield, Illinois", "X (album)")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.answers import Evidence
from wellread.text.parsed import parse

OPENING = 160  # characters of a passage within which it says what it is about
_PLACE = r"[A-Z][\w.’'-]+(?: (?:of |the )?[A-Z][\w.’'-]+){0,3}"
_FORMS = ("brackets", "comma", "opening", "kind")
_BIRTH = re.compile(r"\b(?:born|b\.|died)\b|\d{3,4}\s*[–-]", re.IGNORECASE)
_VERSION = re.compile(r"disambiguation|edit|article", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\W*((?:[\w.’'&-]+,? ){0,11}?[\w.’'&-]+)\s*(?:\([^()]*\),? ?)?\s?\b(?:is|was|are|were) "
)
NAMED = 0.5  # of the name, that the opening phrase has to hold
MOST_SHARED = 0.5  # of the words of two descriptions that describe different things


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a passage says of which bearer of the name it means.

    Attributes:
        form: where it says so; only identities of one form can be compared.
        text: as written ("American football", "Lincoln County, Kentucky").
    """

    form: Literal["brackets", "comma", "opening", "kind"]
    text: str

    @property
    def stems(self) -> frozenset[str]:
        """Its content words."""
        return parse(self.text).stem_set


def identities(name: str, piece: Evidence) -> tuple[Identity, ...]:
    """What the title or the opening of ``piece`` says about which ``name`` it is."""
    found: list[Identity] = []
    spaced = r"\s+".join(re.escape(part) for part in name.split())
    opening = f"{piece.text[: OPENING + len(name)]}"
    for text in (piece.hit.document.title, opening):
        for match in re.finditer(rf"(?<!\w){spaced}(?!\w)[\"”']?", text, re.IGNORECASE):
            rest = text[match.end() : match.end() + 120]
            brackets = re.match(r"\s*\(\s*([^()]{3,60}?)\s*\)", rest)
            if brackets and not _BIRTH.search(brackets[1]) and not _VERSION.search(brackets[1]):
                found.append(Identity(form="brackets", text=brackets[1]))
            comma = re.match(rf",\s+({_PLACE}(?:,\s+{_PLACE})?)", rest)
            if comma and (text is not opening or match.start() < 40):
                found.append(Identity(form="comma", text=comma[1]))
            kind = re.match(
                r"(?:\s*\([^()]*\))?,?\s+(?:is|was) (?:an?|the|one of the)\s+([^.;:,]{4,90})", rest
            )
            if kind and match.start() < OPENING:
                found.append(Identity(form="kind", text=kind[1]))
    return tuple(dict.fromkeys([*found, *_opening(name, piece.text)]))


def _opening(name: str, text: str) -> list[Identity]:
    """What the phrase that a passage opens with adds to the name ("2017 Peru Census is ...")."""
    match = _SUBJECT.match(text)
    if match is None:
        return []
    wanted, held = parse(name).stem_set, parse(match[1]).stem_set
    if not wanted or len(wanted & held) < NAMED * len(wanted):
        return []
    return [Identity(form="opening", text=" ".join(sorted(held - wanted)))]


def differ(one: Sequence[Identity], other: Sequence[Identity]) -> bool:
    """Whether two passages say that they are about different bearers of a name."""
    verdicts = {
        form: _differ(
            [each for each in one if each.form == form], [e for e in other if e.form == form]
        )
        for form in _FORMS
    }
    if verdicts["brackets"] is not None:
        return verdicts["brackets"]
    if verdicts["comma"] is not None:
        return verdicts["comma"]
    return bool(verdicts["opening"]) or bool(verdicts["kind"])


def _differ(one: Sequence[Identity], other: Sequence[Identity]) -> bool | None:
    """None when one of them says nothing in this form."""
    if not one or not other:
        return None
    return not any(_alike(a, b) for a in one for b in other)


def _alike(one: Identity, other: Identity) -> bool:
    a, b = one.stems, other.stems
    if not a or not b:
        return True
    if one.form == "kind":
        years_a, years_b = parse(one.text).numbers, parse(other.text).numbers
        if years_a and years_b and years_a.isdisjoint(years_b):
            return False
        return len(a & b) / min(len(a), len(b)) >= MOST_SHARED
    return a <= b or b <= a
