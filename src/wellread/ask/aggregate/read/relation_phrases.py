"""Phrases that name a relation, as they are compared: head, voice, preposition.

"uses", "used by" and "is X used" have the same head; whether two phrases read a relation from the
same side follows from their voice and preposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.text.parsed import parse
from wellread.text.stems import stem

PREPOSITIONS = frozenset(
    "of to in on by from with for about at as under into upon after before without over".split()
)
ARTICLES = frozenset({"the", "a", "an", "its", "their", "some", "any"})
BE = frozenset("is are was were be been being gets get".split())
# Heads that mean nothing without what follows them.
LIGHT = frozenset("come go be have has get take put make give lie stand be do cannot at in".split())
# With this preposition they are other verbs: what runs on tides does not run them.
PHRASAL = frozenset({("run", "on"), ("draw", "on")})
_IRREGULAR = {
    "paid": "pay",
    "built": "build",
    "made": "make",
    "written": "write",
    "led": "lead",
    "run": "run",
    "held": "hold",
    "given": "give",
    "taken": "take",
    "driven": "drive",
    "known": "know",
    "shown": "show",
    "taught": "teach",
    "found": "find",
    "chosen": "choose",
    "grown": "grow",
    "kept": "keep",
    "begun": "begin",
    "said": "say",
    "spoken": "speak",
    "told": "tell",
    "seen": "see",
    "drawn": "draw",
    "born": "bear",
    "bought": "buy",
    "sold": "sell",
    "won": "win",
    "lent": "lend",
    "sent": "send",
    "met": "meet",
    "done": "do",
    "put": "put",
    "cut": "cut",
    "set": "set",
    "worn": "wear",
    "thrown": "throw",
    "brought": "bring",
    "caught": "catch",
    "fed": "feed",
    "understood": "understand",
}
_PLAIN_PASTS = frozenset({"need", "speed", "feed", "seed", "embed", "exceed", "succeed", "proceed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """How a relation is named ("funded by", "has part", "speaks of").

    Attributes:
        head: stem of the word that carries the meaning.
        rest: the words between it and the prepositions, as stems.
        prepositions: those at the end.
        participle: whether the head is one ("funded"), so that the phrase may be passive.
    """

    written: str
    head: str
    rest: tuple[str, ...]
    prepositions: tuple[str, ...]
    participle: bool

    @property
    def light(self) -> bool:
        """Whether the head says nothing without the rest and the prepositions."""
        light = self.written.split()[0] in LIGHT or self.head in LIGHT
        return light or (self.head, *self.prepositions) in PHRASAL


def phrase_of(name: str) -> Phrase | None:
    """A relation's name or a word for it as a phrase; None when it holds no word."""
    plain = [word.lower() for word in parse(name.replace("_", " ").replace("-", " ")).words]
    while len(plain) > 1 and plain[0] in BE - {"get"}:
        plain = plain[1:]
    if not plain:
        return None
    last = len(plain)
    while last > 1 and plain[last - 1] in PREPOSITIONS:
        last -= 1
    return Phrase(
        written=" ".join(plain),
        head=head_of(plain[0]),
        rest=tuple(stem(word) for word in plain[1:last] if word not in ARTICLES),
        prepositions=tuple(plain[last:]),
        participle=is_participle(plain[0]),
    )


def head_of(word: str) -> str:
    """The stem of a word; of an irregular participle, that of its verb."""
    return stem(_IRREGULAR.get(word, word))


def is_participle(word: str) -> bool:
    """Whether ``word`` looks like a past participle."""
    return word in _IRREGULAR or (word.endswith("ed") and word not in _PLAIN_PASTS)


def same_side(asked: Phrase, known: Phrase, *, passive: bool) -> bool:
    """Whether two phrases with the same head read a relation from the same side.

    Args:
        passive: whether ``asked`` is used as a passive in its sentence.
    """
    known_passive = known.participle and not _active_with(known, asked)
    more = asked.prepositions[len(known.prepositions) :]
    if passive and not known.participle and set(more) & {"in", "from"} and known.prepositions:
        return False  # "spoken of in X": X speaks of it
    if "by" in asked.prepositions or "by" in known.prepositions:
        return ("by" in asked.prepositions or passive) == known_passive
    if asked.prepositions[:1] and asked.prepositions[:1] == known.prepositions[:1]:
        return True
    return passive == known.participle


def _active_with(known: Phrase, asked: Phrase) -> bool:
    """Whether ``known`` is a participle that means its verb ("related to", "relates to")."""
    return (
        "by" not in known.prepositions
        and bool(known.prepositions)
        and known.prepositions[:1] == asked.prepositions[:1]
    )


def starts_with(tokens: Sequence[str], rest: Sequence[str]) -> int | None:
    """How many of ``tokens`` are needed to read ``rest`` (stems), articles skipped; or None."""
    place = 0
    for wanted in rest:
        while place < len(tokens) and tokens[place] in ARTICLES:
            place += 1
        if place >= len(tokens) or stem(tokens[place]) != wanted:
            return None
        place += 1
    return place
