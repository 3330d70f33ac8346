"""Gives found sources to those who read them, and takes back what they made of them.

Files are parsed by the parser processes; web pages and feeds are fetched here first. A feed's
entries become sources of their own, so that an entry which leaves the feed stays, and one that is
still what it was is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from wellread.config import SourceSettings
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline.commit import ReadSource
from wellread.ingest.pipeline.parse import Parsed, ParseRequest, cut_up, is_current
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.sources.addresses import FetchError
from wellread.ingest.sources.discover import (
    Found,
    FoundBytes,
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

FETCHES_AT_ONCE = 8  # of different hosts; one host is asked one thing at a time
FEED = "feed/"
GONE = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a source.

    Attributes:
        entries: the new and changed entries of a feed, as sources of their own.
    """

    parsed: Parsed
    etag: str = ""
    last_modified: str = ""
    entries: tuple[ReadSource, ...] = ()
    more: tuple[FoundPage | SourceError, ...] = ()
    gone: bool = False
    is_feed: bool = False


class Pages:
    """Reads web addresses in threads."""

    def __init__(
        self,
        fetcher: Fetcher,
        pool: WorkerPool,
        known: Mapping[str, SourceRecord],
        template: ParseRequest,
    ) -> None:
        self._fetcher = fetcher
        self._pool = pool
        self._known = known
        self._template = template
        self._threads = ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="fetch")

    def submit(self, item: FoundPage) -> Future[Outcome]:
        """Read one address; a bad one is a ``failed`` outcome, never an exception."""
        return self._threads.submit(self._read, item)

    def close(self) -> None:
        """Wait for what is under way; the rest is not begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _read(self, item: FoundPage) -> Outcome:
        known = self._known.get(item.uri) or SourceRecord(collection="", uri=item.uri)
        whole = bool(known.digest) and is_current(known.loader)
        try:
            fetched = self._fetcher.fetch(
                item.uri,
                etag=known.etag if whole else "",
                last_modified=known.last_modified if whole else "",
                as_feed=item.as_feed,
            )
            if isinstance(fetched, NotModified):
                return _not_modified(fetched, known)
            return self._parsed(item, fetched, known)
        except FetchError as error:
            return Outcome(
                parsed=Parsed(status="failed", reason=error.reason),
                gone=error.status == GONE,
            )
        except SourceError as error:
            return Outcome(parsed=Parsed(status="failed", reason=error.reason))

    def _parsed(self, item: FoundPage, fetched: Fetched, known: SourceRecord) -> Outcome:
        if is_feed_list(fetched.data):
            more = tuple(feeds_in(fetched.data, item.uri))
            reason = f"a list of {len(more):,} feeds, which are read by themselves"
            return Outcome(parsed=Parsed(status="skipped", reason=reason), more=more)
        parsed = self._parse(item.uri, fetched, known)
        is_feed = parsed.loader.startswith(FEED)
        outcome = Outcome(
            parsed=parsed,
            etag=fetched.etag,
            last_modified=fetched.last_modified,
            is_feed=is_feed,
        )
        if not (is_feed and parsed.status == "parsed"):
            return outcome
        entries = self._entries(item, [each.document for each in parsed.documents])
        # The feed's own record yields nothing: its entries stand for themselves.
        return replace(outcome, parsed=replace(parsed, documents=()), entries=tuple(entries))

    def _parse(self, uri: str, fetched: Fetched, known: SourceRecord | None) -> Parsed:
        request = replace(self._template, uri=uri, name=fetched.name)
        return self._pool.submit(_knowing(request, known), fetched.data).result()

    def _entries(self, item: FoundPage, documents: Sequence[Document]) -> list[ReadSource]:
        settings = self._fetcher.settings
        known = {
            uri: record.digest
            for uri, record in self._known.items()
            if record.loader == ENTRY_LOADER
        }
        followed = follow_entries(
            documents,
            known=known,
            fetch=self._fetcher.fetch,
            parse=self._page_documents,
            limit=settings.max_entries,
        )
        return [
            ReadSource(
                record=SourceRecord(
                    collection=self._template.collection,
                    uri=each.document.uri,
                    digest=each.digest,
                    loader=ENTRY_LOADER,
                    root=item.uri,
                    status="updated" if each.document.uri in self._known else "added",
                ),
                documents=(cut_up(each.document, self._template.tokens),),
            )
            for each in followed
        ]

    def _page_documents(self, uri: str, fetched: Fetched) -> list[Document]:
        parsed = self._parse(uri, fetched, None)
        if parsed.status == "failed":
            raise SourceError(uri, parsed.reason)
        return [each.document for each in parsed.documents]


def _not_modified(fetched: NotModified, known: SourceRecord) -> Outcome:
    return Outcome(
        parsed=Parsed(status="unchanged", digest=known.digest, loader=known.loader),
        etag=fetched.etag or known.etag,
        last_modified=fetched.last_modified or known.last_modified,
    )


def _knowing(request: ParseRequest, known: SourceRecord | None) -> ParseRequest:
    """With what an earlier run saw; the bytes of a source that failed are read again."""
    if known is None:
        return request
    digest = "" if known.reason else known.digest
    return replace(request, known_digest=digest, known_loader=known.loader)


AHEAD = 3  # sources given out per parser before the first of them is back


def open_pool(sources: SourceSettings) -> WorkerPool:
    """The parser processes of a run, under the limits that the settings give."""
    return WorkerPool(seconds=sources.max_seconds, memory=sources.max_memory)


class Readers:
    """Files go to the parser processes; web addresses are fetched first."""

    def __init__(
        self,
        kb: KnowledgeBase,
        collection: str,
        known: Mapping[str, SourceRecord],
        by_uri: Mapping[str, SourceRules],
        pool: WorkerPool,
    ) -> None:
        self._settings = kb.settings
        self._known = known
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
            ),
            tokens=kb.live().tokens,
        )
        self._pool = pool
        self._parsing: dict[Future[Parsed], FoundFile | FoundBytes] = {}
        self._fetching: dict[Future[Outcome], FoundPage] = {}
        self.came_up: list[Found] = []  # feeds that lists at web addresses name
        self.lists: set[str] = set()  # those lists

    @cached_property
    def _pages(self) -> Pages:
        return Pages(fetcher_for(self._settings.web), self._pool, self._known, self._template)

    @property
    def waiting(self) -> int:
        """Sources that were given out and are not back."""
        return len(self._parsing) + len(self._fetching)

    @property
    def busy(self) -> bool:
        """Whether the parsers have enough to do. Web addresses wait by themselves."""
        return len(self._parsing) >= self._pool.size * AHEAD

    def give(self, item: Found) -> None:
        """Have one source read."""
        if isinstance(item, FoundPage):
            self._fetching[self._pages.submit(item)] = item
        elif isinstance(item, FoundFile | FoundBytes):
            data = item.data if isinstance(item, FoundBytes) else None
            self._parsing[self._pool.submit(self._request(item), data)] = item

    def ready(self, seconds: float) -> Iterator[tuple[Found, Outcome]]:
        """What has been read, in the order in which it was given; waits for one at most so long."""
        waiting: list[Future[Any]] = [*self._parsing, *self._fetching]
        done, _ = wait(waiting, timeout=seconds, return_when=FIRST_COMPLETED)
        for parsing in [each for each in self._parsing if each in done]:
            yield self._parsing.pop(parsing), Outcome(parsed=parsing.result())
        for fetching in [each for each in self._fetching if each in done]:
            item, outcome = self._fetching.pop(fetching), fetching.result()
            if outcome.more:
                self.lists.add(item.uri)
            for feed in outcome.more:
                self.came_up.append(feed)
                if isinstance(feed, SourceError):
                    yield feed, Outcome(parsed=Parsed(status="failed", reason=feed.reason))
                else:
                    self.give(feed)
            yield item, outcome

    def close(self) -> None:
        """Wait for what is being fetched, and drop the rest."""
        if "_pages" in self.__dict__:
            self._pages.close()

    def _request(self, item: FoundFile | FoundBytes) -> ParseRequest:
        rules = self._rules.get(item.uri)
        name = item.path.name if isinstance(item, FoundFile) else item.name
        request = replace(
            self._template,
            uri=item.uri,
            # Names that are not UTF-8 hold lone surrogates, which no store takes as a title.
            name=os.fsencode(name).decode("utf-8", errors="replace"),
            path=str(item.path) if isinstance(item, FoundFile) else "",
            rules=rules.to_plain() if rules else {},
        )
        return _knowing(request, self._known.get(item.uri))
