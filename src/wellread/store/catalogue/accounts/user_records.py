"""Accounts: made, found, changed, and the password that opens them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import random_id
from wellread.store.catalogue.accounts.passwords import check_password, fits, hashed, outdated
from wellread.store.schema.account_tables import users, web_sessions
from wellread.store.schema.account_values import Role, User
from wellread.store.schema.database import CataloguePart

LONGEST_NAME = 100
COLUMNS = [
    column for column in users.c if column.name in User.__dataclass_fields__
]  # no hash leaves the store by accident
LOCAL = (users.c.password != "").label("local")


class Users(CataloguePart):
    """Everybody who may sign in."""

    def any(self) -> bool:
        """Whether there is a user at all; one small query."""
        return bool(self._rows(select(users.c.id).limit(1)))

    def has_admin(self) -> bool:
        """Whether somebody who may sign in is an admin."""
        admins = (users.c.role == "admin", users.c.disabled.is_(False))
        return bool(self._rows(select(users.c.id).where(*admins).limit(1)))

    def every(self) -> list[User]:
        """All of them, by name."""
        return [made_user(row) for row in self._rows(_users().order_by(users.c.name))]

    def named(self, name: str) -> User:
        """The user of that name.

        Raises:
            UnknownNameError: there is none.
        """
        found = self._rows(_users().where(users.c.name == plain_name(name)))
        if not found:
            raise UnknownNameError(
                f"there is no user named {name!r}", hint="'wellread users' shows them"
            )
        return made_user(found[0])

    def get(self, user_id: str) -> User | None:
        """The user of that id, or None."""
        found = self._rows(_users().where(users.c.id == user_id))
        return made_user(found[0]) if found else None

    def names(self, user_ids: Iterable[str]) -> dict[str, str]:
        """Each id that a user has to their name."""
        wanted = sorted(set(user_ids))
        statement = select(users.c.id, users.c.name).where(users.c.id.in_(wanted))
        return {row.id: row.name for row in self._rows(statement)}

    # --- making and changing ---

    def add(self, name: str, role: Role, password: str) -> User:
        """Make an account with a password.

        Raises:
            RequestError: the name is taken or is none, the password is too weak, or it is the
                first user and no admin.
        """
        name = plain_name(name)
        check_password(password, name)
        kept = hashed(password)
        with self._database.write() as connection:
            first = connection.execute(select(users.c.id).limit(1)).first() is None
            if first and role != "admin":
                raise RequestError(
                    "the first user has to be an admin, who can make the others",
                    hint="wellread users add NAME --role admin",
                )
            return make_user(connection, name, role, password=kept)

    def set_role(self, user_id: str, role: Role) -> None:
        """Give another role.

        Raises:
            RequestError: nobody would be left who may manage users.
        """
        self._change(user_id, role=role)

    def set_disabled(self, user_id: str, disabled: bool) -> None:
        """Keep somebody out, or let them in again. Who is kept out is signed out everywhere.

        Raises:
            RequestError: nobody would be left who may manage users.
        """
        self._change(user_id, disabled=disabled)

    def set_password(self, user_id: str, name: str, password: str) -> None:
        """Give another password, and sign the user out everywhere.

        Raises:
            RequestError: it is too weak.
        """
        check_password(password, name)
        kept = hashed(password)
        with self._database.write() as connection:
            connection.execute(update(users).where(users.c.id == user_id).values(password=kept))
            sign_out(connection, user_id)

    def opened_by(self, name: str, password: str) -> User | None:
        """The user who has this name and password, and may sign in; else None.

        It takes as long for a name that nobody has.
        """
        statement = _users().add_columns(users.c.password)
        found = self._rows(statement.where(users.c.name == plain_name(name, strict=False)))
        kept = found[0].password if found else ""
        right = fits(kept, password)
        if not right or found[0].disabled:
            return None
        if outdated(kept):
            mine = users.c.id == found[0].id
            self._run(update(users).where(mine).values(password=hashed(password)))
        return made_user(found[0])

    def _change(self, user_id: str, **values: object) -> None:
        with self._database.write() as connection:
            connection.execute(update(users).where(users.c.id == user_id).values(**values))
            check_managed(connection)
            if values.get("disabled"):
                sign_out(connection, user_id)


def make_user(
    connection: Connection,
    name: str,
    role: Role,
    *,
    password: str = "",
    issuer: str = "",
    subject: str = "",
) -> User:
    """Make an account; ``password`` is what is kept of it.

    Raises:
        RequestError: the name is taken.
    """
    if connection.execute(select(users.c.id).where(users.c.name == name)).first():
        raise RequestError(f"there is a user named {name!r} already", hint="choose another name")
    row: dict[str, Any] = {
        "id": random_id("usr"),
        "name": name,
        "role": role,
        "disabled": False,
        "created_at": datetime.now(UTC),
        "issuer": issuer,
        "subject": subject,
    }
    connection.execute(insert(users), {**row, "password": password})
    return User(**row, local=bool(password))


def check_managed(connection: Connection) -> None:
    """Refuse a change after which there are users and no admin.

    Raises:
        RequestError: it is so.
    """
    admins = (users.c.role == "admin", users.c.disabled.is_(False))
    if connection.execute(select(users.c.id).where(*admins).limit(1)).first():
        return
    if connection.execute(select(func.count()).select_from(users)).scalar():
        raise RequestError(
            "this is the last admin who may sign in",
            hint="make somebody else an admin first: wellread users role NAME admin",
        )


def sign_out(connection: Connection, user_id: str) -> None:
    """End all sessions of a user."""
    connection.execute(delete(web_sessions).where(web_sessions.c.user_id == user_id))


def plain_name(name: str, *, strict: bool = True) -> str:
    """A name as it is kept: without capitals, and white space at its ends.

    Raises:
        RequestError: it is empty, too long, or has white space in it (``strict`` only).
    """
    plain = name.strip().casefold()
    bad = not plain or len(plain) > LONGEST_NAME or any(map(_odd, plain))
    if strict and bad:
        raise RequestError(
            f"{name!r} is no name for a user or a group",
            hint=f"1 to {LONGEST_NAME} letters, digits and marks, without white space",
        )
    return plain


def _odd(letter: str) -> bool:
    return letter.isspace() or not letter.isprintable()


def _users() -> Any:
    return select(*COLUMNS, LOCAL)


def made_user(row: Any) -> User:
    """The user that a row of ``COLUMNS`` and ``LOCAL`` holds."""
    names = [column.name for column in COLUMNS]
    return User(**{name: getattr(row, name) for name in names}, local=bool(row.local))
