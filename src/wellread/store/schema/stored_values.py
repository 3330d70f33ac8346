"""The values that the catalogue keeps: accounts, sources, gaps, feedback, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from wellread.identity import Asker, Everything
from wellread.types import Document, Kind, Passage, Span

Role = Literal["reader", "editor", "admin"]
Scope = Literal["read", "ask", "edit", "admin"]
ROLES: tuple[Role, ...] = ("reader", "editor", "admin")  # each may what those before it may
SCOPES_OF: Mapping[str, frozenset[Scope]] = {
    "reader": frozenset(("read", "ask")),
    "editor": frozenset(("read", "ask", "edit")),
    "admin": frozenset(("read", "ask", "edit", "admin")),
}
SCOPES: tuple[Scope, ...] = ("read", "ask", "edit", "admin")
ALL = "*"  # the name by which a grant means every collection
OIDC = "oidc"  # the source of what an identity provider said


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An account."""

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
    """Users that share grants; ``source``: ``oidc`` when a provider named it."""

    id: str
    name: str
    source: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A collection (or ``*``) opened to a user or a group, by name; the other name is empty."""

    collection: str
    role: Role
    user: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as its owner sees it; the key itself is kept nowhere."""

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
    """A browser that is signed in; ``agent``: what it calls itself."""

    id: str
    user_id: str
    created_at: datetime
    used_at: datetime
    expires_at: datetime
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One thing that somebody did."""

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
    """What one request may do."""

    user: User | None
    asker: Asker
    edits: frozenset[str] | Everything
    scopes: frozenset[Scope]
    key_id: str = ""
    session_id: str = ""

    def may_edit(self, collection: str) -> bool:
        """Whether material of the collection may be added and removed."""
        if "edit" not in self.scopes:
            return False
        return isinstance(self.edits, Everything) or collection in self.edits

    @property
    def is_admin(self) -> bool:
        """Whether it may change settings and users."""
        return "admin" in self.scopes


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
    """A new or changed document with all passages of its new version, in reading order."""

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
    """Index rows that may be there and should not (``remove``), or be half there (``write``)."""

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
    """Facts about an answer that was given."""

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


Score = int | float  # in this order: a rating comes back as it was given, 0 as 0 and 0.0 as 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BetterCitation:
    """The place that an expert gives as the proof of a sentence, or of their correction.

    Attributes:
        version: of the document as the expert read it.
        content: a hash of the words at ``span``; when these change, what rests on them expires.
    """

    document_id: str
    version: str
    span: Span
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceRating:
    """An expert's judgement of one sentence.

    Attributes:
        sentence: its place, from 0, in ``Answer.sentences``.
        content: a hash of its words, by which it is known again.
        score: 0-100; None: not rated. 0 is the worst rating, and not the same.
        harmful, content_issue: None: not said.
        source_fault: whether the cited source itself is wrong; False: it is right and was misread;
            None: not said.
        correction: what it should say, in the expert's words; empty when nothing is put right.
    """

    sentence: int
    content: str
    score: Score | None = None
    explanation: str = ""
    harmful: bool | None = None
    content_issue: bool | None = None
    source_fault: bool | None = None
    correction: str = ""
    citation: BetterCitation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One person's word on one answer of this knowledge base.

    Attributes:
        author: who gave it, as the system knows them; never what a client says of itself.
        question: of the answer, as it is understood without earlier turns.
        score: of the whole answer, 0-100; None: not rated.
        correction: what the answer should say instead; empty when it is not put right.
        citations: what the correction rests on.
        by: whom an imported file names as the expert: words to show, no identity.
        expired: why it counts no more, in words; empty while it does.
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
class Sums:
    """Answers and what they add up to.

    Attributes:
        cited: answered, with citations; ``uncited``: answered without any.
        unanswered: the material did not hold it.
        asked_back: it was asked what is meant, or nothing was asked.
        cached: given before and given again; counted in all others, too.
        high, medium, low: bands of confidence of those that were answered.
        confidence: their mean; 0 when there are none.
        cost: in US dollars.
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
class Counted:
    """Answers of one day (``2026-03-18``) or hour (``2026-03-18 12``), in UTC."""

    start: str
    asked: int
    cited: int
    unanswered: int
    follow_ups: int
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Seconds of one step; ``percentiles`` are those of ``PERCENTILES``, by the nearest rank."""

    name: str
    answers: int
    seconds: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What answers were about: ``kind`` is ``collection``, ``field`` or ``word``."""

    kind: str
    topic: str
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCount:
    """Questions of one kind and status in the ledger of gaps."""

    kind: str
    status: str
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls of one purpose, provider and model; ``cost`` in US dollars, ``seconds`` of all."""

    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    seconds: float
