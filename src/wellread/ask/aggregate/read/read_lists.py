"""Reads questions for lists of entities, for gaps, for coverage and for trends."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from wellread.ask.aggregate.queries.holding import documents_about
from wellread.ask.aggregate.queries.query import (
    CatalogueQuery,
    Name,
    Noun,
    Topic,
    nouns,
    said,
    spelling,
)
from wellread.ask.aggregate.queries.result import limits_of, scope_of
from wellread.ask.aggregate.read.question_pieces import (
    Item,
    items_of,
    noun_of,
    places_of,
    read_topic,
    topic_of,
)
from wellread.ask.understand.vocabulary import MOST_WORDS, Vocabulary, pairs_of, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue.documents.name_keys import PHRASE
from wellread.text.english import STOP_WORDS
from wellread.text.english_catalogue import AROUND_A_TREND, BESIDE_A_GAP
from wellread.text.english_questions import FRAMING
from wellread.text.english_types import OUR_COVERAGE
from wellread.text.tokens import Token, tokens_of
from wellread.text.words import stem
from wellread.types import Filters, Span

Pair = tuple[str, str]  # dimension and value

# Words of exploratory questions that say nothing about what is looked for.
_FRAMING = frozenset(map(stem, FRAMING))


def read_list(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The entities of the types and values in the question's words; none where more is asked.

    The words that are left have to name a topic ("about food", "dealing with the sea") or say
    nothing: what else things have to be or do ("rely on eltoo") only the texts tell. Longer values
    are read before shorter ones.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    scope = scope_of(kb, (analysis.filters,)).collections
    known = vocabulary_of(kb, scope)
    types = known.entity_types
    tokens = [noun_of(token.plain) for token in tokens_of(analysis.question)]
    left = [True] * len(tokens)
    ends = range(1, MOST_WORDS + 1)
    phrases = [" ".join(tokens[at : at + size]) for at in range(len(tokens)) for size in ends]
    named = kb.catalogue.names.called(scope, (PHRASE,), phrases)
    kept = (one.value for those in named.values() for one in those)
    pairs = {pair for pair in pairs_of(kept) if pair[1] not in types}
    values: dict[Pair, None] = {}
    for pair in sorted(pairs, key=lambda pair: (-len(pair[1]), pair)):
        phrase = [noun_of(token.plain) for token in tokens_of(pair[1].replace("-", " "))]
        for place in places_of(phrase, tokens):
            span = range(place, place + len(phrase))
            if all(left[at] for at in span) or values:
                values[pair] = None
                for at in span:
                    left[at] = False
    asked = set()
    for name in sorted(types):
        for place in places_of([noun_of(token.plain) for token in tokens_of(name)], tokens):
            asked.add(name)
            left[place] = False
    dimensions = {noun_of(name) for name in known.dimensions}
    free = [token for token, own in zip(tokens_of(analysis.question), left, strict=True) if own]
    telling = [token for token in free if _tells(token, analysis, dimensions)]
    topic = _topic_places(analysis, types)
    if not (asked or values) or not all(_inside(token, topic) for token in telling):
        return
    of = Noun(what="entities", one="entity", names=tuple(sorted(asked)))
    words = " ".join(token.plain for token in telling)
    about = Topic(names=(Name(phrase=words),)) if words else None
    # A node may be a newsletter or a recording; to explore is to look for things with an entry.
    kinds = ("kind", "source_type")
    yield CatalogueQuery(
        form="list",
        of=of,
        about=about,
        where=(analysis.filters, *([Filters(taxonomy=tuple(values))] if values else [])),
        soft=tuple(limit for limit in analysis.constraints if limit.kind not in kinds),
        order="relevance",
    )


def _tells(token: Token, analysis: Analysis, dimensions: Collection[str]) -> bool:
    """Whether a word says what is asked for, and not only that something is, or within what."""
    frame = token.plain in STOP_WORDS or stem(token.plain) in _FRAMING
    limits = [constraint.span for constraint in analysis.constraints]
    return not (frame or noun_of(token.plain) in dimensions or _inside(token, limits))


def _inside(token: Token, places: Iterable[Span]) -> bool:
    return any(place.start < token.end and token.start < place.end for place in places)


def _topic_places(analysis: Analysis, types: Iterable[str]) -> list[Span]:
    """Where the words stand that say what things are about, and those right before their noun."""
    items = items_of(analysis, _NOWHERE)
    asked = {noun_of(name) for name in types}
    places = [item.span for item, after in pairwise(items) if noun_of(after.plain) in asked]
    for strong in (True, False):
        topic, left = read_topic(analysis.question, items, strong=strong)
        if topic and topic.clear:
            return [*places, *(item.span for item in items if item not in left)]
    return places


_MISSING = re.compile(
    r"\b(?:(?:what|which)(?: (?:is|are|do|does|has|have)|['’]s)? (?:still |yet )?"
    r"(?:missing|lacking|gaps?)|gaps? (?:in|on|about)|"
    r"(?:what|which) .*\bnot (?:yet )?(?:covered|documented|there)|"
    r"what (?:do|does|don['’]t|doesn['’]t) (?:you|we|it|the \w+)(?: not)? "
    r"(?:know|have|cover|lack))\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:any|some|an?|no)\s+(?P<noun>\w+(?:\s+\w+)?)", re.IGNORECASE)
_NOWHERE = Span(start=0, end=0)


def read_gaps(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """Whether something is there, or what is missing; none when the question asks for more.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    collections = scope_of(kb, limits_of(analysis)).collections
    noun, span = _noun(analysis.question, vocabulary_of(kb, collections))
    topic, understood = _gap_topic(analysis, span or _NOWHERE)
    if not understood:
        return
    lacking = _MISSING.search(analysis.question) is not None
    where = limits_of(analysis, [span] if span else ())
    limited = scope_of(kb, where).limited or bool(noun and noun.filters != Filters())
    if lacking or topic or (analysis.constraints and limited):
        yield CatalogueQuery(
            form="missing" if lacking else "exists",
            of=noun or Noun(what="documents", one="document"),
            about=topic,
            where=where,
        )


