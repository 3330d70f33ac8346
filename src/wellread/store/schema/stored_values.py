"""Data types stored in the catalogue: accounts, sources, gaps, feedback and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from wellread.identity import Asker, Everything
from wellread.types import Document, Kind, Passage, Span

Role = Literal["reader", "editor", "admin"]  # each includes the rights before it
Scope = Literal["read", "ask", "edit", "admin"]
SCOPES_OF: Mapping[str, frozenset[Scope]] = {
    "reader": frozenset(("read", "ask")),
    "editor": frozenset(("read", "ask", "edit")),
    "admin": frozenset(("read", "ask", "edit", "admin")),
}
SCOPES: tuple[Scope, ...] = ("read", "ask", "edit", "admin")
ALL = "*"  # the collection name in a grant for every collection
OIDC = "oidc"  # the source of groups named by an identity provider


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user account."""

    id: str
    name: str
    role: Role
    local: bool
    disabled: bool
    created_at: datetime
    issuer: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserGroup:
    """Users that share grants; ``source`` is ``oidc`` when an identity provider named the group."""

    id: str
    name: str
    source: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A role in a collection (or ``*``) for the user or the group whose name is not empty."""

    collection: str
    role: Role
    user: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key as its owner sees it; the key itself is not stored."""

    id: str
    user_id: str
    user: str
    name: str
    start: str
    scopes: tuple[Scope, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A signed-in browser; ``agent`` is its User-Agent."""

    id: str
    user_id: str
    created_at: datetime
    used_at: datetime
    expires_at: datetime
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An action of a user, as recorded in the audit log."""

    id: int
    at: datetime
    user_id: str
    user: str
    key_id: str
    address: str
    action: str
    target: str
    answer_id: str
    question: str
    documents: tuple[str, ...]
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The rights of one request."""

    user: User | None
    asker: Asker
    edits: frozenset[str] | Everything
    scopes: frozenset[Scope]
    key_id: str = ""
    session_id: str = ""

    def may_edit(self, collection: str) -> bool:
        """Whether the request may add and remove material of the collection."""
        if "edit" not in self.scopes:
            return False
        return isinstance(self.edits, Everything) or collection in self.edits

    @property
    def is_admin(self) -> bool:
        """Whether the request may change settings and users."""
        return "admin" in self.scopes


SourceStatus = Literal["added", "updated", "unchanged", "failed", "skipped"]
WriteAction = Literal["write", "remove"]
VersionKey = tuple[str, str]  # (document_id, version)
REMOVED = "(removed)"  # replaces the name of something that was removed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """A source (file, page or feed) as it was last read.

    ``root`` is the input under which it was found: a folder, a feed, or itself.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A new or changed document with all passages of its new version, in reading order."""

    document: Document
    passages: Sequence[Passage]
    owes_vectors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """The current content of one source.

    Documents that it no longer lists are deleted, unless it ``accumulates`` as a feed does.
    """

    record: SourceRecord
    documents: Sequence[DocumentChange]
    accumulates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """Index rows that may be left over (``remove``) or incomplete (``write``)."""

    document_id: str
    version: str
    action: WriteAction
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """The number of documents and passages of one kind in a collection."""

    collection: str
    kind: Kind
    documents: int
    recordings: int
    passages: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """A stored answer without its text."""

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
    """A question that was not answered, or not well, with the reason.

    It was ``asked`` so many times of the collections in ``scope`` (empty: all) with the other
    filters in ``limits``. ``closed_by`` is the answer that closed it; ``tried`` says why it stayed
    open when it was asked again.
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
        """The last time that the material did not answer the question."""
        return self.asked_at or self.created_at


Score = int | float  # in this order, so that 0 is restored as 0 and 0.0 as 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterCitation:
    """The passage that an expert names as the proof of a sentence or of a correction.

    ``content`` is a hash of its words; feedback based on them expires when they change.
    """

    document_id: str
    version: str
    span: Span
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRating:
    """An expert's judgement of one sentence, its place in the answer from 0; None: not stated.

    ``content`` is a hash of its words.
    """

    sentence: int
    content: str
    score: Score | None = None
    explanation: str = ""
    harmful: bool | None = None
    content_issue: bool | None = None
    correction: str = ""
    citation: BetterCitation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's feedback on one answer; ``citations`` prove its correction.

    ``author`` is the authenticated user, never a name that a client claims; an imported file may
    name another expert in ``by``, for display only. ``expired`` says why it no longer counts.
    """

    id: str
    answer_id: str
    author: str
    question: str
    created_at: datetime
    updated_at: datetime
    score: Score | None = None
    comment: str = ""
    correction: str = ""
    citations: tuple[BetterCitation, ...] = ()
    sentences: tuple[SentenceRating, ...] = ()
    by: str = ""
    expired: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTotals:
    """Statistics of a set of answers; ``cost`` is in US dollars.

    Each is ``cited``, ``uncited``, ``unanswered`` by the material, or ``asked_back``: answered with
    a question, or the input was none. The bands and the mean confidence are of the answered ones.
    """

    asked: int = 0
    cited: int = 0
    uncited: int = 0
    unanswered: int = 0
    asked_back: int = 0
    follow_ups: int = 0
    cached: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0
    confidence: float = 0.0
    citations: int = 0
    quoted: int = 0
    supported: int = 0
    partial: int = 0
    not_checked: int = 0
    uncited_sentences: int = 0
    unsupported: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersPerPeriod:
    """Statistics of one day (``2026-03-18``) or hour (``2026-03-18 12``) in UTC."""

    start: str
    asked: int
    cited: int
    unanswered: int
    follow_ups: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds of one step, with the nearest-rank percentiles of ``PERCENTILES``."""

    name: str
    answers: int
    seconds: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of answers; ``kind`` is ``collection``, ``field`` or ``word``."""

    kind: str
    topic: str
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCount:
    """The number of gaps of one kind and status."""

    kind: str
    status: str
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsageTotal:
    """Total use of a model for one purpose; ``cost`` is in US dollars."""

    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float
