"""Reads questions as queries to the catalogue: counts and lists, and walks over relations.

There is no query when the question is about the texts, lacks a required slot or asks for something
that the catalogue does not hold; passages answer it then.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import groupby
from typing import Literal

from wellread.ask.aggregate.catalogue_reading import (
    BY,
    INSIDE_A_TOPIC,
    NOUN,
    NUMBER,
    PERSON,
    VALUE,
    WHEN,
    WITHIN,
    Piece,
    QuestionWords,
    Reading,
    best_reading,
    learned,
)
from wellread.ask.aggregate.holding import documents_about
from wellread.ask.aggregate.query import (
    PERIODS,
    CatalogueQuery,
    Hop,
    Name,
    Noun,
    Order,
    Sense,
    Topic,
    Walk,
    limits_of,
    said,
    scope_of,
)
from wellread.ask.aggregate.walk_reading import (
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
    OwnWords,
    WalkWords,
    best_clauses,
    reading_of,
    walk_model,
)
from wellread.ask.retrieve.direct import WINDOW
from wellread.ask.retrieve.search import check_collections, narrowed
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.name_records import ALIAS_WORD, WORD, singular_form
from wellread.store.catalogue.documents.relation_network import RelationKind
from wellread.text.english import PREPOSITIONS, STOP_WORDS
from wellread.text.parsed import stem
from wellread.text.tokens import Token, tokens_of
from wellread.types import Filters, Span
from wellread.values.question import Analysis, Constraint, NamedEntity

logger = logging.getLogger(__name__)

DOCUMENT = Noun(what="documents", one="document")
STORY = Noun(what="stories", one="story")
_NOT_RECENT = "nothing is from the last 30 days, so the newest of all dates is listed"
PEOPLE: Mapping[str, tuple[Literal["author", "speaker"], Order]] = {
    "author": ("author", ""),
    "speaker": ("speaker", ""),
    "busiest_author": ("author", "most"),
    "busiest_speaker": ("speaker", "most"),
}
SHOWN = 3  # the next ones too: the first that has the word may mean something else by it
NEWS_ITSELF = frozenset("new newest news headlines".split())  # of no earlier subject


def read_catalogue(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The catalogue queries for the question, best first; none if it is about texts."""
    collections = scope_of(kb, limits_of(analysis)).collections
    vocabulary = vocabulary_of(kb, collections)
    words = QuestionWords(analysis, vocabulary)
    reading = best_reading(words, learned())
    if reading is None:
        logger.info("no question to the catalogue: %r", analysis.question)
        return
    yield from (query for query in _queries(kb, words, reading) if query.fits)


def _queries(kb: KnowledgeBase, words: QuestionWords, reading: Reading) -> Iterator[CatalogueQuery]:
    name = reading.name
    plain = _plain(words, reading)
    what = plain.of.what
    if name == "count":
        yield replace(plain, form="count", by=plain.by[:1])
    elif plain.about and not plain.about.clear:
        return  # a clause is read from the texts
    elif name == "exists" and what == "entities":
        yield plain
    elif name == "list" and what == "entities":
        yield _entities(words.analysis, plain)
    elif name in ("list", "exists", "most", "fewest"):
        yield _listed(name, plain)
    elif name == "mentions":
        of = Noun(what="mentions", one="mention", filters=plain.of.filters)
        yield replace(plain, form="count", of=of)
    elif name == "values" and what == "documents":
        of = Noun(what="values", one=said(plain.by[0]), names=plain.by)
        yield replace(plain, form="count", of=of, by=(), where=(*plain.where, plain.of.filters))
    elif name in PEOPLE:
        person, order = PEOPLE[name]
        yield replace(plain, of=Noun(what=person, one=person), order=order)
    elif name == "trend":
        yield replace(plain, form="trend", by=tuple(one for one in plain.by if one in PERIODS))
    elif name in ("missing", "coverage"):
        yield from _coverage(kb, reading, plain)
    elif what in ("documents", "stories"):
        yield from _by_date(kb, words, reading, plain)


def _plain(words: QuestionWords, reading: Reading) -> CatalogueQuery:
    """A list query over the contents of the reading's slots."""
    of = next((piece.noun for piece in reading.filled(NOUN) if piece.noun), DOCUMENT)
    if not reading.filled(NOUN) and reading.filled(VALUE) and words.vocabulary.entity_types:
        of = Noun(what="entities", one="entity")
    limits = [piece.filters for piece in reading.pieces if piece.slot in WITHIN and piece.filters]
    beside = [one.filters for one in words.analysis.constraints if one.kind == "language"]
    if reading.topic:  # "any news about ..." is asked of articles
        beside += words.kinds_beside(reading.pieces)
    return CatalogueQuery(
        form="list",
        of=of,
        about=_topic(words, reading),
        where=(words.analysis.filters, *limits, *beside),
        by=tuple(piece.by for piece in reading.filled(BY)[:1] if of.what == "documents"),
        limit=next((piece.number for piece in reading.filled(NUMBER)), None),
    )


