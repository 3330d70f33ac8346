"""Sources that are written and committed together, and how they are put in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wellread.identity import document_id, facts_of, version_of
from wellread.ingest.parsing.parse import ParsedDocument, cut_up
from wellread.ingest.pipeline.commit import Fresh, write_window, writing
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import DocumentChange, SourceChange, SourceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A source that was read: its record and everything that it yields."""

    record: SourceRecord
    documents: Sequence[ParsedDocument]
    accumulates: bool = False


@dataclass(slots=True)
class Window:
    """Read sources that wait to be written; ``tokens`` is the size their passages were cut to."""

    tokens: int
    sources: list[ReadSource] = field(default_factory=list)
    seen: list[SourceRecord] = field(default_factory=list)  # without a change of documents
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


def write(kb: KnowledgeBase, window: Window) -> int:
    """Write a window into the stores; how many passages went into the index.

    Raises:
        StoreError: a store refused; the old content stays.
    """
    if window.seen:
        kb.catalogue.record_sources(window.seen)
    if not window.sources:
        return 0
    with writing(kb):
        parts = kb.live()
        cut = [
            [_cut_for(each, window.tokens, parts.tokens) for each in source.documents]
            for source in window.sources
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
            for source, documents in zip(window.sources, cut, strict=True)
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
