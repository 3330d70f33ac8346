"""Where what a thing is as a whole is told: the beginning of the document that describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.types import Filters, Hit

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
