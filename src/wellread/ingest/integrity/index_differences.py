"""Where the rows of the index and the passages of the catalogue differ, while others may write."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import Expected, number
from wellread.ingest.integrity.damage import Problem
from wellread.kb import KnowledgeBase

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
