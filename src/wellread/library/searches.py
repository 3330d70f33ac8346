"""Searches passages, lists the newest ones, and returns a passage with its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.ask.retrieve.search import SearchMode, search
from wellread.ask.understand.vocabulary import correct_spelling, vocabulary_of
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Filters, Hit, Locator, Mark, Passage, Span
from wellread.values.answers import Question
from wellread.values.locators import Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A passage with the part of it to show.

    Attributes:
        hit: in a listing, its ``ranks`` are empty and its score is meaningless.
        span, text: the whole passage, or a speaker's turn in it.
    """

    hit: Hit
    span: Span
    text: str
    locator: Locator


def whole_passages(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Result]:
    """The hits as results that show the whole passage."""
    return [
        _result(hit, hit.passage.span, marks)
        for hit, marks in zip(hits, _marks(kb, hits), strict=True)
    ]


def spoken_turns(
    kb: KnowledgeBase, hits: Sequence[Hit], speakers: Sequence[str], query: str
) -> list[Result]:
    """The hits as results that show only the speakers' turn most relevant to ``query``.

    Passages in which only other speakers use the query's words come last, in unchanged order.
    """
    names = {name.casefold() for name in speakers}
    query_stems = set(parse(query).stems)
    ranked: list[tuple[bool, Result]] = []
    for hit, marks in zip(hits, _marks(kb, hits), strict=True):
        turns = _turns(hit.passage, marks, names) or [hit.passage.span]
        shares = [len(query_stems & _stems(hit.passage, turn)) for turn in turns]
        best = max(range(len(turns)), key=lambda index: (shares[index], len(turns[index])))
        by_others = not shares[best] and bool(query_stems & _stems(hit.passage, hit.passage.span))
        ranked.append((by_others, _result(hit, turns[best], marks)))
    return [result for _, result in sorted(ranked, key=lambda pair: pair[0])]


def _result(hit: Hit, span: Span, marks: Sequence[Mark]) -> Result:
    return Result(
        hit=hit, span=span, text=_text(hit.passage, span), locator=Marks(marks).locate(span)
    )


def _turns(passage: Passage, marks: Sequence[Mark], names: set[str]) -> list[Span]:
    turns = (turn for turn in Marks(marks).turns(passage.span) if turn.speaker.casefold() in names)
    return [_trimmed(passage, turn.span) for turn in turns if _text(passage, turn.span).strip()]


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


MIN_ID_PREFIX = 8  # minimum length of an id prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Consecutive passages of one document.

    Attributes:
        passage_id: the requested passage.
        ordinal, passages: its number (from 0) and the number of passages in the document.
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
    """The passage with this id or id prefix, with ``before`` and ``after`` neighbours."""
    starting = kb.catalogue.listings.starting(passage_id, collections)
    matches = [match for match in starting if match[0] == passage_id]
    if not matches and len(passage_id) >= MIN_ID_PREFIX:
        matches = starting
    if len(matches) > 1:
        raise UnknownNameError(
            f"several passages have an id that starts with {passage_id!r}",
            hint="give more characters of the id",
        )
    neighbours = kb.catalogue.neighbours(matches[0][0], before, after) if matches else []
    facts = kb.catalogue.facts({passage.document_id for passage in neighbours})
    if not neighbours or neighbours[0].document_id not in facts:
        raise UnknownNameError(
            f"there is no passage {passage_id!r}",
            hint="search again: ids change when their document changes",
        )
    full_id, ordinal, count = matches[0]
    document = facts[neighbours[0].document_id]
    hits = [Hit(passage=passage, document=document, score=0.0) for passage in neighbours]
    return Surroundings(
        document=document,
        passage_id=full_id,
        ordinal=ordinal,
        passages=count,
        results=tuple(whole_passages(kb, hits)),
    )


MAX_SNIPPET_CHARS = 320  # a longer sentence is cut around its first match
MAX_WORD_CHARS = 40  # a longer one is cut, as is text without spaces
SnippetPiece = tuple[str, bool]
_BREAKS = re.compile(r"\s*\n\s*")


