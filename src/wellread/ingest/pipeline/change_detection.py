"""Decides whether a source is new, changed, unchanged or gone, by comparing it with its record.

``gone_sources`` finds the sources of earlier runs that no longer exist, so that they are removed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from wellread.errors import SourceError
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.parse import EXCLUDED, OCR, is_current
from wellread.ingest.pipeline.readers import Outcome
from wellread.ingest.settings.folder_settings import EffectiveSettings
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.sources.addresses import is_page, is_store, is_web, parse_address
from wellread.ingest.sources.discover import (
    Found,
    FoundBytes,
    FoundEntry,
    FoundFile,
    Input,
    SkippedSourceError,
    local_path,
    uri_of,
)
from wellread.ingest.sources.fetching import ENTRY_LOADER
from wellread.ingest.sources.stores import StoreAddress
from wellread.store.catalogue.run_logs import ItemStatus, JobItem
from wellread.store.schema.stored_values import SourceRecord, SourceStatus


def source_rules(
    settings: EffectiveSettings, found: Sequence[Found], records: Mapping[str, SourceRecord]
) -> dict[str, SourceRules]:
    """Return the rules for each source by its URI; sources without a rule are left out."""
    rules: dict[str, SourceRules] = {}
    for item in found if settings else ():
        if not isinstance(item, FoundFile | FoundEntry):
            continue
        root, relative = _root_and_path(item, records.get(item.uri))
        collection_settings = settings.of(root)
        if collection_settings and (rule := collection_settings.rule_for(relative)):
            rules[item.uri] = SourceRules(rule=rule, relative=relative)
    return rules


def _root_and_path(item: FoundFile | FoundEntry, record: SourceRecord | None) -> tuple[str, str]:
    """Return a file's root and its path below; a file added by itself keeps its earlier root."""
    root = item.root
    if root == item.uri and record and within(record.root, item.uri):
        root = record.root
    relative = item.uri.removeprefix(root.rstrip("/") + "/")
    return root, unquote(relative if relative != item.uri else item.uri.rpartition("/")[2])


Decision = tuple[JobItem, list[ReadSource], list[SourceRecord]]


@dataclass(slots=True)
class ChangeDetector:
    """Compares found sources and their read results with the collection's source records."""

    collection: str
    records: Mapping[str, SourceRecord]
    rules: Mapping[str, SourceRules]
    ocr: bool = field(default=False, kw_only=True)
    gone: list[str] = field(default_factory=list, init=False)  # the server answered 410 Gone

    def without_reading(self, item: Found) -> JobItem | None:
        """Return the result of a source that need not be read; None if it has to be read."""
        if isinstance(item, SourceError):
            status: ItemStatus = "skipped" if isinstance(item, SkippedSourceError) else "failed"
            return JobItem(uri=item.uri, status=status, reason=item.reason)
        record = self.records.get(item.uri)
        if not isinstance(item, FoundFile | FoundEntry) or record is None or not record.digest:
            return None
        if record.status == "failed" or (record.status == "skipped" and item.root == item.uri):
            return None  # what a folder's files are skipped for may be read when it is named
        if isinstance(item, FoundEntry):
            same = item.entry.fingerprint == record.etag != ""
        else:
            same = (record.size, record.mtime_ns) == (item.size, item.mtime_ns)
        if not same:
            return None
        loader = record.loader.removesuffix(OCR) if self.ocr else record.loader
        if self.ocr and record.reason and loader == record.loader:
            return None  # pages without text may be recognised now
        current = is_current(loader, self.rules.get(item.uri))
        return JobItem(uri=item.uri, status="unchanged") if current else None

    def decide(self, item: Found, outcome: Outcome) -> Decision:
        """Return the result of a read source, the sources to write, and records to update only."""
        parsed = outcome.parsed
        known = self.records.get(item.uri)
        has_documents = known is not None and bool(known.digest) and known.status != "skipped"
        documents = [*parsed.documents, *(d for e in outcome.entries for d in e.documents)]
        status: ItemStatus
        sources: list[ReadSource] = []
        seen: list[SourceRecord] = []
        if parsed.status == "parsed":
            status = "updated" if has_documents else "added"
            record = self._record(item, outcome, status)
            source = ReadSource(
                record=record, documents=parsed.documents, accumulates=outcome.is_feed
            )
            sources = [source, *outcome.entries]
        else:
            status = parsed.status
            emptied = parsed.empty and not is_page(item.uri)  # a server may return nothing at times
            if has_documents and (emptied or parsed.reason == EXCLUDED):  # its documents go
                record = self._record(item, outcome, status)
                sources = [ReadSource(record=record, documents=())]
                status = "removed"
            # When a source can no longer be read, the documents of an earlier run stay.
            elif status == "unchanged" or not has_documents:
                seen.append(self._record(item, outcome, status))
        if outcome.gone and has_documents:
            self.gone.append(item.uri)
        result = JobItem(
            uri=item.uri,
            status=status,
            reason=parsed.reason,
            documents=len(documents),
            passages=sum(len(document.cuts) for document in documents),
            seconds=parsed.seconds,
        )
        return result, sources, seen

    def _record(self, item: Found, outcome: Outcome, status: SourceStatus) -> SourceRecord:
        parsed = outcome.parsed
        known = self.records.get(item.uri)
        reason = known.reason if known and status == "unchanged" else parsed.reason
        root = "" if isinstance(item, SourceError) else item.root
        if known and known.root and root == item.uri:
            root = known.root  # a file added by itself keeps the folder where it was found before
        record = SourceRecord(
            collection=self.collection,
            uri=item.uri,
            size=parsed.size,
            mtime_ns=parsed.mtime_ns,
            digest=parsed.digest,
            loader=parsed.loader,
            status=status,
            reason="" if status == "skipped" else reason,
            root=root,
            etag=outcome.etag,
            last_modified=outcome.last_modified,
        )
        if isinstance(item, FoundFile) and not parsed.mtime_ns:
            return replace(record, size=item.size, mtime_ns=item.mtime_ns)
        return record


