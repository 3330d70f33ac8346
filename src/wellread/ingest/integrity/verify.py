"""Checks that catalogue and index agree, and repairs them; the catalogue is the source of truth.

Texts and rows are streamed once; only two hashes of each row are kept in memory. With ``repair``
everything is checked again after repairing, until no new problem appears.
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
from wellread.ingest.integrity.checks_catalogue import check_catalogue, check_texts, cut_documents
from wellread.ingest.integrity.checks_index import (
    check_index,
    check_notes,
    check_search,
    drop_orphans,
    rebuild_index,
    rewrite_rows,
)
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.purge import is_purged, purge
from wellread.ingest.pipeline.commit import VectorFiller, drop_noted, tidy, writing
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
ROUNDS = 3  # rounds of checking and repairing: a repair may reveal further damage
COUNTED = (
    "sources", "entities", "relations", "mentions", "stories", "answers", "cached_answers", "gaps"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Row counts of the stores, and the problems found."""

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether no problem is left unrepaired."""
        return all(problem.repaired for problem in self.problems)


def verify(kb: KnowledgeBase, *, repair: bool = False) -> VerifyReport:
    """Compare the stores row by row; with ``repair``, repair the problems found if possible.

    A damaged text cannot be repaired from the stores: the next run that finds its source reads it
    again, and the problem stays until then.

    Raises:
        StoreError: another run is writing (with ``repair``), or the disk fails.
        ModelError: with ``repair``: vectors are missing, and the embedder failed.
    """
    if not repair:
        return _examine(kb, alone=False)
    collected: list[Problem] = []
    for round_ in range(ROUNDS):
        with writing(kb):
            state = _file_state(kb)
            lost = [replace_lost(kb, state.lost)] if state.lost else []
            if not all(problem.repaired for problem in lost):
                return VerifyReport(counts={}, problems=tuple(lost))
            report = _examine(kb, alone=True)
            repair_damage(kb, report.problems)
            tidy(kb)
        known = {(problem.kind, problem.subject) for problem in collected}
        problems = [*lost, *report.problems]
        fresh = [problem for problem in problems if (problem.kind, problem.subject) not in known]
        collected += fresh
        if round_ and not fresh:
            break
        embed_pending(kb)
        if collected:
            kb.catalogue.answer_cache.clear()  # cached answers may lack the damaged material
        _purge(kb)
        if not collected:
            break
    unrepaired = {(problem.kind, problem.subject) for problem in report.problems}
    outcome = tuple(
        replace(problem, repaired=(problem.kind, problem.subject) not in unrepaired)
        for problem in collected
    )
    return replace(report, problems=outcome, notes=_notes(kb, outcome))


def _file_state(kb: KnowledgeBase) -> FileState:
    """Return the state of the catalogue's file; in a new home it may be missing or empty."""
    if kb.place.url:
        return FileState()  # a database server looks after its own files
    path = kb.home / CATALOGUE_FILE
    if is_unmade(path) and not has_remains(kb.home):
        return FileState()
    return inspect_file(path)


def _purge(kb: KnowledgeBase) -> None:
    try:
        purge(kb)
    except DamageError:  # purging reads files that nothing else reads
        with writing(kb):
            rebuild_index(kb)
        embed_pending(kb)
        purge(kb)


def _examine(kb: KnowledgeBase, *, alone: bool) -> VerifyReport:
    """Run all checks. ``alone``: the caller holds the writers' lock."""
    state = _file_state(kb)
    if state.lost:
        return VerifyReport(counts={}, problems=(lost_catalogue(kb, state.lost),))
    problems = [*check_backups(kb), *check_catalogue(kb, state.trees)]
    problems += check_notes(kb, alone=alone)
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
        "passages that wait for their vectors": kb.catalogue.vectors.passages_pending(),
        **{table.replace("_", " "): tables[table] for table in COUNTED},
    }
    all_problems = (*problems, *in_texts, *in_index)
    return VerifyReport(counts=counts, problems=all_problems, notes=_notes(kb, all_problems))


def _notes(kb: KnowledgeBase, problems: Iterable[Problem]) -> tuple[str, ...]:
    unread = {damage.UNREADABLE, damage.CATALOGUE}
    if any(problem.kind in unread and not problem.repaired for problem in problems):
        return ()
    server = (ON_SERVER,) if kb.place.url else ()
    return server if is_purged(kb) else (*server, NOT_PURGED)


WAIT_SECONDS = 1.0