def snippet(text: str, query: str) -> list[SnippetPiece]:
    """The sentences of ``text`` with most words of ``query``, as pieces; True: one of the words.

    The words are found in all their forms. Without any, it is the beginning of the text.
    """
    wanted = frozenset(parse(query).topic_stems)
    matches = [
        (Span(start=token.start, end=token.start + len(token.written)), stems)
        for token in parse(text).tokens
        if (stems := wanted & parse(token.written).stem_set)
    ]
    window = max(
        _windows(text, [span.start for span, _ in matches]),
        key=lambda part: len({s for span, stems in matches if part.overlaps(span) for s in stems}),
        default=Span(start=0, end=len(text)),
    )
    pieces: list[SnippetPiece] = [("… ", False)] if text[: window.start].strip() else []
    at = window.start
    for span, _ in matches:
        if window.start <= span.start and span.end <= window.end:
            pieces += [(text[at : span.start], False), (span.of(text), True)]
            at = span.end
    rest = " …" if text[window.end :].strip() else ""
    pieces.append((text[at : window.end] + rest, False))
    return [(_BREAKS.sub("\n", piece), marked) for piece, marked in pieces if piece]


def _windows(text: str, matches: Sequence[int]) -> Iterator[Span]:
    """From each sentence on, as many as fit; a sentence that does not fit is cut at a match."""
    sentences = sentence_spans(text)
    for number, first in enumerate(sentences):
        end = first.end
        for following in sentences[number + 1 :]:
            if following.end - first.start > MAX_SNIPPET_CHARS:
                break
            end = following.end
        inside = [at for at in matches if first.start <= at < first.end]
        start = first.start
        if end - start > MAX_SNIPPET_CHARS:
            if inside and inside[0] - start > MAX_SNIPPET_CHARS // 2:
                begin = inside[0] - MAX_SNIPPET_CHARS // 4
                start = max(text.rfind(" ", start, begin) + 1, begin - MAX_WORD_CHARS)
            end = start + MAX_SNIPPET_CHARS
            end = max(text.rfind(" ", start, end), end - MAX_WORD_CHARS)
        yield Span(start=start, end=end)


SPEAKER_DEPTH = 3  # factor for the number of passages searched when speakers are given


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Search results, best first, or a listing, newest first.

    Attributes:
        filters: the filters, with names as spelled in the documents.
        total: length of the whole list; None for a search, which does not count.
        notes: spelling corrections of the query, as text; ``searched``: the corrected query.
    """

    query: str
    filters: Filters
    results: tuple[Result, ...]
    total: int | None = None
    notes: tuple[str, ...] = ()
    searched: str = ""


def find(
    kb: KnowledgeBase,
    query: str,
    filters: Filters,
    *,
    mode: SearchMode = "hybrid",
    limit: int = 10,
) -> Results:
    """The best passages for ``query``; with speakers in the filters, only their own words.

    Unknown words are corrected to the nearest known spelling, as in a question.
    """
    query = query.strip()
    if not query:
        raise RequestError(
            "the query is empty", hint="give words, or list by speaker or date range"
        )
    resolved = known_values(kb, filters)
    depth = limit * SPEAKER_DEPTH if resolved.speakers else limit
    vocabulary = vocabulary_of(kb, resolved.collections)
    corrected, notes = correct_spelling(kb, Question(text=query, filters=resolved), vocabulary)
    hits = search(kb, corrected.text, resolved, mode=mode, limit=depth)
    speakers = resolved.speakers
    if speakers:
        results = spoken_turns(kb, hits, speakers, corrected.text)
    else:
        results = whole_passages(kb, hits)
    return Results(
        query=query,
        filters=resolved,
        results=tuple(results[:limit]),
        notes=notes,
        searched=corrected.text,
    )


def newest(kb: KnowledgeBase, filters: Filters, *, limit: int = 10, offset: int = 0) -> Results:
    """The newest matches: turns of the speakers, or the beginnings of documents."""
    resolved = known_values(kb, filters)
    listings = kb.catalogue.listings
    if resolved.speakers:
        total, passages = listings.spoken_passages(resolved, limit, offset)
        facts = kb.catalogue.facts({passage.document_id for passage in passages})
        hits = [
            Hit(passage=passage, document=facts[passage.document_id], score=0.0)
            for passage in passages
            if passage.document_id in facts
        ]
        results = spoken_turns(kb, hits, resolved.speakers, "")
    else:
        listed = listings.documents(resolved, limit, offset)
        documents = {document.facts.id: document.facts for document in listed.documents}
        openings = listings.openings(list(documents))
        hits = [
            Hit(passage=openings[document_id], document=document, score=0.0)
            for document_id, document in documents.items()
            if document_id in openings
        ]
        results, total = whole_passages(kb, hits), listed.total
    return Results(query="", filters=resolved, results=tuple(results), total=total)
