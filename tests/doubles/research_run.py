"""A run of research whose journal is in memory, with limits that a test sets."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage
from wellread.research.run_state import RunState
from wellread.types import Filters, Hit
from wellread.values.reports import Facet, Limits, StopReason


class Killed(BaseException):
    """The process is gone."""


class MemoryRun(RunState):
    """Keeps what it is told; after ``dies_after`` steps its process is killed.

    ``journal`` is that of a run that was begun before; ``stops`` says why to stop now.
    """

    def __init__(
        self,
        journal: dict[str, Any] | None = None,
        *,
        searches: int = 1_000,
        dollars: float | None = None,
        stops: Callable[[MemoryRun], StopReason | None] = lambda run: None,
        dies_after: int | None = None,
    ) -> None:
        limits = Limits(searches=searches, dollars=dollars)
        nothing = cast("KnowledgeBase", None)
        super().__init__(nothing, "run_test", limits, {} if journal is None else journal)
        self.made: list[str] = []
        self.usages: list[ModelUsage] = []
        self._stops = stops
        self._dies_after = dies_after

    def begin(self, kb: KnowledgeBase, facets: tuple[Facet, ...], filters: Filters) -> None:
        """Work in this material, on these facets."""
        self.kb, self.facets, self.filters = kb, list(facets), filters

    @property
    def ended(self) -> tuple[str, str]:
        """Why its rounds ended."""
        return self.stopped or "failed", self.failure

    @property
    def texts(self) -> list[str]:
        """What the pool holds."""
        return [hit.passage.text for hit in self.pool.hits.values()]

    def stop(self) -> StopReason | None:
        if reason := self._stops(self):
            return reason
        spent = self.limits.dollars is not None and self.dollars >= self.limits.dollars
        return "budget" if spent or self.searches >= self.limits.searches else None

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        dead = self._dies_after is not None and len(self.made) >= self._dies_after
        if dead and key not in self.journal:
            raise Killed
        return await super().once(key, make)

    def _keep(self, key: str) -> None:
        self.made.append(key)
        self.journal[key] = json.loads(json.dumps(self.journal[key]))

    def note_read(self, hits: Iterable[Hit]) -> None:
        """There is no catalogue to note it in."""

    def spend(self, usage: ModelUsage) -> None:
        super().spend(usage)
        self.usages.append(usage)
