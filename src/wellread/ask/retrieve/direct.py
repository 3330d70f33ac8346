"""Finds the passages for a question: as a whole, by persona, by the sides of a comparison.

"Who directed the film in which she made her debut?" needs two passages: the one about her names the
film but no director. When a hit names the title of another document, a second search looks for that
title together with the rest of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from wellread.ask.retrieve.ranking import Found, merged, varied
from wellread.ask.retrieve.search import search, search_within
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.tokens import key_of, tokens_of
from wellread.text.words import stem
from wellread.types import Filters, Hit
from wellread.values.locators import Marks
from wellread.values.question import Analysis

ONE_THING = ("factual", "temporal")  # types of question that ask for one thing
DEEP = 60  # hits among which the words of one speaker are looked for
OPENED = 3  # best documents whose first passage is read too
OTHERS = 0.5  # of its score keeps a passage in which only others name what is asked about


def direct(kb: KnowledgeBase, analysis: Analysis) -> Found:
    """The best passages for the question as a whole, and how their best documents begin."""
    settings = kb.settings.retrieval
    text = analysis.searched
    found = search_within(kb, analysis, text, DEEP if analysis.voices else 2 * settings.top_k)
    candidates = _own_first(kb, analysis, found.hits)
    hits = varied(candidates, settings.top_k, settings.diversity)
    if analysis.type in ONE_THING:
        hits = expand_by_references(kb, text, found.filters, hits)
    if not analysis.voices:
        hits = _with_openings(kb, hits)
    return replace(found, strategy="direct retrieval", hits=tuple(hits))


def _with_openings(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, followed by the first passage of each of the best documents.

    Openings state what a thing is, what a paper contributes and who wrote it.
    """
    first = {hit.document.id: hit for hit in reversed(hits)}
    best = list(dict.fromkeys(hit.document.id for hit in hits))[:OPENED]
    shown = {hit.passage.id for hit in hits}
    openings = kb.catalogue.listings.openings(best)
    led = [
        replace(first[document], passage=opening, ranks=(), similarity=None)
        for document in best
        if (opening := openings.get(document)) and opening.id not in shown
    ]
    return [*hits, *(hit for hit in led if hit.passage.version == hit.document.version)]


