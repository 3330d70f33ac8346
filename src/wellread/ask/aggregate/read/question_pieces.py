"""The words of a question as pieces, and the topic or relation that they name.

Names of entities and limits are one piece each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.ask.aggregate.queries.query import Hop, Name, Topic, Walk
from wellread.ask.aggregate.read.relation_senses import RelationWords
from wellread.questions import Analysis, Constraint, NamedEntity
from wellread.text.english_catalogue import (
    BEFORE_A_NAME,
    BEFORE_A_TOPIC,
    BEING,
    EDGES_OF_A_TOPIC,
    TOLD_OF,
    WEAKLY_BEFORE_A_TOPIC,
)
from wellread.text.stems import stem
from wellread.text.tokens import tokens_of
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A word, or the name of entities (several when collections share it).

    Attributes:
        plain: the word in lower case; empty for a name.
    """

    span: Span
    plain: str = ""
    entities: tuple[NamedEntity, ...] = ()

    @property
    def stem(self) -> str:
        """The stem of the word; empty for a name."""
        return stem(self.plain) if self.plain else ""


def items_of(analysis: Analysis, noun: Span) -> list[Item]:
    """The question's pieces, without the words of limits; those of ``noun`` are words always."""
    entities = [one for one in analysis.entities if not one.span.overlaps(noun)]
    limits = limits_beside(analysis, noun)
    found: list[Item] = []
    done = 0
    for token in tokens_of(analysis.question):
        span = Span(start=token.start, end=token.end)
        if span.start < done or any(limit.span.overlaps(span) for limit in limits):
            continue
        named = _longest([one for one in entities if one.span.overlaps(span)])
        if named and not any(limit.span.overlaps(named[0].span) for limit in limits):
            found.append(Item(span=named[0].span, entities=named))
            done = named[0].span.end
        else:
            found.append(Item(span=span, plain=token.plain))
    return found


def limits_beside(analysis: Analysis, noun: Span) -> list[Constraint]:
    """The limits of the question other than the noun itself ("papers" is a kind, too)."""
    return [limit for limit in analysis.constraints if not limit.span.overlaps(noun)]


def place_of(items: Sequence[Item], stems: Sequence[str]) -> int | None:
    """Where the stems stand one after the other; None when they do not."""
    held = [item.stem for item in items]
    for start in range(len(held) - len(stems) + 1):
        if held[start : start + len(stems)] == list(stems):
            return start
    return None


def _longest(named: Sequence[NamedEntity]) -> tuple[NamedEntity, ...]:
    """The entities with the longest of the spans."""
    if not named:
        return ()
    best = max(named, key=lambda one: len(one.span)).span
    return tuple(one for one in named if one.span == best)


def topic_of(question: str, items: Sequence[Item]) -> Topic:
    """The topic that consists of these pieces of the question."""
    return Topic(names=(_name(question, items),))


def read_topic(
    question: str, items: Sequence[Item], *, strong: bool
) -> tuple[Topic | None, list[Item]]:
    """The topic that the words name, and the words that are left.

    Args:
        strong: look for words that can only introduce a topic; else for ``on``, which can be
            a part of many things.
    """
    if strong:
        found = _passive(question, items)
        if found:
            return found
    for markers, naming in (
        ((BEFORE_A_NAME, True), (BEFORE_A_TOPIC, False))
        if strong
        else ((WEAKLY_BEFORE_A_TOPIC, False),)
    ):
        for marker in markers:
            place = _place(items, marker)
            if place is None:
                continue
            tail = _trimmed(items[place + len(marker) :])
            if tail:
                topic = _topic(question, tail, naming=naming)
                return topic, [item for item in items[:place] if item not in tail]
    return None, list(items)


def _passive(question: str, items: Sequence[Item]) -> tuple[Topic, list[Item]] | None:
    """The topic of "is X mentioned", "does X come up": X stands before the verb."""
    verb = next((place for place, item in enumerate(items) if item.plain in TOLD_OF), None)
    if verb is None:
        return None
    being = [place for place in range(verb) if items[place].plain in BEING]
    if not being:
        return None
    inside = _trimmed(items[being[0] + 1 : verb])
    if not inside:
        return None
    naming = items[verb].plain in ("mentioned", "named")
    left = [*items[: being[0]], *items[verb + 1 :]]
    return _topic(question, inside, naming=naming), left


def _topic(question: str, items: Sequence[Item], *, naming: bool) -> Topic:
    """The topic of some pieces; "and" and "or" divide it where names of entities stand."""
    parts: list[list[Item]] = [[]]
    every = not any(item.plain == "or" for item in items)
    divides = ("or",) if not any(item.entities for item in items) else ("and", "or")
    for item in items:
        if item.plain in divides:
            parts.append([])
        else:
            parts[-1].append(item)
    names = [_name(question, part) for part in map(_trimmed, parts) if part]
    return Topic(names=tuple(names), every=every, naming=naming)


def _name(question: str, items: Sequence[Item]) -> Name:
    phrase = question[items[0].span.start : items[-1].span.end]
    phrase = re.sub(r"^[\s\"'“‘«]+|[\s\"'”’»]+$", "", phrase)
    entities = items[0].entities if len(items) == 1 else ()
    keys = tuple((one.collection, one.entity_id) for one in entities)
    return Name(phrase=phrase, entities=keys)


def _trimmed(items: Sequence[Item]) -> list[Item]:
    """The pieces without words at either end that name nothing."""
    kept = list(items)
    while kept and kept[-1].plain in EDGES_OF_A_TOPIC:
        kept.pop()
    while kept and kept[0].plain in EDGES_OF_A_TOPIC:
        kept.pop(0)
    return kept


def _place(items: Sequence[Item], words: Sequence[str]) -> int | None:
    plain = [item.plain for item in items]
    for start in range(len(plain) - len(words) + 1):
        if plain[start : start + len(words)] == list(words):
            return start
    return None


def asked_relation(
    items: Sequence[Item], relations: RelationWords
) -> tuple[Walk | None, list[Item]]:
    """The relation that the words ask for, and the words that are left."""
    left = list(items)
    named = next((item for item in items if item.entities), None)
    found = relations.find([item.plain for item in items], [bool(one.entities) for one in items])
    said = found[0] if found else None
    if named is None or said is None:
        return None, left
    before = said.first < left.index(named)
    senses = tuple(sense.flipped() for sense in said.senses) if before else said.senses
    starts = tuple(
        Name(phrase=one.title, entities=((one.collection, one.entity_id),))
        for one in named.entities
    )
    left[said.first : said.last] = []
    left.remove(named)
    return Walk(starts=starts, hops=(Hop(senses=senses, words=said.words),)), left
