"""Which relations of a base are meant by a reading (``walk_reading.py``) of a question.

The name of a relation type, its inverse and the words that are declared for it are read as a
question would be ("what is funded by {name}"), so a type that nobody foresaw finds its family; one
that is like no family is asked for in its own words only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from wellread.ask.aggregate.queries.query import Sense
from wellread.ask.aggregate.read.catalogue_reading import Said
from wellread.ask.aggregate.read.walk_reading import (
    ANY,
    PATH,
    RELATED,
    ROLES,
    TYPE,
    Clause,
    Lexicon,
    WalkWords,
    best_reading,
    learned,
    reading_of,
)
from wellread.questions import NamedEntity
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.graph.relation_network import RelationKind
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.tokens import tokens_of
from wellread.text.words import stem
from wellread.types import Span

UNNAMED = "←"  # how the inverse of a relation begins that has no name for it
FRAMES = ("things that {words} N", "things that are {words} N", "what {words} N", "{words} N")
MOST_SAID = 6  # words of a question that may ask for a relation
NO_WORDS = Lexicon(types={}, dimensions={})


class Relations:
    """The relation types of some collections by the families that they are of.

    Attributes:
        own: words of relations that are like no family, as ``Lexicon.relations``.
    """

    def __init__(self, kinds: Sequence[RelationKind]) -> None:
        self._meant: dict[str, dict[Sense, frozenset[str]]] = {}
        self.own: list[tuple[tuple[str, ...], str, Sense]] = []
        for kind in kinds:
            self._add(kind)

    def _add(self, kind: RelationKind) -> None:
        both = kind.type == kind.inverse
        out = Sense(type=kind.type, side="both" if both else "out")
        names = [(name, out) for name in dict.fromkeys((kind.type, *kind.words))]
        if not kind.inverse.startswith(UNNAMED) and not both:
            names.append((kind.inverse, out.flipped()))
        stems = frozenset(one for name, _ in names for one in telling_stems(plain_words(name)))
        for name, sense in names:
            reading = family_of(plain_words(name))
            if not reading:
                self.own += _own(plain_words(name), sense)
                continue
            family, _, role = reading.partition(".")
            if not role:
                sense = Sense(type=kind.type, side="both")
            elif sense in self._meant.get(reading, {}):
                continue  # an earlier name of it says the contrary
            self._meant.setdefault(reading, {})[sense.flipped()] = stems
            if role:
                self._meant.setdefault(f"{family}.{ROLES[role]}", {})[sense] = stems

    def senses(self, clause: Clause, said: Sequence[str]) -> tuple[Sense, ...]:
        """The relations that a clause may mean, read from its name; the first reading decides.

        Of several types of a family those count that share a word with the question, if any do.
        """
        if clause.sense:
            return (clause.sense,)
        for reading in clause.readings:
            known = self._meant.get(reading, {})
            stems = telling_stems(said)
            own = [sense for sense, words in known.items() if words & stems]
            if known:
                return tuple(own or known)
        if ANY in clause.readings and not clause.slots(TYPE):
            return tuple(self._meant.get(RELATED, ()))
        return ()

    def find(self, tokens: Sequence[str], named: Sequence[bool]) -> Iterator[Said]:
        """Words right before a name, or last and behind one, that ask for a relation of it."""
        lexicon = Lexicon(types={}, dimensions={}, relations=self.own)
        for at in range(len(tokens)):
            for last in range(min(at + MOST_SAID, len(tokens)), at, -1):
                before = last < len(tokens) and named[last]
                behind = last == len(tokens) and at > 0 and named[at - 1]
                if any(named[at:last]) or not (before or behind):
                    continue
                said = " ".join(tokens[at:last])
                clause = _read(f"things that {said} N" if before else f"things N {said}", lexicon)
                senses = self.senses(clause, tokens[at:last]) if clause else ()
                if senses:
                    meant = tuple(sense.flipped() for sense in senses) if before else senses
                    yield Said(first=at, last=last, words=said, senses=meant)
                    break


def relations_of(graph: Graph, collections: Sequence[str]) -> Relations:
    """The relation types of these collections."""
    return _relations(tuple(graph.relation_types(collections)) if collections else ())


@lru_cache(maxsize=32)
def _relations(kinds: tuple[RelationKind, ...]) -> Relations:
    return Relations(kinds)


def plain_words(name: str) -> tuple[str, ...]:
    """The words of a relation's name."""
    return tuple(one.plain for one in tokens_of(name.replace("_", " ").replace("-", " ")))


def telling_stems(words: Sequence[str]) -> frozenset[str]:
    """The stems of the words that say something."""
    return frozenset(stem(one) for one in words if one not in STOP_WORDS | PREPOSITIONS)


@cache
def family_of(words: tuple[str, ...]) -> str:
    """The reading that "A <words> B" has, asked from B; empty where it is like none.

    Words behind those that are understood say what it is about ("uses the term").
    """
    for size in range(len(words), 0, -1):
        said = " ".join(words[:size])
        known = _called(words[:size])
        if known:
            return known
        clauses = filter(None, (_read(frame.format(words=said), NO_WORDS) for frame in FRAMES))
        best = max(clauses, key=lambda one: one.score, default=None)
        if best:
            return best.readings[0]
    return ""


def _called(words: tuple[str, ...]) -> str:
    """The reading of words that call a family themselves: "uses", "funded by", "author of"."""
    *others, last = words
    ways: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
        (words, ("{Vs}", "{V}", "{P}"), "object")
    ]
    if last == "by":
        ways.append((tuple(others), ("{Ved}",), "subject"))
    if last == "of":
        ways.append((tuple(others), ("{N}", "{Ns}"), "object"))
    for said, slots, role in ways:
        for piece in learned().called.get(said, ()):
            if piece.slot in slots:
                return reading_of(piece.families[0], ROLES[role] if piece.turned else role)
    return ""


def _read(text: str, lexicon: Lexicon) -> Clause | None:
    """The one clause that a text is whose last capital is a name."""
    tokens = tokens_of(text)
    at = next(one for one in tokens if one.written == "N")
    name = NamedEntity(span=Span(start=at.start, end=at.end), collection="", entity_id="", title="")
    clauses = best_reading(WalkWords(tokens, [(name,)], lexicon))
    fits = len(clauses) == 1 and not clauses[0].flags and clauses[0].readings[0] != PATH
    return clauses[0] if fits else None


def _own(words: tuple[str, ...], sense: Sense) -> Iterator[tuple[tuple[str, ...], str, Sense]]:
    """The words as phrase and verb; of what ends in "by", its verb is turned."""
    stems = tuple(map(stem, words))
    for slot in ("{P}", "{Vs}", "{V}"):
        yield stems, slot, sense
    if words[-1] == "by" and len(words) > 1:
        for slot in ("{Vs}", "{V}", "{Ving}"):
            yield (*stems[:-1],), slot, sense.flipped()
    else:
        yield stems, "{Ved}", sense


def related_both_ways(relation: str) -> bool:
    """Whether a relation says from both sides that things are alike."""
    return family_of(plain_words(relation)) == RELATED
