"""The tables of users: who they are, what they may, how they sign in, what they did."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from wellread.store.schema.database import Moment
from wellread.store.schema.tables import filled, key_of, metadata

__all__ = [
    "api_keys",
    "audit",
    "grants",
    "group_members",
    "metadata",
    "sign_in_attempts",
    "user_groups",
    "users",
    "web_sessions",
]

# ``password``: an argon2 hash, empty for who signs in elsewhere only. ``issuer`` and ``subject``:
# how an identity provider knows them, empty for local accounts.
users = Table(
    "users",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *filled(String, "role", "password"),
    *filled(Boolean, "disabled"),
    *filled(Moment, "created_at"),
    *filled(String, "issuer", "subject"),
)

# ``source``: empty when made here, ``oidc`` when an identity provider named it.
user_groups = Table(
    "user_groups",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *filled(String, "source"),
)

group_members = Table(
    "group_members",
    metadata,
    key_of("user_groups", column="group_id"),
    key_of("users", column="user_id"),
    *filled(String, "source"),
)

# To a user or to a group; ``*`` stands for all collections.
grants = Table(
    "grants",
    metadata,
    Column("id", Integer, primary_key=True),
    *filled(String, "collection", "role"),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), index=True),
    Column("group_id", String, ForeignKey("user_groups.id", ondelete="CASCADE"), index=True),
)

# ``digest``: a hash of the key, which is kept nowhere; ``start``: its first characters, by which
# its owner knows it again. ``collections``: none: all that its owner may read.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *filled(String, "name", "start"),
    *filled(JSON, "scopes"),
    Column("collections", JSON(none_as_null=True)),
    *filled(Moment, "created_at"),
    Column("expires_at", Moment),
    Column("used_at", Moment),
    Index(None, "user_id"),
)

# Browsers that are signed in; ``digest``: a hash of what the cookie holds.
web_sessions = Table(
    "web_sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *filled(Moment, "created_at", "used_at", "expires_at"),
    *filled(Text, "agent"),
    Index(None, "user_id"),
)

# Visits to an identity provider from which somebody has yet to come back.
sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("digest", String, primary_key=True),
    *filled(Moment, "expires_at"),
    *filled(String, "state", "nonce", "verifier"),
    *filled(Text, "target"),
)

# Who did what. ``user_id`` is no foreign key: what was done stays when its doer goes, without a
# name. No words of questions: ``answer_id`` leads to them as long as they are there.
audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("user_id", String, nullable=False, index=True),
    *filled(String, "key_id", "address", "action"),
    *filled(Text, "target"),
    Column("answer_id", String, nullable=False, index=True),
    *filled(JSON, "documents"),
    *filled(String, "outcome"),
)
