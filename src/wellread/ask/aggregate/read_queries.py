"""Reads questions as catalogue queries: counts, lists, and walks over relations.

There is no query if the question is about the content of texts, lacks a required slot or asks for
something that the catalogue does not record; it is then answered from passages.
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
    LIMIT_SLOTS,
    NOUN,
    NUMBER,
    PERSON,
    VALUE,
    WHEN,
    WORDS_INSIDE_TOPICS,
    Piece,
    QuestionWords,
    Reading,
    best_reading,
    load_model,
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
    noun_for_type,
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
DEFAULT_DATED_LIMIT = 3  # documents; the very first may use the word in another sense
NEWS_WORDS = frozenset("new newest news headlines".split())  # questions with these need no context


def read_catalogue(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The catalogue queries for the question, best first; none if it is about texts."""
    collections = scope_of(kb, limits_of(analysis)).collections
    vocabulary = vocabulary_of(kb, collections)
    words = QuestionWords(analysis, vocabulary)
    reading = best_reading(words, load_model())
    if reading is None:
        logger.info("no question to the catalogue: %r", analysis.question)
        return
    yield from (query for query in _queries(kb, words, reading) if query.fits)


def _queries(kb: KnowledgeBase, words: QuestionWords, reading: Reading) -> Iterator[CatalogueQuery]:
    name = reading.name
    plain = _list_query(words, reading)
    what = plain.of.what
    if name == "count":
        yield replace(plain, form="count", by=plain.by[:1])
    elif plain.about and not plain.about.clear:
        return  # a clause as topic is answered from passages
    elif name == "exists" and what == "entities":
        yield plain
    elif name == "list" and what == "entities":
        yield _entity_list(words.analysis, plain)
    elif name in ("most", "fewest"):
        yield replace(plain, order="most" if name == "most" else "fewest")
    elif name in ("list", "exists"):
        yield replace(plain, form="exists" if name == "exists" else "list", by=())
    elif name == "mentions":
        of = Noun(what="mentions", one="mention", filters=plain.of.filters)
        yield replace(plain, form="count", of=of)
    elif name == "values" and what == "documents":
        of = Noun(what="values", one=noun_for_type(plain.by[0]), names=plain.by)
        yield replace(plain, form="count", of=of, by=(), where=(*plain.where, plain.of.filters))
    elif name in PEOPLE:
        person, order = PEOPLE[name]
        yield replace(plain, of=Noun(what=person, one=person), order=order)
    elif name == "trend":
        periods = tuple(field for field in plain.by if field in PERIODS)
        yield replace(plain, form="trend", by=periods)
    elif name in ("missing", "coverage"):
        yield from _coverage(kb, reading, plain)
    elif what in ("documents", "stories"):
        yield from _by_date(kb, words, reading, plain)


def _list_query(words: QuestionWords, reading: Reading) -> CatalogueQuery:
    """A list query with the contents of the reading's slots; other forms are made from it."""
    of = next((piece.noun for piece in reading.filled(NOUN) if piece.noun), DOCUMENT)
    if not reading.filled(NOUN) and reading.filled(VALUE) and words.vocabulary.entity_types:
        of = Noun(what="entities", one="entity")
    limits = [part.filters for part in reading.pieces if part.slot in LIMIT_SLOTS and part.filters]
    limits += [limit.filters for limit in words.analysis.constraints if limit.kind == "language"]
    if reading.topic:  # "any news about ..." asks for articles
        limits += words.limits_outside_nouns(reading.pieces)
    return CatalogueQuery(
        form="list",
        of=of,
        about=_topic(words, reading),
        where=(words.analysis.filters, *limits),
        by=tuple(piece.by for piece in reading.filled(BY)[:1] if of.what == "documents"),
        limit=next((piece.number for piece in reading.filled(NUMBER)), None),
    )


def _entity_list(analysis: Analysis, plain: CatalogueQuery) -> CatalogueQuery:
    """A list query for entities, grouped and ranked unless all of them are wanted."""
    if analysis.type == "counting" or (plain.about and plain.about.naming):
        return plain
    kinds = ("kind", "source_type", "taxonomy")
    soft = tuple(constraint for constraint in analysis.constraints if constraint.kind not in kinds)
    return replace(plain, order="relevance", soft=soft)


