"""Passages beside the best of a search that may hold the answer.

What a thing is as a whole is told at the beginning of the document that describes it. And a passage
that is about other things as a whole, and so is not among the best, may hold a stretch of a few
sentences with all that is asked: an abstract, or one fact of a long paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.understand.answer_kind import gives_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Filters, Hit

STRETCH = 80  # words of neighbouring sentences that are read together
DEEPER = 40  # hits of a search whose stretches are looked at
PROMISING = 12  # stretches at most
LEAST = 0.3  # of the best one's promise
MOST_ADDED = 4  # passages
ABOVE, NEAR = 0.5, 0.5  # what a word of the heading, and the passage's cosine, count
GIVES = 0.5  # what the asked amount counts
HEADED = 3  # words of a name from which on its noun may be missing ("consent decision making")


def names_of(subject: str, analysis: Analysis) -> tuple[str, ...]:
    """What ``subject``, a part of the question, may be called in the material."""
    words = subject.split()
    names = [subject, " ".join(words[:-1])] if len(words) >= HEADED else [subject]
    stems = {parse(name).stems for name in names}
    titles = [
        entity.title
        for entity in analysis.entities
        if parse(entity.span.of(analysis.question)).stems in stems
    ]
    return tuple(dict.fromkeys((*names, *titles))) if subject else ()


def with_opening(
    kb: KnowledgeBase, analysis: Analysis, subject: str, hits: Sequence[Hit]
) -> list[Hit]:
    """The hits, led by the beginning of the document that describes what ``subject`` is.

    Nothing is added to a search that is limited, or where no entity has that name.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    unlimited = Filters(collections=analysis.filters.collections)
    titles = set(names_of(subject, analysis))
    named = [one for one in analysis.entities if one.title in titles]
    if not named or analysis.filters != unlimited:
        return list(hits)
    node = kb.catalogue.graph.entity(named[0].collection, named[0].entity_id)
    passages = kb.catalogue.passages_of([node.document_id]) if node else []
    if node is None or not passages:
        return list(hits)
    first = min(passages, key=lambda passage: passage.span.start)
    known = next((hit for hit in hits if hit.passage.id == first.id), None)
    facts = kb.catalogue.facts([node.document_id]).get(node.document_id)
    if known is None and (facts is None or facts.version != first.version):
        return list(hits)
    best = max((hit.score for hit in hits), default=1.0)
    if known is None and facts is not None:
        known = Hit(passage=first, document=facts, score=best)
    rest = [hit for hit in hits if hit.passage.id != first.id]
    return [replace(known, score=best), *rest] if known else rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Some neighbouring sentences of a passage, as they look before they are read.

    Attributes:
        held: the question's words that stand in them, as stems.
        above: those that stand in the title or heading.
        near: cosine of the question and the passage, 0 where it is not known.
        found: the passage's score, relative to the best.
        gives: one of them gives the amount, or says what it is, that the question asks for.
    """

    held: frozenset[str]
    above: frozenset[str]
    near: float
    found: float
    gives: bool = False


def promising(asked: frozenset[str], stretches: Sequence[Stretch]) -> list[int]:
    """The numbers of those that promise most to answer, best first.

    Words count by their rarity among the stretches (Robertson and Spärck Jones 1976).

    Args:
        asked: the question's words, as stems.
    """
    seen = Counter(stem for each in stretches for stem in each.held)
    weights = {stem: math.log(1 + len(stretches) / (1 + seen[stem])) for stem in asked}
    total = math.fsum(weights.values()) or 1.0

    def promise(each: Stretch) -> float:
        own = math.fsum(weights[stem] for stem in each.held)
        above = math.fsum(weights[stem] for stem in each.above - each.held)
        return (own + ABOVE * above) / total + NEAR * each.near + each.found + GIVES * each.gives

    promises = [promise(each) for each in stretches]
    least = LEAST * max(promises, default=0.0)
    order = sorted(range(len(promises)), key=lambda at: -promises[at])
    return [at for at in order[:PROMISING] if promises[at] >= least]


def with_promising(question: str, found: Sequence[Hit], chosen: Sequence[Hit]) -> list[Hit]:
    """``chosen``, then passages of ``found``, all best first, whose stretches promise as much."""
    asked, gives = parse(question).stem_set, gives_of(question)
    best = max((hit.score for hit in found), default=0.0) or 1.0
    owners: list[Hit] = []
    stretches: list[Stretch] = []
    for hit in found[:DEEPER]:
        above = asked & parse(f"{hit.document.title} {hit.passage.context}").stem_set
        text = hit.passage.text
        for run in stretches_of([span.of(text) for span in sentence_spans(text)]):
            owners.append(hit)
            stretches.append(
                Stretch(
                    held=asked & parse(" ".join(run)).stem_set,
                    above=above,
                    near=hit.similarity or 0.0,
                    found=hit.score / best,
                    gives=any(map(gives, run)),
                )
            )
    known = {hit.passage.id for hit in chosen}
    added: dict[str, Hit] = {}
    for at in promising(asked, stretches):
        hit = owners[at]
        if hit.passage.id not in known and len(added) < MOST_ADDED:
            added.setdefault(hit.passage.id, hit)
    return [*chosen, *added.values()]


def stretches_of(sentences: Sequence[str]) -> list[Sequence[str]]:
    """Runs of neighbouring ``sentences``, each of about ``STRETCH`` words."""
    sizes = [len(text.split()) for text in sentences]
    found: list[Sequence[str]] = []
    start = 0
    while start < len(sentences):
        end, size = start, 0
        while end < len(sentences) and (end == start or size + sizes[end] <= STRETCH):
            size += sizes[end]
            end += 1
        found.append(sentences[start:end])
        start = end
    return found