def _own_first(kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits reordered by what the requested speakers themselves say in them.

    A passage of several speakers is found for the words of any of them.
    """
    voices = {name.casefold() for name in analysis.voices}
    asked = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    if not voices or not asked:
        return list(hits)
    marks = kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
    scored = []
    for hit, document_marks in zip(hits, marks, strict=True):
        passage = hit.passage
        turns = Marks(document_marks).turns(passage.span)
        own = [turn.span for turn in turns if turn.speaker.casefold() in voices]
        first = passage.span.start
        words = " ".join(passage.text[span.start - first : span.end - first] for span in own)
        share = len(asked & parse(words).stem_set) / len(asked)
        whole = OTHERS + (1 - OTHERS) * share if turns else 1.0
        scored.append(replace(hit, score=hit.score * whole))
    return sorted(scored, key=lambda hit: -hit.score)


def persona(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The persona's own words on the subject, then what names them; None when nobody is named."""
    people = (name for name in analysis.names if name[:1].isupper())
    name = next(iter([*analysis.persona, *people]), "")
    if not name:
        return None
    settings = kb.settings.retrieval
    text = analysis.searched
    speakers = vocabulary_of(kb, analysis.filters.collections).speakers
    asked = {speaker.casefold() for speaker in analysis.filters.speakers}
    spellings = speakers.get(key_of(name), (name,))
    meant = tuple(one for one in spellings if not asked or one.casefold() in asked)
    own, first = Found(), list[Hit]()
    if meant:
        spoken = replace(analysis, filters=replace(analysis.filters, speakers=meant))
        own = search_within(kb, spoken, text, DEEP)
        first = _own_first(kb, replace(analysis, persona=meant), own.hits)
    others = search_within(kb, analysis, text, settings.top_k)
    spoken_ids = {hit.passage.id for hit in first}
    named = [hit for hit in others.hits if hit.passage.id not in spoken_ids and _names(hit, name)]
    hits = varied([*first, *named], settings.top_k, 1.0)
    if not hits:
        return None
    note = (
        f"{name} was not asked this; the answer is drawn from what the sources hold of their views"
    )
    return Found(
        strategy=f"stated views of {name}",
        hits=tuple(hits),
        # Limits that were relaxed in search of what somebody never said are nobody's concern.
        relaxed=_all([own.relaxed if own.hits else (), others.relaxed]),
        failures=_all([own.failures, others.failures]),
        notes=(note,),
    )


def _names(hit: Hit, name: str) -> bool:
    last = re.escape(name.split()[-1].casefold())
    passage = hit.passage
    text = f"{passage.context} {passage.text} {' '.join(passage.speakers)}".casefold()
    return re.search(rf"(?<!\w){last}(?!\w)", text) is not None


T = TypeVar("T")

MOST_SOURCES = 5  # documents that a comparison or a synthesis rests on
DEPTH = 3  # times as many candidates as are used
SYNTHESIS_DIVERSITY = 0.6
_COMPARING = frozenset(
    parse("compare comparison contrast differ difference different similar similarity versus").stems
)


def compare(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Passages about each side of a comparison in turn, then about all sides together.

    None when the question does not name two sides. A note names a side without passages.
    """
    if len(analysis.sides) < 2:
        return None
    settings = kb.settings.retrieval
    topic = shared_topic(analysis)
    sides = [whole_side(side, analysis.sides) for side in analysis.sides]
    limit = settings.top_k if topic else max(settings.top_k, DEEP)
    searched = [search_within(kb, analysis, f"{side} {topic}".strip(), limit) for side in sides]
    about = [
        _about(side, each.hits)[: settings.top_k]
        for side, each in zip(sides, searched, strict=True)
    ]
    together = search_within(kb, analysis, analysis.subject or analysis.question, settings.top_k)
    hits = _of_few_sources(merged([*about, together.hits], 2 * settings.top_k))
    missing = [
        f"nothing was found about “{side}”"
        for side, found in zip(sides, about, strict=True)
        if side in analysis.sides and not found and not _about(side, together.hits)
    ]
    return Found(
        strategy=f"a search for each side ({', '.join(sides)}), then together",
        hits=tuple(varied(hits, settings.top_k, 1.0)),
        relaxed=_all(each.relaxed for each in [*searched, together]),
        failures=_all(each.failures for each in [*searched, together]),
        notes=tuple(missing),
    )


def synthesis(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """Diverse passages from several sources; None when nothing is found."""
    settings = kb.settings.retrieval
    found = search_within(kb, analysis, analysis.searched, DEPTH * settings.top_k)
    if not found.hits:
        return None
    relevance = min(settings.diversity, SYNTHESIS_DIVERSITY)
    hits = varied(_of_few_sources(found.hits), settings.top_k, relevance)
    return replace(found, strategy=f"a wide search, up to {MOST_SOURCES} sources", hits=tuple(hits))


def whole_side(side: str, sides: Sequence[str]) -> str:
    """A side that leans on another's noun ("recent ones") with that noun in its place."""
    *words_before, last = side.split()
    if last.lower() not in ("one", "ones"):
        return side
    noun = next((other.split()[-1] for other in sides if other != side), last)
    return " ".join([*words_before, noun])


def shared_topic(analysis: Analysis) -> str:
    """The terms of the question that belong to no side and do not just ask to compare."""
    named = {stem for side in analysis.sides for stem in parse(side).stems} | _COMPARING
    return " ".join(term for term in analysis.terms if not named.issuperset(parse(term).stems))


def _about(side: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that contain every word of the side's name, in title, heading or text."""
    name = parse(side).stem_set
    return [
        hit
        for hit in hits
        if name.issubset(parse(f"{hit.passage.context}\n{hit.passage.text}").stems)
    ]


def _of_few_sources(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of the first few documents only."""
    few = list(dict.fromkeys(hit.document.id for hit in hits))[:MOST_SOURCES]
    return [hit for hit in hits if hit.document.id in few]


def _all(several: Iterable[Sequence[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for each in several for item in each))


# --- what a passage leads on to ------------------------------------------------------------------

ANCHORS = 3  # hits, best first, one of which has to be about the thing named
MOST_NAMES = 12  # of its passage that are searched for
LED_DEPTH = 40  # hits of that search that are looked at
ADDED = 2  # documents that it leads on to
BEHIND = 6  # hits that stay before them


def expand_by_references(
    kb: KnowledgeBase, text: str, filters: Filters, hits: Sequence[Hit]
) -> list[Hit]:
    """``hits``, best first, with up to two hits in documents that the best ones refer to."""
    asked = frozenset(parse(text).topic_stems)
    anchor = next((hit for hit in hits[:ANCHORS] if _is_about(hit, asked)), None)
    if anchor is None:
        return list(hits)
    about = [hit.passage.text for hit in hits if hit.document.id == anchor.document.id]
    left_open = asked - parse("\n".join((anchor.document.title, *about))).stem_set
    found_names = parse(anchor.passage.text).names
    names = [name for name in found_names if not asked.issuperset(map(stem, name.split()))]
    if not left_open or not names:
        return list(hits)
    words = " ".join(word for word in parse(text).words if stem(word) in left_open)
    query = f"{'; '.join(names[:MOST_NAMES])} {words}"
    told = f" {_key(anchor.passage.text)} "
    shown = {hit.document.id for hit in (*hits[: BEHIND + ADDED], anchor)}
    by_document: dict[str, Hit] = {}
    for hit in search(kb, query, filters, limit=LED_DEPTH):
        title = _key(_bare(hit.document.title))
        if hit.document.id not in shown and title and f" {title} " in told:
            by_document.setdefault(hit.document.id, hit)
    added = list(by_document.values())[:ADDED]
    new = {hit.passage.id for hit in added}
    first, rest = (
        [hit for hit in some if hit.passage.id not in new]
        for some in (hits[:BEHIND], hits[BEHIND:])
    )
    return [*first, *added, *rest]


def _is_about(hit: Hit, asked: Iterable[str]) -> bool:
    """Whether the question names the document of ``hit``."""
    title = parse(_bare(hit.document.title)).stem_set
    return bool(title) and title <= frozenset(asked)


def _bare(title: str) -> str:
    """A title without its disambiguation, such as "Charmed (series)"."""
    return title.partition(" (")[0]


def _key(text: str) -> str:
    return " ".join(token.plain for token in tokens_of(text))
