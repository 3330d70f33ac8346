"""The one way into the stores: intend, index, commit, settle, under the writers' lock.

The order of writes is what keeps a home whole at any kill:

1. the catalogue notes which versions are about to go into the index (``intend``);
2. the index takes their rows, which are found by their words from then on;
3. the catalogue flips to the new versions, in one transaction that also clears the notes, notes
   the old versions for removal and the new ones as still to be embedded (``commit``);
4. the index drops the old versions, and the catalogue clears those notes (``settle``).

Until 3 the old version is live and its rows are all there; a search never shows a row whose
version is not live. All four happen under one lock, held for a moment per window. So whoever
holds it and finds notes knows that their writer was killed, and may drop what they name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from filelock import FileLock, Timeout

from wellread.errors import StoreError
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.store.base import Index, IndexRow
from wellread.store.schema.catalogue_values import SourceChange, VersionKey
from wellread.types import Document, Passage


def index_rows(document: Document, passages: Sequence[Passage]) -> list[IndexRow]:
    """What the index keeps of ``passages`` of ``document``."""
    taxonomy = tuple(
        f"{name}={value}" for name, values in document.taxonomy.items() for value in values
    )
    return [
        IndexRow(
            passage_id=passage.id,
            document_id=passage.document_id,
            version=passage.version,
            span=passage.span,
            collection=document.collection,
            kind=document.kind,
            text=passage.text,
            context=passage.context,
            source_type=document.source_type,
            language=document.language,
            authors=document.authors,
            speakers=passage.speakers,
            taxonomy=taxonomy,
            published_at=document.published_at,
        )
        for passage in passages
    ]


logger = logging.getLogger(__name__)

LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A document whose rows are not in the index yet."""

    document: Document
    passages: Sequence[Passage]


@contextmanager
def writing(kb: KnowledgeBase) -> Iterator[None]:
    """Hold the home's writers' lock; the system frees it when the process dies.

    Raises:
        StoreError: another process has held it for ten minutes.
    """
    lock = FileLock(kb.home / INGEST_LOCK)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise StoreError(
            f"another process has been writing to {kb.home} for {LOCK_SECONDS:.0f} seconds",
            hint="wait until it has ended, or stop it",
        ) from error
    try:
        yield
    finally:
        lock.release()


def recover(kb: KnowledgeBase) -> int:
    """Drop the index rows that a killed run left behind; how many versions were noted."""
    with writing(kb):
        left = drop_noted(kb, kb.live().index)
    if left:
        logger.info("dropped %d versions that an interrupted run had left", left)
    return left


def write_window(
    kb: KnowledgeBase, index: Index, changes: Sequence[SourceChange], fresh: Sequence[Fresh]
) -> None:
    """Make ``changes`` the live content; ``fresh`` of their documents need rows.

    The caller holds the writers' lock and took ``index`` from ``kb.live()`` under it.

    Raises:
        StoreError: a store refused; the old content stays.
    """
    rows = [row for new in fresh for row in index_rows(new.document, new.passages)]
    keys: list[VersionKey] = list(dict.fromkeys((row.document_id, row.version) for row in rows))
    drop_noted(kb, index)
    kb.catalogue.intend(keys)
    if rows:
        index.write(rows, None)
    kb.catalogue.commit(changes)
    drop_noted(kb, index)


def drop_noted(kb: KnowledgeBase, index: Index) -> int:
    """Remove the index rows of every noted version that is not live, and clear the notes."""
    pending = kb.catalogue.pending()
    if not pending:
        return 0
    keys = [(write.document_id, write.version) for write in pending]
    live = kb.catalogue.live_versions([document for document, _ in keys])
    index.remove([key for key in keys if live.get(key[0]) != key[1]])
    kb.catalogue.settle(keys)
    return len(keys)
