"""Reads a question for a count or a list: of what, about what, divided by what.

Every word of the question has to be understood. One that is left over means that something is
asked which the catalogue does not know ("how many people live in Oldwick"), and the question is
left to the passages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import Literal

from wellread.ask.aggregate.queries.query import (
    MOST_WORDS,
    CatalogueQuery,
    Noun,
    QueryError,
    Topic,
    Walk,
    nouns,
    said,
    spelling,
)
from wellread.ask.aggregate.queries.result import limits_of, scope_of
from wellread.ask.aggregate.read.question_pieces import (
    Item,
    asked_relation,
    items_of,
    places_of,
    read_topic,
    topic_of,
)
from wellread.ask.aggregate.read.relation_senses import RelationWords, relation_words
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english_catalogue import (
    BEFORE_A_COUNTED_NOUN,
    BESIDE_A_COUNT,
    DIVIDING,
    OF_PEOPLE,
    OF_TIME,
)
from wellread.text.names import singular
from wellread.text.tokens import key_of
from wellread.types import Filters, Span

logger = logging.getLogger(__name__)

By = Literal["year", "month", "author", "speaker", "kind", "source_type", "language", "collection"]

_COUNT = r"how many|how much of|(?:total |overall )?number of|count (?:up )?(?:of|all|the)?"
_LIST = (
    r"list|name|enumerate|show(?: me)?|give(?: me)?(?: a)?(?: complete| full)?(?: list(?: of)?)?"
)
_WHICH = r"which|what(?: are| is)?"
_LEAD = re.compile(
    rf"\b(?:(?P<count>{_COUNT})|(?P<list>{_LIST})|(?P<which>{_WHICH}))\b", re.IGNORECASE
)
# "Newsletters mentioning X": the noun itself opens the question.
_OPENING = re.compile(r"\W*(?:(?:all|every|each|any|the|those)\s+)*", re.IGNORECASE)
_HOW_OFTEN = re.compile(r"\bhow (?:often|frequently|many times)\b", re.IGNORECASE)
_BY: Mapping[str, By] = {
    "year": "year",
    "month": "month",
    "author": "author",
    "writer": "author",
    "speaker": "speaker",
    "kind": "kind",
    "type": "kind",
    "source type": "source_type",
    "language": "language",
    "collection": "collection",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What is to be counted or listed.

    Attributes:
        listed: whether the things themselves are asked for, rather than how many there are.
        noun: what is counted; ``place`` is where it stands, ``span`` reaches from the words that
            ask for a count to it.
        topic: what they have to be about.
        relation: what they have to be related to, or whose relations are meant.
        limits: those read from words that name a value of the taxonomy or a person.
        by: into what the count is divided; a dimension of the taxonomy, too.
    """

    listed: bool
    noun: Noun
    span: Span
    place: Span
    topic: Topic | None = None
    relation: Walk | None = None
    limits: tuple[Filters, ...] = ()
    by: str = ""


