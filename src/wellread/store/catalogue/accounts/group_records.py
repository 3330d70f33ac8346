"""Groups with their members, and grants to users and groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import random_id
from wellread.store.catalogue.accounts.user_records import plain_name
from wellread.store.schema.account_tables import grants, group_members, user_groups, users
from wellread.store.schema.account_values import OIDC, Grant, Role, UserGroup
from wellread.store.schema.database import CataloguePart


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
        """The group of that name.

        Raises:
            UnknownNameError: there is none.
        """
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
        """Make a group.

        Raises:
            RequestError: the name is taken or is none.
        """
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
