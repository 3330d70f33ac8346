"""Mends what ``verify`` found, kind by kind: the catalogue is the truth, the index follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wellread.errors import DamageError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import cut_again
from wellread.ingest.integrity.checks_files import drop_models, replace_backups
from wellread.ingest.integrity.checks_index import (
    drop_next,
    drop_orphans,
    fill_again,
    write_again,
)
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.commit import drop_noted
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.ingest.pipeline.vector_filler import VectorFiller
from wellread.kb import KnowledgeBase

WAIT_SECONDS = 1.0


def mend(kb: KnowledgeBase, problems: Sequence[Problem]) -> None:
    """Mend kind by kind, in an order in which later steps build on earlier ones.

    Where the index turns out to be damaged while it is mended, it is made anew. The caller holds
    the writers' lock.
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
            _apply(kb, kinds, remedy, list(dict.fromkeys(subjects)))


def _apply(kb: KnowledgeBase, kinds: Sequence[str], remedy: Remedy, subjects: list[str]) -> None:
    try:
        remedy(kb, subjects)
    except DamageError:
        if ON_INDEX.isdisjoint(kinds):
            raise
        fill_again(kb)


def embed_owed(kb: KnowledgeBase) -> None:
    """Give all passages that are owed vectors theirs, and fold them in."""
    if not kb.catalogue.integrity.owed():
        return
    filler = VectorFiller(kb, lambda _: None)
    try:
        filler.no_more()
        while not filler.wait(WAIT_SECONDS):
            pass
    finally:
        filler.stop()
    kb.index.optimize()


def _read_again(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    """The next run reads their sources."""
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
    ((damage.MODEL,), drop_models),
    ((damage.FILE,), lambda kb, _: kb.catalogue.integrity.rebuild_indexes()),
    ((damage.REFERENCE,), lambda kb, _: kb.catalogue.integrity.mend_references()),
    ((damage.UNSOURCED,), lambda kb, _: kb.catalogue.integrity.record_missing_sources()),
    ((damage.MISCALLED,), lambda kb, ids: kb.catalogue.names.write_again(ids)),
    ((damage.MISCOUNTED,), lambda kb, _: kb.catalogue.integrity.count_again()),
    ((damage.VOID, damage.PAID), lambda kb, ids: kb.catalogue.integrity.drop_debts(ids)),
    ((damage.STAGED,), lambda kb, _: kb.catalogue.reindexing.abandon()),
    ((damage.NEXT_LOST,), lambda kb, _: drop_next(kb)),
    ((damage.STRAY,), lambda kb, _: kb.drop_other_indexes()),
    ((damage.UNREADABLE,), lambda kb, _: fill_again(kb)),
    ((damage.UNSEARCHABLE,), lambda kb, _: kb.index.rebuild()),
    ((damage.UNFINISHED,), lambda kb, _: drop_noted(kb, kb.index)),
    ((damage.OUTSIDE, damage.OVERLAPPING, damage.UNCOVERED, damage.MISNAMED), _cut_again),
    ((damage.ORPHAN,), drop_orphans),
    ((damage.MISSING, damage.DUPLICATE, damage.DIFFERENT), write_again),
    ((damage.NO_VECTOR, damage.WRONG_VECTOR), _owe),
    ((damage.DAMAGED, damage.MARKS), _read_again),
    ((damage.EMPTIED,), _read_emptied),
    ((damage.NOT_STALE,), lambda kb, ids: kb.catalogue.forgetting.mark_stale(ids)),
    ((damage.QUOTING,), lambda kb, _: kb.catalogue.forgetting.forget_quotes()),
    ((damage.CACHED,), lambda kb, _: kb.catalogue.answer_cache.drop_outdated()),
    ((damage.MENTIONS,), lambda kb, ids: kb.catalogue.integrity.drop_mentions(ids)),
    ((damage.ITEMS,), lambda kb, ids: kb.catalogue.stories.forget(ids)),
    ((damage.DEAD_JOB,), lambda kb, _: end_dead_jobs(kb)),
    ((damage.BACKUP,), replace_backups),
)
ON_INDEX = frozenset(  # kinds whose remedies read or write the index
    (
        *(damage.UNSEARCHABLE, damage.UNFINISHED, damage.ORPHAN, damage.MISSING),
        *(damage.OUTSIDE, damage.OVERLAPPING, damage.UNCOVERED, damage.MISNAMED),
        *(damage.DUPLICATE, damage.DIFFERENT),
    )
)
