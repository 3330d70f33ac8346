"""Decides what became of a source, given what is known of it: the heart of "unchanged".

Sources of an earlier run that are there no more are found here too, when a run is to remove them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from wellread.errors import SourceError
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.parse import LEFT_OUT, is_current
from wellread.ingest.pipeline.readers import Outcome
from wellread.ingest.settings.folder_settings import SettingsInForce
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.sources.addresses import FetchError, is_web, parse_address
from wellread.ingest.sources.discover import (
    Found,
    FoundBytes,
    FoundFile,
    Input,
    PassedOverError,
    local_path,
    uri_of,
)
from wellread.ingest.sources.fetching import ENTRY_LOADER
from wellread.store.catalogue.run_logs import ItemStatus, JobItem
from wellread.store.schema.stored_values import SourceRecord, SourceStatus


def source_rules(
    settings: SettingsInForce, found: Sequence[Found], known: Mapping[str, SourceRecord]
) -> dict[str, SourceRules]:
    """How each source is read, by its uri; sources that no rule speaks of are left out."""
    rules: dict[str, SourceRules] = {}
    for item in found if settings else ():
        if not isinstance(item, FoundFile):
            continue
        root, below = _placed(item, known.get(item.uri))
        said = settings.of(root)
        if said and (rule := said.rule_for(below)):
            rules[item.uri] = SourceRules(rule=rule, relative=below)
    return rules


def _placed(item: FoundFile, known: SourceRecord | None) -> tuple[str, str]:
    """The root of a file, and its path below it.

    A file that is added by itself keeps its place in the folder that it was found in before.
    """
    root = item.root
    if root == item.uri and known and item.uri.startswith(_inside(known.root)):
        root = known.root
    below = item.uri.removeprefix(_inside(root))
    return root, unquote(below if below != item.uri else item.uri.rpartition("/")[2])


def _inside(root: str) -> str:
    return root.rstrip("/") + "/"


Judged = tuple[JobItem, list[ReadSource], list[SourceRecord]]


class ChangeDetector:
    """Compares what was found and read with the source records of the collection."""

    def __init__(
        self,
        collection: str,
        known: Mapping[str, SourceRecord],
        rules: Mapping[str, SourceRules],
    ) -> None:
        self._collection = collection
        self._known = known
        self._rules = rules
        self.gone: list[str] = []  # addresses whose server says so

    def at_once(self, item: Found) -> JobItem | None:
        """The result of a source that need not be read; None when it has to be."""
        if isinstance(item, SourceError):
            status: ItemStatus = "skipped" if isinstance(item, PassedOverError) else "failed"
            return JobItem(uri=item.uri, status=status, reason=item.reason)
        known = self._known.get(item.uri)
        if not isinstance(item, FoundFile) or known is None or not known.digest or known.reason:
            return None
        if (known.size, known.mtime_ns) != (item.size, item.mtime_ns):
            return None
        current = is_current(known.loader, self._rules.get(item.uri))
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
            emptied = parsed.empty and not is_web(item.uri)  # a server may give nothing for a while
            if held and (emptied or parsed.reason == LEFT_OUT):  # its documents go
                record = self._record(item, outcome, status)
                sources = [ReadSource(record=record, documents=())]
                status = "removed"
            # Of a source that cannot be read any more, what an earlier run read stays as it was.
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
    lists: Collection[str] = (),
) -> list[JobItem]:
    """What is to be removed (``removed``), and inputs under which nothing may be (``failed``).

    A source is gone when it belongs to one of the ``inputs``, was read before and was not found
    this time. Under an input where nothing at all was found, and under a folder that could not be
    opened, nothing is removed. An entry of a feed goes with its feed only.
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
            and (record.root == root or within(root, _place(root, uri, record)))
            # That a folder could not be opened says nothing about what is in it.
            and not any(within(folder, _place(root, uri, record)) for folder in failed)
        ]
        under = (within(root, item.root) or within(root, item.uri) for item in opened)
        if gone and not any(under):
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


def _place(root: str, uri: str, record: SourceRecord) -> str:
    """Where a source stands: a feed, in the list below ``root`` that names it."""
    listed = is_web(uri) and record.root != root and within(root, record.root)
    return record.root if listed else uri


def within(root: str, uri: str) -> bool:
    """Whether the address is the root or stands below it."""
    return uri == root or uri.startswith(root.rstrip("/") + "/")
