"""Searches by words, by speaker and by date, and what there is when no words are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.ask.retrieve.search import SearchMode, search
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values
from wellread.library.passage_results import Result, spoken, whole
from wellread.types import Filters, Hit, Passage

TURNS = 3  # times as many passages are searched for what one speaker says


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What was found, best first, or listed, newest first.

    Attributes:
        filters: the limits, names as the documents have them.
        total: how many the whole list has; None for a search, which ranks and does not count.
    """

    query: str
    filters: Filters
    results: tuple[Result, ...]
    total: int | None = None


def find(
    kb: KnowledgeBase,
    query: str,
    filters: Filters,
    *,
    mode: SearchMode = "hybrid",
    limit: int = 10,
) -> Results:
    """The best passages for ``query``; with speakers among the limits, their own words.

    Raises:
        RequestError: the query is empty.
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
        StoreError, ModelError: as ``search``.
    """
    query = query.strip()
    if not query:
        raise RequestError(
            "the query is empty", hint="give words, or list by speaker or by date range"
        )
    known = known_values(kb, filters)
    deep = limit * TURNS if known.speakers else limit
    hits = search(kb, query, known, mode=mode, limit=deep)
    found = spoken(kb, hits, known.speakers, query) if known.speakers else whole(kb, hits)
    return Results(query=query, filters=known, results=tuple(found[:limit]))


def newest(kb: KnowledgeBase, filters: Filters, *, limit: int = 10, offset: int = 0) -> Results:
    """What meets the limits, the newest first: each turn of a speaker, else each document's start.

    Raises:
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
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
