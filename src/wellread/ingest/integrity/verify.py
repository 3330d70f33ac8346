"""Proves that the stores agree, and mends them: the catalogue is the truth, the index follows.

Texts are read once and rows once, as streams; what is kept of a row are two numbers. With
``repair`` everything is looked at again after mending, until nothing new comes to light.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from wellread.errors import DamageError
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.checks_catalogue import check_catalogue, check_texts
from wellread.ingest.integrity.checks_deep import check_vectors
from wellread.ingest.integrity.checks_files import check_backups, check_installed, check_models
from wellread.ingest.integrity.checks_index import (
    SAMPLE_DOCUMENTS,
    check_index,
    check_notes,
    check_search,
    fill_again,
)
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.integrity.purge import is_purged, purge
from wellread.ingest.integrity.remedies import embed_owed, mend
from wellread.ingest.integrity.restoring import lost_catalogue, replace_lost
from wellread.ingest.pipeline.commit import writing
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
EVERY = 1_000_000_000
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


def verify(kb: KnowledgeBase, *, repair: bool = False, deep: bool = False) -> VerifyReport:
    """Compare the stores with each other, row by row; with ``repair``, mend what can be mended.

    A text that was damaged cannot be mended from inside: its source is read again by the next run
    that finds it, and the problem stays until then.

    Args:
        deep: search for every document's passages, and embed every one again; takes minutes.

    Raises:
        StoreError: another run is writing (with ``repair``), or the disk refuses.
        ModelError: with ``repair``: rows have no vectors, and the embedder failed; with ``deep``:
            it failed.
    """
    if not repair:
        return _examine(kb, alone=False, deep=deep)
    found: list[Problem] = []
    for round_ in range(ROUNDS):
        with writing(kb):
            lost = _replaced(kb)
            if not all(problem.repaired for problem in lost):
                return VerifyReport(counts={}, problems=tuple(lost))
            report = _examine(kb, alone=True, deep=deep)
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


def _replaced(kb: KnowledgeBase) -> list[Problem]:
    """Put a backup in place of a catalogue that cannot be used; what was wrong with it."""
    lost = _state(kb).lost
    return [replace_lost(kb, lost)] if lost else []


def _purge(kb: KnowledgeBase) -> None:
    try:
        purge(kb)
    except DamageError:  # purging reads files that nothing else does
        with writing(kb):
            fill_again(kb)
        embed_owed(kb)
        purge(kb)


def _examine(kb: KnowledgeBase, *, alone: bool, deep: bool) -> VerifyReport:
    """``alone``: the caller holds the writers' lock."""
    state = _state(kb)
    if state.lost:
        return VerifyReport(counts={}, problems=(lost_catalogue(kb, state.lost),))
    problems = [
        *check_installed(),
        *check_models(kb),
        *check_backups(kb),
        *check_catalogue(kb, state.trees),
        *check_notes(kb, alone=alone),
    ]
    expected, in_texts = check_texts(kb)
    rows, in_index = check_index(kb, expected)
    if all(problem.kind != damage.UNREADABLE for problem in in_index):
        unsure = {problem.subject for problem in in_index}
        in_index += check_search(kb, unsure, EVERY if deep else SAMPLE_DOCUMENTS)
        if deep:
            in_index += check_vectors(kb, unsure)
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
