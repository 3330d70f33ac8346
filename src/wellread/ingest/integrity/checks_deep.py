"""Checks that cost minutes: every vector computed again."""

from __future__ import annotations

from collections.abc import Collection

from wellread.ingest.integrity import damage
from wellread.ingest.integrity.damage import Problem
from wellread.kb import KnowledgeBase
from wellread.types import Filters

LEAST_COSINE = 0.99  # of a stored vector and the same passage embedded again


def check_vectors(kb: KnowledgeBase, unsure: Collection[str]) -> list[Problem]:
    """Documents whose stored vectors are not what the embedder gives for their passages.

    Raises:
        ModelError: the embedder failed.
    """
    problems = []
    waiting = set(kb.catalogue.integrity.owed())
    for known in sorted(kb.catalogue.document_ids()):
        if known in unsure or known in waiting:
            continue
        wrong = _wrong_vectors(kb, known)
        if wrong:
            problems.append(
                Problem(kind=damage.WRONG_VECTOR, subject=known, detail=f"{wrong} passages")
            )
    return problems


def _wrong_vectors(kb: KnowledgeBase, document_id: str) -> int:
    passages = kb.catalogue.passages_of([document_id])
    if not passages:
        return 0
    texts = [f"{one.context}\n{one.text}" if one.context else one.text for one in passages]
    alone = Filters(document_ids=(document_id,))
    wrong = 0
    for one, vector in zip(passages, kb.embedder.embed(texts, "passage"), strict=True):
        found = kb.index.search_vector(vector, alone, len(passages))
        scores = {hit.passage_id: hit.score for hit in found}
        wrong += bool(vector.any()) and scores.get(one.id, 0.0) < LEAST_COSINE
    return wrong
