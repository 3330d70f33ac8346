"""A passage with those before and after it in its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.passage_results import Result, whole
from wellread.types import DocumentFacts, Hit

LEAST_PREFIX = 8  # characters of an id that are taken for the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Passages of one document in reading order.

    Attributes:
        passage_id: the one that was asked for.
        ordinal, passages: it is number ``ordinal`` (from 0) of the document's ``passages``.
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
    """The passage (its id, or how that begins) with ``before`` and ``after`` others.

    Raises:
        UnknownNameError: there is no such passage (any more), or several ids begin so.
    """
    found = kb.catalogue.listings.place(passage_id, collections)
    exact = [place for place in found if place.id == passage_id]
    if not exact and len(passage_id) >= LEAST_PREFIX:
        exact = found
    if len(exact) > 1:
        raise UnknownNameError(
            f"several passages have an id that begins with {passage_id!r}",
            hint="give more characters of the id",
        )
    near = kb.catalogue.neighbours(exact[0].id, before, after) if exact else []
    facts = kb.catalogue.facts({passage.document_id for passage in near})
    if not near or near[0].document_id not in facts:
        raise UnknownNameError(
            f"there is no passage {passage_id!r}",
            hint="search again: ids change with the text of their document",
        )
    document = facts[near[0].document_id]
    hits = [Hit(passage=passage, document=document, score=0.0) for passage in near]
    return Surroundings(
        document=document,
        passage_id=exact[0].id,
        ordinal=exact[0].ordinal,
        passages=exact[0].passages,
        results=tuple(whole(kb, hits)),
    )
