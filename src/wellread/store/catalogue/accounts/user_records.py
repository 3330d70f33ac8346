"""Stores users, groups and grants, checks passwords, and works out each user's rights.

Passwords are hashed with Argon2id at the library's defaults (RFC 9106, low memory). The time that a
sign-in takes must not reveal whether an account exists, so a hash is verified in every case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import EVERYTHING, Asker, Everything, random_id
from wellread.store.catalogue.documents.collection_records import collection_names
from wellread.store.schema.database import CataloguePart, rows_to_values
from wellread.store.schema.stored_values import (
    ALL,
    OIDC,
    SCOPES_OF,
    ApiKey,
    Grant,
    Rights,
    Role,
    User,
    UserGroup,
)
from wellread.store.schema.tables import grants, group_members, user_groups, users, web_sessions

MAX_NAME_CHARS = 100
# Without the password hash, so that no query returns it by accident.
_USERS = select(
    *(column for column in users.c if column.name in User.__dataclass_fields__),
    (users.c.password != "").label("local"),
)
_ADMIN = select(users.c.id).where(users.c.role == "admin", users.c.disabled.is_(False)).limit(1)


class Users(CataloguePart):
    """The user accounts."""

    def any(self) -> bool:
        """Whether any user exists; cheap to call."""
        return bool(self._rows(select(users.c.id).limit(1)))

    def has_admin(self) -> bool:
        """Whether an enabled admin exists."""
        return bool(self._rows(_ADMIN))

    def list_all(self) -> list[User]:
        """All users, by name."""
        return rows_to_values(User, self._rows(_USERS.order_by(users.c.name)))

    def named(self, name: str) -> User:
        """The user with this name; raises UnknownNameError when there is none."""
        rows = self._rows(_USERS.where(users.c.name == plain_name(name)))
        if not rows:
            raise UnknownNameError(
                f"there is no user named {name!r}", hint="'wellread users' lists all users"
            )
        return User(**rows[0]._mapping)

    def get(self, user_id: str) -> User | None:
        """The user with this id, or None."""
        rows = self._rows(_USERS.where(users.c.id == user_id))
        return User(**rows[0]._mapping) if rows else None

    # --- creating and changing ---

    def add(self, name: str, role: Role, password: str) -> User:
        """Create an account with a password."""
        name = plain_name(name)
        check_password(password, name)
        password_hash = _HASHER.hash(password)
        with self._database.write() as connection:
            first = connection.execute(select(users.c.id).limit(1)).first() is None
            if first and role != "admin":
                raise RequestError(
                    "the first user must be an admin, who can then create the others",
                    hint="wellread users add NAME --role admin",
                )
            return make_user(connection, name, role, password=password_hash)

    def set_role(self, user_id: str, role: Role) -> None:
        """Change the role of a user."""
        self._change(user_id, role=role)

    def set_disabled(self, user_id: str, disabled: bool) -> None:
        """Disable a user, which ends all their sessions, or enable them again."""
        self._change(user_id, disabled=disabled)

    def set_password(self, user_id: str, name: str, password: str) -> None:
        """Change the password, and sign the user out everywhere."""
        check_password(password, name)
        new_hash = _HASHER.hash(password)
        with self._database.write() as connection:
            connection.execute(update(users).where(users.c.id == user_id).values(password=new_hash))
            sign_out(connection, user_id)

    def authenticate(self, name: str, password: str) -> User | None:
        """The enabled user with this name and password; None when there is none.

        The check takes equally long for an unknown name.
        """
        is_named = users.c.name == plain_name(name, strict=False)
        rows = self._rows(select(users.c.id, users.c.password).where(is_named))
        stored_hash = rows[0].password if rows else ""
        if not _matches(stored_hash, password):
            return None
        user_id = rows[0].id
        if _HASHER.check_needs_rehash(stored_hash):  # it was made with other parameters
            new_hash = _HASHER.hash(password)
            self._run(update(users).where(users.c.id == user_id).values(password=new_hash))
        user = self.get(user_id)
        return user if user and not user.disabled else None

    def _change(self, user_id: str, **values: object) -> None:
        with self._database.write() as connection:
            connection.execute(update(users).where(users.c.id == user_id).values(**values))
            check_admin_left(connection)
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
    """Create an account; ``password`` is the hash."""
    if connection.execute(select(users.c.id).where(users.c.name == name)).first():
        raise RequestError(f"a user named {name!r} already exists", hint="choose another name")
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


def check_admin_left(connection: Connection) -> None:
    """Raise when there are users but no enabled admin is left."""
    if connection.execute(_ADMIN).first():
        return
    if connection.execute(select(func.count()).select_from(users)).scalar():
        raise RequestError(
            "this is the last admin who can sign in",
            hint="make another user an admin first: wellread users role NAME admin",
        )


def sign_out(connection: Connection, user_id: str) -> None:
    """End all sessions of a user."""
    connection.execute(delete(web_sessions).where(web_sessions.c.user_id == user_id))


def plain_name(name: str, *, strict: bool = True) -> str:
    """A name in its stored form: case-folded, without surrounding white space."""
    plain = name.strip().casefold()
    allowed = all(letter.isprintable() and not letter.isspace() for letter in plain)
    bad = not plain or len(plain) > MAX_NAME_CHARS or not allowed
    if strict and bad:
        raise RequestError(
            f"{name!r} is not a valid name for a user or a group",
            hint=f"use 1 to {MAX_NAME_CHARS} letters, digits and marks, without white space",
        )
    return plain


MIN_CHARS, MAX_CHARS = 10, 1_000  # of a password
_HASHER = PasswordHasher()


@cache
def _unknown_user_hash() -> str:
    return _HASHER.hash("of nobody at all")


def _matches(stored_hash: str, password: str) -> bool:
    """Whether a password matches its hash; takes equally long for an empty hash (no such user)."""
    try:
        _HASHER.verify(stored_hash or _unknown_user_hash(), password[:MAX_CHARS])
    except (VerificationError, InvalidHashError):
        return False
    return bool(stored_hash)


def check_password(password: str, name: str) -> None:
    """Raise when a password is too short, too long or too easy to guess."""
    if len(password) < MIN_CHARS:
        raise RequestError(
            f"the password has fewer than {MIN_CHARS} characters", hint="use several words"
        )
    if len(password) > MAX_CHARS:
        raise RequestError(f"the password has more than {MAX_CHARS} characters", hint="shorten it")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise RequestError(
            "the password is the name, or repeats a few characters", hint="use several words"
        )


class Groups(CataloguePart):
    """Groups of users that share grants."""

    def list_all(self) -> list[UserGroup]:
        """All groups with the names of their members, by name."""
        membership = (
            select(group_members.c.group_id, users.c.name)
            .join(users, users.c.id == group_members.c.user_id)
            .order_by(users.c.name)
        )
        members: dict[str, list[str]] = {}
        for row in self._rows(membership):
            members.setdefault(row.group_id, []).append(row.name)
        statement = select(user_groups.c.id, user_groups.c.name, user_groups.c.source)
        rows = self._rows(statement.order_by(user_groups.c.name))
        return [UserGroup(**row._mapping, members=tuple(members.get(row.id, ()))) for row in rows]

    def named(self, name: str) -> UserGroup:
        """The group with this name; raises UnknownNameError when there is none."""
        stored_name = plain_name(name)
        match = next((group for group in self.list_all() if group.name == stored_name), None)
        if match is None:
            raise UnknownNameError(
                f"there is no group named {name!r}", hint="'wellread users group' lists all groups"
            )
        return match

    def of(self, user_id: str) -> list[UserGroup]:
        """The groups that a user is in."""
        statement = select(group_members.c.group_id).where(group_members.c.user_id == user_id)
        ids = set(self._values(statement))
        return [group for group in self.list_all() if group.id in ids]

    def add(self, name: str) -> UserGroup:
        """Create a group."""
        with self._database.write() as connection:
            name = plain_name(name)
            if connection.execute(_group_id(name)).first():
                raise RequestError(f"a group named {name!r} already exists")
            return UserGroup(id=_make_group(connection, name, ""), name=name)

    def remove(self, group_id: str) -> None:
        """Remove a group with its grants; its members stay."""
        self._run(delete(user_groups).where(user_groups.c.id == group_id))

    def join(self, group_id: str, user_id: str) -> None:
        """Add a user to a group."""
        self._run(_delete_member(group_id, user_id), _insert_member(group_id, user_id, ""))

    def leave(self, group_id: str, user_id: str) -> None:
        """Remove a user from a group."""
        self._run(_delete_member(group_id, user_id))


def set_provider_groups(connection: Connection, user_id: str, names: Iterable[str]) -> None:
    """Set a user's memberships from an identity provider to the groups that it names.

    Missing groups are created. Memberships that an admin gave stay.
    """
    from_provider = (group_members.c.user_id == user_id, group_members.c.source == OIDC)
    connection.execute(delete(group_members).where(*from_provider))
    for name in dict.fromkeys(names):
        existing = connection.execute(_group_id(name)).scalar()
        group_id = existing or _make_group(connection, name, OIDC)
        is_member = (group_members.c.group_id == group_id, group_members.c.user_id == user_id)
        if connection.execute(select(group_members).where(*is_member)).first() is None:
            connection.execute(_insert_member(group_id, user_id, OIDC))


class Grants(CataloguePart):
    """The rights of users and groups on collections."""

    def list_all(self) -> list[Grant]:
        """All grants, by collection and name."""
        names = (
            func.coalesce(users.c.name, "").label("user"),
            func.coalesce(user_groups.c.name, "").label("group"),
        )
        statement = (
            select(grants.c.collection, grants.c.role, *names)
            .outerjoin(users, users.c.id == grants.c.user_id)
            .outerjoin(user_groups, user_groups.c.id == grants.c.group_id)
            .order_by(grants.c.collection, users.c.name, user_groups.c.name)
        )
        return rows_to_values(Grant, self._rows(statement))

    def give(self, collection: str, role: Role, *, user_id: str = "", group_id: str = "") -> None:
        """Grant a user or a group a role on a collection (``*``: all), replacing earlier grants."""
        row = {"user_id": user_id or None, "group_id": group_id or None}
        self._run(
            _delete_grant(collection, user_id, group_id),
            insert(grants).values(collection=collection, role=role, **row),
        )

    def take(self, collection: str, *, user_id: str = "", group_id: str = "") -> bool:
        """Revoke a grant; return whether it existed."""
        with self._database.write() as connection:
            return connection.execute(_delete_grant(collection, user_id, group_id)).rowcount > 0


def _group_id(name: str) -> Any:
    return select(user_groups.c.id).where(user_groups.c.name == name)


def _make_group(connection: Connection, name: str, source: str) -> str:
    group_id = random_id("grp")
    connection.execute(insert(user_groups), {"id": group_id, "name": name, "source": source})
    return group_id


def _delete_member(group_id: str, user_id: str) -> Any:
    is_member = (group_members.c.group_id == group_id, group_members.c.user_id == user_id)
    return delete(group_members).where(*is_member)


def _insert_member(group_id: str, user_id: str, source: str) -> Any:
    return insert(group_members).values(group_id=group_id, user_id=user_id, source=source)


def _delete_grant(collection: str, user_id: str, group_id: str) -> Any:
    for_holder = grants.c.user_id == user_id if user_id else grants.c.group_id == group_id
    return delete(grants).where(grants.c.collection == collection, for_holder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user as an identity provider describes them."""

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...] | None = None


