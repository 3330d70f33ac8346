"""Reads questions for gaps, for coverage and for trends: of which topic, within which limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellread.ask.aggregate.nouns import Noun, nouns, said, spelling
from wellread.ask.aggregate.query import CatalogueQuery, Topic
from wellread.ask.aggregate.read.question_pieces import Item, items_of, read_topic, topic_of
from wellread.ask.aggregate.scope import limits_of, scope_of
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Filters, Span

_MISSING = re.compile(
    r"\b(?:(?:what|which)(?: (?:is|are|do|does|has|have)|['’]s)? (?:still |yet )?"
    r"(?:missing|lacking|gaps?)|gaps? (?:in|on|about)|"
    r"(?:what|which) .*\bnot (?:yet )?(?:covered|documented|there)|"
    r"what (?:do|does|don['’]t|doesn['’]t) (?:you|we|it|the \w+)(?: not)? "
    r"(?:know|have|cover|lack))\b",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:any|some|an?|no)\s+(?P<noun>\w+(?:\s+\w+)?)", re.IGNORECASE)
# Beside the topic: what everything can be called, and the words of the question itself.
_FILLERS = frozenset(
    """
    a all already also an and any anything archive are at base been by can catalogue collection
    contain contains content cover covered covers coverage data did do document documents does
    doesnt dont
    entries entry exist exists find found from gap gaps got had has have here hold i if in
    info information is it item items know knowledge known lack lacking library literature look
    material materials mentions missing more much not of on or our please present record records
    said sources something source still stuff that the there to us was we were what whether which
    written yet you your
    """.split()
)
# What surrounds the topic in a question for a trend.
_AROUND = frozenset(
    """
    a about advanced again all an and any are as at attention became become been being by can
    change changed changes changing coverage covered decline declined declining develop developed
    development developments did discuss discussed discussion do does during ever evolution evolve
    evolved evolving frequency from gotten grew grow growing grown had has have history how
    in increase increased increasing interest into is it less mention mentioned mentions more much
    of often or over past popular popularity progress progressed recently rise risen rising show
    since talk talked the there through time times to topic topics trend trends us was we were
    what with year years
    """.split()
)
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
    topic = None if by else _topic_anywhere(analysis)
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
    understood = all(item.plain in _FILLERS for item in left)
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
    while kept and kept[0].plain in _AROUND:
        kept.pop(0)
    while kept and kept[-1].plain in _AROUND:
        kept.pop()
    return kept
