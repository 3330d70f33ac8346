"""Proves that the stores agree, and mends them: the catalogue is the truth, the index follows.

Texts are read once and rows once, as streams; what is kept of a row are two numbers. With
``repair`` the same is done a second time where there was something to mend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import check_catalogue, check_texts, cut_again
from wellread.ingest.integrity.checks_index import (
    check_index,
    check_notes,
    check_search,
    drop_orphans,
    fill_again,
    write_again,
)
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.purge import is_purged, purge
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.ingest.pipeline.vector_filler import VectorFiller
from wellread.kb import KnowledgeBase

NOT_PURGED = (
    "bytes of removed or replaced text may still be in the files of the stores "
    "('wellread verify --repair' rewrites them)"
)
WAIT_SECONDS = 1.0
COUNTED = (
    "sources", "entities", "relations", "mentions", "stories", "answers", "cached_answers", "gaps"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What every store counts, and what does not match.

    Attributes:
        notes: what is no damage, but worth knowing.
    """

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is left to mend."""
        return all(problem.repaired for problem in self.problems)


def verify(kb: KnowledgeBase, *, repair: bool = False) -> VerifyReport:
    """Compare the stores with each other, row by row; with ``repair``, mend what can be mended.

    A text that was damaged cannot be mended from inside: its source is read again by the next run
    that finds it, and the problem stays until then.

    Raises:
        StoreError: the catalogue cannot be read, or (with ``repair``) another run is writing.
        ModelError: with ``repair``: rows have no vectors, and the embedder failed.
    """
    if not repair:
        return _examine(kb, alone=False)
    with writing(kb):
        found = _examine(kb, alone=True)
        owing = _mend(kb, found.problems)
    if owing:
        _embed(kb)
    if found.problems:
        kb.catalogue.answer_cache.clear()  # what was damaged may have been missing from answers
    purge(kb)
    if not found.problems:
        return replace(found, notes=_notes(kb))
    after = _examine(kb, alone=False)
    left = {(problem.kind, problem.subject) for problem in after.problems}
    problems = tuple(
        replace(problem, repaired=(problem.kind, problem.subject) not in left)
        for problem in found.problems
    )
    return replace(after, problems=problems)


def _examine(kb: KnowledgeBase, *, alone: bool) -> VerifyReport:
    """``alone``: the caller holds the writers' lock."""
    problems = [*check_catalogue(kb), *check_notes(kb, alone=alone)]
    expected, in_texts = check_texts(kb)
    rows, in_index = check_index(kb, expected)
    if all(problem.kind != damage.UNREADABLE for problem in in_index):
        in_index += check_search(kb, {problem.subject for problem in in_index})
    tables = kb.catalogue.integrity.row_counts()
    counts = {
        "documents": expected.documents,
        "passages in the catalogue": len(expected.ids),
        "rows in the index": rows,
        "passages that wait for their vectors": kb.catalogue.vectors.passages_owed(),
        **{table.replace("_", " "): tables[table] for table in COUNTED},
    }
    return VerifyReport(counts=counts, problems=(*problems, *in_texts, *in_index), notes=_notes(kb))


def _notes(kb: KnowledgeBase) -> tuple[str, ...]:
    return () if is_purged(kb) else (NOT_PURGED,)


def _mend(kb: KnowledgeBase, problems: Sequence[Problem]) -> bool:
    """Mend kind by kind, in an order in which later steps build on earlier ones.

    Whether passages are owed vectors after it.
    """
    by_kind: dict[str, list[str]] = {}
    for problem in problems:
        by_kind.setdefault(problem.kind, []).append(problem.subject)
    damaged = by_kind.get(damage.DAMAGED, [])
    for kinds, remedy in REMEDIES:
        subjects = [subject for kind in kinds for subject in by_kind.get(kind, ())]
        if remedy is _cut_again:  # a damaged text is not worth cutting
            subjects = [subject for subject in subjects if subject not in damaged]
        if subjects:
            remedy(kb, list(dict.fromkeys(subjects)))
    return not OWING.isdisjoint(by_kind)


def _embed(kb: KnowledgeBase) -> None:
    """Give all passages that are owed vectors theirs, and fold them in."""
    filler = VectorFiller(kb, lambda _: None)
    try:
        filler.no_more()
        while not filler.wait(WAIT_SECONDS):
            pass
    finally:
        filler.stop()
    kb.index.optimize()


def _read_again(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    integrity = kb.catalogue.integrity
    integrity.read_again(integrity.sources_of(document_ids))


def _read_emptied(kb: KnowledgeBase, _: Sequence[str]) -> None:
    kb.catalogue.integrity.read_again(kb.catalogue.integrity.emptied())


def _cut_again(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    cut_again(kb, document_ids)
    write_again(kb, document_ids)


def _owe(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    kb.catalogue.integrity.owe(kb.catalogue.live_versions(document_ids).items())


Remedy = Callable[[KnowledgeBase, list[str]], object]
REMEDIES: tuple[tuple[tuple[str, ...], Remedy], ...] = (
    ((damage.FILE,), lambda kb, _: kb.catalogue.integrity.rebuild_indexes()),
    ((damage.REFERENCE,), lambda kb, _: kb.catalogue.integrity.mend_references()),
    ((damage.UNSOURCED,), lambda kb, _: kb.catalogue.integrity.record_missing_sources()),
    ((damage.MISCOUNTED,), lambda kb, _: kb.catalogue.integrity.count_again()),
    ((damage.VOID, damage.PAID), lambda kb, ids: kb.catalogue.integrity.drop_debts(ids)),
    ((damage.STAGED,), lambda kb, _: kb.catalogue.reindexing.abandon()),
    ((damage.STRAY,), lambda kb, _: kb.drop_other_indexes()),
    ((damage.UNREADABLE,), lambda kb, _: fill_again(kb)),
    ((damage.UNSEARCHABLE,), lambda kb, _: kb.index.rebuild()),
    ((damage.UNFINISHED,), lambda kb, _: drop_noted(kb, kb.index)),
    ((damage.OUTSIDE, damage.OVERLAPPING, damage.UNCOVERED, damage.MISNAMED), _cut_again),
    ((damage.ORPHAN,), drop_orphans),
    ((damage.MISSING, damage.DUPLICATE, damage.DIFFERENT), write_again),
    ((damage.NO_VECTOR,), _owe),
    ((damage.DAMAGED, damage.MARKS), _read_again),
    (
        (damage.EMPTIED,),
        _read_emptied,
    ),
    ((damage.NOT_STALE,), lambda kb, ids: kb.catalogue.forgetting.mark_stale(ids)),
    ((damage.QUOTING,), lambda kb, _: kb.catalogue.forgetting.forget_quotes()),
    ((damage.CACHED,), lambda kb, _: kb.catalogue.answer_cache.drop_outdated()),
    ((damage.MENTIONS,), lambda kb, ids: kb.catalogue.integrity.drop_mentions(ids)),
    ((damage.ITEMS,), lambda kb, ids: kb.catalogue.stories.forget(ids)),
    ((damage.DEAD_JOB,), lambda kb, _: end_dead_jobs(kb)),
)
OWING = frozenset(  # kinds whose remedy leaves rows without vectors
    kind
    for kinds, remedy in REMEDIES
    if remedy in (write_again, drop_orphans, _cut_again, _owe) or kinds == (damage.UNREADABLE,)
    for kind in kinds
)
