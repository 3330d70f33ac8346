"""Stores API keys, browser sessions, sign-in attempts at identity providers, and the audit log.

Secrets have 256 random bits and only their hash is stored; for them a fast hash is as safe as a
slow one. The audit log contains no copies of questions: an entry refers to the answer, so that what
is removed there disappears here too. The entry itself stays.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, String, cast, delete, insert, select, update

from wellread.errors import RequestError
from wellread.identity import random_id
from wellread.store.catalogue.accounts.user_records import (
    Grants,
    Groups,
    ProviderUsers,
    RightsReads,
    Users,
)
from wellread.store.schema.database import (
    CataloguePart,
    Database,
    delete_oldest_day,
    rows_to_values,
    writing,
)
from wellread.store.schema.stored_values import REMOVED, ApiKey, AuditEntry, Scope, WebSession
from wellread.store.schema.tables import (
    answers,
    api_keys,
    audit,
    sign_in_attempts,
    users,
    web_sessions,
)

MIN_USE_INTERVAL = timedelta(minutes=1)  # shortest time between two updates of the last use
_KEY_FACTS = [column for column in api_keys.c if column.name != "digest"]


class ApiKeys(CataloguePart):
    """The API keys of all users."""

    def new(
        self,
        user_id: str,
        name: str,
        scopes: Sequence[Scope],
        collections: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key; the second value is the secret, which is not stored."""
        if collections is not None and "admin" in scopes:
            raise RequestError(
                "a key that is limited to collections cannot have the scope admin, which covers "
                "all collections",
                hint="omit the scope admin, or the collections",
            )
        secret = new_secret(KEY_PREFIX)
        row = {
            "id": random_id("key"),
            "digest": digest_of(secret),
            "user_id": user_id,
            "name": name,
            "start": secret[:SHOWN_CHARS],
            "scopes": list(scopes),
            "collections": None if collections is None else list(collections),
            "created_at": datetime.now(UTC),
            "expires_at": expires_at,
            "used_at": None,
        }
        self._run(insert(api_keys).values(**row))
        return next(key for key in self.of(user_id) if key.id == row["id"]), secret

    def of(self, user_id: str | None = None) -> list[ApiKey]:
        """The keys of one user or of all users, newest first."""
        statement = _keys_query().order_by(api_keys.c.created_at.desc(), api_keys.c.id)
        if user_id is not None:
            statement = statement.where(api_keys.c.user_id == user_id)
        return [_key_of(row) for row in self._rows(statement)]

    def authenticate(self, secret: str) -> ApiKey | None:
        """The key with this secret; None when it is unknown, expired or its owner is disabled."""
        now = datetime.now(UTC)
        conditions = (api_keys.c.digest == digest_of(secret), users.c.disabled.is_(False))
        keys = [_key_of(row) for row in self._rows(_keys_query().where(*conditions))]
        if not keys or (keys[0].expires_at is not None and keys[0].expires_at <= now):
            return None
        key = keys[0]
        if key.used_at is None or now - key.used_at > MIN_USE_INTERVAL:
            self._run(update(api_keys).where(api_keys.c.id == key.id).values(used_at=now))
        return key

    def revoke(self, key_id: str, user_id: str | None = None) -> bool:
        """Delete a key; return whether it existed (and belonged to the user)."""
        conditions = [api_keys.c.id == key_id]
        if user_id is not None:
            conditions.append(api_keys.c.user_id == user_id)
        with self._database.write() as connection:
            return connection.execute(delete(api_keys).where(*conditions)).rowcount > 0


def _keys_query() -> Any:
    return select(*_KEY_FACTS, users.c.name.label("user")).join(
        users, users.c.id == api_keys.c.user_id
    )


def _key_of(row: Any) -> ApiKey:
    facts = dict(row._mapping)
    limited = facts["collections"]
    facts |= {
        # Limited keys from earlier releases may have the scope admin; they lose it.
        "scopes": tuple(scope for scope in facts["scopes"] if limited is None or scope != "admin"),
        "collections": None if limited is None else tuple(limited),
    }
    return ApiKey(**facts)


MAX_AGENT_CHARS = 200
ATTEMPT_LIFETIME = timedelta(minutes=10)  # time limit for a sign-in at an identity provider
_SESSION_FACTS = [column for column in web_sessions.c if column.name != "digest"]


