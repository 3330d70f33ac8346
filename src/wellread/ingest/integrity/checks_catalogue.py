"""Checks the catalogue: its file, references, sources, answers, jobs, and every document.

A document's text has to match its version, its marks have to be within the text, and its passages
have to cover it.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wellread.identity import passage_id
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.job_log import dead_jobs
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.catalogue.documents.integrity import StoredDocument
from wellread.store.row_values import searched_text
from wellread.store.schema.stored_values import DocumentChange, SourceChange
from wellread.types import Span

MAX_LINES = 20  # reported lines of damage in a file


def check_catalogue(kb: KnowledgeBase, trees: Sequence[str]) -> list[Problem]:
    """Find inconsistencies within the catalogue, except in texts and passages."""
    integrity, forgetting = kb.catalogue.integrity, kb.catalogue.forgetting
    outdated = "a document it cites is no longer live"
    findings = (
        (damage.FILE, (("catalogue", line) for line in trees[:MAX_LINES])),
        (damage.REFERENCE, integrity.broken_references()),
        (damage.UNSOURCED, integrity.without_source()),
        (
            damage.SOURCE_WITHOUT_DOCUMENTS,
            ((uri, f"of the collection {name}") for name, uri in integrity.emptied_sources()),
        ),
        (
            damage.WRONG_LOOKUP_NAMES,
            _rows(kb.catalogue.names.with_wrong_keys(), "as its title and facts have them"),
        ),
        (damage.MISCOUNTED, _rows(integrity.miscounted(), "in the record of the document")),
        (damage.NOT_STALE, _rows(forgetting.fresh_but_outdated(), outdated)),
        (
            damage.QUOTING,
            ((item, ", ".join(sorted(ids))) for item, ids in forgetting.quoting_removed().items()),
        ),
        (
            damage.MENTIONS,
            _rows(integrity.misplaced_mentions(), "the next run searches for them again"),
        ),
        (damage.ITEMS, _rows(integrity.misplaced_items(), "the next run creates them again")),
        (damage.DEAD_JOB, ((job.id, f"{job.action}, process {job.pid}") for job in dead_jobs(kb))),
    )
    return [
        Problem(kind=kind, subject=subject, detail=detail)
        for kind, details in findings
        for subject, detail in details
    ]


def _rows(subjects: Iterable[str], detail: str) -> Iterator[tuple[str, str]]:
    return ((subject, detail) for subject in subjects)


@dataclass(slots=True)
class RowHashes:
    """A hash of each row's id and of its content, as all rows together may not fit into memory."""

    ids: array[int] = field(default_factory=lambda: array("Q"))
    contents: array[int] = field(default_factory=lambda: array("Q"))

    def add_row(self, row_id: str, *content: object) -> None:
        """Add a row; ``content``: its document, version, collection, span and text."""
        self.ids.append(hash64(row_id))
        self.contents.append(hash64("\x1f".join(map(str, content))))


@dataclass(slots=True)
class Expected(RowHashes):
    """The expected rows of the index.

    Attributes:
        damaged_texts: documents whose text is damaged; their rows are compared without the text.
    """

    damaged_texts: set[str] = field(default_factory=set)
    documents: int = 0
    characters: int = 0

    def add(self, body: StoredDocument, *, sound: bool) -> None:
        """Add the rows of one document."""
        self.documents += 1
        self.characters += len(body.text)
        if not sound:
            self.damaged_texts.add(body.document_id)
        names = (body.document_id, body.version, body.collection)
        for row in body.passages:
            text = searched_text(row.context, body.text[row.start : row.end], body.language)
            self.add_row(row.id, *names, row.start, row.end, text if sound else "")


def hash64(text: str) -> int:
    """Return a 64-bit hash of ``text``."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def check_texts(kb: KnowledgeBase) -> tuple[Expected, list[Problem]]:
    """Read every document once; return the expected index rows and the problems found."""
    expected = Expected()
    problems: list[Problem] = []
    for body in kb.catalogue.integrity.bodies():
        in_body = list(_problems(body))
        sound = all(problem.kind != damage.DAMAGED for problem in in_body)
        expected.add(body, sound=sound)
        problems += in_body
    return expected, problems


def cut_documents(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    """Cut documents into passages again. The caller has to rewrite their index rows."""
    tokens = kb.live().tokens
    for document_id in document_ids:
        document = kb.catalogue.document(document_id)
        origins = kb.catalogue.integrity.sources_of([document_id])
        if document is None or not origins:
            continue
        collection, uri = origins[0]
        record = kb.catalogue.sources(collection).get(uri)
        if record is None:
            continue
        passages = split(document, tokens, count_tokens)
        change = DocumentChange(document=document, passages=passages, owes_vectors=True)
        kb.catalogue.commit([SourceChange(record=record, documents=[change], accumulates=True)])


def _problems(body: StoredDocument) -> Iterator[Problem]:
    doc_id = body.document_id
    sound = body.computed == body.version
    if not sound:
        reason = body.broken or "its text or marks were changed"
        advice = f"{reason}; add {body.uri} again, or restore a backup ('wellread backup restore')"
        yield Problem(kind=damage.DAMAGED, subject=doc_id, detail=advice)
    if body.reach > len(body.text):
        yield Problem(kind=damage.MARKS, subject=doc_id, detail=f"add {body.uri} again")
    outside = sum(not 0 <= row.start <= row.end <= len(body.text) for row in body.passages)
    if outside:
        yield Problem(kind=damage.OUTSIDE, subject=doc_id, detail=f"{outside} of {body.uri}")
    if not sound or outside:
        return
    if _out_of_order(body.passages):
        yield Problem(kind=damage.OVERLAPPING, subject=doc_id, detail=body.uri)
    elif position := _uncovered(body):
        yield Problem(
            kind=damage.UNCOVERED, subject=doc_id, detail=f"character {position - 1} of {body.uri}"
        )
    wrong = sum(not _has_right_id(body, row) for row in body.passages)
    if wrong:
        yield Problem(kind=damage.MISNAMED, subject=doc_id, detail=f"{wrong} of {body.uri}")


def _out_of_order(rows: Sequence[Any]) -> bool:
    end = 0
    for ordinal, row in enumerate(rows):
        if row.start < end or row.ordinal != ordinal:
            return True
        end = row.end
    return False


def _uncovered(body: StoredDocument) -> int:
    """Return 1 + the position of the first letter outside all passages; 0 if there is none."""
    end = 0
    for start, following in [*((row.start, row.end) for row in body.passages), (None, 0)]:
        for position, character in enumerate(body.text[end:start], end):
            if character.isalpha():
                return position + 1
        end = following
    return 0


def _has_right_id(body: StoredDocument, row: Any) -> bool:
    span = Span(start=row.start, end=row.end)
    right_id = passage_id(body.document_id, body.version, span)
    return bool(row.version == body.version and row.id == right_id)