def read_counts(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The count or list that the question asks for; none when not all of it is understood.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    collections = scope_of(kb, limits_of(analysis)).collections
    vocabulary = vocabulary_of(kb, collections)
    relations = relation_words(kb.catalogue.graph, collections)
    read = _read_whole(analysis, vocabulary, relations)
    if read is None:
        logger.info("the catalogue does not know what is to be counted: %r", analysis.question)
        return
    with suppress(QueryError):  # of what the catalogue cannot tell, the passages may
        yield CatalogueQuery(
            form="list" if read.listed else "count",
            of=read.noun,
            about=read.topic,
            related=read.relation,
            where=(*limits_of(analysis, [read.place]), *read.limits),
            by=(read.by,) if read.by else (),
        )


def _read_whole(
    analysis: Analysis, vocabulary: Vocabulary, relations: RelationWords
) -> _Read | None:
    """What the question asks to count; None when not all of it is understood."""
    known = nouns(vocabulary)
    often = _HOW_OFTEN.search(analysis.question)
    if often:
        return _how_often(analysis, vocabulary, relations, often.span(), known)
    # "What is the number of ...": the lead that counts says more than the one that asks.
    leads = sorted(_LEAD.finditer(analysis.question), key=lambda lead: lead["which"] is not None)
    for lead in leads:
        found = _noun_after(analysis.question, lead.end(), known)
        if found is not None:
            noun, span = _with_others(*found, analysis)
            start = _Read(
                listed=lead["count"] is None,
                noun=noun,
                span=Span(start=lead.start(), end=span.end),
                place=span,
            )
            return _read(analysis, vocabulary, relations, start)
    opening = _OPENING.match(analysis.question)
    found = _noun_after(analysis.question, opening.end(), known) if opening else None
    if opening is None or found is None or found[1].start != opening.end():
        return None
    noun, span = _with_others(*found, analysis)
    start = _Read(listed=True, noun=noun, span=span, place=span)
    read = _read(analysis, vocabulary, relations, start)
    named = read and (read.topic or any(limit.kind == "author" for limit in analysis.constraints))
    return read if named else None


def _how_often(
    analysis: Analysis,
    vocabulary: Vocabulary,
    relations: RelationWords,
    often: tuple[int, int],
    known: Mapping[str, Noun],
) -> _Read | None:
    """How often something is named, in all documents or in those of one noun."""
    start, end = often
    place = None
    for inside in re.finditer(r"\b(?:in|by)\b", analysis.question[end:]):
        place = place or _noun_after(analysis.question, end + inside.end(), known)
    noun = Noun(what="mentions", one="mention")
    if place and place[0].what == "documents":
        noun = replace(noun, filters=place[0].filters)
    else:
        place = None
    span = Span(start=start, end=end)
    request = _Read(listed=False, noun=noun, span=span, place=place[1] if place else span)
    return _read(analysis, vocabulary, relations, request)


def _read(
    analysis: Analysis,
    vocabulary: Vocabulary,
    relations: RelationWords,
    request: _Read,
) -> _Read | None:
    noun = request.place
    whole = items_of(analysis, noun)
    inside = noun.end <= request.span.end
    before = [item for item in whole if request.span.start <= item.span.start < noun.start]
    before = before if inside else []
    modifiers = [item for item in before if not _lead_word(analysis.question, request, item)]
    taken = (request.span, noun)
    items = [item for item in whole if not any(item.span.overlaps(span) for span in taken)]
    items, by = _divided(items, vocabulary)
    topic, items = read_topic(analysis.question, items, strong=True)
    relation, items = asked_relation(items, relations)
    if topic is None and relation is None:
        topic, items = read_topic(analysis.question, items, strong=False)
    request = replace(request, by=by, topic=topic, relation=relation)
    request, items = _with_values(request, [*modifiers, *items], vocabulary)
    request, items = _with_name(analysis.question, request, modifiers, items)
    empty = _said_by_limits(_all_limits(analysis, request), request, vocabulary)
    left = [
        item
        for item in items
        if item.plain not in BESIDE_A_COUNT and (item.entities or spelling(item.plain) not in empty)
    ]
    clear = request.topic is None or request.topic.clear
    return request if clear and not left else None


def _with_name(
    question: str, request: _Read, modifiers: Sequence[Item], items: Sequence[Item]
) -> tuple[_Read, list[Item]]:
    """A name that stands by itself is the topic: "taproot newsletters", "mentions of taproot"."""
    free = request.topic is None and request.relation is None
    anywhere = request.noun.what in ("mentions", "relations")
    for item in items if free else ():
        if item.entities and (anywhere or item in modifiers):
            topic = topic_of(question, [item])
            return replace(request, topic=topic), [one for one in items if one is not item]
    plain = [item.plain for item in items]
    for of in places_of(["of"], plain)[:1] if free and request.noun.what == "mentions" else ():
        named = list(takewhile(lambda one: one.plain not in BESIDE_A_COUNT, items[of + 1 :]))
        if named:
            left = [*items[:of], *items[of + 1 + len(named) :]]
            return replace(request, topic=topic_of(question, named)), left
    return request, list(items)


def _said_by_limits(
    limits: Sequence[Filters], request: _Read, vocabulary: Vocabulary
) -> frozenset[str]:
    """Words that say nothing more once a limit is understood, as ``spelling`` has them."""
    found: set[str] = set()
    if any(limit.taxonomy for limit in limits):
        found |= {spelling(said(name)) for name in vocabulary.dimensions}
        found |= {"level", "belong", "belongs"}
    people = any(limit.authors or limit.speakers for limit in limits)
    if people or request.noun.what in ("author", "speaker"):
        found |= OF_PEOPLE
    if any(limit.published_from or limit.published_to for limit in limits):
        found |= OF_TIME
    return frozenset(found)


def _all_limits(analysis: Analysis, request: _Read) -> list[Filters]:
    given = [constraint.filters for constraint in analysis.constraints]
    return [analysis.filters, *given, *request.limits]


def _noun_after(text: str, start: int, known: Mapping[str, Noun]) -> tuple[Noun, Span] | None:
    """The noun that the words after a lead come to, and where it stands."""
    places = [match.span() for match in re.finditer(r"[^\W_]+(?:['’\-][^\W_]+)*", text[start:])]
    for first in range(min(len(places), 6)):
        for last in range(min(first + MOST_WORDS, len(places)), first, -1):
            begin, end = start + places[first][0], start + places[last - 1][1]
            noun = known.get(spelling(text[begin:end]))
            if noun is None:
                continue
            # "newsletter authors", but not "newsletters mention"
            more = not singular(text[begin:end].lower().split()[-1])
            further = _noun_right_after(text, end, known) if more else None
            return further or (noun, Span(start=begin, end=end))
        word = text[start + places[first][0] : start + places[first][1]].lower()
        if word in BESIDE_A_COUNT - BEFORE_A_COUNTED_NOUN:
            return None
    return None


def _with_others(noun: Noun, place: Span, analysis: Analysis) -> tuple[Noun, Span]:
    """The noun with those that stand beside it ("papers or transcripts"), where they are meant."""
    for one in analysis.constraints:
        wider = one.span.start <= place.start and place.end < one.span.end
        if noun.what == "documents" and wider and one.kind in ("kind", "source_type"):
            called = " or ".join(map(said, one.value.split(" or ")))
            return replace(noun, one=called, filters=one.filters), one.span
    return noun, place


def _noun_right_after(text: str, end: int, known: Mapping[str, Noun]) -> tuple[Noun, Span] | None:
    """Another noun that follows with nothing between: of "newsletter authors" the authors."""
    match = re.match(r"\s+([^\W_]+)", text[end:])
    noun = known.get(spelling(match.group(1))) if match else None
    if match is None or noun is None:
        return None
    return noun, Span(start=end + match.start(1), end=end + match.end(1))


def _lead_word(question: str, request: _Read, item: Item) -> bool:
    """Whether a word before the noun belongs to the lead and says nothing else."""
    lead = _LEAD.match(question, request.span.start)
    return item.plain in BEFORE_A_COUNTED_NOUN or (
        lead is not None and item.span.start < lead.end()
    )


def _divided(items: Sequence[Item], vocabulary: Vocabulary) -> tuple[list[Item], str]:
    """What the count is divided by ("per year", "by author"), and the other words."""
    dimensions = {spelling(name): name for name in vocabulary.dimensions}
    plain = [item.plain for item in items]
    for words in DIVIDING:
        for place, size in product(places_of(words, plain)[:1], (2, 1)):
            tail = items[place + len(words) : place + len(words) + size]
            said = spelling(" ".join(item.plain for item in tail))
            found = _BY.get(said) or dimensions.get(said)
            followed = items[place + len(words) + size :][:1]
            if found and len(tail) == size and not any(item.entities for item in followed):
                return [*items[:place], *items[place + len(words) + size :]], found
    return list(items), ""


def _with_values(
    request: _Read, items: Sequence[Item], vocabulary: Vocabulary
) -> tuple[_Read, list[Item]]:
    """Words that name a value of the taxonomy, a source type or a person become limits."""
    left = list(items)
    limits = list(request.limits)
    place = 0
    while place < len(left):
        for size in range(min(5, len(left) - place), 0, -1):
            part = left[place : place + size]
            if any(not item.plain or item.plain in BESIDE_A_COUNT for item in (part[0], part[-1])):
                continue
            limit = _limit(" ".join(item.plain for item in part), vocabulary)
            if limit is not None:
                limits.append(limit)
                left[place : place + size] = []
                break
        else:
            place += 1
    return replace(request, limits=tuple(limits)), left


def _limit(words: str, vocabulary: Vocabulary) -> Filters | None:
    key = key_of(words)
    if pairs := vocabulary.taxonomy.get(key, ()):
        return Filters(taxonomy=pairs)
    if names := vocabulary.authors.get(key, ()):
        return Filters(authors=names)
    if names := vocabulary.speakers.get(key, ()):
        return Filters(speakers=names)
    types = {key_of(name.replace("_", " ")): name for name in vocabulary.source_types}
    return Filters(source_types=(types[key],)) if key in types else None
