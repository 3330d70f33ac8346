"""The parts of one document: its sections by their headings, else stretches of one topic each.

Where no headings divide a text (a meeting, a talk), it is cut where its words change most (lexical
cohesion, after Hearst, "TextTiling", Computational Linguistics 1997), and each stretch is called
by the words that it has and the others do not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from wellread.kb import KnowledgeBase
from wellread.locators import Marks, format_time
from wellread.text.english_common import COMMON_WORDS
from wellread.text.parsed import parse
from wellread.types import DocumentFacts, Passage

MOST_PARTS = 12  # of one document
SECTION_LEVELS = 3
WINDOW = 3  # passages on each side of a possible cut
PASSAGES_OF_A_STRETCH = 4  # on average, at least
HEAD_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """A part of a document: its title, its passages in order, and whether a heading names it."""

    title: str
    passages: tuple[str, ...]
    headed: bool


def parts_of_document(
    kb: KnowledgeBase, document: DocumentFacts, most: int = MOST_PARTS
) -> list[DocumentPart]:
    """At most ``most`` parts of ``document``, in reading order.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    passages = [
        passage
        for passage in kb.catalogue.passages_of([document.id])
        if passage.version == document.version
    ]
    if not passages:
        return []
    marks = Marks(kb.catalogue.marks([document.id])[document.id])
    paths = [marks.heading(passage.span) for passage in passages]
    for depth in range(SECTION_LEVELS, 0, -1):
        runs = _runs([path[:depth] for path in paths])
        named = {paths[begin][:depth] for begin, _ in runs if paths[begin]}
        if len(named) > 1 and len(runs) <= most:
            return [_headed(passages[begin:end], paths[begin][:depth]) for begin, end in runs]
    return _stretches(passages, marks, most)


def _runs(keys: Sequence[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Beginnings and ends of neighbours with the same key."""
    found, begin = [], 0
    for _, same in groupby(keys):
        end = begin + sum(1 for _ in same)
        found.append((begin, end))
        begin = end
    return found


def _headed(passages: Sequence[Passage], path: tuple[str, ...]) -> DocumentPart:
    title = path[-1] if path else "Beginning"
    return DocumentPart(title=title, passages=tuple(one.id for one in passages), headed=bool(path))


def _stretches(passages: Sequence[Passage], marks: Marks, most: int) -> list[DocumentPart]:
    bags = [Counter(_telling(passage.text)) for passage in passages]
    cuts = _cuts(bags, min(most, max(1, len(passages) // PASSAGES_OF_A_STRETCH)))
    held = [sum(bags[begin:end], Counter[str]()) for begin, end in pairwise(cuts)]
    parts = []
    for number, (begin, end) in enumerate(pairwise(cuts)):
        place = marks.locate(passages[begin].span)
        at = f"{format_time(place.begin)} · " if place.begin is not None else ""
        words = ", ".join(_head_words(held, number)) or f"part {number + 1}"
        parts.append(
            DocumentPart(
                title=f"{at}{words[:1].upper()}{words[1:]}",
                passages=tuple(one.id for one in passages[begin:end]),
                headed=False,
            )
        )
    return parts


def _telling(text: str) -> Iterator[str]:
    """The words of ``text`` that tell of a topic, lower case."""
    for word in parse(text).words:
        lower = word.lower()
        if len(lower) > 2 and lower.isalpha() and lower not in COMMON_WORDS:
            yield lower


def _cuts(bags: Sequence[Counter[str]], parts: int) -> list[int]:
    """0, the ``parts`` - 1 places where the words change most, and the end."""
    size = len(bags)
    gaps = [
        _cosine(
            sum(bags[max(0, at - WINDOW) : at], Counter[str]()),
            sum(bags[at : at + WINDOW], Counter[str]()),
        )
        for at in range(1, size)
    ]
    depths = [_depth(gaps, place) for place in range(len(gaps))]
    order = sorted(range(len(gaps)), key=lambda place: (-depths[place], place))
    chosen: list[int] = []
    for place in order:
        if len(chosen) == parts - 1:
            break
        if all(abs(place + 1 - other) >= 2 for other in (*chosen, 0, size)):
            chosen.append(place + 1)
    return [0, *sorted(chosen), size]


def _depth(gaps: Sequence[float], place: int) -> float:
    """How far the likeness falls at ``place`` from the peaks on both sides of it."""
    left = right = gaps[place]
    for value in reversed(gaps[:place]):
        if value < left:
            break
        left = value
    for value in gaps[place + 1 :]:
        if value < right:
            break
        right = value
    return left + right - 2 * gaps[place]


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items())
    lengths = math.sqrt(
        sum(count * count for count in one.values())
        * sum(count * count for count in other.values())
    )
    return shared / lengths if lengths else 0.0


def _head_words(held: Sequence[Counter[str]], number: int) -> list[str]:
    """The words that stretch ``number`` has more than the others."""
    spread = Counter(word for bag in held for word in bag)
    worth = {
        word: count * math.log((1 + len(held)) / spread[word])
        for word, count in held[number].items()
        if count > 1
    }
    return sorted(worth, key=lambda word: (-worth[word], word))[:HEAD_WORDS]