def _listed(name: str, plain: CatalogueQuery) -> CatalogueQuery:
    if name in ("most", "fewest"):
        order: Order = "most" if name == "most" else "fewest"
        return replace(plain, order=order)
    return replace(plain, form="exists" if name == "exists" else "list", by=())


def _entities(analysis: Analysis, plain: CatalogueQuery) -> CatalogueQuery:
    """A list query for entities, grouped and ranked unless all of them are wanted."""
    if analysis.type == "counting" or (plain.about and plain.about.naming):
        return plain
    kinds = ("kind", "source_type", "taxonomy")
    soft = tuple(one for one in analysis.constraints if one.kind not in kinds)
    return replace(plain, order="relevance", soft=soft)


def _coverage(
    kb: KnowledgeBase, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """A query for coverage or missing parts, by the dimensions that are named."""
    named = dict.fromkeys(piece.by for piece in reading.filled(BY))
    by = [one for one in named if one != "quarter"][:2]
    missing = reading.name == "missing"
    if missing and not by:
        yield replace(plain, form="missing", by=())
        return
    if plain.about and not by:
        thing = Name(phrase=f"{plain.about.names[0].phrase} coverage")
        if documents_about(scope_of(kb, plain.where), Topic(names=(thing,))).counts:
            return  # the texts speak of such a coverage: it is no matter of the base
    yield replace(plain, form="coverage", by=tuple(by))


def _by_date(
    kb: KnowledgeBase, words: QuestionWords, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """A query for the first or last documents on a topic, or for the newest material."""
    named = bool(plain.about or reading.filled(PERSON))
    if reading.name == "oldest" or named:
        order: Order = "oldest" if reading.name == "oldest" else "latest"
        yield replace(plain, order=order, limit=plain.limit or SHOWN)
        return
    bare = not reading.filled(NOUN) and not reading.filled(WHEN)
    if bare and words.analysis.context and NEWS_ITSELF.isdisjoint(words.plain):
        return  # "Any updates?" is about what was asked before
    yield from _newest(kb, words, reading, plain)


def _newest(
    kb: KnowledgeBase, words: QuestionWords, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """The newest stories of the asked time, else of the last 30 days, else of all dates.

    Documents stand in where there are no stories of the time.
    """
    analysis = words.analysis
    times = [one for one in analysis.constraints if one.kind == "time"]
    where = plain.where
    if times:
        where = tuple(replace(one, published_from=None, published_to=None) for one in where[1:])
        where = (plain.where[0], *where)
    for time, relaxed, notes in _times(where, times):
        for thing in (plain.of,) if reading.filled(NOUN) else (STORY, DOCUMENT):
            yield CatalogueQuery(
                form="list",
                of=thing,
                where=(*where, time),
                order="newest",
                limit=plain.limit or analysis.max_clusters or kb.settings.qa.max_clusters,
                relaxed=relaxed,
                notes=notes,
            )


def _times(
    where: Sequence[Filters], times: Sequence[Constraint]
) -> Iterator[tuple[Filters, tuple[Constraint, ...], tuple[str, ...]]]:
    """The asked time, else the last days; then all dates. With the limits let go of, and a note."""
    if any(limit.published_from or limit.published_to for limit in where):
        yield Filters(), (), ()
        return
    now = datetime.now(UTC)
    lately = Filters(published_from=now - WINDOW, published_to=now + timedelta(days=1))
    asked = narrowed(Filters(), times) if times else lately
    if asked is not None:
        yield asked, (), ()
    yield Filters(), tuple(times), () if times else (_NOT_RECENT,)


def _topic(words: QuestionWords, reading: Reading) -> Topic | None:
    """The topic that the reading's topic pieces name."""
    pieces = reading.topic
    if not pieces:
        return None
    divides = ("and", "or") if any(piece.entities for piece in pieces) else ("or",)
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.slot in divides:
            parts.append([])
        else:
            parts[-1].append(piece)
    names = tuple(_name(words, part) for part in map(_trimmed, parts) if part)
    every = not any(piece.slot == "or" for piece in pieces)
    return Topic(names=names, every=every, naming=reading.naming)


def _trimmed(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces without leading filler words."""
    kept = list(pieces)
    while kept and kept[0].slot in INSIDE_A_TOPIC:
        kept.pop(0)
    return kept


def _name(words: QuestionWords, pieces: Sequence[Piece]) -> Name:
    phrase = words.span(pieces[0].first, pieces[-1].last).of(words.analysis.question)
    phrase = re.sub(r"^[\s\"'“‘«]+|[\s\"'”’»]+$", "", phrase)
    entities = pieces[0].entities if len(pieces) == 1 else ()
    keys = tuple((one.collection, one.entity_id) for one in entities)
    return Name(phrase=phrase, entities=keys)


UNNAMED = "←"  # how the inverse of a relation begins that has no name for it
FRAMES = ("things that {words} N", "things that are {words} N", "what {words} N", "{words} N")
MIN_WORDS = 2  # of a part of a name: "the fund" may be any


class Relations:
    """The relation types of some collections, grouped by family."""

    def __init__(self, kinds: Sequence[RelationKind]) -> None:
        self._meant: dict[str, dict[Sense, frozenset[str]]] = {}
        self.own: list[OwnWords] = []
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
        clauses = filter(None, (_read(frame.format(words=said)) for frame in FRAMES))
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
    for phrase, slots, role in ways:
        for piece in walk_model().called.get(phrase, ()):
            if piece.slot in slots:
                return reading_of(piece.families[0], ROLES[role] if piece.turned else role)
    return ""


def _read(text: str) -> Clause | None:
    """The one clause that a text is whose last capital is a name."""
    tokens = tokens_of(text)
    at = next(one for one in tokens if one.written == "N")
    name = NamedEntity(span=Span(start=at.start, end=at.end), collection="", entity_id="", title="")
    clauses = best_clauses(WalkWords(tokens, [(name,)], {}))
    fits = len(clauses) == 1 and not clauses[0].flags and clauses[0].readings[0] != PATH
    return clauses[0] if fits else None


def _own(words: tuple[str, ...], sense: Sense) -> Iterator[OwnWords]:
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
    """The traversal that the question asks for; None unless every word is understood.

    Where the names leave a word, a part of one more name may be meant ("the seagrass programme").
    """
    check_collections(kb, analysis.filters)
    inside = analysis.filters.collections
    named = [one for one in analysis.entities if not inside or one.collection in inside]
    tokens = tokens_of(analysis.question)
    spans = list(_unnamed(tokens, named))
    if not (named or spans):
        return None
    known = vocabulary_of(kb, [one.collection for one in named] or inside)
    relations = relations_of(kb.catalogue.graph, known.collections)
    types = _types_by_stem(known)
    words = WalkWords(tokens, _groups(named), types, relations.own)
    if clauses := best_clauses(words) if named else []:
        return _query(analysis, words, clauses, relations)
    for span in spans:
        unknown = NamedEntity(span=span, collection="", entity_id="", title="")
        words = WalkWords(tokens, _groups([*named, unknown]), types, relations.own)
        if not best_clauses(words):
            continue
        phrase = span.of(analysis.question)
        if node := _named_in_part(kb, known.collections, phrase):
            meant = replace(
                unknown, collection=node.collection, entity_id=node.id, title=node.title
            )
            words = WalkWords(tokens, _groups([*named, meant]), types, relations.own)
            query = _query(analysis, words, best_clauses(words), relations)
            note = f"“{phrase}” was read as “{node.title}”"
            return replace(query, notes=(note,)) if query else None
    return None


def _groups(named: Sequence[NamedEntity]) -> list[tuple[NamedEntity, ...]]:
    """The entities in the order of the question, namesakes together."""
    return [tuple(group) for _, group in groupby(sorted(named, key=_where), key=_where)]


def _unnamed(tokens: Sequence[Token], named: Sequence[NamedEntity]) -> Iterator[Span]:
    """The words after each "the" that may be a part of a name, the longest first."""
    for place, token in enumerate(tokens):
        last = place + 1
        while (
            token.plain == "the"
            and last < len(tokens)
            and tokens[last].joined
            and tokens[last].plain not in STOP_WORDS
        ):
            last += 1
        for end in range(last, place + MIN_WORDS, -1):
            span = Span(start=tokens[place + 1].start, end=tokens[end - 1].end)
            if not any(span.overlaps(one.span) for one in named):
                yield span


def _named_in_part(kb: KnowledgeBase, collections: Sequence[str], phrase: str) -> EntityNode | None:
    """The only entity that has a name with all words of ``phrase``."""
    wanted = {singular_form(token.plain) for token in tokens_of(phrase)}
    ids = kb.catalogue.names.with_words(collections, wanted, (WORD, ALIAS_WORD))
    nodes = [
        node
        for node in kb.catalogue.graph.described_by(ids)
        if any(
            wanted <= {singular_form(token.plain) for token in tokens_of(name)}
            for name in (node.title, *node.aliases)
        )
    ]
    return nodes[0] if len(nodes) == 1 else None


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


def _types_by_stem(known: Vocabulary) -> dict[str, frozenset[str]]:
    """The stem of the last word of each entity type to the types that end in it."""
    types: dict[str, frozenset[str]] = {}
    for name in known.entity_types:
        word = stem(plain_words(name)[-1])
        types[word] = types.get(word, frozenset()) | {name}
    return types
