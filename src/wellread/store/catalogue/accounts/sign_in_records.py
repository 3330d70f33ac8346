"""Keys of programs, browsers that are signed in, and the audit log of who did what.

Secrets have 256 random bits and are kept as a hash only, a quick one: it is as good as a slow one.
The log holds no second copy of what was asked: an entry leads to the answer, and what is removed
there is gone here too. The entry itself stays.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from wellread.errors import RequestError
from wellread.identity import random_id
from wellread.store.catalogue.accounts.user_records import (
    Grants,
    Groups,
    ProviderUsers,
    RightsReads,
    Users,
)
from wellread.store.schema.database import CataloguePart, Database, made_of, trim
from wellread.store.schema.stored_values import REMOVED, ApiKey, AuditEntry, Scope, WebSession
from wellread.store.schema.tables import (
    answers,
    api_keys,
    audit,
    sign_in_attempts,
    users,
    web_sessions,
)

SELDOM = timedelta(minutes=1)  # the last use is not written more often
_KEY_FACTS = [column for column in api_keys.c if column.name != "digest"]


class ApiKeys(CataloguePart):
    """The keys of all users."""

    def new(
        self,
        user_id: str,
        name: str,
        scopes: Sequence[Scope],
        collections: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key. The second value is the key itself, which is told this once."""
        if collections is not None and "admin" in scopes:
            raise RequestError(
                "a key that is limited to collections cannot have the scope admin, which is over "
                "all of them",
                hint="leave out the scope admin, or the collections",
            )
        secret = new_secret(KEY_PREFIX)
        row = {
            "id": random_id("key"),
            "digest": digest_of(secret),
            "user_id": user_id,
            "name": name,
            "start": secret[:SHOWN],
            "scopes": list(scopes),
            "collections": None if collections is None else list(collections),
            "created_at": datetime.now(UTC),
            "expires_at": expires_at,
            "used_at": None,
        }
        with self._database.write() as connection:
            connection.execute(insert(api_keys), row)
        made = next(one for one in self.of(user_id) if one.id == row["id"])
        return made, secret

    def of(self, user_id: str | None = None) -> list[ApiKey]:
        """The keys of a user, or of all of them, the newest first."""
        statement = _keys().order_by(api_keys.c.created_at.desc(), api_keys.c.id)
        if user_id is not None:
            statement = statement.where(api_keys.c.user_id == user_id)
        return [_key(row) for row in self._rows(statement)]

    def opened_by(self, secret: str) -> ApiKey | None:
        """The key, when it is one that holds now and its owner may sign in; else None."""
        now = datetime.now(UTC)
        wanted = (api_keys.c.digest == digest_of(secret), users.c.disabled.is_(False))
        found = [_key(row) for row in self._rows(_keys().where(*wanted))]
        if not found or (found[0].expires_at is not None and found[0].expires_at <= now):
            return None
        key = found[0]
        if key.used_at is None or now - key.used_at > SELDOM:
            self._run(update(api_keys).where(api_keys.c.id == key.id).values(used_at=now))
        return key

    def revoke(self, key_id: str, user_id: str | None = None) -> bool:
        """Let a key open nothing any more; whether there was one (of that user)."""
        mine = [api_keys.c.id == key_id]
        if user_id is not None:
            mine.append(api_keys.c.user_id == user_id)
        with self._database.write() as connection:
            return connection.execute(delete(api_keys).where(*mine)).rowcount > 0


def _keys() -> Any:
    return select(*_KEY_FACTS, users.c.name.label("user")).join(
        users, users.c.id == api_keys.c.user_id
    )


def _key(row: Any) -> ApiKey:
    facts = dict(row._mapping)
    limited = facts["collections"]
    facts |= {
        # Those that were made before lose it.
        "scopes": tuple(one for one in facts["scopes"] if limited is None or one != "admin"),
        "collections": None if limited is None else tuple(limited),
    }
    return ApiKey(**facts)


LONGEST_AGENT = 200
ATTEMPT = timedelta(minutes=10)  # until who went to an identity provider has to be back
_SESSION_FACTS = [column for column in web_sessions.c if column.name != "digest"]


