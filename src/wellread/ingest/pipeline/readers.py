"""Gives found sources to those who read them, and takes back what they made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from wellread.config import SourceSettings
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.parsing.parse import Parsed, ParseRequest
from wellread.ingest.parsing.workers import WorkerPool
from wellread.ingest.pipeline.web_pages import Outcome, Pages
from wellread.ingest.settings.mapping import Reading
from wellread.ingest.sources.discover import Found, FoundBytes, FoundFile, FoundPage
from wellread.ingest.sources.web.fetching import fetcher_for
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import SourceRecord

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
        readings: Mapping[str, Reading],
        pool: WorkerPool,
    ) -> None:
        self._settings = kb.settings
        self._known = known
        self._readings = readings
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
                elif not self._too_early(feed):
                    self.give(feed)
            yield item, outcome

    def _too_early(self, feed: FoundPage) -> bool:
        """Whether the feed's server asked to be left alone for now."""
        known = self._known.get(feed.uri)
        return bool(known and known.poll_after and known.poll_after > datetime.now(UTC))

    def close(self) -> None:
        """Wait for what is being fetched, and drop the rest."""
        if "_pages" in self.__dict__:
            self._pages.close()

    def _request(self, item: FoundFile | FoundBytes) -> ParseRequest:
        known = self._known.get(item.uri)
        reading = self._readings.get(item.uri)
        name = item.path.name if isinstance(item, FoundFile) else item.name
        return ParseRequest(
            uri=item.uri,
            # Names that are not UTF-8 hold lone surrogates, which no store takes as a title.
            name=os.fsencode(name).decode("utf-8", errors="replace"),
            collection=self._template.collection,
            path=str(item.path) if isinstance(item, FoundFile) else "",
            max_bytes=self._template.max_bytes,
            known_digest=known.digest if known and not known.reason else "",
            known_loader=known.loader if known else "",
            limits=self._template.limits,
            tokens=self._template.tokens,
            reading=reading.to_plain() if reading else {},
        )