def _coverage(
    kb: KnowledgeBase, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """A query for coverage or missing parts, by the dimensions in the question."""
    fields = dict.fromkeys(piece.by for piece in reading.filled(BY))
    by = [field for field in fields if field != "quarter"][:2]
    missing = reading.name == "missing"
    if missing and not by:
        yield replace(plain, form="missing", by=())
        return
    if plain.about and not by:
        coverage_name = Name(phrase=f"{plain.about.names[0].phrase} coverage")
        if documents_about(scope_of(kb, plain.where), Topic(names=(coverage_name,))).counts:
            return  # the texts use the phrase ("wind coverage"): not about the collection
    yield replace(plain, form="coverage", by=tuple(by))


def _by_date(
    kb: KnowledgeBase, words: QuestionWords, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """A query for the first or last documents on a topic, or for the newest material."""
    has_topic = bool(plain.about or reading.filled(PERSON))
    if reading.name == "oldest" or has_topic:
        order: Order = "oldest" if reading.name == "oldest" else "latest"
        yield replace(plain, order=order, limit=plain.limit or DEFAULT_DATED_LIMIT)
        return
    is_bare = not reading.filled(NOUN) and not reading.filled(WHEN)
    if is_bare and words.analysis.context and NEWS_WORDS.isdisjoint(words.plain):
        return  # "Any updates?" refers to the question before
    yield from _newest(kb, words, reading, plain)


def _newest(
    kb: KnowledgeBase, words: QuestionWords, reading: Reading, plain: CatalogueQuery
) -> Iterator[CatalogueQuery]:
    """The newest stories of the asked time, else of the last 30 days, else of all dates.

    If there are no stories of the time, documents are listed.
    """
    analysis = words.analysis
    times = [limit for limit in analysis.constraints if limit.kind == "time"]
    where = plain.where
    if times:
        where = tuple(replace(limit, published_from=None, published_to=None) for limit in where[1:])
        where = (plain.where[0], *where)
    for time, relaxed, notes in _time_limits(where, times):
        for noun in (plain.of,) if reading.filled(NOUN) else (STORY, DOCUMENT):
            yield CatalogueQuery(
                form="list",
                of=noun,
                where=(*where, time),
                order="newest",
                limit=plain.limit or analysis.max_clusters or kb.settings.qa.max_clusters,
                relaxed=relaxed,
                notes=notes,
            )


def _time_limits(
    where: Sequence[Filters], times: Sequence[Constraint]
) -> Iterator[tuple[Filters, tuple[Constraint, ...], tuple[str, ...]]]:
    """Yield the times to search in turn, each with the limits that it drops and its notes."""
    if any(limit.published_from or limit.published_to for limit in where):
        yield Filters(), (), ()
        return
    now = datetime.now(UTC)
    last_days = Filters(published_from=now - WINDOW, published_to=now + timedelta(days=1))
    time = narrowed(Filters(), times) if times else last_days
    if time is not None:
        yield time, (), ()
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
    trimmed = list(pieces)
    while trimmed and trimmed[0].slot in WORDS_INSIDE_TOPICS:
        trimmed.pop(0)
    return trimmed


def _name(words: QuestionWords, pieces: Sequence[Piece]) -> Name:
    phrase = words.span(pieces[0].first, pieces[-1].last).of(words.analysis.question)
    phrase = re.sub(r"^[\s\"'“‘«]+|[\s\"'”’»]+$", "", phrase)
    entities = pieces[0].entities if len(pieces) == 1 else ()
    keys = tuple((entity.collection, entity.entity_id) for entity in entities)
    return Name(phrase=phrase, entities=keys)


UNNAMED_INVERSE = "←"  # the first character of an inverse relation without a name of its own
CLAUSE_FRAMES = ("things that {0} N", "things that are {0} N", "what {0} N", "{0} N")
MIN_PART_WORDS = 2  # "the fund" is too short to be a part of a name


class Relations:
    """The relation types of some collections, grouped by family."""

    def __init__(self, kinds: Sequence[RelationKind]) -> None:
        self._meant: dict[str, dict[Sense, frozenset[str]]] = {}
        self.own_words: list[OwnWords] = []
        for kind in kinds:
            self._add(kind)

    def _add(self, kind: RelationKind) -> None:
        both = kind.type == kind.inverse
        out = Sense(type=kind.type, side="both" if both else "out")
        names = [(name, out) for name in dict.fromkeys((kind.type, *kind.words))]
        if not kind.inverse.startswith(UNNAMED_INVERSE) and not both:
            names.append((kind.inverse, out.flipped()))
        stems = frozenset().union(*(content_stems(plain_words(name)) for name, _ in names))
        for name, sense in names:
            reading = family_of(plain_words(name))
            if not reading:
                self.own_words += _own_words(plain_words(name), sense)
                continue
            family, _, role = reading.partition(".")
            if not role:
                sense = Sense(type=kind.type, side="both")
            elif sense in self._meant.get(reading, {}):
                continue  # an earlier name of the relation has the opposite direction
            self._meant.setdefault(reading, {})[sense.flipped()] = stems
            if role:
                self._meant.setdefault(f"{family}.{ROLES[role]}", {})[sense] = stems

    def senses(self, clause: Clause, clause_words: Sequence[str]) -> tuple[Sense, ...]:
        """The relations that a clause may mean, as seen from its name.

        The first known reading decides; relations that share a word with the clause come alone.
        """
        if clause.sense:
            return (clause.sense,)
        for reading in clause.readings:
            senses = self._meant.get(reading, {})
            stems = content_stems(clause_words)
            sharing_a_word = [sense for sense, words in senses.items() if words & stems]
            if senses:
                return tuple(sharing_a_word or senses)
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
    return tuple(token.plain for token in tokens_of(name.replace("_", " ").replace("-", " ")))


def content_stems(words: Sequence[str]) -> frozenset[str]:
    """The stems of the words that carry meaning."""
    return frozenset(stem(word) for word in words if word not in STOP_WORDS | PREPOSITIONS)


@cache
def family_of(words: tuple[str, ...]) -> str:
    """The reading of the relation "A <words> B" as seen from B; empty if unknown.

    Words after the part that is understood describe the object ("uses the term").
    """
    for size in range(len(words), 0, -1):
        phrase = " ".join(words[:size])
        family = _family_in_lexicon(words[:size])
        if family:
            return family
        clauses = filter(None, (_only_clause(frame.format(phrase)) for frame in CLAUSE_FRAMES))
        best = max(clauses, key=lambda clause: clause.score, default=None)
        if best:
            return best.readings[0]
    return ""


def _family_in_lexicon(words: tuple[str, ...]) -> str:
    """The reading of words that the lexicon has: "uses", "funded by", "author of"."""
    *others, last = words
    ways: list[tuple[tuple[str, ...], tuple[str, ...], str]] = [
        (words, ("{Vs}", "{V}", "{P}"), "object")
    ]
    if last == "by":
        ways.append((tuple(others), ("{Ved}",), "subject"))
    if last == "of":
        ways.append((tuple(others), ("{N}", "{Ns}"), "object"))
    for phrase, slots, role in ways:
        for piece in walk_model().lexicon.get(phrase, ()):
            if piece.slot in slots:
                return reading_of(piece.families[0], ROLES[role] if piece.turned else role)
    return ""


def _only_clause(text: str) -> Clause | None:
    """Read a text as a single clause in which the word "N" is the name."""
    tokens = tokens_of(text)
    span = next(Span(start=word.start, end=word.end) for word in tokens if word.written == "N")
    name = NamedEntity(span=span, collection="", entity_id="", title="")
    clauses = best_clauses(WalkWords(tokens, [(name,)], {}))
    fits = len(clauses) == 1 and not clauses[0].flags and clauses[0].readings[0] != PATH
    return clauses[0] if fits else None


def _own_words(words: tuple[str, ...], sense: Sense) -> Iterator[OwnWords]:
    """The words as a phrase and as a verb; words that end in "by" are a passive verb."""
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
    """Read the graph query that the question asks for; None unless every word is understood.

    Words outside the known names may be a part of one more name ("the seagrass programme").
    """
    check_collections(kb, analysis.filters)
    collections = analysis.filters.collections
    named = [
        name for name in analysis.entities if not collections or name.collection in collections
    ]
    tokens = tokens_of(analysis.question)
    spans = list(_unnamed(tokens, named))
    if not (named or spans):
        return None
    vocabulary = vocabulary_of(kb, [entity.collection for entity in named] or collections)
    relations = relations_of(kb.catalogue.graph, vocabulary.collections)
    types = _types_by_stem(vocabulary)
    words = WalkWords(tokens, _groups(named), types, relations.own_words)
    if clauses := best_clauses(words) if named else []:
        return _walk_query(analysis, words, clauses, relations)
    for span in spans:
        unresolved = NamedEntity(span=span, collection="", entity_id="", title="")
        words = WalkWords(tokens, _groups([*named, unresolved]), types, relations.own_words)
        if not best_clauses(words):
            continue
        phrase = span.of(analysis.question)
        if node := _named_in_part(kb, vocabulary.collections, phrase):
            resolved = NamedEntity(
                span=span, collection=node.collection, entity_id=node.id, title=node.title
            )
            words = WalkWords(tokens, _groups([*named, resolved]), types, relations.own_words)
            query = _walk_query(analysis, words, best_clauses(words), relations)
            note = f"“{phrase}” was read as “{node.title}”"
            return replace(query, notes=(note,)) if query else None
    return None


def _groups(named: Sequence[NamedEntity]) -> list[tuple[NamedEntity, ...]]:
    """Group the entities by their place in the question; namesakes share a group."""
    in_order = sorted(named, key=_start_and_end)
    return [tuple(group) for _, group in groupby(in_order, key=_start_and_end)]


def _unnamed(tokens: Sequence[Token], named: Sequence[NamedEntity]) -> Iterator[Span]:
    """Yield the words after each "the" that may be a part of a name, the longest first."""
    for position, token in enumerate(tokens):
        last = position + 1
        while (
            token.plain == "the"
            and last < len(tokens)
            and tokens[last].joined
            and tokens[last].plain not in STOP_WORDS
        ):
            last += 1
        for end in range(last, position + MIN_PART_WORDS, -1):
            span = Span(start=tokens[position + 1].start, end=tokens[end - 1].end)
            if not any(span.overlaps(entity.span) for entity in named):
                yield span


def _named_in_part(kb: KnowledgeBase, collections: Sequence[str], phrase: str) -> EntityNode | None:
    """Return the entity that has a name with all words of ``phrase``, if it is the only one."""
    phrase_words = {singular_form(token.plain) for token in tokens_of(phrase)}
    ids = kb.catalogue.names.with_words(collections, phrase_words, (WORD, ALIAS_WORD))
    nodes = [
        node
        for node in kb.catalogue.graph.described_by(ids)
        if any(
            phrase_words <= {singular_form(token.plain) for token in tokens_of(name)}
            for name in (node.title, *node.aliases)
        )
    ]
    return nodes[0] if len(nodes) == 1 else None


def _walk_query(
    analysis: Analysis, words: WalkWords, clauses: Sequence[Clause], relations: Relations
) -> CatalogueQuery | None:
    """Build the query from all clauses; None if the graph has no relation for one of them."""
    first = clauses[0]
    names = [piece for piece in first.pieces if piece.slot in (NAME, NAMES, OTHER)]
    starts = tuple(
        Name(
            phrase=" / ".join(dict.fromkeys(entity.title for entity in group)),
            entities=tuple((entity.collection, entity.entity_id) for entity in group),
        )
        for piece in names
        for group in piece.entities
    )
    path = first.readings[0] == PATH
    hops: list[Hop] = []
    for clause in () if path else clauses:
        hop = _hop(clause, words.relation_words(clause), relations)
        if hop is None:
            return None
        hops.append(hop)
    whether = WHETHER in first.flags
    if whether and (len(hops) != 1 or len(starts) != 2):
        return None
    # A limit read from words of a name or of the type asked for ("which newsletters") is none.
    used_spans = [
        words.span(piece.first, piece.last)
        for clause in clauses
        for piece in clause.pieces
        if piece.entities or piece.types
    ]
    return CatalogueQuery(
        form="path" if path or whether else "walk",
        of=Noun(what="entities", one="entity"),
        related=Walk(starts=starts, hops=tuple(hops), all_of=BOTH in first.flags),
        where=(analysis.filters,),
        soft=tuple(
            limit
            for limit in analysis.constraints
            if not any(limit.span.overlaps(span) for span in used_spans)
        ),
    )


def _hop(clause: Clause, words: Sequence[str], relations: Relations) -> Hop | None:
    types = next((piece.types for piece in clause.slots(TYPE)), frozenset[str]())
    senses = relations.senses(clause, words)
    if not senses and ANY not in clause.readings:
        return None
    return Hop(senses=senses, types=types, words=" ".join(words))


def _start_and_end(entity: NamedEntity) -> tuple[int, int]:
    return entity.span.start, entity.span.end


def _types_by_stem(vocabulary: Vocabulary) -> dict[str, frozenset[str]]:
    """The entity types by the stem of their last word."""
    types: dict[str, frozenset[str]] = {}
    for name in vocabulary.entity_types:
        word = stem(plain_words(name)[-1])
        types[word] = types.get(word, frozenset()) | {name}
    return types
