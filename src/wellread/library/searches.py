"""Searches by words, speaker and date, listings, and a passage with its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.ask.retrieve.search import SearchMode, search
from wellread.ask.understand.vocabulary import respelt, vocabulary_of
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Filters, Hit, Locator, Mark, Passage, Span
from wellread.values.answers import Question
from wellread.values.locators import Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A passage with the part of it that is shown.

    Attributes:
        hit: its ``ranks`` are empty, and its score says nothing, when it was listed, not searched.
        span, text: the whole passage, or what a speaker says in it.
    """

    hit: Hit
    span: Span
    text: str
    locator: Locator


def whole(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Result]:
    """The hits, each passage shown whole."""
    return [
        _result(hit, hit.passage.span, marks)
        for hit, marks in zip(hits, _marks(kb, hits), strict=True)
    ]


def spoken(
    kb: KnowledgeBase, hits: Sequence[Hit], speakers: Sequence[str], query: str
) -> list[Result]:
    """The hits, of each passage only the turn of the speakers that says most about ``query``.

    A passage may hold several turns. Those where the query's words are another's come last, in
    the same order among themselves.
    """
    names = {name.casefold() for name in speakers}
    wanted = set(parse(query).stems)
    found: list[tuple[bool, Result]] = []
    for hit, marks in zip(hits, _marks(kb, hits), strict=True):
        turns = _turns(hit.passage, marks, names) or [hit.passage.span]
        shares = [len(wanted & _stems(hit.passage, turn)) for turn in turns]
        best = max(range(len(turns)), key=lambda place: (shares[place], len(turns[place])))
        another = not shares[best] and bool(wanted & _stems(hit.passage, hit.passage.span))
        found.append((another, _result(hit, turns[best], marks)))
    return [result for _, result in sorted(found, key=lambda pair: pair[0])]


def _result(hit: Hit, span: Span, marks: Sequence[Mark]) -> Result:
    return Result(
        hit=hit, span=span, text=_text(hit.passage, span), locator=Marks(marks).locate(span)
    )


def _turns(passage: Passage, marks: Sequence[Mark], names: set[str]) -> list[Span]:
    """The parts of the passage that one of the speakers says without a break by another."""
    turns = (one for one in Marks(marks).turns(passage.span) if one.speaker.casefold() in names)
    return [_trimmed(passage, one.span) for one in turns if _text(passage, one.span).strip()]


def _trimmed(passage: Passage, span: Span) -> Span:
    text = _text(passage, span)
    start = span.start + len(text) - len(text.lstrip())
    return Span(start=start, end=start + len(text.strip()))


def _stems(passage: Passage, span: Span) -> set[str]:
    return set(parse(_text(passage, span)).stems)


def _text(passage: Passage, span: Span) -> str:
    offset = passage.span.start
    return passage.text[span.start - offset : span.end - offset]


def _marks(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[tuple[Mark, ...]]:
    return kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])


LEAST_PREFIX = 8  # characters of an id that are taken for the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Passages of one document in reading order.

    Attributes:
        passage_id: the one that was asked for.
        ordinal, passages: it is number ``ordinal`` (from 0) of the document's ``passages``.
    """

    document: DocumentFacts
    passage_id: str
    ordinal: int
    passages: int
    results: tuple[Result, ...]


def around(
    kb: KnowledgeBase,
    passage_id: str,
    before: int = 2,
    after: int = 2,
    collections: Sequence[str] = (),
) -> Surroundings:
    """The passage (its id, or how that begins) with ``before`` and ``after`` others."""
    found = kb.catalogue.listings.place(passage_id, collections)
    exact = [place for place in found if place.id == passage_id]
    if not exact and len(passage_id) >= LEAST_PREFIX:
        exact = found
    if len(exact) > 1:
        raise UnknownNameError(
            f"several passages have an id that begins with {passage_id!r}",
            hint="give more characters of the id",
        )
    near = kb.catalogue.neighbours(exact[0].id, before, after) if exact else []
    facts = kb.catalogue.facts({passage.document_id for passage in near})
    if not near or near[0].document_id not in facts:
        raise UnknownNameError(
            f"there is no passage {passage_id!r}",
            hint="search again: ids change with the text of their document",
        )
    document = facts[near[0].document_id]
    hits = [Hit(passage=passage, document=document, score=0.0) for passage in near]
    return Surroundings(
        document=document,
        passage_id=exact[0].id,
        ordinal=exact[0].ordinal,
        passages=exact[0].passages,
        results=tuple(whole(kb, hits)),
    )


TURNS = 3  # times as many passages are searched for what one speaker says


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What was found, best first, or listed, newest first.

    Attributes:
        filters: the limits, names as the documents have them.
        total: how many the whole list has; None for a search, which ranks and does not count.
        notes: which words of the query were searched for in another spelling, in words.
    """

    query: str
    filters: Filters
    results: tuple[Result, ...]
    total: int | None = None
    notes: tuple[str, ...] = ()


def find(
    kb: KnowledgeBase,
    query: str,
    filters: Filters,
    *,
    mode: SearchMode = "hybrid",
    limit: int = 10,
) -> Results:
    """The best passages for ``query``; with speakers among the limits, their own words.

    A word that stands nowhere is taken for the nearest one that does, as in a question.
    """
    query = query.strip()
    if not query:
        raise RequestError(
            "the query is empty", hint="give words, or list by speaker or by date range"
        )
    known = known_values(kb, filters)
    deep = limit * TURNS if known.speakers else limit
    words = vocabulary_of(kb, known.collections)
    read, notes = respelt(kb, Question(text=query, filters=known), words)
    hits = search(kb, read.text, known, mode=mode, limit=deep)
    found = spoken(kb, hits, known.speakers, read.text) if known.speakers else whole(kb, hits)
    return Results(query=query, filters=known, results=tuple(found[:limit]), notes=notes)


def newest(kb: KnowledgeBase, filters: Filters, *, limit: int = 10, offset: int = 0) -> Results:
    """What meets the limits, newest first: each turn of a speaker, else each document's start."""
    known = known_values(kb, filters)
    listings = kb.catalogue.listings
    if known.speakers:
        page = listings.said(known, limit, offset)
        hits = _listed(kb, page.passages)
        return Results(
            query="",
            filters=known,
            results=tuple(spoken(kb, hits, known.speakers, "")),
            total=page.total,
        )
    listed = listings.documents(known, limit, offset)
    ids = [one.facts.id for one in listed.documents]
    openings = listings.openings(ids)
    hits = _listed(kb, [openings[known] for known in ids if known in openings])
    return Results(query="", filters=known, results=tuple(whole(kb, hits)), total=listed.total)


def _listed(kb: KnowledgeBase, passages: Sequence[Passage]) -> list[Hit]:
    facts = kb.catalogue.facts({passage.document_id for passage in passages})
    return [
        Hit(passage=passage, document=facts[passage.document_id], score=0.0)
        for passage in passages
        if passage.document_id in facts
    ]
