"""Dispatches found sources to parser processes and fetch threads, and collects the results.

Files go to the parser processes; web pages and feeds are fetched here first. A feed's entries
become sources of their own, so that an entry which leaves the feed stays, and an unchanged one is
not read again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.parse import Parsed, ParseRequest, cut_text, is_current
from wellread.ingest.pipeline.transcription import NOBODY, RecordingReader, is_recording
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.sources.addresses import FetchError
from wellread.ingest.sources.discover import (
    Found,
    FoundBytes,
    FoundEntry,
    FoundFile,
    FoundPage,
    feeds_in,
    is_feed_list,
)
from wellread.ingest.sources.fetching import (
    ENTRY_LOADER,
    Fetched,
    Fetcher,
    NotModified,
    fetcher_for,
    follow_entries,
)
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import SourceRecord
from wellread.types import Document

FETCHES_AT_ONCE = 8  # on different hosts; requests to one host follow one another
FEED_PREFIX, LINES_PREFIX = "feed/", "lines/"  # of the recorded loader
GONE = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of reading a source.

    Attributes:
        entries: the new and changed entries of a feed, as sources of their own.
        listed_feeds: the feeds of a list of feeds.
    """

    parsed: Parsed
    etag: str = ""
    last_modified: str = ""
    entries: tuple[ReadSource, ...] = ()
    listed_feeds: tuple[FoundPage | SourceError, ...] = ()
    gone: bool = False
    is_feed: bool = False


