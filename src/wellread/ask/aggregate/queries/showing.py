"""The sentence of a document that shows that it names a topic: what a row of a count quotes.

A document that is counted by its links or its title alone has none, and its row quotes nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from wellread.ask.aggregate.queries.holding import matches, nodes_of, tokens
from wellread.ask.aggregate.queries.query import Topic
from wellread.ask.aggregate.queries.result import Place, Scope
from wellread.text.sentences import is_sentence, sentence_spans
from wellread.types import Span

MOST_SHOWN = 40  # documents of a result whose texts are looked through again
FRONT = 8_000  # characters of a document in which its authors are named
MOST_LOOKED_AT = 12  # places of one name in one document


def places_naming(scope: Scope, topic: Topic, document_ids: Sequence[str]) -> Mapping[str, Place]:
    """Where each of the documents names the topic first in a whole sentence.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    catalogue = scope.kb.catalogue
    wanted = [
        list(
            dict.fromkeys(
                tokens(said, literal=topic.naming)
                for node in (None, *nodes_of(scope, name))
                for said in ((node.title, *node.aliases) if node else (name.phrase,))
            )
        )
        for name in topic.names
    ]
    ids = list(document_ids)[:MOST_SHOWN]
    facts = catalogue.facts(set(ids))
    whole = [(known, Span(start=0, end=facts[known].characters)) for known in ids if known in facts]
    found: dict[str, Place] = {}
    for (known, _), text in zip(whole, catalogue.texts(whole), strict=True):
        span = _best(text, wanted, literal=topic.naming)
        if span is not None:
            found[known] = Place(document_id=known, version=facts[known].version, span=span)
    return found


def places_signed(
    scope: Scope, authors: Sequence[str], document_ids: Sequence[str]
) -> Mapping[str, Place]:
    """Where the front of each of the documents names one of the authors.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    catalogue = scope.kb.catalogue
    facts = catalogue.facts(set(document_ids[:MOST_SHOWN]))
    fronts = [
        (known, Span(start=0, end=min(FRONT, facts[known].characters)))
        for known in document_ids[:MOST_SHOWN]
        if known in facts
    ]
    spellings = [tokens(author, literal=True) for author in authors]
    found: dict[str, Place] = {}
    for (known, _), text in zip(fronts, catalogue.texts(fronts), strict=True):
        place = min(_places(_plain(text), spellings, literal=True), default=-1)
        if place >= 0:
            span = _sentence_at(text, place)
            found[known] = Place(document_id=known, version=facts[known].version, span=span)
    return found


def _best(text: str, wanted: Sequence[Sequence[tuple[str, ...]]], *, literal: bool) -> Span | None:
    """The sentence that holds most of the names, a whole one rather than a heading."""
    plain = _plain(text)
    held: dict[Span, set[int]] = {}
    for place, spellings in enumerate(wanted):
        for at in _places(plain, spellings, literal=literal):
            held.setdefault(_sentence_at(text, at), set()).add(place)
    ranked = sorted(
        held, key=lambda span: (-len(held[span]), not is_sentence(span.of(text)), span.start)
    )
    return ranked[0] if ranked else None


def _places(plain: str, spellings: Sequence[tuple[str, ...]], *, literal: bool) -> Iterator[int]:
    for spelling in filter(None, spellings):
        yield from islice(matches(plain, spelling, literal=literal), MOST_LOOKED_AT)


def _sentence_at(text: str, place: int) -> Span:
    """The sentence of ``text`` around ``place``."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : end if end >= 0 else len(text)]
    inside = (span for span in sentence_spans(line) if span.start <= place - start < span.end)
    span = next(inside, Span(start=0, end=len(line)))
    return Span(start=start + span.start, end=start + span.end)


def _plain(text: str) -> str:
    """``text`` without accents, letter for letter, so that places stay."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFKD", letter)[0] for letter in text)