def read_coverage(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """What the material covers: altogether, on a topic, or by one or two dimensions.

    Raises:
        UnknownCollectionError, StoreError: as ``read_gaps``.
    """
    where = limits_of(analysis)
    vocabulary = vocabulary_of(kb, scope_of(kb, where).collections)
    by = _dimensions(analysis.question, vocabulary)
    ours = OUR_COVERAGE.search(analysis.question)
    topic = None if by else _topic_anywhere(analysis)
    if ours and not by and topic is None:
        span = Span(start=ours.start("topic"), end=ours.end("topic"))
        items = [one for one in items_of(analysis, _NOWHERE) if one.span.overlaps(span)]
        topic = topic_of(analysis.question, items)
        thing = Topic(names=(Name(phrase=ours["thing"]),))
        if documents_about(scope_of(kb, where), thing).counts:
            return  # the texts speak of such a coverage: it is no matter of the base
    yield CatalogueQuery(form="coverage", about=topic, where=where, by=tuple(by))


def read_trend(_: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """How often the topic is named over time: the words between those that ask for a trend."""
    inner = _inner(items_of(analysis, _NOWHERE))
    topic = read_topic(analysis.question, inner, strong=True)[0]
    if topic is None or len(topic.names) > 1:
        topic = topic_of(analysis.question, inner) if inner else None
    if topic:
        yield CatalogueQuery(form="trend", about=topic, where=limits_of(analysis))


def _noun(question: str, vocabulary: Vocabulary) -> tuple[Noun | None, Span | None]:
    """Documents of which kind are asked for ("are there any papers on ..."), and where."""
    known = nouns(vocabulary)
    for match in _ANY.finditer(question):
        words = match["noun"].split()
        for size in range(len(words), 0, -1):
            said = " ".join(words[:size])
            noun = known.get(spelling(said))
            if noun and noun.what == "documents":
                start = match.start("noun")
                return noun, Span(start=start, end=start + len(said))
    return None, None


def _gap_topic(analysis: Analysis, noun: Span) -> tuple[Topic | None, bool]:
    """What is looked for, and whether the question was understood as a whole."""
    items = items_of(analysis, noun)
    items = [item for item in items if not item.span.overlaps(noun)]
    left: list[Item] = items
    topic: Topic | None = None
    for strong in (True, False):
        if topic is None:
            topic, left = read_topic(analysis.question, items, strong=strong)
    if topic is None:
        for item in items:
            if item.entities and topic is None:  # "any Erlay documents", "what gaps has Erlay"
                topic, left = (
                    topic_of(analysis.question, [item]),
                    [o for o in items if o is not item],
                )
    understood = all(item.plain in BESIDE_A_GAP for item in left)
    understood = understood and (topic is None or topic.clear)
    return topic, understood


def _dimensions(question: str, vocabulary: Vocabulary) -> list[str]:
    """The dimensions that the question names, at most two, in its order."""
    known = {spelling(said(name)): name for name in vocabulary.dimensions}
    words = re.findall(r"[^\W_]+", question)
    found = dict.fromkeys(known[key] for word in words if (key := spelling(word)) in known)
    return list(found)[:2]


def _topic_anywhere(analysis: Analysis) -> Topic | None:
    items = items_of(analysis, _NOWHERE)
    for strong in (True, False):
        topic, _ = read_topic(analysis.question, items, strong=strong)
        if topic:
            return topic
    return None


def _inner(items: Sequence[Item]) -> list[Item]:
    kept = list(items)
    while kept and kept[0].plain in AROUND_A_TREND:
        kept.pop(0)
    while kept and kept[-1].plain in AROUND_A_TREND:
        kept.pop()
    return kept
