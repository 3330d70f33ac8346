"""Compares the index with the catalogue row by row and repairs it from the catalogue.

Test searches with known answers are run as well: search structures are files separate from the
rows, so a search may miss rows that exist.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wellread.errors import StoreError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import Expected, RowHashes, hash64
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.commit import put_rows
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.text.english import STOP_WORDS
from wellread.types import DocumentFacts, Filters, Passage

INDEX_LOST = "its files are damaged or missing; it is rebuilt from the catalogue"


def check_index(kb: KnowledgeBase, expected: Expected) -> tuple[int, list[Problem]]:
    """Return the number of rows in the index and its differences from ``expected``."""
    pending_before = set(kb.catalogue.integrity.pending_vectors())
    try:
        contents = _read_index(kb, expected)
    except StoreError:
        try:
            contents = _read_index(kb, expected)  # a writer may have replaced files meanwhile
        except StoreError as error:
            if error.retryable:  # a cluster that does not answer is not damaged
                raise
            return 0, [Problem(kind=damage.UNREADABLE, subject="index", detail=INDEX_LOST)]
    problems = differences(kb, expected, contents)
    return len(contents.ids), [*problems, *_vectors(kb, pending_before, contents.bare)]


def _read_index(kb: KnowledgeBase, expected: Expected) -> IndexContents:
    contents = IndexContents()
    for row in kb.index.held():
        names = (row.document_id, row.version, row.collection)
        text = "" if row.document_id in expected.damaged_texts else row.text
        contents.add_row(row.passage_id, *names, row.start, row.end, text)
        if not row.vector:
            contents.bare[(row.document_id, row.version)] += 1
    return contents


def check_notes(kb: KnowledgeBase, *, alone: bool) -> list[Problem]:
    """Find pending notes and tables that an interrupted process left behind.

    ``alone``: no other process is writing; otherwise notes may belong to a running writer.
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
    problems += [
        Problem(kind=damage.OUTDATED_PENDING, subject=document_id, detail="not its live version")
        for document_id in kb.catalogue.integrity.outdated_vector_debts()
    ]
    return problems


def drop_orphans(kb: KnowledgeBase, document_ids: Iterable[str]) -> None:
    """Drop the index rows of these documents that do not belong to a live version."""
    wanted_ids = set(document_ids)
    live = kb.catalogue.live_versions(wanted_ids)
    stale: set[tuple[str, str]] = set()
    passage_ids: dict[str, set[str]] = {}
    stored = kb.index.keys()
    for key in stored:
        if key.document_id in wanted_ids and live.get(key.document_id) != key.version:
            stale.add((key.document_id, key.version))
        elif key.document_id in wanted_ids:
            passage_ids.setdefault(key.document_id, set()).add(key.passage_id)
    kb.index.remove(sorted(stale))
    # Stray rows under a live version cannot be removed alone, so all its rows are rewritten.
    documents_with_strays = [
        document_id
        for document_id, ids in passage_ids.items()
        if not ids <= {row.id for row in kb.catalogue.passages_of([document_id])}
    ]
    rewrite_rows(kb, documents_with_strays)


def rewrite_rows(kb: KnowledgeBase, document_ids: Iterable[str]) -> None:
    """Replace all index rows of the documents by the catalogue's passages.

    Full-text search finds them at once; their vectors are pending.
    """
    wanted_ids = set(document_ids)
    if not wanted_ids:
        return
    index = kb.index
    stored = index.keys()
    index.remove(
        sorted({(key.document_id, key.version) for key in stored if key.document_id in wanted_ids})
    )
    put_rows(kb, index, sorted(wanted_ids))


def rebuild_index(kb: KnowledgeBase) -> None:
    """Rebuild the index from the catalogue, then drop the old one."""
    kb.renewed_index()
    rewrite_rows(kb, kb.catalogue.document_ids())
    kb.drop_other_indexes()


