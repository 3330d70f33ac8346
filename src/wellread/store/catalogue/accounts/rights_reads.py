"""What a user may read and change, from their role, their grants and those of their groups."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, or_, select

from wellread.identity import EVERYTHING, Asker, Everything
from wellread.store.catalogue.documents.collection_records import collection_names
from wellread.store.schema.account_tables import grants, group_members
from wellread.store.schema.account_values import ALL, ROLES, SCOPES_OF, ApiKey, Rights, Role, User
from wellread.store.schema.database import CataloguePart


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
