"""Accounts, groups and grants: made, found, changed; the password that opens an account.

Argon2id with the library's own parameters (RFC 9106, low memory). Whether an account is there must
not show in the time that a sign-in takes, so there is always a hash to verify against.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import EVERYTHING, Asker, Everything, random_id
from wellread.store.catalogue.documents.collection_records import collection_names
from wellread.store.schema.database import CataloguePart
from wellread.store.schema.stored_values import (
    ALL,
    OIDC,
    ROLES,
    SCOPES_OF,
    ApiKey,
    Grant,
    Rights,
    Role,
    User,
    UserGroup,
)
from wellread.store.schema.tables import grants, group_members, user_groups, users, web_sessions

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
        """The user of that name."""
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

    # --- making and changing ---

    def add(self, name: str, role: Role, password: str) -> User:
        """Make an account with a password."""
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
        """Give another role."""
        self._change(user_id, role=role)

    def set_disabled(self, user_id: str, disabled: bool) -> None:
        """Keep somebody out, or let them in again. Who is kept out is signed out everywhere."""
        self._change(user_id, disabled=disabled)

    def set_password(self, user_id: str, name: str, password: str) -> None:
        """Give another password, and sign the user out everywhere."""
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
    """Make an account; ``password`` is what is kept of it."""
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
    """Refuse a change after which there are users and no admin."""
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
    """A name as it is kept: without capitals, and white space at its ends."""
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


SHORTEST, LONGEST = 10, 1_000  # characters
_HASHER = PasswordHasher()
_nobody: dict[str, str] = {}


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _HASHER.hash(password)


def fits(kept: str, password: str) -> bool:
    """Whether a password is the one of which ``kept`` was kept; as long for one that is empty."""
    against = kept or _nobodys()
    try:
        _HASHER.verify(against, password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


def outdated(kept: str) -> bool:
    """Whether ``kept`` was made with weaker parameters than those of today."""
    return _HASHER.check_needs_rehash(kept)


def check_password(password: str, name: str) -> None:
    """Refuse what is no password."""
    if len(password) < SHORTEST:
        raise RequestError(
            f"the password has fewer than {SHORTEST} characters", hint="take a few words"
        )
    if len(password) > LONGEST:
        raise RequestError(f"the password has more than {LONGEST} characters", hint="shorten it")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise RequestError(
            "the password is the name, or the same few characters", hint="take a few words"
        )


def _nobodys() -> str:
    """The hash of a password that nobody has."""
    if "hash" not in _nobody:
        _nobody["hash"] = hashed("of nobody at all")
    return _nobody["hash"]


class Groups(CataloguePart):
    """Users that share grants."""

    def every(self) -> list[UserGroup]:
        """All groups with the names of their members, by name."""
        inside = (
            select(group_members.c.group_id, users.c.name)
            .join(users, users.c.id == group_members.c.user_id)
            .order_by(users.c.name)
        )
        members: dict[str, list[str]] = {}
        for row in self._rows(inside):
            members.setdefault(row.group_id, []).append(row.name)
        shown = select(user_groups.c.id, user_groups.c.name, user_groups.c.source)
        found = self._rows(shown.order_by(user_groups.c.name))
        return [UserGroup(**row._mapping, members=tuple(members.get(row.id, ()))) for row in found]

    def named(self, name: str) -> UserGroup:
        """The group of that name."""
        wanted = plain_name(name)
        found = next((one for one in self.every() if one.name == wanted), None)
        if found is None:
            raise UnknownNameError(
                f"there is no group named {name!r}", hint="'wellread users group' shows them"
            )
        return found

    def of(self, user_id: str) -> list[UserGroup]:
        """The groups that a user is in."""
        mine = select(group_members.c.group_id).where(group_members.c.user_id == user_id)
        ids = set(self._values(mine))
        return [one for one in self.every() if one.id in ids]

    def add(self, name: str) -> UserGroup:
        """Make a group."""
        with self._database.write() as connection:
            name = plain_name(name)
            if connection.execute(select(user_groups.c.id).where(_called(name))).first():
                raise RequestError(f"there is a group named {name!r} already")
            return UserGroup(id=_make(connection, name, ""), name=name)

    def remove(self, group_id: str) -> None:
        """Remove a group with its grants; its members stay."""
        self._run(delete(user_groups).where(user_groups.c.id == group_id))

    def join(self, group_id: str, user_id: str) -> None:
        """Put a user into a group."""
        self._run(_left(group_id, user_id), _joined(group_id, user_id, ""))

    def leave(self, group_id: str, user_id: str) -> None:
        """Take a user out of a group."""
        self._run(_left(group_id, user_id))


def follow_provider(connection: Connection, user_id: str, names: Iterable[str]) -> None:
    """Put a user into the groups that an identity provider names, and out of its other ones.

    Groups that are not there are made. Memberships that were given here stay.
    """
    mine = (group_members.c.user_id == user_id, group_members.c.source == OIDC)
    connection.execute(delete(group_members).where(*mine))
    for name in dict.fromkeys(names):
        known = connection.execute(select(user_groups.c.id).where(_called(name))).scalar()
        group_id = known or _make(connection, name, OIDC)
        here = (group_members.c.group_id == group_id, group_members.c.user_id == user_id)
        if connection.execute(select(group_members).where(*here)).first() is None:
            connection.execute(_joined(group_id, user_id, OIDC))


class Grants(CataloguePart):
    """Which collections are open to whom."""

    def every(self) -> list[Grant]:
        """All grants, by collection and name."""
        statement = (
            select(
                grants.c.collection,
                grants.c.role,
                users.c.name.label("user"),
                user_groups.c.name.label("group"),
            )
            .outerjoin(users, users.c.id == grants.c.user_id)
            .outerjoin(user_groups, user_groups.c.id == grants.c.group_id)
            .order_by(grants.c.collection, users.c.name, user_groups.c.name)
        )
        return [
            Grant(
                collection=row.collection,
                role=row.role,
                user=row.user or "",
                group=row.group or "",
            )
            for row in self._rows(statement)
        ]

    def give(self, collection: str, role: Role, *, user_id: str = "", group_id: str = "") -> None:
        """Open a collection (``*``: all) to a user or a group, in place of an earlier grant."""
        row = {"user_id": user_id or None, "group_id": group_id or None}
        self._run(
            _grant(collection, user_id, group_id),
            insert(grants).values(collection=collection, role=role, **row),
        )

    def take(self, collection: str, *, user_id: str = "", group_id: str = "") -> bool:
        """Close it again; whether there was such a grant."""
        with self._database.write() as connection:
            return connection.execute(_grant(collection, user_id, group_id)).rowcount > 0


def _called(name: str) -> Any:
    return user_groups.c.name == name


def _make(connection: Connection, name: str, source: str) -> str:
    made = random_id("grp")
    connection.execute(insert(user_groups), {"id": made, "name": name, "source": source})
    return made


def _left(group_id: str, user_id: str) -> Any:
    mine = (group_members.c.group_id == group_id, group_members.c.user_id == user_id)
    return delete(group_members).where(*mine)


def _joined(group_id: str, user_id: str, source: str) -> Any:
    row = {"group_id": group_id, "user_id": user_id, "source": source}
    return insert(group_members).values(**row)


def _grant(collection: str, user_id: str, group_id: str) -> Any:
    held = grants.c.user_id == user_id if user_id else grants.c.group_id == group_id
    return delete(grants).where(grants.c.collection == collection, held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a provider says of somebody."""

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...] | None = None


