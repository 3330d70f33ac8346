"""Reads questions about the graph with the words that its collections know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby

from wellread.ask.aggregate.read.catalogue_reading import Said
from wellread.ask.aggregate.read.query import CatalogueQuery, Hop, Name, Noun, Sense, Walk
from wellread.ask.aggregate.read.walk_reading import (
    ALIKE,
    ANY,
    BOTH,
    BY,
    NAME,
    NAMES,
    OTHER,
    PATH,
    RELATED,
    ROLES,
    SAME,
    TYPE,
    WHETHER,
    Clause,
    Groups,
    Lexicon,
    WalkWords,
    best_reading,
    learned,
    reading_of,
)
from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.vocabulary import ALIASED, Named, Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.relation_network import RelationKind
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.names import singular
from wellread.text.tokens import ARTICLES, Token, tokens_of
from wellread.text.words import stem
from wellread.types import Span
from wellread.values.question import Analysis, Constraint, NamedEntity

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


LEAST_WORDS = 2  # of a name that are said: "the fund" may be any
MOST_WORDS = 6  # of a whole name; longer ones are headlines


def shortened(
    question: str, called_with: Callable[[Sequence[str]], Iterable[Named]], taken: Iterable[Span]
) -> list[NamedEntity]:
    """The entities that are meant by "the" and words of their names, in order.

    Args:
        called_with: the spellings of names that hold some words.
        taken: places of the question that name something already.
    """
    tokens = tokens_of(question)
    held = list(taken)
    found: list[NamedEntity] = []
    for run in _runs(tokens):
        span = Span(start=run[0].start, end=run[-1].start + len(run[-1].written))
        if any(span.overlaps(other) for other in held):
            continue
        meant = _meant_by([token.plain for token in run], called_with)
        if meant is not None:
            held.append(span)
            found.append(
                NamedEntity(
                    span=span,
                    collection=meant.node.collection,
                    entity_id=meant.node.id,
                    title=meant.node.title,
                    type=meant.node.type,
                )
            )
    return found


def _runs(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What follows each "the", the longest first."""
    for place, token in enumerate(tokens):
        if token.plain != "the":
            continue
        last = place + 1
        while (
            last < len(tokens)
            and last - place < MOST_WORDS
            and tokens[last].joined
            and tokens[last].plain not in STOP_WORDS
        ):
            last += 1
        for end in range(last, place + LEAST_WORDS, -1):
            yield tokens[place + 1 : end]


def _meant_by(
    said: Sequence[str], called_with: Callable[[Sequence[str]], Iterable[Named]]
) -> Named | None:
    """The one whose name holds the words ``said`` in order, the last one last."""
    wanted = _numberless(said)
    found: dict[tuple[str, str], Named] = {}
    for form in called_with(wanted):
        if form.rank <= ALIASED and _holds(_words(form.written), wanted):
            found.setdefault((form.node.collection, form.node.id), form)
    return next(iter(found.values())) if len(found) == 1 else None


def _words(name: str) -> list[str]:
    words = [token.plain for token in tokens_of(name)]
    return _numberless(words[1:] if words[0] in ARTICLES else words)


def _numberless(words: Sequence[str]) -> list[str]:
    return [singular(word) or word for word in words]


