"""Compares the index with the catalogue, row by row, and mends it: the catalogue is the truth.

It is asked small questions as well whose answers are known, as the structures that searches read
are files of their own beside the rows, and rows that are there may not be found.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamageError, StoreError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import Expected, number, row_number
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.commit import put_rows
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.text.english import STOP_WORDS
from wellread.types import DocumentFacts, Filters, Passage

INDEX_LOST = "its files are damaged or gone; it is made anew from the catalogue"


def check_index(kb: KnowledgeBase, expected: Expected) -> tuple[int, list[Problem]]:
    """How many rows the index has, and where it differs from what it should hold."""
    owed = set(kb.catalogue.integrity.owed())
    try:
        held = _held(kb, expected)
    except StoreError:
        try:
            held = _held(kb, expected)  # a writer may have replaced files meanwhile
        except StoreError as error:
            if error.retryable:  # a cluster that does not answer is not damaged
                raise
            return 0, [Problem(kind=damage.UNREADABLE, subject="index", detail=INDEX_LOST)]
    problems = differences(kb, expected, held)
    return len(held.ids), [*problems, *_vectors(kb, owed, held.bare)]


def _held(kb: KnowledgeBase, expected: Expected) -> Held:
    held = Held()
    for row in kb.index.held():
        sure = row.document_id not in expected.unsure
        held.ids.append(number(row.passage_id))
        held.contents.append(
            row_number(
                (row.document_id, row.version, row.collection),
                (row.start, row.end),
                row.text if sure else "",
            )
        )
        if not row.vector:
            held.bare[(row.document_id, row.version)] += 1
    return held


def check_notes(kb: KnowledgeBase, *, alone: bool) -> list[Problem]:
    """Notes and tables that nobody will come back to.

    ``alone``: no other process is writing; else notes may be those of a writer at work.
    """
    problems = []
    if alone or _idle(kb):
        problems += [
            Problem(
                kind=damage.UNFINISHED,
                subject=write.document_id,
                detail=f"{write.action} {write.version}",
            )
            for write in kb.catalogue.pending()
        ]
    problems += [
        Problem(kind=damage.STRAY, subject=name, detail="takes up space and may hold removed text")
        for name in kb.other_indexes()
    ]
    counts = kb.catalogue.integrity.row_counts()
    problems += _next_index(kb)
    staged = counts["next_documents"] + counts["next_passages"]
    if staged and kb.catalogue.reindexing.attempt() is None:
        problems.append(
            Problem(kind=damage.STAGED, subject="next_documents", detail=f"{staged} rows")
        )
    problems += [
        Problem(kind=damage.VOID, subject=known, detail="not its live version")
        for known in kb.catalogue.integrity.void_debts()
    ]
    return problems


def _next_index(kb: KnowledgeBase) -> list[Problem]:
    """The index in the making, where it cannot be opened."""
    attempt = kb.catalogue.reindexing.attempt()
    if attempt is not None:
        try:
            kb.open_index(attempt).purged()
        except DamageError:
            lost = "its files are damaged; 'wellread reindex' begins it again"
            return [Problem(kind=damage.NEXT_LOST, subject="next index", detail=lost)]
    return []


def drop_next(kb: KnowledgeBase) -> None:
    """No index is being made any more."""
    attempt = kb.catalogue.reindexing.attempt()
    kb.catalogue.reindexing.abandon()
    if attempt is not None:
        kb.drop_other_indexes()


def drop_orphans(kb: KnowledgeBase, document_ids: Iterable[str]) -> None:
    """Drop the rows of documents that are not live; rows of live ones stay as they are."""
    wanted = set(document_ids)
    live = kb.catalogue.live_versions(wanted)
    gone: set[tuple[str, str]] = set()
    held: dict[str, set[str]] = {}
    stored = kb.index.keys()
    for key in stored:
        if key.document_id in wanted and live.get(key.document_id) != key.version:
            gone.add((key.document_id, key.version))
        elif key.document_id in wanted:
            held.setdefault(key.document_id, set()).add(key.passage_id)
    kb.index.remove(sorted(gone))
    # Rows of a live version that are no passages of it go by it, so all its rows are made anew.
    odd = [
        known
        for known, ids in held.items()
        if not ids <= {row.id for row in kb.catalogue.passages_of([known])}
    ]
    write_again(kb, odd)


def write_again(kb: KnowledgeBase, document_ids: Iterable[str]) -> None:
    """Put rows as the catalogue has them in place of all that the index holds of documents.

    They are found by words at once; their vectors are noted as owed.
    """
    wanted = set(document_ids)
    if not wanted:
        return
    index = kb.index
    stored = index.keys()
    index.remove(
        sorted({(key.document_id, key.version) for key in stored if key.document_id in wanted})
    )
    put_rows(kb, index, sorted(wanted))


def fill_again(kb: KnowledgeBase) -> None:
    """Begin the index anew, with everything that is in the catalogue; then the old one goes."""
    kb.renewed_index()
    write_again(kb, kb.catalogue.document_ids())
    kb.drop_other_indexes()


def _vectors(kb: KnowledgeBase, owed: set[str], bare: Counter[tuple[str, str]]) -> list[Problem]:
    """Rows without a vector that nobody owes, and debts that were paid.

    Debts are read before and after the rows, because they are paid all the time.
    """
    still = set(kb.catalogue.integrity.owed())
    live = kb.catalogue.live_versions(known for known, _ in bare)
    found = [
        Problem(kind=damage.NO_VECTOR, subject=known, detail=f"{count} rows of {version}")
        for (known, version), count in sorted(bare.items())
        if known not in owed and known not in still and live.get(known) == version
    ]
    paid = (owed & still).difference(known for known, _ in bare)
    paid &= kb.catalogue.live_versions(paid).keys()
    return found + [
        Problem(kind=damage.PAID, subject=known, detail="all its rows have vectors")
        for known in sorted(paid.difference(kb.catalogue.integrity.void_debts()))
    ]


def _idle(kb: KnowledgeBase) -> bool:
    with kb.locks.hold(INGEST_LOCK) as ours:
        return ours


SAMPLE_DOCUMENTS = 16
SAMPLE_PASSAGES = 8  # of a document
# Of a word that every way of cutting and stemming texts finds again.
_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,16}(?![^\W_])")


def check_search(kb: KnowledgeBase, unsure: Collection[str]) -> list[Problem]:
    """Searches that fail, or that do not find what is there."""
    found: dict[str, str] = {}
    # The same documents every time: those with the smallest ids, which are hashes.
    sample = sorted(kb.catalogue.document_ids())[:SAMPLE_DOCUMENTS]
    for known in sample:
        facts = kb.catalogue.facts([known]).get(known)
        if facts is None or known in unsure:
            continue
        for kind, detail in _misses(kb, facts):
            # Once more, as a writer may have been at work between the looks into the two stores.
            if kind not in found and (kind, detail) in _misses(kb, facts):
                found[kind] = detail
    return [
        Problem(kind=damage.UNSEARCHABLE, subject=kind, detail=detail)
        for kind, detail in found.items()
    ]


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
    live = kb.catalogue.reindexing.live()  # opens no embedder: that may be what is damaged
    if live is None:
        return 0
    dimensions = live.fingerprint.dimensions
    anywhere = np.full(dimensions, dimensions**-0.5, dtype=np.float32)
    return len(kb.index.search_vector(anywhere, filters, wanted))


Numbers = NDArray[np.uint64]
Version = tuple[str, str]  # a document and a version of it


@dataclass(slots=True)
class Held:
    """What the index holds, in numbers as ``Expected``; and which documents lack vectors."""

    ids: array[int] = field(default_factory=lambda: array("Q"))
    contents: array[int] = field(default_factory=lambda: array("Q"))
    bare: Counter[Version] = field(default_factory=Counter)


def differences(kb: KnowledgeBase, expected: Expected, held: Held) -> list[Problem]:
    """Passages without rows, rows without passages, rows that are there twice or say otherwise."""
    wanted, content = _sorted(expected.ids, expected.contents)
    there, found = _sorted(held.ids, held.contents)
    once, counts = np.unique(there, return_counts=True)
    missing = np.setdiff1d(wanted, once, assume_unique=True)
    orphan = np.setdiff1d(once, wanted, assume_unique=True)
    twice = once[counts > 1]
    # Of rows that are there twice it does not matter which of them is compared.
    both, left, right = np.intersect1d(wanted, there, return_indices=True)
    different = np.setdiff1d(both[content[left] != found[right]], twice)
    if not any(map(len, (missing, orphan, twice, different))):
        return []
    odd = {damage.ORPHAN: orphan, damage.DUPLICATE: twice, damage.DIFFERENT: different}
    return _looked_up(kb, missing, odd)


def _looked_up(kb: KnowledgeBase, missing: Numbers, in_index: dict[str, Numbers]) -> list[Problem]:
    """The same by documents, looked up once more: what a writer has set right is left out.

    So is what a writer is at work on: rows of a version are noted before they are written and
    until they are removed, and the notes of a writer that died are told by ``check_notes``.
    """
    lacking = set(missing.tolist())
    kinds = {one: kind for kind, ids in in_index.items() for one in ids.tolist()}
    noted = _noted(kb)
    now: dict[int, Version] = {}
    for key in kb.catalogue.passage_keys():
        one = number(key.passage_id)
        if one in lacking or one in kinds:
            now[one] = (key.document_id, key.version)
    noted |= _noted(kb)  # what went live between is in ``now``
    rows: Counter[tuple[str, str, str]] = Counter()
    for key in kb.index.keys():  # noqa: SIM118 - an index is no mapping
        one = number(key.passage_id)
        lacking.discard(one)
        if one not in kinds or (kinds[one] == damage.ORPHAN and one in now):
            continue
        if kinds[one] != damage.ORPHAN or (key.document_id, key.version) not in noted:
            rows[kinds[one], key.document_id, key.version] += 1
    gone = Counter(now[one] for one in lacking if one in now)
    live = kb.catalogue.live_versions(document for document, _ in gone)
    found = [
        Problem(kind=damage.MISSING, subject=document, detail=f"{count} passages of {version}")
        for (document, version), count in sorted(gone.items())
        if live.get(document) == version
    ]
    return found + [
        Problem(kind=kind, subject=document, detail=f"{count} rows of {version}")
        for (kind, document, version), count in sorted(rows.items())
    ]


def _noted(kb: KnowledgeBase) -> set[Version]:
    return {(one.document_id, one.version) for one in kb.catalogue.pending()}


def _sorted(ids: Sequence[int], contents: Sequence[int]) -> tuple[Numbers, Numbers]:
    keys, values = np.array(ids, dtype=np.uint64), np.array(contents, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]