def _vectors(kb: KnowledgeBase, before: set[str], bare: Counter[tuple[str, str]]) -> list[Problem]:
    """Report rows without a vector that are not pending, and pending ones that have their vectors.

    Pending vectors are read before and after the rows, because they are filled all the time.
    """
    pending = set(kb.catalogue.integrity.pending_vectors())
    live = kb.catalogue.live_versions(doc_id for doc_id, _ in bare)
    problems = [
        Problem(kind=damage.NO_VECTOR, subject=doc_id, detail=f"{count} rows of {version}")
        for (doc_id, version), count in sorted(bare.items())
        if doc_id not in before and doc_id not in pending and live.get(doc_id) == version
    ]
    paid = (before & pending).difference(doc_id for doc_id, _ in bare)
    paid &= kb.catalogue.live_versions(paid).keys()
    return problems + [
        Problem(kind=damage.HAS_VECTORS, subject=doc_id, detail="all its rows have vectors")
        for doc_id in sorted(paid.difference(kb.catalogue.integrity.outdated_vector_debts()))
    ]


def _idle(kb: KnowledgeBase) -> bool:
    with kb.locks.hold(INGEST_LOCK) as acquired:
        return acquired


SAMPLE_DOCUMENTS = 16
SAMPLE_PASSAGES = 8  # passages per sample document
# Plain ASCII words, which every tokenizer and stemmer finds again.
_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,16}(?![^\W_])")


def check_search(kb: KnowledgeBase, unsure: Collection[str]) -> list[Problem]:
    """Report kinds of search that fail or miss passages of sample documents."""
    failures: dict[str, str] = {}
    # Ids are hashes, so the smallest ones are a random sample that stays the same.
    sample = sorted(kb.catalogue.document_ids())[:SAMPLE_DOCUMENTS]
    for document_id in sample:
        facts = kb.catalogue.facts([document_id]).get(document_id)
        if facts is None or document_id in unsure:
            continue
        for kind, detail in _misses(kb, facts):
            # Checked twice: a writer may have been active between reading the two stores.
            if kind not in failures and (kind, detail) in _misses(kb, facts):
                failures[kind] = detail
    return [
        Problem(kind=damage.UNSEARCHABLE, subject=kind, detail=detail)
        for kind, detail in failures.items()
    ]


def _misses(kb: KnowledgeBase, facts: DocumentFacts) -> list[tuple[str, str]]:
    """Return the kind of search and what it misses, for each that does not find the document."""
    passages = kb.catalogue.passages_of([facts.id])[:SAMPLE_PASSAGES]
    by_id = Filters(document_ids=(facts.id,))
    by_facts = Filters(
        collections=(facts.collection,),
        kinds=(facts.kind,),
        document_ids=(facts.id,),
        languages=(facts.language,) if facts.language else (),
        source_types=(facts.source_type,) if facts.source_type else (),
        authors=facts.authors[:1],
        published_from=facts.published_at,
        published_to=facts.published_at,
    )
    expected_count = (
        0 if facts.id in set(kb.catalogue.integrity.pending_vectors()) else len(passages)
    )
    missed = []
    try:
        missing = sum(not _by_word(kb, passage, by_id) for passage in passages)
        if missing:
            missed.append(("words", f"{missing} of {len(passages)} passages of {facts.id}"))
    except StoreError as error:
        missed.append(("words", str(error)))
    try:
        by_vector = _by_vector(kb, by_id, expected_count)
        if by_vector < expected_count:
            missed.append(("vectors", f"{by_vector} of {expected_count} passages of {facts.id}"))
        described_count = _by_vector(kb, by_facts, expected_count)
        if described_count < by_vector:
            missed.append(("filters", f"{described_count} of {by_vector} passages of {facts.id}"))
    except StoreError as error:
        missed.append(("vectors", str(error)))
    try:
        kb.index.remove([(facts.id, "no version")])  # tests the lookup by id; removes nothing
    except StoreError as error:
        missed.append(("ids", str(error)))
    return missed


def _by_word(kb: KnowledgeBase, passage: Passage, filters: Filters) -> bool:
    words = [word for word in _WORD.findall(passage.text) if word.lower() not in STOP_WORDS]
    if not words:
        return True
    # The longest word is the rarest, so few other passages of the document match it.
    hits = kb.index.search_text(max(words, key=len), filters, 1)
    return bool(hits)


