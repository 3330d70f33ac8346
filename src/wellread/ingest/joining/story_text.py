"""What is told of a story: title, summary, terms. Every sentence is verbatim and can be cited.

Without a model: the title is that of the item which says most of what the story is about; the
summary takes sentences of several items that hold many of its words and repeat each other little.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from wellread.ingest.joining.story_clusters import centre_of
from wellread.ingest.joining.story_words import (
    SCHEME,
    Vector,
    code_of,
    counts,
    packed,
    spoken,
    unpacked,
)
from wellread.store.catalogue.stories.story_rows import (
    ItemRecord,
    Material,
    StoryText,
    SummarySentence,
)
from wellread.text.sentences import headline, sentence_spans
from wellread.types import DocumentFacts, Span

CENTRAL_ITEMS = 12  # whose texts are read, beside that of the newest one
LEAD_SENTENCES = 4  # of an item: what matters is said first
SUMMARY_SENTENCES = 3
SHORTEST_SENTENCE, LONGEST_SENTENCE = 40, 320  # characters
REPEATED = 0.5  # share of a sentence's words in an earlier one from which it says nothing new
TERMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    place: int  # of the item among those that were read
    span: Span
    text: str
    codes: frozenset[int]
    score: float


class Centre:
    """The middle of a story: what its items, copies aside, have in common."""

    def __init__(self, items: Iterable[ItemRecord]) -> None:
        total: defaultdict[int, float] = defaultdict(float)
        for item in items:
            for code, weight in unpacked(item.vector).items():
                total[code] += weight
        self.weights = centre_of(total)

    def nearness(self, vector: Vector) -> float:
        """Cosine of an item with the middle."""
        return sum(weight * self.weights.get(code, 0.0) for code, weight in vector.items())

    def worth(self, codes: Iterable[int]) -> float:
        """How much of the middle some features hold."""
        return sum(self.weights.get(code, 0.0) for code in codes)


def central_items(items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The items nearest to the middle of their story, and the newest one; by date."""
    originals = [item for item in items if item.repeats is None] or list(items)
    centre = Centre(originals)
    nearest = sorted(
        range(len(originals)),
        key=lambda place: (-centre.nearness(unpacked(originals[place].vector)), place),
    )
    chosen = sorted({*nearest[:CENTRAL_ITEMS], len(originals) - 1})
    return [originals[place] for place in chosen]


def text_of(material: Material) -> StoryText:
    """All that is told of a story."""
    originals = [item for item in material.items if item.repeats is None] or material.items
    centre = Centre(originals)
    return StoryText(
        title=title_of(material, centre),
        summary=summary_of(material, centre),
        terms=terms_of(material, centre),
        centre=packed(centre.weights),
        scheme=SCHEME,
        sources=sources_of(originals, material.documents),
        novelty=novelty_of(originals),
    )


def title_of(material: Material, centre: Centre) -> str:
    """The headline that holds most of what the story is about, for its length."""
    titles = []
    for place, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        facts = material.documents[item.document_id]
        title = headline(item.span, text, facts.title, facts.characters)
        codes = [code_of(feature) for feature in counts(title, "")]
        worth = centre.worth(codes) / math.sqrt(len(codes) + 1)
        near = centre.nearness(unpacked(item.vector))
        titles.append((-worth * near, place, title))
    return min(titles)[2]


def summary_of(material: Material, centre: Centre) -> tuple[SummarySentence, ...]:
    """Up to three sentences of different items where there are several, by date."""
    waiting = sorted(_sentences(material, centre), key=lambda one: (-one.score, one.place))
    several = len(material.chosen) >= SUMMARY_SENTENCES
    chosen: list[_Sentence] = []
    for one in waiting:
        if len(chosen) == SUMMARY_SENTENCES:
            break
        if several and any(one.place == other.place for other in chosen):
            continue
        if all(_shared(one, other) < REPEATED for other in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: (one.place, one.span.start))
    return tuple(
        SummarySentence(
            document_id=material.chosen[one.place].document_id, span=one.span, text=one.text
        )
        for one in chosen
    )


def terms_of(material: Material, centre: Centre) -> tuple[str, ...]:
    """The words that set the story apart, heaviest first, as they are mostly written."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in material.texts:
        for stem, word in spoken(text):
            written[stem][word] += 1
    heavy = sorted(
        (-centre.weights[code_of(stem)], stem)
        for stem in written
        if centre.weights.get(code_of(stem), 0.0) > 0
    )
    return tuple(
        min(written[stem], key=lambda word: (-written[stem][word], word))
        for _, stem in heavy[:TERMS]
    )


def sources_of(originals: Iterable[ItemRecord], documents: Mapping[str, DocumentFacts]) -> int:
    """How many independent sources tell the story: web hosts, or documents without one.

    Copies do not count: who prints another's text is no second witness.
    """
    found = set()
    for item in originals:
        facts = documents[item.document_id]
        found.add(_host(facts.url) or _host(facts.uri) or facts.id)
    return len(found)


def novelty_of(originals: Sequence[ItemRecord]) -> float:
    """0-1: how little the newest item repeats the middle of those before it; 1 for a lone one."""
    if len(originals) < 2:
        return 1.0
    near = Centre(originals[:-1]).nearness(unpacked(originals[-1].vector))
    return min(1.0, max(0.0, 1.0 - near))


def _sentences(material: Material, centre: Centre) -> Iterable[_Sentence]:
    for place, (item, text) in enumerate(zip(material.chosen, material.texts, strict=True)):
        for span in sentence_spans(text)[:LEAD_SENTENCES]:
            said = span.of(text)
            if not SHORTEST_SENTENCE <= len(said) <= LONGEST_SENTENCE:
                continue
            codes = frozenset(code_of(feature) for feature in counts("", said))
            yield _Sentence(
                place=place,
                span=Span(start=item.span.start + span.start, end=item.span.start + span.end),
                text=said,
                codes=codes,
                score=centre.worth(codes) / math.sqrt(len(codes) + 1),
            )


def _shared(one: _Sentence, other: _Sentence) -> float:
    return len(one.codes & other.codes) / max(1, min(len(one.codes), len(other.codes)))


def _host(address: str) -> str:
    parts = urlsplit(address)
    return (parts.hostname or "").removeprefix("www.") if parts.scheme in ("http", "https") else ""