class ProviderUsers(CataloguePart):
    """Accounts that sign in through an identity provider and have no password here."""

    def enter(self, identity: Identity, role: Role | None) -> User | None:
        """The account for a provider's identity, created if ``role`` is set, with groups updated.

        An account with a password is never used, even if it has the same name.
        """
        is_identity = (users.c.issuer == identity.issuer, users.c.subject == identity.subject)
        with self._database.write() as connection:
            row = connection.execute(_USERS.where(*is_identity)).first()
            user = User(**row._mapping) if row else None
            if user is None and role is not None:
                name = _free_name(connection, identity.name)
                account = {"issuer": identity.issuer, "subject": identity.subject}
                user = make_user(connection, name, role, **account)
            if user is None or user.disabled:
                return None
            if identity.groups is not None:
                set_provider_groups(connection, user.id, _valid_names(identity.groups))
            return user


def _free_name(connection: Connection, preferred_name: str) -> str:
    """``preferred_name`` as a valid name, with a number appended when it is taken."""
    (name,) = _valid_names((preferred_name,)) or ("user",)
    taken = set(connection.execute(select(users.c.name)).scalars())
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _valid_names(names: Sequence[str]) -> tuple[str, ...]:
    """A provider's names in our form: case-folded, hyphens for white space, room for a number."""
    valid_names = ("-".join(name.casefold().split())[: MAX_NAME_CHARS - 5] for name in names)
    return tuple(dict.fromkeys(name for name in valid_names if name and name.isprintable()))


