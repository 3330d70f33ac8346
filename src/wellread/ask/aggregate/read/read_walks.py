"""Parses questions about relations into graph traversals, with the collections' own vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby

from wellread.ask.aggregate.read.query import CatalogueQuery, Hop, Name, Noun, Sense, Walk
from wellread.ask.aggregate.read.walk_reading import (
    ANY,
    BOTH,
    NAME,
    NAMES,
    OTHER,
    PATH,
    RELATED,
    ROLES,
    TYPE,
    WHETHER,
    Clause,
    Lexicon,
    WalkWords,
    best_reading,
    learned,
    reading_of,
)
from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.relation_network import RelationKind
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.tokens import tokens_of
from wellread.text.words import stem
from wellread.types import Span
from wellread.values.question import Analysis, NamedEntity

UNNAMED = "←"  # how the inverse of a relation begins that has no name for it
FRAMES = ("things that {words} N", "things that are {words} N", "what {words} N", "{words} N")
NO_WORDS = Lexicon(types={})


class Relations:
    """The relation types of some collections, grouped by family."""

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
    """The stems of the words that carry meaning."""
    return frozenset(stem(one) for one in words if one not in STOP_WORDS | PREPOSITIONS)


@cache
def family_of(words: tuple[str, ...]) -> str:
    """The reading of the relation "A <words> B" as seen from B; empty when unknown.

    Words after those that are understood describe the object ("uses the term").
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
    """Whether a relation expresses similarity in both directions."""
    return family_of(plain_words(relation)) == RELATED


def read_walk(kb: KnowledgeBase, analysis: Analysis) -> CatalogueQuery | None:
    """The traversal that the question asks for; None unless every word is understood."""
    check_collections(kb, analysis.filters)
    inside = analysis.filters.collections
    named = [one for one in analysis.entities if not inside or one.collection in inside]
    if not named:
        return None
    scope = list(dict.fromkeys(one.collection for one in named))
    graph, known = kb.catalogue.graph, vocabulary_of(kb, scope)
    relations = relations_of(graph, scope)
    lexicon = _lexicon(known, relations)
    groups = [tuple(group) for _, group in groupby(sorted(named, key=_where), key=_where)]
    words = WalkWords(tokens_of(analysis.question), groups, lexicon)
    clauses = best_reading(words)
    return _query(analysis, words, clauses, relations) if clauses else None


def _query(
    analysis: Analysis, words: WalkWords, clauses: Sequence[Clause], relations: Relations
) -> CatalogueQuery | None:
    """The query of all clauses; None when a clause names something the graph lacks."""
    first = clauses[0]
    names = [one for one in first.pieces if one.slot in (NAME, NAMES, OTHER)]
    starts = tuple(
        Name(
            phrase=" / ".join(dict.fromkeys(one.title for one in group)),
            entities=tuple((one.collection, one.entity_id) for one in group),
        )
        for piece in names
        for group in piece.entities
    )
    path = first.readings[0] == PATH
    hops: list[Hop] = []
    for clause in () if path else clauses:
        hop = _hop(clause, words.between(clause), relations)
        if hop is None:
            return None
        hops.append(hop)
    whether = WHETHER in first.flags
    if whether and (len(hops) != 1 or len(starts) != 2):
        return None
    # The words of a limit may be a name, or the noun for an answer ("which newsletters").
    taken = [
        words.span(one.first, one.last)
        for clause in clauses
        for one in clause.pieces
        if one.entities or one.types
    ]
    return CatalogueQuery(
        form="path" if path or whether else "walk",
        of=Noun(what="entities", one="entity"),
        related=Walk(starts=starts, hops=tuple(hops), all_of=BOTH in first.flags),
        where=(analysis.filters,),
        soft=tuple(
            limit
            for limit in analysis.constraints
            if not any(limit.span.overlaps(span) for span in taken)
        ),
    )


def _hop(clause: Clause, said: Sequence[str], relations: Relations) -> Hop | None:
    types = next((piece.types for piece in clause.slots(TYPE)), frozenset[str]())
    senses = relations.senses(clause, said)
    if not senses and ANY not in clause.readings:
        return None
    return Hop(senses=senses, types=types, words=" ".join(said))


def _where(entity: NamedEntity) -> tuple[int, int]:
    return entity.span.start, entity.span.end


def _lexicon(known: Vocabulary, relations: Relations) -> Lexicon:
    types: dict[str, set[str]] = {}
    for name in known.entity_types:
        types.setdefault(stem(plain_words(name)[-1]), set()).add(name)
    return Lexicon(
        types={word: frozenset(names) for word, names in types.items()},
        relations=relations.own,
    )
