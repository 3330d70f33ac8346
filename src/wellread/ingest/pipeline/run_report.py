"""What a run tells: how far it is, and how every source fared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Status = Literal["added", "updated", "unchanged", "skipped", "failed", "removed"]
STATUSES: tuple[Status, ...] = (
    "added",
    "updated",
    "unchanged",
    "skipped",
    "failed",
    "removed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """How one source fared; ``reason`` says why it was skipped or failed.

    Attributes:
        seconds: that it took to parse.
    """

    uri: str
    status: Status
    reason: str = ""
    documents: int = 0
    passages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        passages_written: are found by their words.
        passages_done: are found by their meaning as well.
        current: the source being read.
    """

    sources_total: int
    sources_done: int
    passages_done: int
    passages_written: int = 0
    current: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every source of a run with its result; ``passages`` were embedded in ``seconds``.

    Attributes:
        job_id: of the run's record in the catalogue.
        cancelled: it was asked to stop, and what is not in ``rows`` was not looked at.
    """

    rows: tuple[SourceResult, ...]
    passages: int
    seconds: float
    job_id: str = ""
    cancelled: bool = False

    def counts(self) -> dict[str, int]:
        """How many sources ended in each status."""
        counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        for row in self.rows:
            counts[row.status] += 1
        return counts


OnProgress = Callable[[Progress], None]
