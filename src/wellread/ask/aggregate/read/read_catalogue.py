"""Turns the reading of a question (``catalogue_reading.py``) into catalogue queries.

Returns no query when the question is about the texts, lacks a required slot or asks for something
the catalogue does not hold; passages answer it then.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from wellread.ask.aggregate.read.catalogue_reading import (
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
from wellread.ask.aggregate.read.holding import documents_about
from wellread.ask.aggregate.read.query import (
    PERIODS,
    CatalogueQuery,
    Name,
    Noun,
    Order,
    Topic,
    said,
)
from wellread.ask.aggregate.read.result import limits_of, scope_of
from wellread.ask.retrieve.relax import narrowed
from wellread.ask.retrieve.story_search import WINDOW
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.question import Analysis, Constraint

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
