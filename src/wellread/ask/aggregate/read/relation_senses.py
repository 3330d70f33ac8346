"""Finds in a question the words that ask for a relation, and which relation they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wellread.ask.aggregate.queries.query import FLIPPED, Sense
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.graph.relation_network import Direction, RelationKind
from wellread.text.english_catalogue import (
    ANY_RELATION,
    DETERMINERS,
    FORMS_OF_BE,
    IRREGULAR_PARTICIPLES,
    LIGHT_VERBS,
    NO_PARTICIPLES,
    PHRASAL_VERBS,
    PREPOSITIONS,
    RELATED_BOTH_WAYS,
    RELATION_FAMILIES,
)
from wellread.text.parsed import parse
from wellread.text.words import stem


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
        light = self.written.split()[0] in LIGHT_VERBS or self.head in LIGHT_VERBS
        return light or (self.head, *self.prepositions) in PHRASAL_VERBS


def phrase_of(name: str) -> Phrase | None:
    """A relation's name or a word for it as a phrase; None when it holds no word."""
    plain = [word.lower() for word in parse(name.replace("_", " ").replace("-", " ")).words]
    while len(plain) > 1 and plain[0] in FORMS_OF_BE - {"get"}:
        plain = plain[1:]
    if not plain:
        return None
    last = len(plain)
    while last > 1 and plain[last - 1] in PREPOSITIONS:
        last -= 1
    return Phrase(
        written=" ".join(plain),
        head=head_of(plain[0]),
        rest=tuple(stem(word) for word in plain[1:last] if word not in DETERMINERS),
        prepositions=tuple(plain[last:]),
        participle=is_participle(plain[0]),
    )


def head_of(word: str) -> str:
    """The stem of a word; of an irregular participle, that of its verb."""
    return stem(IRREGULAR_PARTICIPLES.get(word, word))


def is_participle(word: str) -> bool:
    """Whether ``word`` looks like a past participle."""
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and word not in NO_PARTICIPLES)


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
        while place < len(tokens) and tokens[place] in DETERMINERS:
            place += 1
        if place >= len(tokens) or stem(tokens[place]) != wanted:
            return None
        place += 1
    return place


