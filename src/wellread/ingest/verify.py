"""Proves that the stores agree, and mends them: the catalogue is the truth, the index follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from wellread.identity import version_of
from wellread.ingest.rows import index_rows
from wellread.ingest.writing import drop_noted, writing
from wellread.kb import KnowledgeBase
from wellread.types import Document, Passage

MISSING = "missing from the index"
ORPHAN = "in the index but not live"
UNFINISHED = "left by an interrupted run"
DAMAGED = "text does not match its version"
OUTSIDE = "passage outside its text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that does not match; ``subject`` is a document id."""

    kind: str
    subject: str
    detail: str
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What every store counts, and what does not match."""

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing is left to mend."""
        return all(problem.repaired for problem in self.problems)


def verify(kb: KnowledgeBase, *, repair: bool = False) -> VerifyReport:
    """Compare catalogue and index, row by row; with ``repair``, mend the index from the catalogue.

    A document whose stored text was damaged cannot be mended from here: its source has to be
    added again, and the problem says so.

    Raises:
        StoreError: a store cannot be read, or (with ``repair``) another run is writing.
    """
    if not repair:
        return _compare(kb)
    with writing(kb):
        found = _compare(kb)
        unfinished = drop_noted(kb, kb.live().index) > 0
        mended = _mend(kb, found) or unfinished
        if mended:
            kb.index.optimize()
        left = {(problem.kind, problem.subject) for problem in _compare(kb).problems}
    return VerifyReport(
        counts=_compare(kb).counts,
        problems=tuple(
            replace(problem, repaired=(problem.kind, problem.subject) not in left)
            for problem in found.problems
        ),
    )


def _compare(kb: KnowledgeBase) -> VerifyReport:
    live = {key.passage_id: (key.document_id, key.version) for key in kb.catalogue.passage_keys()}
    passages = len(live)
    rows = 0
    missing = Counter(live.values())
    orphans: Counter[tuple[str, str]] = Counter()
    stored = kb.index.keys()
    for key in stored:
        rows += 1
        if live.pop(key.passage_id, None) is None:
            orphans[(key.document_id, key.version)] += 1
        else:
            missing[(key.document_id, key.version)] -= 1
    problems = [
        Problem(kind=MISSING, subject=document, detail=f"{count} passages of {version}")
        for (document, version), count in missing.items()
        if count > 0
    ]
    problems += [
        Problem(kind=ORPHAN, subject=document, detail=f"{count} rows of {version}")
        for (document, version), count in orphans.items()
    ]
    problems += [
        Problem(
            kind=UNFINISHED, subject=write.document_id, detail=f"{write.action} {write.version}"
        )
        for write in kb.catalogue.pending()
    ]
    documents, damaged = _check_texts(kb)
    counts = {
        "documents": documents,
        "passages in the catalogue": passages,
        "rows in the index": rows,
    }
    return VerifyReport(counts=counts, problems=(*problems, *damaged))


def _check_texts(kb: KnowledgeBase) -> tuple[int, list[Problem]]:
    """Recompute every document's version from its stored text and marks."""
    problems = []
    documents = 0
    for document_id in kb.catalogue.document_ids():
        documents += 1
        document = kb.catalogue.document(document_id)
        if document is None:
            continue
        live = kb.catalogue.live_versions([document_id]).get(document_id)
        if version_of(document.text, document.marks) != live:
            problems.append(
                Problem(
                    kind=DAMAGED,
                    subject=document_id,
                    detail=f"add {document.uri} again after removing its record",
                )
            )
        rows = kb.catalogue.passages(document_id)
        if any(row.span.end > len(document.text) for row in rows):
            problems.append(Problem(kind=OUTSIDE, subject=document_id, detail=document.uri))
    return documents, problems


def _mend(kb: KnowledgeBase, found: VerifyReport) -> bool:
    """Drop what is not live, write what is missing; whether anything was done."""
    orphans = {problem.subject for problem in found.problems if problem.kind == ORPHAN}
    missing = {problem.subject for problem in found.problems if problem.kind == MISSING}
    if orphans:
        stored = kb.index.keys()
        versions = {(key.document_id, key.version) for key in stored if key.document_id in orphans}
        kb.index.remove(sorted(versions))
    for document_id in sorted(orphans | missing):
        document = kb.catalogue.document(document_id)
        if document is not None:
            _write_again(kb, document_id, document)
    return bool(orphans or missing)


def _write_again(kb: KnowledgeBase, document_id: str, document: Document) -> None:
    passages = [
        Passage(
            id=row.id,
            document_id=row.document_id,
            version=row.version,
            span=row.span,
            text=row.span.of(document.text),
            context=row.context,
            speakers=row.speakers,
        )
        for row in kb.catalogue.passages(document_id)
    ]
    rows = index_rows(document, passages)
    kb.index.write(rows, kb.embedder.embed([f"{r.context}\n{r.text}" for r in rows], "passage"))