class ProviderUsers(CataloguePart):
    """Accounts without a password here."""

    def enter(self, identity: Identity, role: Role | None) -> User | None:
        """The account of somebody who has come from the provider, in its groups of today.

        An account with a password is never taken for theirs, whatever its name.
        """
        known = (users.c.issuer == identity.issuer, users.c.subject == identity.subject)
        with self._database.write() as connection:
            row = connection.execute(select(*COLUMNS, LOCAL).where(*known)).first()
            user = made_user(row) if row else None
            if user is None and role is not None:
                user = make_user(
                    connection,
                    _free_name(connection, identity.name),
                    role,
                    issuer=identity.issuer,
                    subject=identity.subject,
                )
            if user is None or user.disabled:
                return None
            if identity.groups is not None:
                follow_provider(connection, user.id, _plain(identity.groups))
            return user


def _free_name(connection: Connection, wanted: str) -> str:
    """The name, or the name with a number where somebody has it."""
    (name,) = _plain((wanted,)) or ("user",)
    taken = set(connection.execute(select(users.c.name)).scalars())
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _plain(names: Sequence[str]) -> tuple[str, ...]:
    """Names of elsewhere as ours are: without capitals and white space."""
    made = ("-".join(name.casefold().split())[: LONGEST_NAME - 5] for name in names)
    return tuple(dict.fromkeys(one for one in made if one and one.isprintable()))


class RightsReads(CataloguePart):
    """Rights as they are now: what is taken away is gone at the next look."""

    def of(self, user: User, key: ApiKey | None = None, session_id: str = "") -> Rights:
        """What the user may do, or their key, which never may more."""
        with self._database.read() as connection:
            reads, edits = _collections(connection, user)
        limited = key is not None and key.collections is not None
        if key is not None and key.collections is not None:
            reads, edits = (_within(held, key.collections) for held in (reads, edits))
        scopes = SCOPES_OF[user.role]
        return Rights(
            user=user,
            asker=Asker(owner=user.id, reads=reads, limited=limited),
            edits=edits,
            scopes=scopes if key is None else scopes & set(key.scopes),
            key_id=key.id if key else "",
            session_id=session_id,
        )

    def asker_of(self, user: User) -> Asker:
        """Who the user is when they ask, and what they may read."""
        return self.of(user).asker


def local_rights(asker: Asker) -> Rights:
    """All rights: of whoever sits at the machine."""
    return Rights(user=None, asker=asker, edits=EVERYTHING, scopes=SCOPES_OF["admin"])


def _collections(
    connection: Connection, user: User
) -> tuple[frozenset[str] | Everything, frozenset[str] | Everything]:
    """What the user may read, and what they may change."""
    if user.role == "admin":
        return EVERYTHING, EVERYTHING
    mine = select(group_members.c.group_id).where(group_members.c.user_id == user.id)
    held = or_(grants.c.user_id == user.id, grants.c.group_id.in_(mine))
    given = connection.execute(select(grants.c.collection, grants.c.role).where(held)).all()
    names = {row.collection for row in given}
    # Only an admin reads everything: to anybody else "all" is a list that is made anew each time.
    reads = frozenset(collection_names(connection)) if ALL in names else frozenset(names)
    changed = {row.collection for row in given if _least(user.role, row.role) != "reader"}
    return reads, EVERYTHING if ALL in changed else frozenset(changed)


def _within(held: frozenset[str] | Everything, names: Iterable[str]) -> frozenset[str]:
    wanted = frozenset(names)
    return wanted if isinstance(held, Everything) else held & wanted


def _least(one: Role, other: Role) -> Role:
    return min(one, other, key=ROLES.index)
