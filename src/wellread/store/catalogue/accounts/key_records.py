"""Keys of programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update

from wellread.errors import RequestError
from wellread.identity import random_id
from wellread.store.catalogue.accounts.secret_tokens import (
    KEY_PREFIX,
    SHOWN,
    digest_of,
    new_secret,
)
from wellread.store.schema.account_tables import api_keys, users
from wellread.store.schema.account_values import ApiKey, Scope
from wellread.store.schema.database import CataloguePart

SELDOM = timedelta(minutes=1)  # the last use is not written more often
_SHOWN = [column for column in api_keys.c if column.name != "digest"]


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
        """Make a key. The second value is the key itself, which is told this once.

        Raises:
            RequestError: it is to be limited to collections and an admin's all the same.
        """
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
        return [_made(row) for row in self._rows(statement)]

    def opened_by(self, secret: str) -> ApiKey | None:
        """The key, when it is one that holds now and its owner may sign in; else None."""
        now = datetime.now(UTC)
        wanted = (api_keys.c.digest == digest_of(secret), users.c.disabled.is_(False))
        found = [_made(row) for row in self._rows(_keys().where(*wanted))]
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
    return select(*_SHOWN, users.c.name.label("user")).join(users, users.c.id == api_keys.c.user_id)


def _made(row: Any) -> ApiKey:
    facts = dict(row._mapping)
    limited = facts["collections"]
    facts |= {
        # Those that were made before lose it.
        "scopes": tuple(one for one in facts["scopes"] if limited is None or one != "admin"),
        "collections": None if limited is None else tuple(limited),
    }
    return ApiKey(**facts)
