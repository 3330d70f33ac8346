"""What goes into the catalogue and comes out of it, beside the values of ``types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from wellread.types import Document, Kind, Passage

SourceStatus = Literal["added", "updated", "unchanged", "failed", "skipped"]
WriteAction = Literal["write", "remove"]
VersionKey = tuple[str, str]  # (document_id, version)
REMOVED = "(removed)"  # stands for a name that went with what it named


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """One input as it was last seen.

    Attributes:
        digest: hash of the bytes; with size and mtime it says whether to read them again.
        reason: why it failed or was skipped; empty otherwise.
        seen_at: when it was last looked at; None takes the time of recording.
        root: the input under which it was found (a folder, a feed, or the source itself).
        etag, last_modified: what the web server said, for the next conditional request.
        poll_after: the web server is not asked again before.
    """

    collection: str
    uri: str
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    loader: str = ""
    status: SourceStatus = "added"
    reason: str = ""
    seen_at: datetime | None = None
    root: str = ""
    etag: str = ""
    last_modified: str = ""
    poll_after: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A new or changed document with all passages of its new version, in reading order.

    Attributes:
        owes_vectors: its index rows were written without vectors.
    """

    document: Document
    passages: Sequence[Passage]
    owes_vectors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """Everything that one source yields now.

    Attributes:
        accumulates: what it yielded before and no more stays (a feed that shows its newest
            entries only); else it is deleted.
    """

    record: SourceRecord
    documents: Sequence[DocumentChange]
    accumulates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """Index rows that may be there and should not (``remove``), or may be half there (``write``).

    Attributes:
        run: the ingest run that meant to write them; empty for removals.
    """

    document_id: str
    version: str
    action: WriteAction
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """How many documents and passages of one kind a collection holds."""

    collection: str
    kind: Kind
    documents: int
    passages: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """Facts about an answer that was given.

    Attributes:
        stale: a source that it rests on has changed or is gone since.
    """

    id: str
    question: str
    session_id: str
    answered_by: str
    confidence: float
    created_at: datetime
    stale: bool
    owner: str = ""


GapKind = Literal["unanswered", "declined", "hedged", "badly_rated", "expired"]
GapStatus = Literal["open", "planned", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A question that was not answered, or not well, and why.

    Attributes:
        scope: the collections that it was asked of; none: all. ``limits``: other filters, plain.
        answer_id: what was answered; ``closed_by``: the answer that closed it, empty when it was
            closed by hand.
        tried: why it stayed open when it was asked again.
        asked: how often, by its owner; ``asked_at``: the last time.
    """

    id: int
    question: str
    reason: str
    created_at: datetime
    kind: GapKind = "unanswered"
    status: GapStatus = "open"
    answer_id: str = ""
    closed_by: str = ""
    owner: str = ""
    scope: tuple[str, ...] = ()
    tried_at: datetime | None = None
    tried: str = ""
    closed_at: datetime | None = None
    asked: int = 1
    asked_at: datetime | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def filed_at(self) -> datetime:
        """When the material was last found wanting."""
        return self.asked_at or self.created_at