class WebSessions(CataloguePart):
    """The browser sessions of all users."""

    def begin(self, user_id: str, lasting: timedelta, agent: str = "") -> str:
        """Start a browser session; return the secret for its cookie, which is not stored."""
        secret, now = new_secret(), datetime.now(UTC)
        row = {
            "id": random_id("web"),
            "digest": digest_of(secret),
            "user_id": user_id,
            "created_at": now,
            "used_at": now,
            "expires_at": now + lasting,
            "agent": agent[:MAX_AGENT_CHARS],
        }
        with self._database.write() as connection:
            delete_oldest_day(connection, web_sessions.c.expires_at, now)
            connection.execute(insert(web_sessions).values(**row))
        return secret

    def authenticate(self, secret: str) -> WebSession | None:
        """The session with this secret; None when unknown, expired or its user is disabled."""
        now = datetime.now(UTC)
        conditions = (
            web_sessions.c.digest == digest_of(secret),
            web_sessions.c.expires_at > now,
            users.c.disabled.is_(False),
        )
        statement = select(*_SESSION_FACTS).join(users, users.c.id == web_sessions.c.user_id)
        matches = rows_to_values(WebSession, self._rows(statement.where(*conditions)))
        if not matches:
            return None
        if now - matches[0].used_at > MIN_USE_INTERVAL:
            is_session = web_sessions.c.id == matches[0].id
            self._run(update(web_sessions).where(is_session).values(used_at=now))
        return matches[0]

    def end(self, session_id: str, user_id: str) -> None:
        """Sign one browser out."""
        is_session = (web_sessions.c.id == session_id, web_sessions.c.user_id == user_id)
        self._run(delete(web_sessions).where(*is_session))

    def end_all(self, user_id: str) -> None:
        """Sign a user out everywhere."""
        self._run(delete(web_sessions).where(web_sessions.c.user_id == user_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """A pending sign-in at an identity provider, with the values that its reply must match."""

    state: str
    nonce: str
    verifier: str
    target: str


class SignInAttempts(CataloguePart):
    """Pending sign-ins at identity providers."""

    def begin(self, attempt: SignInAttempt) -> str:
        """Store an attempt; return the secret for the browser's cookie."""
        secret, now = new_secret(), datetime.now(UTC)
        row: dict[str, Any] = {
            "digest": digest_of(secret),
            "expires_at": now + ATTEMPT_LIFETIME,
            **asdict(attempt),
        }
        self._run(
            delete(sign_in_attempts).where(sign_in_attempts.c.expires_at <= now),
            insert(sign_in_attempts).values(**row),
        )
        return secret

    def take(self, secret: str) -> SignInAttempt | None:
        """Return and delete the attempt with this secret; None when it is unknown or expired."""
        is_attempt = sign_in_attempts.c.digest == digest_of(secret)
        with self._database.write() as connection:
            row = connection.execute(select(sign_in_attempts).where(is_attempt)).first()
            connection.execute(delete(sign_in_attempts).where(is_attempt))
        if row is None or row.expires_at <= datetime.now(UTC):
            return None
        names = SignInAttempt.__dataclass_fields__
        return SignInAttempt(**{name: getattr(row, name) for name in names})


KEY_PREFIX = "wr_"  # lets people and secret scanners recognise a key
SHOWN_CHARS = 10  # first characters of a key that are stored and shown to its owner


def new_secret(prefix: str = "") -> str:
    """A new secret with 256 random bits."""
    return prefix + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """The hash of a secret, as stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


ASKED = "asked"
OPENED = "opened"
CHANGED = "changed"
SIGNED_IN = "signed in"
REFUSED_SIGN_IN = "sign-in failed"
SIGNED_OUT = "signed out"
MAX_TARGET_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """A new entry of the audit log; the fields are those of ``AuditEntry``."""

    action: str
    user_id: str = ""
    key_id: str = ""
    address: str = ""
    target: str = ""
    answer_id: str = ""
    documents: tuple[str, ...] = ()
    outcome: str = ""


def log_entry(connection: Connection, entry: NewEntry) -> None:
    """Add an entry with the current time to the audit log."""
    row = asdict(entry) | {"target": entry.target[:MAX_TARGET_CHARS], "at": datetime.now(UTC)}
    connection.execute(insert(audit), row | {"documents": list(entry.documents)})


class AuditLog(CataloguePart):
    """The audit log of all users."""

    write = writing(log_entry)

    def newest(
        self,
        limit: int = 100,
        *,
        user_id: str | None = None,
        action: str = "",
        document_id: str = "",
    ) -> list[AuditEntry]:
        """The newest entries first, optionally of one user, one action or one document."""
        statement = (
            select(audit, users.c.name.label("user"), answers.c.question.label("question"))
            .outerjoin(users, users.c.id == audit.c.user_id)
            .outerjoin(answers, answers.c.id == audit.c.answer_id)
            .order_by(audit.c.id.desc())
        )
        if user_id is not None:
            statement = statement.where(audit.c.user_id == user_id)
        if action:
            statement = statement.where(audit.c.action == action)
        if document_id:
            ids = cast(audit.c.documents, String)  # a JSON list
            statement = statement.where(ids.contains(f'"{document_id}"', autoescape=True))
        return [_entry_of(row) for row in self._rows(statement.limit(limit))]

    def trim(self, days: int) -> int:
        """Delete entries older than ``days`` (0: none), one day's per call; return the number."""
        if days <= 0:
            return 0
        before = datetime.now(UTC) - timedelta(days=days)
        with self._database.write() as connection:
            return delete_oldest_day(connection, audit.c.at, before)


def log_answer(
    connection: Connection, owner: str, answer_id: str, documents: Iterable[str]
) -> None:
    """Log that a user got an answer showing these documents; nothing is logged without an owner.

    An answer that is recorded again replaces its earlier entry.
    """
    if not owner:
        return
    is_same = (audit.c.answer_id == answer_id, audit.c.action == ASKED)
    connection.execute(delete(audit).where(*is_same))
    ids = tuple(dict.fromkeys(documents))
    log_entry(connection, NewEntry(action=ASKED, user_id=owner, answer_id=answer_id, documents=ids))


def _entry_of(row: Any) -> AuditEntry:
    facts = dict(row._mapping)
    question = facts["question"] if facts["question"] is not None else REMOVED
    facts |= {
        "documents": tuple(row.documents),
        "user": row.user or (REMOVED if row.user_id else ""),
        "question": question if row.answer_id else "",
    }
    return AuditEntry(**facts)


class Accounts:
    """All stores about users. Every method of every part raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self.users = Users(database)
        self.from_provider = ProviderUsers(database)
        self.groups = Groups(database)
        self.grants = Grants(database)
        self.keys = ApiKeys(database)
        self.sessions = WebSessions(database)
        self.attempts = SignInAttempts(database)
        self.audit = AuditLog(database)
        self.rights = RightsReads(database)
