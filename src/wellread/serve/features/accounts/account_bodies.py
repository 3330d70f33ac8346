"""Users, groups, grants, keys and the audit log as the interfaces show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from wellread.errors import RequestError
from wellread.serve.features.bodies import PlainBody
from wellread.store.catalogue.accounts import Accounts
from wellread.store.schema.account_values import SCOPES, ApiKey, Scope, User


class UserBody(PlainBody):
    """An account; ``groups`` by name."""

    id: str
    name: str
    role: str
    local: bool
    disabled: bool
    issuer: str
    created_at: datetime
    groups: tuple[str, ...] = ()


class GroupBody(PlainBody):
    """A group with the names of its members; ``source``: ``oidc`` when a provider named it."""

    id: str
    name: str
    source: str
    members: tuple[str, ...]


class GrantBody(PlainBody):
    """A collection (``*``: all) opened to a user or a group."""

    collection: str
    role: str
    user: str
    group: str


class KeyBody(PlainBody):
    """A key without itself; ``collections``: none: all that its owner may read."""

    id: str
    user: str
    name: str
    start: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


class NewKeyBody(KeyBody):
    """A key, told once."""

    key: str


class AuditBody(PlainBody):
    """Something that somebody did."""

    at: datetime
    user: str
    user_id: str
    key_id: str
    address: str
    action: str
    target: str
    answer_id: str
    question: str
    documents: tuple[str, ...]
    outcome: str


class ForgottenBody(PlainBody):
    """What went with a user, and where something of it still stands."""

    user: str
    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    purged: bool = True
    traces: tuple[str, ...] = ()


def user_bodies(accounts: Accounts) -> list[UserBody]:
    """All users with their groups."""
    groups = accounts.groups.every()
    return [
        UserBody.of(user, groups=tuple(one.name for one in groups if user.name in one.members))
        for user in accounts.users.every()
    ]


def new_key(
    accounts: Accounts,
    user: User,
    name: str,
    scopes: list[str],
    collections: list[str],
    days: int | None,
) -> NewKeyBody:
    """Make a key of a user.

    Args:
        scopes: what it may do; none: read and ask.
        collections: to which it is limited; none: all that the user may read.
        days: until it expires; None: never.

    Raises:
        RequestError: a scope that is none.
    """
    chosen = [known_scope(one) for one in scopes] or ["read", "ask"]
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    made, secret = accounts.keys.new(
        user.id,
        name.strip() or "key",
        [one for one in SCOPES if one in chosen],
        collections or None,
        until,
    )
    return NewKeyBody.of(made, key=secret)


def known_scope(given: str) -> Scope:
    """The scope of that name.

    Raises:
        RequestError: there is none.
    """
    found = next((one for one in SCOPES if one == given.strip()), None)
    if found is None:
        raise RequestError(f"{given!r} is no scope", hint=f"one of {', '.join(SCOPES)}")
    return found


def key_named(keys: list[ApiKey], given: str) -> ApiKey:
    """The key whose id, beginning or name is ``given``.

    Raises:
        RequestError: there is none, or more than one.
    """
    found = [one for one in keys if given in (one.id, one.start, one.name)]
    if len(found) != 1:
        said = "more than one key" if found else "no key"
        raise RequestError(
            f"there is {said} that {given!r} names", hint="'wellread users key' shows their ids"
        )
    return found[0]