def _holds(name: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether ``wanted`` are some words of a name, in its order, up to its last one."""
    if not len(wanted) < len(name) <= MOST_WORDS or name[-1] != wanted[-1]:
        return False
    rest = iter(name)
    return all(word in rest for word in wanted)


_ANY_RELATION = (
    "no relation of the knowledge graph is called as the question says; "
    "relations of any type were followed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWalk:
    """A question about the graph as a query.

    Attributes:
        understood: whether its words for the relation are known; else any relation is followed.
    """

    query: CatalogueQuery
    understood: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Where to go from, and over what.

    Attributes:
        taken: places of the question that are names or nouns for what is asked for.
    """

    starts: Groups
    hops: tuple[Hop, ...] = ()
    path: bool = False
    all_of: bool = False
    taken: tuple[Span, ...] = ()


def read_walk(kb: KnowledgeBase, analysis: Analysis) -> ReadWalk | None:
    """What the question asks of the graph; None when it names no entity within the filters.

    A part of a name counts where the question is understood with it.
    """
    check_collections(kb, analysis.filters)
    inside = analysis.filters.collections
    named = [one for one in analysis.entities if not inside or one.collection in inside]
    called_with = vocabulary_of(kb, inside).called_with
    parts = shortened(analysis.question, called_with, [one.span for one in analysis.entities])
    if parts:
        plan = _plan(kb, analysis, sorted((*named, *parts), key=lambda one: one.span.start))
        if plan:
            return _walk(analysis, plan, [_read_as(analysis, part) for part in parts])
    if not named:
        return None
    plan = _plan(kb, analysis, named)
    if plan:
        return _walk(analysis, plan, [])
    starts = tuple(tuple(group) for _, group in groupby(named, key=lambda one: one.span))
    guess = _walk(analysis, _Plan(starts=starts, hops=(Hop(),)), [_ANY_RELATION])
    return replace(guess, understood=False)


def _walk(analysis: Analysis, plan: _Plan, notes: Sequence[str]) -> ReadWalk:
    starts = tuple(
        Name(
            phrase=" / ".join(dict.fromkeys(one.title for one in group)),
            entities=tuple((one.collection, one.entity_id) for one in group),
        )
        for group in plan.starts
    )
    query = CatalogueQuery(
        form="path" if plan.path else "walk",
        of=Noun(what="entities", one="entity"),
        related=Walk(starts=starts, hops=plan.hops, all_of=plan.all_of),
        where=(analysis.filters,),
        soft=tuple(limit for limit in analysis.constraints if not _told_otherwise(limit, plan)),
        notes=tuple(notes),
    )
    return ReadWalk(query=query, understood=True)


def _told_otherwise(constraint: Constraint, plan: _Plan) -> bool:
    """Whether the words of a limit are a name or the noun for an answer ("which newsletters")."""
    return any(constraint.span.overlaps(span) for span in plan.taken)


def _read_as(analysis: Analysis, part: NamedEntity) -> str:
    return f"“{part.span.of(analysis.question)}” was read as “{part.title}”"


def _plan(kb: KnowledgeBase, analysis: Analysis, named: Sequence[NamedEntity]) -> _Plan | None:
    """What the question asks of the graph; None where that is not sure."""
    scope = list(dict.fromkeys(one.collection for one in named))
    graph, known = kb.catalogue.graph, vocabulary_of(kb, scope)
    relations = relations_of(graph, scope)
    lexicon = _lexicon(known, relations)
    tokens = tokens_of(analysis.question)
    meant = dict.fromkeys(
        one for name in named for one in _meant(graph, analysis, name, tokens, lexicon)
    )
    ordered = sorted(meant, key=_where)
    groups = [tuple(group) for _, group in groupby(ordered, key=_where)]
    words = WalkWords(tokens, groups, lexicon)
    clauses = best_reading(words)
    return _Planning(words, relations).plan(clauses) if clauses else None


def _where(entity: NamedEntity) -> tuple[int, int]:
    return entity.span.start, entity.span.end


def _lexicon(known: Vocabulary, relations: Relations) -> Lexicon:
    types: dict[str, set[str]] = {}
    for name in known.entity_types:
        types.setdefault(stem(plain_words(name)[-1]), set()).add(name)
    return Lexicon(
        types={word: frozenset(names) for word, names in types.items()},
        dimensions={stem(plain_words(name)[-1]): name for name in known.dimensions},
        relations=relations.own,
    )


def _meant(
    graph: Graph, analysis: Analysis, name: NamedEntity, tokens: Sequence[Token], lexicon: Lexicon
) -> list[NamedEntity]:
    """``name`` with its namesakes of the type that stands before it ("the device Moth")."""
    before = [token.plain for token in tokens if token.end <= name.span.start][-1:]
    types = lexicon.types.get(stem(before[0]), frozenset()) if before else frozenset()
    if not types or name.type in types:
        return [name]
    nodes = graph.resolve([name.collection], name.span.of(analysis.question))
    return [name] + [
        NamedEntity(
            span=name.span,
            collection=node.collection,
            entity_id=node.id,
            title=node.title,
            type=node.type,
        )
        for node in nodes
        if node.type in types
    ]


class _Planning:
    """Turns clauses into hops, over the relations that a base has."""

    def __init__(self, words: WalkWords, relations: Relations) -> None:
        self._words, self._relations = words, relations

    def plan(self, clauses: Sequence[Clause]) -> _Plan | None:
        """The plan of all clauses; None where one of them asks for what the base has not."""
        first = clauses[0]
        names = [one for one in first.pieces if one.slot in (NAME, NAMES, OTHER)]
        starts = tuple(group for piece in names for group in piece.entities)
        path = first.readings[0] == PATH
        hops: list[Hop] = []
        for clause in () if path else clauses:
            made = self._hops(clause)
            if not made:
                return None
            hops += made
        whether = WHETHER in first.flags
        if whether and (len(hops) != 1 or len(starts) != 2):
            return None
        taken = [one for clause in clauses for one in clause.pieces if one.entities or one.types]
        return _Plan(
            starts=starts,
            hops=tuple(hops),
            path=path or whether,
            all_of=BOTH in first.flags,
            taken=tuple(self._words.span(one.first, one.last) for one in taken),
        )

    def _hops(self, clause: Clause) -> list[Hop]:
        types = [piece.types for piece in clause.slots(TYPE)] or [frozenset()]
        said = self._words.between(clause)
        if clause.readings[0] == ALIKE:
            by = clause.slots(BY)[0].by
            return [Hop(attribute=by, types=types[0], words=" ".join(said))]
        senses = self._relations.senses(clause, said)
        if not senses and ANY not in clause.readings:
            return []
        there = Hop(senses=senses, types=types[0], words=" ".join(said))
        if SAME not in clause.flags:
            return [there]
        back = replace(there, senses=_flipped(senses))
        answers: frozenset[str] = types[0] if types[1:] else frozenset()
        return [replace(there, types=types[-1]), replace(back, types=answers)]


def _flipped(senses: Sequence[Sense]) -> tuple[Sense, ...]:
    return tuple(sense.flipped() for sense in senses)
