"""Checks the catalogue by itself: its file, references, sources, answers, jobs; and every document.

A document's text has to be the one of its version, its marks have to lie inside of it, and the
passages that it is cut into have to cover it.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from wellread.identity import passage_id
from wellread.ingest.integrity import damage
from wellread.ingest.integrity.damage import Problem
from wellread.ingest.pipeline.job_log import dead_jobs
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.catalogue.documents.lookup import Body, StoredPassage
from wellread.store.schema.stored_values import DocumentChange, SourceChange
from wellread.types import Span

SHOWN = 20  # lines of damage in a file that are told


def check_catalogue(kb: KnowledgeBase, trees: Sequence[str]) -> list[Problem]:
    """Everything that does not agree within the catalogue, texts and passages excepted."""
    integrity, forgetting = kb.catalogue.integrity, kb.catalogue.forgetting
    outdated = "what it cites is not live any more"
    found = (
        (damage.FILE, (("catalogue", line) for line in trees[:SHOWN])),
        (
            damage.REFERENCE,
            (
                (f"{one.table}.{one.column}", f"{one.rows} rows, to {one.parent}")
                for one in integrity.broken_references()
            ),
        ),
        (damage.UNSOURCED, integrity.unsourced()),
        (damage.EMPTIED, ((uri, f"of the collection {name}") for name, uri in integrity.emptied())),
        (damage.MISCALLED, _each(kb.catalogue.names.wrong(), "as its title and facts have them")),
        (damage.MISCOUNTED, _each(integrity.miscounted(), "in the record of the document")),
        (damage.NOT_STALE, _each(forgetting.fresh_but_outdated(), outdated)),
        (
            damage.QUOTING,
            ((one, ", ".join(sorted(ids))) for one, ids in forgetting.quoting_removed().items()),
        ),
        (
            damage.MENTIONS,
            _each(integrity.misplaced_mentions(), "are looked for again by the next run"),
        ),
        (damage.ITEMS, _each(integrity.misplaced_items(), "are made again by the next run")),
        (
            damage.DEAD_JOB,
            ((job.id, f"{job.action}, process {job.pid}") for job in dead_jobs(kb)),
        ),
    )
    return [
        Problem(kind=kind, subject=subject, detail=detail)
        for kind, those in found
        for subject, detail in those
    ]


def _each(subjects: Iterable[str], detail: str) -> Iterator[tuple[str, str]]:
    return ((subject, detail) for subject in subjects)


@dataclass(slots=True)
class Expected:
    """What the index should hold, a number for each row's id and for its content.

    Numbers, because a home may have more rows than fit into memory as they are.

    Attributes:
        unsure: documents whose text is damaged; their rows are compared without it.
    """

    ids: array[int] = field(default_factory=lambda: array("Q"))
    contents: array[int] = field(default_factory=lambda: array("Q"))
    unsure: set[str] = field(default_factory=set)
    documents: int = 0
    characters: int = 0

    def add(self, body: Body, *, sound: bool) -> None:
        """The rows of one document."""
        self.documents += 1
        self.characters += len(body.text)
        if not sound:
            self.unsure.add(body.document_id)
        for row in body.passages:
            text = body.text[row.start : row.end]
            searched = f"{row.context}\n{text}" if row.context else text
            self.ids.append(number(row.id))
            self.contents.append(
                row_number(
                    (body.document_id, body.version, body.collection),
                    (row.start, row.end),
                    searched if sound else "",
                )
            )


def row_number(names: tuple[str, str, str], span: tuple[int, int], text: str) -> int:
    """What stands for the content of a row: document, version, collection, span and text."""
    return number("\x1f".join((*names, str(span[0]), str(span[1]), text)))


def number(text: str) -> int:
    """64 bits of a hash of ``text``."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def check_texts(kb: KnowledgeBase) -> tuple[Expected, list[Problem]]:
    """Read every document once; what its rows in the index should be, and what is wrong."""
    expected = Expected()
    problems: list[Problem] = []
    for body in kb.catalogue.integrity.bodies():
        found = list(_problems(body))
        sound = all(problem.kind != damage.DAMAGED for problem in found)
        expected.add(body, sound=sound)
        problems += found
    return expected, problems


def cut_again(kb: KnowledgeBase, document_ids: Sequence[str]) -> None:
    """Cut documents into passages anew; their rows in the index are to be written after that."""
    tokens = kb.live().tokens
    for known in document_ids:
        document = kb.catalogue.document(known)
        origins = kb.catalogue.integrity.sources_of([known])
        if document is None or not origins:
            continue
        collection, uri = origins[0]
        record = kb.catalogue.sources(collection).get(uri)
        if record is None:
            continue
        passages = split(document, tokens, count_tokens)
        change = DocumentChange(document=document, passages=passages, owes_vectors=True)
        kb.catalogue.commit([SourceChange(record=record, documents=[change], accumulates=True)])


def _problems(body: Body) -> Iterator[Problem]:
    known = body.document_id
    sound = body.computed == body.version
    if not sound:
        reason = body.broken or "its text or marks were changed"
        advice = (
            f"{reason}; add {body.uri} again, or bring a backup back ('wellread backup restore')"
        )
        yield Problem(kind=damage.DAMAGED, subject=known, detail=advice)
    if body.reach > len(body.text):
        yield Problem(kind=damage.MARKS, subject=known, detail=f"add {body.uri} again")
    outside = sum(not 0 <= row.start <= row.end <= len(body.text) for row in body.passages)
    if outside:
        yield Problem(kind=damage.OUTSIDE, subject=known, detail=f"{outside} of {body.uri}")
    if not sound or outside:
        return
    if _out_of_order(body.passages):
        yield Problem(kind=damage.OVERLAPPING, subject=known, detail=body.uri)
    elif place := _uncovered(body):
        yield Problem(
            kind=damage.UNCOVERED, subject=known, detail=f"character {place - 1} of {body.uri}"
        )
    wrong = sum(not _well_named(body, row) for row in body.passages)
    if wrong:
        yield Problem(kind=damage.MISNAMED, subject=known, detail=f"{wrong} of {body.uri}")


def _out_of_order(rows: Sequence[StoredPassage]) -> bool:
    end = 0
    for place, row in enumerate(rows):
        if row.start < end or row.ordinal != place:
            return True
        end = row.end
    return False


def _uncovered(body: Body) -> int:
    """One more than the place of the first letter that is in no passage; 0 when all are."""
    end = 0
    for start, following in [*((row.start, row.end) for row in body.passages), (None, 0)]:
        for place, character in enumerate(body.text[end:start], end):
            if character.isalpha():
                return place + 1
        end = following
    return 0


def _well_named(body: Body, row: StoredPassage) -> bool:
    span = Span(start=row.start, end=row.end)
    same = row.version == body.version
    return same and row.id == passage_id(body.document_id, body.version, span)
