"""The things that a question names, and whether a sentence is about them.

A sentence that gives the right kind of thing answers nothing when it tells of something else: the
length of another boat, the captain of another ship.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import spells
from wellread.questions import Analysis
from wellread.text.english_types import A_DATE, A_MONTH
from wellread.text.names import is_acronym
from wellread.text.parsed import parse


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing that is named: its name, and the words that stand for it."""

    name: str
    stems: frozenset[str]

    def named_in(self, text: str) -> bool:
        """Whether ``text`` holds a word of its name, or what its letters are short for."""
        if not self.stems.isdisjoint(parse(text).stem_set):
            return True
        coined = any(sign.isdigit() for sign in self.name) or not self.name[1:].islower()
        if coined and len(self.name) > 2 and self.name.casefold() in text.casefold():
            return True  # CO2 in "tCO2eq"
        return is_acronym(self.name) and spells(self.name, text)


def things_asked(analysis: Analysis) -> tuple[Thing, ...]:
    """The things that the question is about by name; dates, numbers and speakers are none."""
    people = {stem for voice in analysis.voices for stem in parse(voice).stems}
    found: list[Thing] = []
    for name in analysis.names:
        stems = parse(name).stem_set
        dated = name[:1].isdigit() or A_DATE.search(name) or A_MONTH.fullmatch(name)
        if not stems or dated or stems & people:
            continue
        titles = [
            one.title for one in analysis.entities if _called(one.span.of(analysis.question), name)
        ]
        found.append(Thing(name, stems.union(*(parse(title).stem_set for title in titles))))
    return tuple(found)


def share_named(things: Sequence[Thing], piece: Evidence, *texts: str) -> float:
    """The share of ``things`` named in ``texts``, or above them in ``piece``; 1 without any."""
    if not things:
        return 1.0
    speakers = [one.speaker for one in piece.turns]
    text = " ".join([piece.hit.document.title, *piece.locator.heading, *speakers, *texts])
    return sum(thing.named_in(text) for thing in things) / len(things)


def _called(said: str, name: str) -> bool:
    return not parse(said).stem_set.isdisjoint(parse(name).stem_set)