def repair_damage(kb: KnowledgeBase, problems: Sequence[Problem]) -> None:
    """Repair one kind of damage after the other; later repairs build on earlier ones.

    If the index turns out to be damaged during a repair, it is rebuilt. The caller holds the
    writers' lock.
    """
    by_kind: dict[str, list[str]] = {}
    for problem in problems:
        by_kind.setdefault(problem.kind, []).append(problem.subject)
    damaged = by_kind.get(damage.DAMAGED, [])
    for kinds, remedy in REMEDIES:
        subjects = [subject for kind in kinds for subject in by_kind.get(kind, ())]
        if remedy is _cut_again:  # a damaged text will be read again anyway
            subjects = [subject for subject in subjects if subject not in damaged]
        try:
            if subjects:
                remedy(kb, list(dict.fromkeys(subjects)))
        except DamageError:
            if INDEX_KINDS.isdisjoint(kinds):
                raise
            rebuild_index(kb)


def embed_pending(kb: KnowledgeBase) -> None:
    """Embed all passages whose vectors are pending, and optimise the index."""
    if not kb.catalogue.integrity.pending_vectors():
        return
    filler = VectorFiller(kb, lambda _: None)
    try:
        filler.no_more()
        while not filler.wait(WAIT_SECONDS):
            pass
    finally:
        filler.stop()
    kb.index.optimize()


def _mark_for_reading(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    integrity = kb.catalogue.integrity
    integrity.read_again(integrity.sources_of(document_ids))


def _read_emptied(kb: KnowledgeBase, _: Sequence[str]) -> None:
    kb.catalogue.integrity.read_again(kb.catalogue.integrity.emptied_sources())


def _cut_again(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    cut_documents(kb, document_ids)
    rewrite_rows(kb, document_ids)


def _mark_pending(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    kb.catalogue.integrity.add_pending(kb.catalogue.live_versions(document_ids).items())


Remedy = Callable[[KnowledgeBase, list[str]], object]
REMEDIES: tuple[tuple[tuple[str, ...], Remedy], ...] = (
    ((damage.FILE,), lambda kb, _: kb.catalogue.integrity.rebuild_indexes()),
    ((damage.REFERENCE,), lambda kb, _: kb.catalogue.integrity.repair_references()),
    ((damage.UNSOURCED,), lambda kb, _: kb.catalogue.integrity.record_missing_sources()),
    ((damage.WRONG_LOOKUP_NAMES,), lambda kb, ids: kb.catalogue.names.rewrite_keys(ids)),
    ((damage.MISCOUNTED,), lambda kb, _: kb.catalogue.integrity.correct_counts()),
    (
        (damage.OUTDATED_PENDING, damage.HAS_VECTORS),
        lambda kb, ids: kb.catalogue.integrity.drop_vector_debts(ids),
    ),
    ((damage.STRAY,), lambda kb, _: kb.drop_other_indexes()),
    ((damage.UNREADABLE,), lambda kb, _: rebuild_index(kb)),
    ((damage.UNSEARCHABLE,), lambda kb, _: kb.index.rebuild()),
    ((damage.UNFINISHED,), lambda kb, _: drop_noted(kb, kb.index)),
    ((damage.OUTSIDE, damage.OVERLAPPING, damage.UNCOVERED, damage.MISNAMED), _cut_again),
    ((damage.ORPHAN,), drop_orphans),
    ((damage.MISSING, damage.DUPLICATE, damage.DIFFERENT), rewrite_rows),
    ((damage.NO_VECTOR,), _mark_pending),
    ((damage.DAMAGED, damage.MARKS), _mark_for_reading),
    ((damage.SOURCE_WITHOUT_DOCUMENTS,), _read_emptied),
    ((damage.NOT_STALE,), lambda kb, ids: kb.catalogue.forgetting.mark_stale(ids)),
    ((damage.QUOTING,), lambda kb, _: kb.catalogue.forgetting.forget_quotes()),
    ((damage.MENTIONS,), lambda kb, ids: kb.catalogue.integrity.drop_mentions(ids)),
    ((damage.ITEMS,), lambda kb, ids: kb.catalogue.stories.forget(ids)),
    ((damage.DEAD_JOB,), lambda kb, _: end_dead_jobs(kb)),
    ((damage.BACKUP,), replace_backups),
)
INDEX_KINDS = frozenset(  # kinds whose remedies read or write the index
    (
        *(damage.UNSEARCHABLE, damage.UNFINISHED, damage.ORPHAN, damage.MISSING),
        *(damage.OUTSIDE, damage.OVERLAPPING, damage.UNCOVERED, damage.MISNAMED),
        *(damage.DUPLICATE, damage.DIFFERENT),
    )
)
