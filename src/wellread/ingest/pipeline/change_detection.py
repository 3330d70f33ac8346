"""Decides what became of a source, given what is known of it: the heart of "unchanged".

Sources of an earlier run that are there no more are found here too, when a run is to remove them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import unquote

from wellread.codec import from_plain
from wellread.errors import SourceError
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.parse import LEFT_OUT, ParseRequest, is_current
from wellread.ingest.pipeline.readers import Outcome
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.settings.folder_settings import SettingsInForce
from wellread.ingest.settings.mapping import Ahead, AheadRequest, SourceRules, tree_edges
from wellread.ingest.sources.addresses import FetchError, is_web, parse_address
from wellread.ingest.sources.discover import (
    Found,
    FoundBytes,
    FoundFile,
    Input,
    PassedOverError,
    Selection,
    local_path,
    uri_of,
)
from wellread.ingest.sources.fetching import ENTRY_LOADER
from wellread.store.catalogue.run_logs import ItemStatus, JobItem
from wellread.store.schema.stored_values import SourceRecord, SourceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRules:
    """What a collection's settings say about its sources.

    Attributes:
        by_uri: uri to how the source is read; sources that no rule speaks of are left out.
        failed: uri to why nothing can be read of that source for the others.
    """

    by_uri: Mapping[str, SourceRules] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def source_rules(
    settings: SettingsInForce,
    found: Sequence[Found],
    whole: Sequence[Found],
    known: Mapping[str, SourceRecord],
    pool: WorkerPool,
) -> CollectionRules:
    """How each source is read.

    Args:
        pool: reads trees of ids ahead.
        whole: everything under the inputs, also when only some of it is ``found``: a tree says
            things about other files.
        known: the source records of the collection; a file that is added by itself keeps its
            place in the folder that it was found in before.
    """
    if not settings:
        return CollectionRules()
    files = {item.uri: item for item in [*whole, *found] if isinstance(item, FoundFile)}
    places = {uri: _placed(item, known.get(uri)) for uri, item in files.items()}
    by_root = {
        root: settings.of(root) for root in dict.fromkeys(root for root, _ in places.values())
    }
    from_trees = {
        root: tree_edges(
            said,
            [(below, files[uri].path) for uri, (other, below) in places.items() if other == root],
            partial(_read, pool),
        )
        for root, said in by_root.items()
        if said is not None
    }
    by_uri = {}
    failed = {
        uri: reason
        for uri, (root, below) in places.items()
        if root in from_trees and (reason := from_trees[root].failed.get(below))
    }
    for item in found:
        if item.uri in places:
            root, below = places[item.uri]
            said = by_root[root]
            if said and (rule := said.rule_for(below)):
                edges = from_trees[root].edges.get(below, ())
                by_uri[item.uri] = SourceRules(rule=rule, relative=below, edges=edges)
    return CollectionRules(by_uri=by_uri, failed=failed)


def _read(pool: WorkerPool, requests: Sequence[AheadRequest]) -> list[Ahead]:
    """What the parser processes read ahead, under their limits."""
    parsing = [
        pool.submit(
            ParseRequest(
                uri=str(request.path),
                name=request.path.name,
                collection="",
                path=str(request.path),
                ahead=request.to_plain(),
            )
        )
        for request in requests
    ]
    parsed = [each.result() for each in parsing]
    return [
        Ahead(failed=each.reason) if each.status == "failed" else from_plain(Ahead, each.ahead)
        for each in parsed
    ]


def _placed(item: FoundFile, known: SourceRecord | None) -> tuple[str, str]:
    """The root of a file, and its path below it; the name of a file that was added itself."""
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
        rules: CollectionRules,
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
            emptied = parsed.empty and not is_web(item.uri)  # a server may give nothing for a while
            if held and (emptied or parsed.reason == LEFT_OUT):  # its documents go
                record = self._record(item, outcome, status)
                sources = [ReadSource(record=record, documents=())]
                status = "removed"
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
            and (record.root == root or within(root, _place(root, uri, record)))
            and (only is None or only.covers(_place(root, uri, record)))
            # That a folder could not be opened says nothing about what is in it.
            and not any(within(folder, _place(root, uri, record)) for folder in failed)
        ]
        looked = only is None or only.covers(root)
        under = (within(root, item.root) or within(root, item.uri) for item in opened)
        if gone and looked and not any(under):
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