class RightsReads(CataloguePart):
    """Reads current rights, so that a revoked right has no effect on the next request."""

    def of(self, user: User, key: ApiKey | None = None, session_id: str = "") -> Rights:
        """The rights of a user, or of a user's key, which are never more than the user's."""
        with self._database.read() as connection:
            reads, edits = _collections(connection, user)
        limits = key.collections if key else None
        if limits is not None:
            reads, edits = _within(reads, limits), _within(edits, limits)
        scopes = SCOPES_OF[user.role]
        return Rights(
            user=user,
            asker=Asker(owner=user.id, reads=reads, limited=limits is not None),
            edits=edits,
            scopes=scopes if key is None else scopes & set(key.scopes),
            key_id=key.id if key else "",
            session_id=session_id,
        )

    def asker_of(self, user: User) -> Asker:
        """The user as an asker, with the collections that they may read."""
        return self.of(user).asker


def local_rights(asker: Asker) -> Rights:
    """All rights, for commands run on the machine itself."""
    return Rights(user=None, asker=asker, edits=EVERYTHING, scopes=SCOPES_OF["admin"])


def _collections(
    connection: Connection, user: User
) -> tuple[frozenset[str] | Everything, frozenset[str] | Everything]:
    """The collections that the user may read, and those that they may edit."""
    if user.role == "admin":
        return EVERYTHING, EVERYTHING
    group_ids = select(group_members.c.group_id).where(group_members.c.user_id == user.id)
    for_user = or_(grants.c.user_id == user.id, grants.c.group_id.in_(group_ids))
    rows = connection.execute(select(grants.c.collection, grants.c.role).where(for_user)).all()
    names = {row.collection for row in rows}
    # Only admins read everything; for other users "all" is the current list of collections.
    reads = frozenset(collection_names(connection)) if ALL in names else frozenset(names)
    editable = {row.collection for row in rows if "reader" not in (user.role, row.role)}
    return reads, EVERYTHING if ALL in editable else frozenset(editable)


def _within(collections: frozenset[str] | Everything, names: Iterable[str]) -> frozenset[str]:
    allowed = frozenset(names)
    return allowed if isinstance(collections, Everything) else collections & allowed