@dataclass(slots=True)
class PageReader:
    """Fetches web addresses in threads and has them parsed."""

    _fetcher: Fetcher
    _pool: WorkerPool
    _records: Mapping[str, SourceRecord]
    _template: ParseRequest
    _threads: ThreadPoolExecutor

    def submit(self, item: FoundPage) -> Future[Outcome]:
        """Read one address; a failure is a ``failed`` outcome, never an exception."""
        return self._threads.submit(self._read, item)

    def close(self) -> None:
        """Wait for running fetches and cancel the waiting ones."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _read(self, item: FoundPage) -> Outcome:
        record = self._records.get(item.uri) or SourceRecord(collection="", uri=item.uri)
        can_compare = bool(record.digest) and is_current(record.loader)
        try:
            fetched = self._fetcher.fetch(
                item.uri,
                etag=record.etag if can_compare else "",
                last_modified=record.last_modified if can_compare else "",
                as_feed=item.as_feed,
            )
            if isinstance(fetched, NotModified):
                return Outcome(
                    parsed=Parsed(status="unchanged", digest=record.digest, loader=record.loader),
                    etag=fetched.etag or record.etag,
                    last_modified=fetched.last_modified or record.last_modified,
                )
            return self._outcome(item, fetched, record)
        except SourceError as error:
            gone = isinstance(error, FetchError) and error.status == GONE
            return Outcome(parsed=Parsed(status="failed", reason=error.reason), gone=gone)

    def _outcome(self, item: FoundPage, fetched: Fetched, record: SourceRecord) -> Outcome:
        if is_feed_list(fetched.data):
            feeds = tuple(feeds_in(fetched.data, item.uri))
            reason = f"a list of {len(feeds):,} feeds; each feed is read as a source of its own"
            return Outcome(parsed=Parsed(status="skipped", reason=reason), listed_feeds=feeds)
        parsed = self._parse(item.uri, fetched, record)
        is_feed = parsed.loader.startswith(FEED_PREFIX)
        outcome = Outcome(
            parsed=parsed, etag=fetched.etag, last_modified=fetched.last_modified, is_feed=is_feed
        )
        if not (is_feed and parsed.status == "parsed"):
            return outcome
        entries = self._entries(item, [doc.document for doc in parsed.documents])
        # The feed itself yields no documents: its entries are sources of their own.
        return replace(outcome, parsed=replace(parsed, documents=()), entries=tuple(entries))

    def _parse(self, uri: str, fetched: Fetched, record: SourceRecord | None) -> Parsed:
        request = replace(self._template, uri=uri, name=fetched.name)
        return self._pool.submit(_with_known_digest(request, record), fetched.data).result()

    def _entries(self, item: FoundPage, documents: Sequence[Document]) -> list[ReadSource]:
        settings = self._fetcher.settings
        digests = {
            uri: record.digest
            for uri, record in self._records.items()
            if record.loader == ENTRY_LOADER
        }
        followed = follow_entries(
            documents,
            digests=digests,
            fetch=self._fetcher.fetch,
            parse=self._page_documents,
            limit=settings.max_entries,
        )
        return [
            ReadSource(
                record=SourceRecord(
                    collection=self._template.collection,
                    uri=entry.document.uri,
                    digest=entry.digest,
                    loader=ENTRY_LOADER,
                    root=item.uri,
                    status="updated" if entry.document.uri in self._records else "added",
                ),
                documents=(cut_text(entry.document, self._template.tokens),),
            )
            for entry in followed
        ]

    def _page_documents(self, uri: str, fetched: Fetched) -> list[Document]:
        parsed = self._parse(uri, fetched, None)
        if parsed.status == "failed":
            raise SourceError(uri, parsed.reason)
        return [parsed_document.document for parsed_document in parsed.documents]


def _with_known_digest(request: ParseRequest, record: SourceRecord | None) -> ParseRequest:
    """Add the digest that an earlier run recorded, unless that run failed on the source."""
    if record is None:
        return request
    digest = "" if record.status == "failed" else record.digest
    return replace(request, known_digest=digest, known_loader=record.loader)


QUEUED_PER_PARSER = 3  # sources queued per parser


class Readers:
    """Reads sources: files in the parser processes, web addresses after fetching them."""

    def __init__(
        self,
        kb: KnowledgeBase,
        collection: str,
        records: Mapping[str, SourceRecord],
        by_uri: Mapping[str, SourceRules],
        pool: WorkerPool,
    ) -> None:
        self._settings = kb.settings
        self._records = records
        self._rules = by_uri
        sources = kb.settings.sources
        self._template = ParseRequest(
            uri="",
            name="",
            collection=collection,
            max_bytes=sources.max_bytes,
            limits=LoaderLimits(
                max_pages=sources.max_pages,
                max_unpacked_bytes=sources.max_unpacked,
                max_cells=sources.max_cells,
                ocr=sources.ocr,
            ),
            tokens=kb.live().tokens,
        )
        self._pool = pool
        self._parsing: dict[Future[Parsed], FoundFile | FoundBytes | FoundEntry] = {}
        self._fetching: dict[Future[Outcome], FoundPage] = {}
        self._entries = ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="entry")
        self._transcribing: dict[Future[Parsed], FoundFile | FoundBytes] = {}
        self._recordings = RecordingReader(kb.settings.transcription, pool.submit)
        self.listed_feeds: list[Found] = []  # feeds named by feed lists at web addresses
        self.feed_lists: set[str] = set()  # addresses of these lists

    @cached_property
    def _pages(self) -> PageReader:
        fetcher = fetcher_for(self._settings.web)
        threads = ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="fetch")
        return PageReader(fetcher, self._pool, self._records, self._template, threads)

    @property
    def waiting(self) -> int:
        """The number of sources still being read."""
        return len(self._parsing) + len(self._transcribing) + len(self._fetching)

    @property
    def busy(self) -> bool:
        """Whether the parsers have enough to do. Web addresses have a queue of their own."""
        return len(self._parsing) >= self._pool.size * QUEUED_PER_PARSER

    def submit(self, item: Found) -> None:
        """Start reading one source."""
        if isinstance(item, FoundPage):
            self._fetching[self._pages.submit(item)] = item
        elif isinstance(item, FoundEntry):
            self._parsing[self._entries.submit(self._read_entry, item)] = item
        elif isinstance(item, FoundFile | FoundBytes):
            data = item.data if isinstance(item, FoundBytes) else None
            if is_recording(item):  # waits for a server, not for a parser
                reading = self._recordings.submit(self._request(item), self._records.get(item.uri))
                self._transcribing[reading] = item
            else:
                self._parsing[self._pool.submit(self._request(item), data)] = item

    def _read_entry(self, item: FoundEntry) -> Parsed:
        """Fetch a store's file and have it read; a failure is a ``failed`` result."""
        if is_recording(item) and not self._recordings.able:
            return Parsed(status="skipped", reason=NOBODY)
        try:
            with TemporaryDirectory(prefix="wellread-") as folder:
                path = Path(folder, "entry").with_suffix(Path(item.name).suffix)
                item.store.fetch(item.entry, path)
                request = replace(self._request(item), path=str(path))
                if is_recording(item):
                    reading = self._recordings.submit(request, self._records.get(item.uri))
                else:
                    reading = self._pool.submit(request)
                return reading.result()
        except SourceError as error:
            return Parsed(status="failed", reason=error.reason)

    def told(self, items: Iterable[Found]) -> str:
        """What is to be known before a long run: the recordings to transcribe, with the cost."""
        return self._recordings.told(filter(is_recording, items))

    def ready(self, seconds: float) -> Iterator[tuple[Found, Outcome]]:
        """Yield finished sources in the order given; wait at most ``seconds`` for the first."""
        waiting: list[Future[Any]] = [*self._parsing, *self._transcribing, *self._fetching]
        done, _ = wait(waiting, timeout=seconds, return_when=FIRST_COMPLETED)
        for files in (self._parsing, self._transcribing):
            for parsing in [future for future in files if future in done]:
                item = files.pop(parsing)
                tag = item.entry.fingerprint if isinstance(item, FoundEntry) else ""
                yield item, Outcome(parsed=parsing.result(), etag=tag)
        for fetching in [future for future in self._fetching if future in done]:
            page, outcome = self._fetching.pop(fetching), fetching.result()
            if outcome.listed_feeds:
                self.feed_lists.add(page.uri)
            for feed in outcome.listed_feeds:
                self.listed_feeds.append(feed)
                if isinstance(feed, SourceError):
                    yield feed, Outcome(parsed=Parsed(status="failed", reason=feed.reason))
                else:
                    self.submit(feed)
            yield page, outcome

    def close(self) -> None:
        """Wait for running fetches and cancel the waiting ones."""
        self._recordings.close()
        self._entries.shutdown(wait=True, cancel_futures=True)
        if "_pages" in self.__dict__:
            self._pages.close()

    def _request(self, item: FoundFile | FoundBytes | FoundEntry) -> ParseRequest:
        rules = self._rules.get(item.uri)
        record = self._records.get(item.uri)
        name = item.path.name if isinstance(item, FoundFile) else item.name
        was_text = record is not None and record.loader.startswith(LINES_PREFIX)
        request = replace(
            self._template,
            uri=item.uri,
            # Names that are not UTF-8 contain lone surrogates, which no store accepts in a title.
            name=os.fsencode(name).decode("utf-8", errors="replace"),
            path=str(item.path) if isinstance(item, FoundFile) else "",
            rules=rules.to_plain() if rules else {},
            # What was read because it was named stays read when its folder is.
            named=item.root == item.uri or was_text,
        )
        return _with_known_digest(request, record)