class WebSessions(CataloguePart):
    """The browsers of all users."""

    def begin(self, user_id: str, lasting: timedelta, agent: str = "") -> str:
        """Sign a browser in; what its cookie is to hold, which is told this once."""
        secret, now = new_secret(), datetime.now(UTC)
        row = {
            "id": random_id("web"),
            "digest": digest_of(secret),
            "user_id": user_id,
            "created_at": now,
            "used_at": now,
            "expires_at": now + lasting,
            "agent": agent[:LONGEST_AGENT],
        }
        with self._database.write() as connection:
            trim(connection, web_sessions.c.expires_at, now)
            connection.execute(insert(web_sessions).values(**row))
        return secret

    def opened_by(self, secret: str) -> WebSession | None:
        """The session that a cookie names, when it holds now and its user may sign in."""
        now = datetime.now(UTC)
        wanted = (
            web_sessions.c.digest == digest_of(secret),
            web_sessions.c.expires_at > now,
            users.c.disabled.is_(False),
        )
        statement = select(*_SESSION_FACTS).join(users, users.c.id == web_sessions.c.user_id)
        found = made_of(WebSession, self._rows(statement.where(*wanted)))
        if not found:
            return None
        if now - found[0].used_at > SELDOM:
            mine = web_sessions.c.id == found[0].id
            self._run(update(web_sessions).where(mine).values(used_at=now))
        return found[0]

    def end(self, session_id: str, user_id: str) -> None:
        """Sign one browser out."""
        mine = (web_sessions.c.id == session_id, web_sessions.c.user_id == user_id)
        self._run(delete(web_sessions).where(*mine))

    def end_all(self, user_id: str) -> None:
        """Sign a user out everywhere."""
        self._run(delete(web_sessions).where(web_sessions.c.user_id == user_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """A visit to an identity provider: what has to come back with who went there."""

    state: str
    nonce: str
    verifier: str
    target: str


class SignInAttempts(CataloguePart):
    """Visits to identity providers from which nobody has come back yet."""

    def begin(self, attempt: SignInAttempt) -> str:
        """Keep an attempt; what the visitor's cookie is to hold."""
        secret, now = new_secret(), datetime.now(UTC)
        row: dict[str, Any] = {
            "digest": digest_of(secret),
            "expires_at": now + ATTEMPT,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "verifier": attempt.verifier,
            "target": attempt.target,
        }
        self._run(
            delete(sign_in_attempts).where(sign_in_attempts.c.expires_at <= now),
            insert(sign_in_attempts).values(**row),
        )
        return secret

    def take(self, secret: str) -> SignInAttempt | None:
        """The attempt that a cookie names, once; None when there is none, or it is too old."""
        mine = sign_in_attempts.c.digest == digest_of(secret)
        with self._database.write() as connection:
            row = connection.execute(select(sign_in_attempts).where(mine)).first()
            connection.execute(delete(sign_in_attempts).where(mine))
        if row is None or row.expires_at <= datetime.now(UTC):
            return None
        return SignInAttempt(
            state=row.state, nonce=row.nonce, verifier=row.verifier, target=row.target
        )


KEY_PREFIX = "wr_"  # by which people, and scanners of code, know a key
SHOWN = 10  # characters of a key by which its owner knows it again


def new_secret(prefix: str = "") -> str:
    """A secret that nobody can guess."""
    return prefix + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


ASKED = "asked"
OPENED = "opened"
CHANGED = "changed"
SIGNED_IN = "signed in"
REFUSED_SIGN_IN = "sign-in failed"
SIGNED_OUT = "signed out"
LONGEST_TARGET = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something to be written down; the fields are those of ``AuditEntry``."""

    action: str
    user_id: str = ""
    key_id: str = ""
    address: str = ""
    target: str = ""
    answer_id: str = ""
    documents: tuple[str, ...] = ()
    outcome: str = ""


class AuditLog(CataloguePart):
    """The log of all users."""

    def write(self, deed: Deed) -> None:
        """Write down what was done now."""
        with self._database.write() as connection:
            write_deed(connection, deed)

    def newest(
        self,
        limit: int = 100,
        *,
        user_id: str | None = None,
        action: str = "",
        document_id: str = "",
    ) -> list[AuditEntry]:
        """The newest entries, newest first: of one user, one action, about one document."""
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
            return _about(self._stream(statement), document_id, limit)
        return [_entry(row) for row in self._rows(statement.limit(limit))]

    def trim(self, days: int) -> int:
        """Forget entries older than so many days (0: none), a day's worth at a time; how many."""
        if days <= 0:
            return 0
        before = datetime.now(UTC) - timedelta(days=days)
        with self._database.write() as connection:
            return trim(connection, audit.c.at, before)


def write_deed(connection: Connection, deed: Deed) -> None:
    """Write down what was done now."""
    connection.execute(
        insert(audit),
        {
            "at": datetime.now(UTC),
            "user_id": deed.user_id,
            "key_id": deed.key_id,
            "address": deed.address,
            "action": deed.action,
            "target": deed.target[:LONGEST_TARGET],
            "answer_id": deed.answer_id,
            "documents": list(deed.documents),
            "outcome": deed.outcome,
        },
    )


def note_asked(
    connection: Connection, owner: str, answer_id: str, documents: Iterable[str]
) -> None:
    """A user was given an answer that shows these documents; of the machine's own nothing is said.

    An answer that is written anew takes the place of the entry that it had.
    """
    if not owner:
        return
    same = (audit.c.answer_id == answer_id, audit.c.action == ASKED)
    connection.execute(delete(audit).where(*same))
    seen = tuple(dict.fromkeys(documents))
    write_deed(connection, Deed(action=ASKED, user_id=owner, answer_id=answer_id, documents=seen))


def _about(rows: Iterable[Any], document_id: str, limit: int) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    for row in rows:
        if document_id in row.documents:
            found.append(_entry(row))
            if len(found) == limit:
                break
    return found


def _entry(row: Any) -> AuditEntry:
    shown: Sequence[str] = row.documents
    facts = dict(row._mapping)
    facts["documents"] = tuple(shown)
    facts["user"] = row.user or (REMOVED if row.user_id else "")
    asked = row.question if row.question is not None else REMOVED
    facts["question"] = asked if row.answer_id else ""
    return AuditEntry(**facts)


class Accounts:
    """Everything about users. Every method of every part raises StoreError on failure."""

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
