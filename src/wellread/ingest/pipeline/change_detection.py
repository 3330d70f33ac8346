"""Decides what became of a source, given what is known of it: the heart of "unchanged".

Sources of an earlier run that are there no more are found here too, when a run is to remove them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from wellread.errors import SourceError
from wellread.ingest.parsing.parse import LEFT_OUT, is_current
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.readers import Outcome
from wellread.ingest.pipeline.source_rules import CollectionRules
from wellread.ingest.sources.discover import Found, FoundBytes, FoundFile, Input, local_path, uri_of
from wellread.ingest.sources.selection import Selection
from wellread.ingest.sources.web.addresses import FetchError, is_web, parse_address
from wellread.ingest.sources.web.entries import ENTRY_LOADER
from wellread.store.catalogue.run_logs import ItemStatus, JobItem
from wellread.store.schema.catalogue_values import SourceRecord, SourceStatus

Judged = tuple[JobItem, list[ReadSource], list[SourceRecord]]


class ChangeDetector:
    """Compares what was found and read with the source records of the collection."""

    def __init__(
        self,
        collection: str,
        known: Mapping[str, SourceRecord],
        rules: CollectionRules,
    ) -> None:
        self._collection = collection
        self._known = known
        self._rules = rules
        self.gone: list[str] = []  # addresses whose server says so

    def at_once(self, item: Found) -> JobItem | None:
        """The result of a source that need not be read; None when it has to be."""
        if isinstance(item, SourceError):
            return JobItem(uri=item.uri, status="failed", reason=item.reason)
        if reason := self._rules.failed.get(item.uri):
            return JobItem(uri=item.uri, status="failed", reason=reason)
        known = self._known.get(item.uri)
        if not isinstance(item, FoundFile) or known is None or not known.digest or known.reason:
            return None
        if (known.size, known.mtime_ns) != (item.size, item.mtime_ns):
            return None
        current = is_current(known.loader, self._rules.by_uri.get(item.uri))
        return JobItem(uri=item.uri, status="unchanged") if current else None

    def of(self, item: Found, outcome: Outcome) -> Judged:
        """The result of a source that was read, what is to be written, and what was only seen."""
        parsed = outcome.parsed
        held = self._held(item.uri)
        documents = [*parsed.documents, *(d for e in outcome.entries for d in e.documents)]
        status: ItemStatus
        sources: list[ReadSource] = []
        seen: list[SourceRecord] = []
        if parsed.status == "parsed":
            status = "updated" if held else "added"
            record = self._record(item, outcome, status)
            whole = ReadSource(
                record=record, documents=parsed.documents, accumulates=outcome.is_feed
            )
            sources = [whole, *outcome.entries]
        else:
            status = parsed.status
            if held and parsed.reason == LEFT_OUT:  # by new settings: its documents go
                record = self._record(item, outcome, status)
                sources = [ReadSource(record=record, documents=())]
            # Of a source that cannot be read any more, what an earlier run read stays as it was.
            elif status == "failed" and held and outcome.poll_after:
                seen.append(replace(self._known[item.uri], poll_after=outcome.poll_after))
            elif status == "unchanged" or not held:
                seen.append(self._record(item, outcome, status))
        if outcome.gone and held:
            self.gone.append(item.uri)
        result = JobItem(
            uri=item.uri,
            status=status,
            reason=parsed.reason,
            documents=len(documents),
            passages=sum(len(each.cuts) for each in documents),
            seconds=parsed.seconds,
        )
        return result, sources, seen

    def _held(self, uri: str) -> bool:
        known = self._known.get(uri)
        return known is not None and bool(known.digest) and known.status != "skipped"

    def _root(self, item: Found) -> str:
        """A file that is added by itself stays a part of the folder that it was found in."""
        if isinstance(item, SourceError):
            return ""
        known = self._known.get(item.uri)
        return known.root if known and known.root and item.root == item.uri else item.root

    def _record(self, item: Found, outcome: Outcome, status: SourceStatus) -> SourceRecord:
        parsed = outcome.parsed
        record = SourceRecord(
            collection=self._collection,
            uri=item.uri,
            size=parsed.size,
            mtime_ns=parsed.mtime_ns,
            digest=parsed.digest,
            loader=parsed.loader,
            status=status,
            reason=parsed.reason if status == "failed" else "",
            root=self._root(item),
            etag=outcome.etag,
            last_modified=outcome.last_modified,
            poll_after=outcome.poll_after,
        )
        if isinstance(item, FoundFile) and not parsed.mtime_ns:
            return replace(record, size=item.size, mtime_ns=item.mtime_ns)
        return record


EMPTY = (
    "nothing was found there any more, so {count:,} sources of it were kept; "
    "remove them by name if they are to go"
)


def gone_sources(
    inputs: Sequence[Input],
    found: Sequence[Found],
    known: Mapping[str, SourceRecord],
    only: Selection | None = None,
    lists: Collection[str] = (),
) -> list[JobItem]:
    """What is to be removed (``removed``), and inputs under which nothing may be (``failed``).

    A source is gone when it belongs to one of the ``inputs``, was read before and was not found
    this time. Under an input where nothing at all was found, and under a folder that could not be
    opened, nothing is removed. An entry of a feed goes with its feed only.

    Args:
        only: what was looked at; None: all of the inputs.
        lists: addresses of lists of feeds that were read; ``found`` has their feeds.
    """
    there = {item.uri for item in found}
    opened = [item for item in found if not isinstance(item, SourceError)]
    failed = [item.uri for item in found if isinstance(item, SourceError)]
    results: list[JobItem] = []
    for given in dict.fromkeys(inputs):
        root = given.uri if isinstance(given, FoundBytes) else root_of(given)
        gone = [
            uri
            for uri, record in sorted(known.items())
            if uri not in there
            and record.loader != ENTRY_LOADER
            and (record.root == uri or not is_web(record.root) or record.root in lists)
            and _belongs(root, uri, record)
            and (only is None or only.covers(_place(root, uri, record)))
            # That a folder could not be opened says nothing about what is in it.
            and not any(_within(folder, _place(root, uri, record)) for folder in failed)
        ]
        looked = only is None or only.covers(root)
        if gone and looked and not any(_found_under(root, item) for item in opened):
            reason = EMPTY.format(count=len(gone))
            results.append(JobItem(uri=root, status="failed", reason=reason))
            continue
        results += [JobItem(uri=uri, status="removed") for uri in gone]
    return list({result.uri: result for result in results}.values())


def with_entries(uris: Sequence[str], known: Mapping[str, SourceRecord]) -> list[str]:
    """The sources and, of feeds, their entries."""
    roots = set(uris)
    return [
        *uris,
        *(
            uri
            for uri, record in known.items()
            if record.loader == ENTRY_LOADER and record.root in roots and uri not in roots
        ),
    ]


def absolute(given: str) -> str:
    """An input that means the same from any folder, so that a job can be run again."""
    if given == "-" or is_web(given) or given.startswith("file://"):
        return given
    return os.path.abspath(local_path(given))


def root_of(given: str) -> str:
    """The address that sources found under ``given`` have as their root."""
    if not is_web(given):
        return uri_of(local_path(given))
    try:
        return str(parse_address(given))
    except FetchError:
        return given  # nothing was ever found there


def _belongs(root: str, uri: str, record: SourceRecord) -> bool:
    return record.root == root or _within(root, _place(root, uri, record))


def _place(root: str, uri: str, record: SourceRecord) -> str:
    """Where a source stands: a feed, in the list below ``root`` that names it."""
    listed = is_web(uri) and record.root != root and _within(root, record.root)
    return record.root if listed else uri


def _found_under(root: str, item: Found) -> bool:
    if isinstance(item, SourceError):
        return False
    return _within(root, item.root) or _within(root, item.uri)


def _within(root: str, uri: str) -> bool:
    return uri == root or uri.startswith(root.rstrip("/") + "/")