def _by_vector(kb: KnowledgeBase, filters: Filters, count: int) -> int:
    if not count:
        return 0
    live = kb.catalogue.reindexing.live()  # does not open the embedder, which may be damaged
    if live is None:
        return 0
    dimensions = live.fingerprint.dimensions
    anywhere = np.full(dimensions, dimensions**-0.5, dtype=np.float32)
    return len(kb.index.search_vector(anywhere, filters, count))


Numbers = NDArray[np.uint64]
Version = tuple[str, str]  # document id and version


@dataclass(slots=True)
class IndexContents(RowHashes):
    """The rows of the index, and how many of each version lack vectors."""

    bare: Counter[Version] = field(default_factory=Counter)


def differences(kb: KnowledgeBase, expected: Expected, contents: IndexContents) -> list[Problem]:
    """Find missing, orphaned, duplicate and differing index rows."""
    expected_ids, expected_hashes = _sorted(expected.ids, expected.contents)
    index_ids, index_hashes = _sorted(contents.ids, contents.contents)
    unique_ids, counts = np.unique(index_ids, return_counts=True)
    missing = np.setdiff1d(expected_ids, unique_ids, assume_unique=True)
    orphan = np.setdiff1d(unique_ids, expected_ids, assume_unique=True)
    duplicates = unique_ids[counts > 1]
    # For duplicate rows it does not matter which of them is compared.
    common, left, right = np.intersect1d(expected_ids, index_ids, return_indices=True)
    different = np.setdiff1d(common[expected_hashes[left] != index_hashes[right]], duplicates)
    if not any(map(len, (missing, orphan, duplicates, different))):
        return []
    odd = {damage.ORPHAN: orphan, damage.DUPLICATE: duplicates, damage.DIFFERENT: different}
    return _by_document(kb, missing, odd)


def _by_document(kb: KnowledgeBase, missing: Numbers, extra: dict[str, Numbers]) -> list[Problem]:
    """Group the differences by document after a second look at both stores.

    Differences that a writer has resolved meanwhile are left out, and so are orphans that it is
    working on: their versions are pending. ``check_notes`` reports pending notes of a dead writer.
    """
    missing_ids = set(missing.tolist())
    kinds = {row_id: kind for kind, ids in extra.items() for row_id in ids.tolist()}
    pending = _pending_versions(kb)
    current: dict[int, Version] = {}
    for key in kb.catalogue.passage_keys():
        row_id = hash64(key.passage_id)
        if row_id in missing_ids or row_id in kinds:
            current[row_id] = (key.document_id, key.version)
    pending |= _pending_versions(kb)  # versions that went live in between are in ``current``
    rows: Counter[tuple[str, str, str]] = Counter()
    for key in kb.index.keys():  # noqa: SIM118 - an index is no mapping
        row_id = hash64(key.passage_id)
        missing_ids.discard(row_id)
        if row_id not in kinds or (kinds[row_id] == damage.ORPHAN and row_id in current):
            continue
        if kinds[row_id] != damage.ORPHAN or (key.document_id, key.version) not in pending:
            rows[kinds[row_id], key.document_id, key.version] += 1
    missing_counts = Counter(current[row_id] for row_id in missing_ids if row_id in current)
    live = kb.catalogue.live_versions(document for document, _ in missing_counts)
    problems = [
        Problem(kind=damage.MISSING, subject=document, detail=f"{count} passages of {version}")
        for (document, version), count in sorted(missing_counts.items())
        if live.get(document) == version
    ]
    return problems + [
        Problem(kind=kind, subject=document, detail=f"{count} rows of {version}")
        for (kind, document, version), count in sorted(rows.items())
    ]


def _pending_versions(kb: KnowledgeBase) -> set[Version]:
    return {(write.document_id, write.version) for write in kb.catalogue.pending()}


def _sorted(ids: Sequence[int], contents: Sequence[int]) -> tuple[Numbers, Numbers]:
    keys, values = np.array(ids, dtype=np.uint64), np.array(contents, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]
