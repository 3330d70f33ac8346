"""The values of users: roles, groups, grants, keys, and what somebody may do here and now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from wellread.identity import Asker, Everything

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
    """An account.

    Attributes:
        role: what it may do at all; grants say where.
        local: whether it has a password here.
        issuer, subject: how an identity provider knows it; empty for local accounts.
    """

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
    """A key as its owner sees it; the key itself is kept nowhere.

    Attributes:
        start: its first characters.
        collections: to which it is limited; None: all that its owner may read.
    """

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
    """One thing that somebody did.

    Attributes:
        user: their name now; empty for commands on the machine, ``(removed)`` when they are gone.
        action: what they did, in fixed words.
        target: to what: a collection, a user, an address; never words of a question.
        question: what was asked, as long as the answer is there.
        documents: the ids of those that were shown.
        outcome: empty when it was done, else why not.
    """

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
    """What one request may do.

    Attributes:
        user: None for whoever sits at the machine, where no users exist.
        asker: whose request it is, and what it may read.
        edits: the collections that it may change.
        scopes: kinds of things that it may do.
        key_id, session_id: how it signed in; one of them is empty.
    """

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
