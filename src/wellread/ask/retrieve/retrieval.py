"""What was found for a question: passages, the searches that were made, and the why."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.questions import Constraint
from wellread.store.catalogue.documents.relation_network import Path
from wellread.types import Filters, Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEntry:
    """A passage's place in one list of a search."""

    passage_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTrace:
    """One search that was made: what for, within which limits, and what each list gave.

    Attributes:
        purpose: why ("the question", "side: heat pumps", "neighbour: Ada Lovelace").
        lists: list name ("text", "vector") to its best candidates.
        fused: how the lists were put together ("weighted: vector 0.30, text 0.70").
    """

    purpose: str
    query: str
    filters: Filters
    lists: tuple[tuple[str, tuple[RankedEntry, ...]], ...] = ()
    fused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A hit that was found and not used, and why ("near-duplicate of ...")."""

    hit: Hit
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found for a question, and how.

    Attributes:
        strategy: which way it was found, in words.
        hits: passages; beside a result of the catalogue those that tell of it.
        paths: the ways through the graph that explain it.
        relaxed: the question's limits that were left out, since nothing was found within them.
        failures: steps that failed and were done without, in words (a reranker).
        notes: what else the answer has to say about how it was found.
        clusters: how many stories it comes from.
    """

    strategy: str = ""
    hits: tuple[Hit, ...] = ()
    paths: tuple[Path, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    traces: tuple[SearchTrace, ...] = ()
    clusters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval(Found):
    """The passages that a strategy found, and those that it left out."""

    dropped: tuple[Dropped, ...] = ()
