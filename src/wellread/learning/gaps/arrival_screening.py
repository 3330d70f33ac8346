"""Which open questions could be answered by documents that are new, without answering them.

First by words: the share of a question's stems, the rare ones counting more, that one passage of a
new document holds. Then, of the few that are left, by the search that an answer begins with: a new
document has to be among what it finds, by words and by meaning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from wellread.ask.retrieve.search import search
from wellread.codec import from_plain
from wellread.errors import UnknownCollectionError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import now
from wellread.store.schema.stored_values import Gap
from wellread.text.parsed import parse
from wellread.types import Filters, Passage

SHARE = 0.5  # of a question's weighted stems
LOOKS = 500  # searches at a time
DEEPER = 2  # times the passages that a question works with
DOCUMENTS = 50  # read at a time


def filters_of(gap: Gap) -> Filters:
    """What its question was limited to."""
    return from_plain(Filters, {**gap.limits, "collections": list(gap.scope)})


def known_since(gap: Gap) -> datetime:
    """Documents that were written after this moment the question was never asked with."""
    return max(gap.filed_at, gap.tried_at or gap.filed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """Open questions, sorted out.

    Attributes:
        wanted: new documents could answer them.
        passed: their words stand in new documents, and the search does not find these.
        left: how many were not looked at any more.
    """

    wanted: tuple[Gap, ...]
    passed: tuple[Gap, ...] = ()
    left: int = 0


def could_answer(
    kb: KnowledgeBase, gaps: Sequence[Gap], arrived: Mapping[str, datetime], most: int
) -> Screened:
    """The first ``most`` of ``gaps`` that documents which arrived could answer.

    Raises:
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    near = by_words(kb, gaps, arrived)
    wanted: list[Gap] = []
    passed: list[Gap] = []
    for gap in near[:LOOKS]:
        if len(wanted) == most:
            break
        (wanted if _found(kb, gap, arrived) else passed).append(gap)
    left = len(near) - len(wanted) - len(passed)
    return Screened(wanted=tuple(wanted), passed=tuple(passed), left=left)


def _found(kb: KnowledgeBase, gap: Gap, arrived: Mapping[str, datetime]) -> bool:
    """Whether the search for its question finds one of the new documents, as its owner searches:
    what they may not read is no reason to ask again."""
    kb = now(kb, gap.owner)
    limit = DEEPER * kb.settings.retrieval.top_k
    since = known_since(gap)
    try:
        hits = search(kb, gap.question, filters_of(gap), limit=limit)
    except UnknownCollectionError:
        return False  # nothing of what it was asked of is there any more
    return any(arrived.get(hit.document.id, since) > since for hit in hits)


def by_words(kb: KnowledgeBase, gaps: Sequence[Gap], arrived: Mapping[str, datetime]) -> list[Gap]:
    """The gaps of whose words a passage of a new document holds enough; the first sieve.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    if not gaps:
        return []
    stems = [frozenset(parse(gap.question).topic_stems) for gap in gaps]
    spread = Counter(stem for own in stems for stem in own)
    weight = {stem: math.log1p(len(gaps) / count) for stem, count in spread.items()}
    whole = np.array([max(sum(weight[stem] for stem in own), 1e-9) for own in stems])
    places: dict[str, NDArray[np.intp]] = {
        stem: np.array([place for place, own in enumerate(stems) if stem in own]) for stem in spread
    }
    since = np.array([known_since(gap).timestamp() for gap in gaps])
    near = np.zeros(len(gaps), dtype=bool)
    inside: dict[str, NDArray[np.bool_]] = {}
    for document, passages in _read(kb, arrived):
        collection = document[1]
        if collection not in inside:
            scopes = (not gap.scope or collection in gap.scope for gap in gaps)
            inside[collection] = np.fromiter(scopes, bool, len(gaps))
        asked = inside[collection] & (since < arrived[document[0]].timestamp())
        if asked.any():
            for passage in passages:
                near |= asked & (_held(passage, weight, places, len(gaps)) >= SHARE * whole)
    return [gap for gap, is_near in zip(gaps, near, strict=True) if is_near]


def _held(
    passage: Passage,
    weight: Mapping[str, float],
    places: Mapping[str, NDArray[np.intp]],
    count: int,
) -> NDArray[np.float64]:
    """For each question the weight of its stems that the passage holds."""
    held = np.zeros(count)
    for stem in parse(f"{passage.context} {passage.text}").stem_set & weight.keys():
        held[places[stem]] += weight[stem]
    return held


def _read(
    kb: KnowledgeBase, arrived: Mapping[str, datetime]
) -> Iterator[tuple[tuple[str, str], list[Passage]]]:
    """New documents (id, collection) with their passages, some in memory at a time."""
    ids = list(arrived)
    for first in range(0, len(ids), DOCUMENTS):
        some = ids[first : first + DOCUMENTS]
        facts = kb.catalogue.facts(some)
        by_document: dict[str, list[Passage]] = {known: [] for known in facts}
        for passage in kb.catalogue.passages_of(some):
            by_document.setdefault(passage.document_id, []).append(passage)
        for known, there in facts.items():
            yield (known, there.collection), by_document[known]