NOTHING_FOUND = (
    "nothing was found there this time, so {count:,} sources from earlier runs were kept; "
    "to remove them, name them in 'wellread remove'"
)


def gone_sources(
    inputs: Sequence[Input],
    found: Sequence[Found],
    records: Mapping[str, SourceRecord],
    lists: Collection[str] = (),
) -> list[JobItem]:
    """Return sources to remove (``removed``) and inputs where removing is unsafe (``failed``).

    A source is gone when it belongs to one of the ``inputs``, was read before and was not found
    this time. Under an input where nothing at all was found, and under a folder that could not be
    opened, nothing is removed. A feed's entries are removed only together with the feed.
    """
    found_uris = {item.uri for item in found}
    opened = [item for item in found if not isinstance(item, SourceError)]
    failed = [item.uri for item in found if isinstance(item, SourceError)]
    results: list[JobItem] = []
    for source_input in dict.fromkeys(inputs):
        root = source_input.uri if isinstance(source_input, FoundBytes) else root_of(source_input)
        gone = [
            uri
            for uri, record in sorted(records.items())
            if uri not in found_uris
            and record.loader != ENTRY_LOADER
            and (record.root == uri or not is_page(record.root) or record.root in lists)
            and (record.root == root or within(root, _address_in_input(root, uri, record)))
            # A folder that could not be opened may still contain its files.
            and not any(within(folder, _address_in_input(root, uri, record)) for folder in failed)
        ]
        under = (within(root, item.root) or within(root, item.uri) for item in opened)
        if gone and not any(under):
            reason = NOTHING_FOUND.format(count=len(gone))
            results.append(JobItem(uri=root, status="failed", reason=reason))
            continue
        results += [JobItem(uri=uri, status="removed") for uri in gone]
    return list({result.uri: result for result in results}.values())


def with_feed_entries(uris: Sequence[str], records: Mapping[str, SourceRecord]) -> list[str]:
    """Return ``uris`` and, for feeds among them, the entries of each feed."""
    roots = set(uris)
    return [
        *uris,
        *(
            uri
            for uri, record in records.items()
            if record.loader == ENTRY_LOADER and record.root in roots and uri not in roots
        ),
    ]


def absolute_input(source_input: str) -> str:
    """Make an input independent of the current folder, so that a job can be run again."""
    if source_input == "-" or is_web(source_input) or source_input.startswith("file://"):
        return source_input
    return os.path.abspath(local_path(source_input))


def root_of(source_input: str) -> str:
    """Return the root address of sources that are found under ``source_input``."""
    if not is_web(source_input):
        return uri_of(local_path(source_input))
    try:
        parse = StoreAddress.parse if is_store(source_input) else parse_address
        return str(parse(source_input))
    except SourceError:
        return source_input  # nothing was ever found there


def _address_in_input(root: str, uri: str, record: SourceRecord) -> str:
    """Return the address of a source, or of the feed list below ``root`` that names it."""
    listed = is_page(uri) and record.root != root and within(root, record.root)
    return record.root if listed else uri


def within(root: str, uri: str) -> bool:
    """Whether the address is the root or below it."""
    return uri == root or uri.startswith(root.rstrip("/") + "/")
