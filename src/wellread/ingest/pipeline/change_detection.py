"""Decides what became of a source, given what is known of it: the heart of "unchanged"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wellread.errors import SourceError
from wellread.ingest.parsing.parse import LEFT_OUT, is_current
from wellread.ingest.pipeline.batch import ReadSource
from wellread.ingest.pipeline.run_report import SourceResult, Status
from wellread.ingest.pipeline.source_rules import SourceRules
from wellread.ingest.pipeline.web_pages import Outcome
from wellread.ingest.sources.discover import Found, FoundFile
from wellread.store.schema.catalogue_values import SourceRecord, SourceStatus

Judged = tuple[SourceResult, list[ReadSource], list[SourceRecord]]


class ChangeDetector:
    """Compares what was found and read with the source records of the collection."""

    def __init__(
        self,
        collection: str,
        known: Mapping[str, SourceRecord],
        rules: SourceRules,
    ) -> None:
        self._collection = collection
        self._known = known
        self._rules = rules
        self.gone: list[str] = []  # addresses whose server says so

    def at_once(self, item: Found) -> SourceResult | None:
        """The result of a source that need not be read; None when it has to be."""
        if isinstance(item, SourceError):
            return SourceResult(uri=item.uri, status="failed", reason=item.reason)
        if reason := self._rules.failed.get(item.uri):
            return SourceResult(uri=item.uri, status="failed", reason=reason)
        known = self._known.get(item.uri)
        if not isinstance(item, FoundFile) or known is None or not known.digest or known.reason:
            return None
        if (known.size, known.mtime_ns) != (item.size, item.mtime_ns):
            return None
        current = is_current(known.loader, self._rules.readings.get(item.uri))
        return SourceResult(uri=item.uri, status="unchanged") if current else None

    def of(self, item: Found, outcome: Outcome) -> Judged:
        """The result of a source that was read, what is to be written, and what was only seen."""
        parsed = outcome.parsed
        held = self._held(item.uri)
        documents = [*parsed.documents, *(d for e in outcome.entries for d in e.documents)]
        status: Status
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
        result = SourceResult(
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
