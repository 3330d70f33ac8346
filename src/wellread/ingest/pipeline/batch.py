"""Sources that are written and committed together, and how they are put in."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wellread.errors import StoreError
from wellread.identity import document_id, facts_of, version_of
from wellread.ingest.parsing.parse import ParsedDocument, cut_up
from wellread.ingest.pipeline.commit import Fresh, recover, write_window, writing
from wellread.ingest.pipeline.job_log import SourceResult
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import DocumentChange, SourceChange, SourceRecord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A source that was read: its record and everything that it yields."""

    record: SourceRecord
    documents: Sequence[ParsedDocument]
    accumulates: bool = False


@dataclass(slots=True)
class Window:
    """Read sources that wait to be written; ``tokens`` is the size their passages were cut to.

    Attributes:
        seen: records of sources without a change of documents.
        results: of the sources, true once they are written.
    """

    tokens: int
    sources: list[ReadSource] = field(default_factory=list)
    seen: list[SourceRecord] = field(default_factory=list)
    results: list[SourceResult] = field(default_factory=list)
    passages: int = 0
    opened: float = field(default_factory=time.monotonic)

    def add(self, source: ReadSource) -> None:
        """One more; of two documents with the same address in one source the last counts."""
        by_id = {
            document_id(each.document.collection, each.document.uri): each
            for each in source.documents
        }
        self.sources.append(replace(source, documents=tuple(by_id.values())))
        self.passages += sum(len(each.cuts) for each in by_id.values())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.sources or self.seen)

    @property
    def age(self) -> float:
        """Seconds since it was opened."""
        return time.monotonic() - self.opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many passages went into the index; and the sources that no store takes, with why."""

    passages: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)


def write(kb: KnowledgeBase, window: Window) -> Written:
    """Write a window into the stores; source by source where one holds what no store takes.

    Raises:
        StoreError: a store refused whatever the content is (disk full); the old content stays.
    """
    if window.seen:
        kb.catalogue.record_sources(window.seen)
    try:
        return Written(passages=_write(kb, window, window.sources))
    except (StoreError, ValueError, TypeError, ArithmeticError) as error:
        if not _is_of_content(error):
            raise
    passages, refused = 0, {}
    for source in window.sources:
        try:
            passages += _write(kb, window, [source])
        except (StoreError, ValueError, TypeError, ArithmeticError) as error:
            if not _is_of_content(error):
                raise
            logger.warning("%s: refused by a store", source.record.uri, exc_info=True)
            refused[source.record.uri] = f"cannot be stored: {error.__cause__ or error}"
    recover(kb)  # no row stays of what was refused
    return Written(passages=passages, refused=refused)


def settled(window: Window, written: Written) -> list[SourceResult]:
    """How the window's sources fared, now that they were written."""
    refused = [
        SourceResult(uri=uri, status="failed", reason=reason)
        for uri, reason in written.refused.items()
    ]
    return [result for result in window.results if result.uri not in written.refused] + refused


def _is_of_content(error: Exception) -> bool:
    """Whether it is what was to be written that a store cannot take, and not the store's state."""
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return isinstance(cause, ValueError | TypeError | ArithmeticError)


def _write(kb: KnowledgeBase, window: Window, sources: Sequence[ReadSource]) -> int:
    if not sources:
        return 0
    with writing(kb):
        parts = kb.live()
        cut = [
            [_cut_for(each, window.tokens, parts.tokens) for each in source.documents]
            for source in sources
        ]
        live = kb.catalogue.live_hashes(_key(each) for documents in cut for each in documents)
        changes = [
            SourceChange(
                record=source.record,
                documents=tuple(
                    DocumentChange(
                        document=each.document,
                        passages=each.passages(),
                        owes_vectors=parts.outdated_cuts
                        or live.get(_key(each)) != (_version(each), _facts(each)),
                    )
                    for each in documents
                ),
                accumulates=source.accumulates,
            )
            for source, documents in zip(sources, cut, strict=True)
        ]
        fresh = [
            Fresh(document=each.document, passages=each.passages)
            for change in changes
            for each in change.documents
            if each.owes_vectors
        ]
        write_window(kb, parts.index, changes, fresh)
    return sum(len(each.passages) for each in fresh)


def _cut_for(parsed: ParsedDocument, cut: int, wanted: int) -> ParsedDocument:
    """Cut anew when the index was switched to another passage size since it was parsed."""
    return parsed if cut == wanted else cut_up(parsed.document, wanted)


def _key(parsed: ParsedDocument) -> str:
    return document_id(parsed.document.collection, parsed.document.uri)


def _facts(parsed: ParsedDocument) -> str:
    return facts_of(parsed.document)


def _version(parsed: ParsedDocument) -> str:
    return parsed.version or version_of(parsed.document.text, parsed.document.marks)
