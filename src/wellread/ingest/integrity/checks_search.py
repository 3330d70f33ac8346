"""Asks the index small questions whose answers are known, as rows that are there may not be found.

The structures that searches read are files of their own beside the rows. Some documents are
searched for by a word of each passage, by vector, and by id; what comes back is counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import numpy as np

from wellread.errors import StoreError
from wellread.ingest.integrity.damage import UNSEARCHABLE, Problem
from wellread.kb import KnowledgeBase
from wellread.text.english import STOP_WORDS
from wellread.types import DocumentFacts, Filters, Passage

SAMPLE_DOCUMENTS = 16
SAMPLE_PASSAGES = 8  # of a document
# Of a word that every way of cutting and stemming texts finds again.
_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,16}(?![^\W_])")


def check_search(kb: KnowledgeBase, unsure: Collection[str]) -> list[Problem]:
    """Searches that fail, or that do not find what is there.

    Args:
        unsure: documents whose rows are known to be damaged.
    """
    found: dict[str, str] = {}
    for facts in kb.catalogue.facts(_sample(kb.catalogue.document_ids())).values():
        if facts.id in unsure:
            continue
        for kind, detail in _misses(kb, facts):
            # Once more, as a writer may have been at work between the looks into the two stores.
            if kind not in found and (kind, detail) in _misses(kb, facts):
                found[kind] = detail
    return [
        Problem(kind=UNSEARCHABLE, subject=kind, detail=detail) for kind, detail in found.items()
    ]


def _sample(ids: Iterable[str]) -> list[str]:
    """The same documents every time: those with the smallest ids, which are hashes."""
    return sorted(ids)[:SAMPLE_DOCUMENTS]


def _misses(kb: KnowledgeBase, facts: DocumentFacts) -> list[tuple[str, str]]:
    """Kind of search and what it lacks, for each that does not find the document."""
    passages = kb.catalogue.passages_of([facts.id])[:SAMPLE_PASSAGES]
    alone = Filters(document_ids=(facts.id,))
    described = Filters(
        collections=(facts.collection,),
        kinds=(facts.kind,),
        document_ids=(facts.id,),
        languages=(facts.language,) if facts.language else (),
        source_types=(facts.source_type,) if facts.source_type else (),
        authors=facts.authors[:1],
        published_from=facts.published_at,
        published_to=facts.published_at,
    )
    wanted = 0 if facts.id in set(kb.catalogue.integrity.owed()) else len(passages)
    missed = []
    try:
        missing = sum(not _by_word(kb, one, alone) for one in passages)
        if missing:
            missed.append(("words", f"{missing} of {len(passages)} passages of {facts.id}"))
    except StoreError as error:
        missed.append(("words", str(error)))
    try:
        by_vector = _by_vector(kb, alone, wanted)
        if by_vector < wanted:
            missed.append(("vectors", f"{by_vector} of {wanted} passages of {facts.id}"))
        described_count = _by_vector(kb, described, wanted)
        if described_count < by_vector:
            missed.append(("filters", f"{described_count} of {by_vector} passages of {facts.id}"))
    except StoreError as error:
        missed.append(("vectors", str(error)))
    try:
        kb.index.remove([(facts.id, "no version")])  # looks rows up by id, and finds none
    except StoreError as error:
        missed.append(("ids", str(error)))
    return missed


def _by_word(kb: KnowledgeBase, passage: Passage, filters: Filters) -> bool:
    words = [one for one in _WORD.findall(passage.text) if one.lower() not in STOP_WORDS]
    if not words:
        return True
    # The longest are the rarest, so that the passage is not lost among others of its document.
    hits = kb.index.search_text(max(words, key=len), filters, 1)
    return bool(hits)


def _by_vector(kb: KnowledgeBase, filters: Filters, wanted: int) -> int:
    if not wanted:
        return 0
    dimensions = kb.live().fingerprint.dimensions
    anywhere = np.full(dimensions, dimensions**-0.5, dtype=np.float32)
    return len(kb.index.search_vector(anywhere, filters, wanted))
