"""What a strategy found: passages, an exhaustive result, ways through the graph, and the why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wellread.questions import Constraint
from wellread.store.catalogue.graph.relation_network import Path
from wellread.types import Filters, Hit, Span

AggregateKind = Literal["count", "list", "relation", "gap", "coverage", "trend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of one version of a document, of which a citation quotes the first sentence."""

    document_id: str
    version: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of an exhaustive result; ``document_ids`` are the documents that it rests on.

    Attributes:
        line: the row in words, where its cells do not say by themselves what they are.
        places: what to quote of its documents, where that is not how they begin.
    """

    cells: tuple[str, ...]
    document_ids: tuple[str, ...] = ()
    line: str = ""
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateResult:
    """A result worked out from the catalogue as a whole, never from the top k.

    Attributes:
        sentence: the result in one sentence ("7 entities are of the type workshop.").
        gap: what is missing, in a few words, where that is not the sentence.
        number: what was counted, for a counting question.
        columns: what the cells of each row are called.
        rows: all of them.
        absent: nothing of what was asked for is there, which is a gap of the material.
        method: how it was worked out, so that it can be checked ("entities of type 'workshop' in
            the collections news, commons, published from 2025-10-01").
    """

    kind: AggregateKind
    sentence: str
    number: int | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    absent: bool = False
    gap: str = ""
    method: str = ""


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
class Retrieval:
    """What a strategy found for a question.

    Attributes:
        strategy: which one it was, in words.
        tally: set when the answer is an exhaustive result rather than passages.
        paths: the ways through the graph that explain a relational answer.
        clusters: how many stories the hits come from.
        relaxed: the question's limits that were left out, since nothing was found within them.
        failures: steps that failed and were done without, in words (a reranker).
        notes: what else the answer has to say about how it was found.
    """

    strategy: str
    hits: tuple[Hit, ...] = ()
    tally: AggregateResult | None = None
    paths: tuple[Path, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    traces: tuple[SearchTrace, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=())
    clusters: int = 0
