"""What a run tells: how far it is, and how every source fared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Status = Literal["added", "updated", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """How one source fared; ``reason`` says why it was skipped or failed."""

    uri: str
    status: Status
    reason: str = ""
    documents: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is. ``current`` is the source being read."""

    sources_total: int
    sources_done: int
    passages_done: int
    current: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every source of a run with its result; ``passages`` were embedded in ``seconds``."""

    rows: tuple[SourceResult, ...]
    passages: int
    seconds: float

    def counts(self) -> dict[str, int]:
        """How many sources ended in each status."""
        counts = dict.fromkeys(("added", "updated", "unchanged", "skipped", "failed"), 0)
        for row in self.rows:
            counts[row.status] += 1
        return counts


OnProgress = Callable[[Progress], None]
