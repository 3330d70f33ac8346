"""Browsers that are signed in, and those that an identity provider is to send back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update

from wellread.identity import random_id
from wellread.store.catalogue.accounts.secret_tokens import digest_of, new_secret
from wellread.store.schema.account_tables import sign_in_attempts, users, web_sessions
from wellread.store.schema.account_values import WebSession
from wellread.store.schema.database import CataloguePart, made_of, trim

SELDOM = timedelta(minutes=1)  # the last use is not written more often
LONGEST_AGENT = 200
ATTEMPT = timedelta(minutes=10)  # until who went to an identity provider has to be back
_SHOWN = [column for column in web_sessions.c if column.name != "digest"]


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
        statement = select(*_SHOWN).join(users, users.c.id == web_sessions.c.user_id)
        found = made_of(WebSession, self._rows(statement.where(*wanted)))
        if not found:
            return None
        if now - found[0].used_at > SELDOM:
            mine = web_sessions.c.id == found[0].id
            self._run(update(web_sessions).where(mine).values(used_at=now))
        return found[0]

    def of(self, user_id: str) -> list[WebSession]:
        """A user's sessions that hold, the one used last first."""
        now = datetime.now(UTC)
        mine = (web_sessions.c.user_id == user_id, web_sessions.c.expires_at > now)
        order = (web_sessions.c.used_at.desc(), web_sessions.c.id)
        return made_of(WebSession, self._rows(select(*_SHOWN).where(*mine).order_by(*order)))

    def end(self, session_id: str, user_id: str) -> None:
        """Sign one browser out."""
        mine = (web_sessions.c.id == session_id, web_sessions.c.user_id == user_id)
        self._run(delete(web_sessions).where(*mine))

    def end_all(self, user_id: str) -> None:
        """Sign a user out everywhere."""
        self._run(delete(web_sessions).where(web_sessions.c.user_id == user_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """A visit to an identity provider: what has to come back with who went there.

    Attributes:
        state: comes back in the address; ``nonce``: in the signed token.
        verifier: proves to the provider that who asks is who was sent (PKCE).
        target: where they wanted to go.
    """

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
