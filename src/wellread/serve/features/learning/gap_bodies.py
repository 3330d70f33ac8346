"""The ledger of gaps as JSON: clusters, their questions, what to write, what was asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.learning.asking_again import Reasked
from wellread.learning.gap_clusters import (
    TAG,
    GapCluster,
    cluster_named,
    clusters_of,
    suggest_entry,
    with_missing,
)
from wellread.serve.features.bodies import Body
from wellread.store.schema.catalogue_values import Gap, GapKind, GapStatus


class GapBody(Body):
    """A question that was not answered, or not well.

    ``tried``: why it stayed open when it was asked again. ``closedBy``: the answer that closed it;
    empty when it was closed by hand.
    """

    id: int
    question: str
    kind: GapKind
    status: GapStatus
    reason: str
    asked: int
    first_asked_at: datetime
    asked_at: datetime
    collections: tuple[str, ...]
    answer_id: str
    tried: str
    tried_at: datetime | None
    closed_by: str
    closed_at: datetime | None

    @classmethod
    def of_gap(cls, gap: Gap) -> GapBody:
        """The body of a gap."""
        return cls.of(
            gap, first_asked_at=gap.created_at, asked_at=gap.filed_at, collections=gap.scope
        )


class GapClusterBody(Body):
    """Questions about the same thing. ``missing``: their words that the material lacks."""

    id: str
    name: str
    status: GapStatus
    asked: int
    questions: int
    open: int
    closed: int
    kinds: dict[str, int]
    missing: tuple[str, ...]
    terms: tuple[str, ...]
    collections: tuple[str, ...]
    latest_at: datetime
    example: str


class GapClusterDetailBody(GapClusterBody):
    """A cluster with its questions, the ones asked most first."""

    gaps: tuple[GapBody, ...]


class GapPeriodBody(Body):
    """A month: how many gaps were filed, and how many were closed."""

    month: str
    filed: int
    closed: int


class GapsBody(Body):
    """A part of the ledger; ``counts`` are of all gaps by status."""

    clusters: tuple[GapClusterBody, ...]
    total: int
    counts: dict[GapStatus, int]
    periods: tuple[GapPeriodBody, ...]


class EntrySuggestionBody(Body):
    """The entry to write for a cluster; ``markdown`` is the file."""

    cluster: str
    file_name: str
    id: str
    title: str
    type: str
    collection: str
    taxonomy: dict[str, tuple[str, ...]]
    questions: tuple[str, ...]
    near: tuple[str, ...] = Field(description="titles of the entries that it was modelled on")
    markdown: str


class RetriedBody(Body):
    """A question that was asked again; ``answerId`` is empty when it stayed open, and ``why``."""

    gap: int
    question: str
    answer_id: str
    why: str


class ReaskedBody(Body):
    """What asking again did; ``waiting`` are left for the next time."""

    open: int
    documents: int
    asked: int
    closed: int
    waiting: int
    job: str
    questions: tuple[RetriedBody, ...]


class StatusBody(Body):
    """What was changed."""

    id: str
    status: GapStatus
    gaps: int


def gaps_body(kb: KnowledgeBase, status: GapStatus | None, limit: int, offset: int = 0) -> GapsBody:
    """A part of the clusters with a question of a status; without one, all that are not closed.

    Raises:
        StoreError, ModelError: a part of the home cannot be used.
    """
    clusters = clusters_of(kb)
    wanted = [
        one
        for one in clusters
        if (any(gap.status == status for gap in one.gaps) if status else one.status != "closed")
    ]
    gaps = [gap for one in clusters for gap in one.gaps]
    held = Counter(gap.status for gap in gaps)
    return GapsBody(
        clusters=tuple(
            cluster_body(with_missing(kb, one)) for one in wanted[offset : offset + limit]
        ),
        total=len(wanted),
        counts={name: held[name] for name in ("open", "planned", "closed")},
        periods=_periods(gaps),
    )


def cluster_body(cluster: GapCluster) -> GapClusterBody:
    """The body of a cluster without its questions."""
    return GapClusterBody.of(
        cluster,
        questions=len(cluster.gaps),
        open=sum(gap.status == "open" for gap in cluster.gaps),
        closed=sum(gap.status == "closed" for gap in cluster.gaps),
        kinds=dict(Counter(gap.kind for gap in cluster.gaps)),
        collections=cluster.scope,
        latest_at=cluster.latest,
        example=cluster.gaps[0].question,
    )


def cluster_detail(kb: KnowledgeBase, name: str) -> GapClusterDetailBody:
    """A cluster with its questions.

    Raises:
        UnknownNameError: there is none of this name.
    """
    cluster = cluster_named(kb, name)
    gaps = tuple(GapBody.of_gap(gap) for gap in cluster.gaps)
    return GapClusterDetailBody.of(cluster_body(cluster), gaps=gaps)


def suggestion_body(kb: KnowledgeBase, name: str) -> EntrySuggestionBody:
    """What to write for a cluster.

    Raises:
        UnknownNameError: there is none of this name.
    """
    cluster = cluster_named(kb, name)
    made = suggest_entry(kb, cluster)
    return EntrySuggestionBody.of(made, cluster=cluster.id, taxonomy=dict(made.taxonomy))


DIGITS = 18  # of the highest number that a row can have


def set_status(kb: KnowledgeBase, name: str, status: GapStatus) -> StatusBody:
    """Open, plan or close a whole cluster (``c12``), or one gap (``12``).

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name.startswith(TAG):
        ids = [gap.id for gap in cluster_named(kb, name).gaps]
    else:
        ids = [int(name)] if name.isdecimal() and len(name) <= DIGITS else []
    changed = kb.catalogue.gap_ledger.set_status(ids, status)
    if not changed:
        raise UnknownNameError(f"there is no gap {name!r}", hint="wellread gaps lists them")
    return StatusBody(id=name, status=status, gaps=changed)


def reasked_body(done: Reasked) -> ReaskedBody:
    """The body of what asking again did."""
    return ReaskedBody(
        open=done.open,
        documents=done.documents,
        asked=len(done.tried),
        closed=len(done.closed),
        waiting=done.waiting,
        job=done.job_id,
        questions=tuple(
            RetriedBody(
                gap=one.gap.id, question=one.gap.question, answer_id=one.answer_id, why=one.why
            )
            for one in done.tried
        ),
    )


def _periods(gaps: Sequence[Gap]) -> tuple[GapPeriodBody, ...]:
    """Every month in which a gap was filed or closed, the oldest first."""
    filed = Counter(f"{gap.created_at:%Y-%m}" for gap in gaps)
    closed = Counter(f"{gap.closed_at:%Y-%m}" for gap in gaps if gap.closed_at)
    return tuple(
        GapPeriodBody(month=month, filed=filed[month], closed=closed[month])
        for month in sorted({*filed, *closed})
    )