UNNAMED = "←"  # how the inverse of a relation begins that has no name for it
_AGENTS = frozenset({"by", "in", "from"})  # after a passive: who does it, or where
OWN, FAMILY = 2, 1  # how surely a phrase means a relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words of a question that ask for a relation.

    Attributes:
        first, last: the first token and the one after the last.
        senses: what "A <words> B" means, read from A; none means any relation.
    """

    first: int
    last: int
    words: str
    senses: tuple[Sense, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    phrase: Phrase
    sense: Sense
    rank: int


class RelationWords:
    """The phrases that ask for the relations of some collections."""

    def __init__(self, kinds: Sequence[RelationKind]) -> None:
        self._by_head: dict[str, list[_Reading]] = {}
        for kind in kinds:
            for reading in _readings(kind):
                held = self._by_head.setdefault(reading.phrase.head, [])
                if reading not in held:
                    held.append(reading)

    def find(self, tokens: Sequence[str], blocked: Sequence[bool]) -> list[Said]:
        """Every place of ``tokens`` (lower case) that asks for a relation, in order.

        Args:
            blocked: which tokens are part of a name.
        """
        found: list[Said] = []
        place = 0
        while place < len(tokens):
            said = None if blocked[place] else self._at(tokens, blocked, place)
            if said is None:
                place += 1
            else:
                found.append(said)
                place = said.last
        return found

    def _at(self, tokens: Sequence[str], blocked: Sequence[bool], place: int) -> Said | None:
        best: dict[tuple[int, int, int], list[Sense]] = {}  # by how well they fit
        for reading in self._by_head.get(head_of(tokens[place]), ()):
            asked = _read(tokens, blocked, place, reading.phrase)
            if asked is None:
                continue
            phrase, last, fit = asked
            passive = _passive(tokens, blocked, place, phrase)
            same = same_side(phrase, reading.phrase, passive=passive)
            sense = reading.sense if same else reading.sense.flipped()
            best.setdefault((fit, reading.rank, last - place), []).append(sense)
        any_relation = _any_relation(tokens, blocked, place)
        if not best:
            return any_relation
        top = max(best)
        size = top[-1]
        if any_relation and any_relation.last - place > size:
            return any_relation
        return Said(
            first=place,
            last=place + size,
            words=" ".join(tokens[place : place + size]),
            senses=tuple(dict.fromkeys(best[top])),
        )


def relation_words(graph: Graph, collections: Sequence[str]) -> RelationWords:
    """The phrases that ask for the relations of these collections."""
    return _relation_words(tuple(graph.relation_types(collections)) if collections else ())


@lru_cache(maxsize=32)
def _relation_words(kinds: tuple[RelationKind, ...]) -> RelationWords:
    return RelationWords(kinds)


def _readings(kind: RelationKind) -> Iterator[_Reading]:
    """The phrases of one relation: its own, then those that say the same in everyday words."""
    symmetric = kind.type == kind.inverse
    out = Sense(type=kind.type, side="both" if symmetric else "out")
    own = [reading for name in (kind.type, *kind.words) for reading in _reading(name, out, OWN)]
    if not kind.inverse.startswith(UNNAMED):
        own += _reading(kind.inverse, out.flipped(), OWN)
    both_ways = {phrase.written for name in RELATED_BOTH_WAYS if (phrase := phrase_of(name))}
    related = any(reading.phrase.written in both_ways for reading in own)
    for reading in own:
        said_both_ways = reading.phrase.written in both_ways
        sense = Sense(type=kind.type, side="both") if said_both_ways else reading.sense
        yield _Reading(reading.phrase, sense, OWN)
    if related:
        for name in RELATED_BOTH_WAYS:
            yield from _reading(name, Sense(type=kind.type, side="both"), FAMILY)
    for along, against in _families():
        side = _side_in(own, along, against)
        if side is None:
            continue
        sense = Sense(type=kind.type, side="both" if symmetric else side)
        for phrase in along:
            yield _Reading(phrase, sense, FAMILY)
        for phrase in against:
            yield _Reading(phrase, sense.flipped(), FAMILY)


def _reading(name: str, sense: Sense, rank: int) -> list[_Reading]:
    phrase = phrase_of(name)
    return [_Reading(phrase, sense, rank)] if phrase else []


@lru_cache(maxsize=1)
def _families() -> list[tuple[list[Phrase], list[Phrase]]]:
    def phrases(names: Sequence[str]) -> list[Phrase]:
        return [phrase for name in names if (phrase := phrase_of(name))]

    return [(phrases(along), phrases(against)) for along, against in RELATION_FAMILIES]


def _side_in(
    own: Sequence[_Reading], along: Sequence[Phrase], against: Sequence[Phrase]
) -> Direction | None:
    """From which side the relation reads like the family; None when it is not of it."""
    for reading in own:
        for phrases, flip in ((along, False), (against, True)):
            for phrase in phrases:
                if phrase.head != reading.phrase.head or phrase.rest != reading.phrase.rest:
                    continue
                light = phrase.light or reading.phrase.light
                if light and phrase.prepositions != reading.phrase.prepositions:
                    continue
                same = same_side(reading.phrase, phrase, passive=reading.phrase.participle)
                side = reading.sense.side
                return side if same != flip else FLIPPED[side]
    return None


def _read(
    tokens: Sequence[str], blocked: Sequence[bool], place: int, known: Phrase
) -> tuple[Phrase, int, int] | None:
    """The words at ``place`` read as ``known``: as they stand, where they end, how well they fit.

    Missing prepositions are forgiven ("where is X located"), except where the head is light.
    """
    end = next((at for at in range(place + 1, len(tokens)) if blocked[at]), len(tokens))
    following = tokens[place + 1 : end]
    used = starts_with(following, known.rest)
    complete = used is not None
    if used is None:
        if known.light or known.prepositions:
            return None
        used = 0
    last = place + 1 + used
    prepositions: list[str] = []
    while (
        last < end
        and tokens[last] in PREPOSITIONS
        and len(prepositions) < len(known.prepositions) + 1
    ):
        wanted = known.prepositions[len(prepositions) : len(prepositions) + 1]
        if (tokens[last],) != wanted and tokens[last] not in _AGENTS and prepositions:
            break
        prepositions.append(tokens[last])
        last += 1
    if known.light and tuple(prepositions[: len(known.prepositions)]) != known.prepositions:
        return None
    exact = tokens[place] == known.written.split()[0]
    matched = tuple(prepositions) == known.prepositions
    asked = Phrase(
        written=tokens[place],
        head=known.head,
        rest=known.rest if complete else (),
        prepositions=tuple(prepositions),
        participle=is_participle(tokens[place]),
    )
    return asked, last, 4 * len(known.rest) * complete + 2 * matched + exact - 2 * (not complete)


def _passive(tokens: Sequence[str], blocked: Sequence[bool], place: int, phrase: Phrase) -> bool:
    """Whether the phrase is a passive: a participle with "be" or a preposition."""
    if not phrase.participle:
        return False
    if phrase.prepositions:
        return True
    if place and tokens[place - 1] in ("that", "which", "who", "what"):
        return False  # "the people who founded it"
    return any(tokens[at] in FORMS_OF_BE and not blocked[at] for at in range(place))


def _any_relation(tokens: Sequence[str], blocked: Sequence[bool], place: int) -> Said | None:
    for name in ANY_RELATION:
        wanted = name.split()
        last = place + len(wanted)
        if list(tokens[place:last]) == wanted and not any(blocked[place:last]):
            return Said(first=place, last=last, words=name, senses=())
    head = tokens[place]
    if head in ("related", "connected", "linked", "associated", "relate", "relates"):
        follows = tokens[place + 1 : place + 2]
        last = (
            place + 1 + (bool(follows) and follows[0] in ("to", "with") and not blocked[place + 1])
        )
        return Said(first=place, last=last, words=" ".join(tokens[place:last]), senses=())
    return None
