"""Proves that the stores agree, and mends them: the catalogue is the truth, the index follows.

Texts are read once and rows once, as streams; what is kept of a row are two numbers. With
``repair`` everything is looked at again after mending, until nothing new comes to light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.errors import DamageError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.backups import (
    check_backups,
    lost_catalogue,
    replace_backups,
    replace_lost,
)
from wellread.ingest.integrity.checks_catalogue import check_catalogue, check_texts, cut_again
from wellread.ingest.integrity.checks_index import (
    check_index,
    check_notes,
    check_search,
    drop_next,
    drop_orphans,
    fill_again,
    write_again,
)
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.purge import is_purged, purge
from wellread.ingest.pipeline.commit import VectorFiller, drop_noted, writing
from wellread.ingest.pipeline.job_log import end_dead_jobs
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE, has_remains
from wellread.store.recovery.moving import FileState, inspect_file, is_unmade

NOT_PURGED = (
    "bytes of removed or replaced text may still be in the files of the stores and in backups "
    "('wellread verify --repair' rewrites them)"
)
ON_SERVER = (
    "the catalogue is on a server: its rows were read and compared, its files, write-ahead log, "
    "replicas and backups are the server's and were not looked at"
)
ROUNDS = 3  # of looking and mending: mending may bring further damage to light
COUNTED = (
    "sources", "entities", "relations", "mentions", "stories", "answers", "cached_answers", "gaps"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What every store counts, and what does not match."""

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
        StoreError: another run is writing (with ``repair``), or the disk refuses.
        ModelError: with ``repair``: rows have no vectors, and the embedder failed.
    """
    if not repair:
        return _examine(kb, alone=False)
    found: list[Problem] = []
    for round_ in range(ROUNDS):
        with writing(kb):
            state = _state(kb)
            lost = [replace_lost(kb, state.lost)] if state.lost else []
            if not all(problem.repaired for problem in lost):
                return VerifyReport(counts={}, problems=tuple(lost))
            report = _examine(kb, alone=True)
            mend(kb, report.problems)
        fresh = _unknown([*lost, *report.problems], found)
        found += fresh
        if round_ and not fresh:
            break
        embed_owed(kb)
        if found:
            kb.catalogue.answer_cache.clear()  # what was damaged may be missing from answers
        _purge(kb)
        if not found:
            break
    left = {(problem.kind, problem.subject) for problem in report.problems}
    problems = tuple(
        replace(problem, repaired=(problem.kind, problem.subject) not in left) for problem in found
    )
    return replace(report, problems=problems, notes=_notes(kb, problems))


def _unknown(problems: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    told = {(problem.kind, problem.subject) for problem in known}
    return [problem for problem in problems if (problem.kind, problem.subject) not in told]


def _state(kb: KnowledgeBase) -> FileState:
    """That of the catalogue's file; in a new home none has to be there, and it may be unmade."""
    if kb.place.url:
        return FileState()  # its files are the server's
    path = kb.home / CATALOGUE_FILE
    if is_unmade(path) and not has_remains(kb.home):
        return FileState()
    return inspect_file(path)


def _purge(kb: KnowledgeBase) -> None:
    try:
        purge(kb)
    except DamageError:  # purging reads files that nothing else does
        with writing(kb):
            fill_again(kb)
        embed_owed(kb)
        purge(kb)


def _examine(kb: KnowledgeBase, *, alone: bool) -> VerifyReport:
    """``alone``: the caller holds the writers' lock."""
    state = _state(kb)
    if state.lost:
        return VerifyReport(counts={}, problems=(lost_catalogue(kb, state.lost),))
    problems = [
        *check_backups(kb),
        *check_catalogue(kb, state.trees),
        *check_notes(kb, alone=alone),
    ]
    expected, in_texts = check_texts(kb)
    rows, in_index = check_index(kb, expected)
    if all(problem.kind != damage.UNREADABLE for problem in in_index):
        unsure = {problem.subject for problem in in_index}
        in_index += check_search(kb, unsure)
    tables = kb.catalogue.integrity.row_counts()
    counts = {
        "documents": expected.documents,
        "passages in the catalogue": len(expected.ids),
        "rows in the index": rows,
        "passages that wait for their vectors": kb.catalogue.vectors.passages_owed(),
        **{table.replace("_", " "): tables[table] for table in COUNTED},
    }
    found = (*problems, *in_texts, *in_index)
    return VerifyReport(counts=counts, problems=found, notes=_notes(kb, found))


def _notes(kb: KnowledgeBase, problems: Iterable[Problem]) -> tuple[str, ...]:
    unread = {damage.UNREADABLE, damage.NEXT_LOST, damage.CATALOGUE}
    if any(problem.kind in unread and not problem.repaired for problem in problems):
        return ()
    server = (ON_SERVER,) if kb.place.url else ()
    return server if is_purged(kb) else (*server, NOT_PURGED)


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
    ((damage.NO_VECTOR,), _owe),
    ((damage.DAMAGED, damage.MARKS), _read_again),
    ((damage.EMPTIED,), _read_emptied),
    ((damage.NOT_STALE,), lambda kb, ids: kb.catalogue.forgetting.mark_stale(ids)),
    ((damage.QUOTING,), lambda kb, _: kb.catalogue.forgetting.forget_quotes()),
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
