"""What calls of models may cost a user and their groups in a month, and did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from wellread.store.schema.account_tables import group_members, user_groups, users
from wellread.store.schema.database import CataloguePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """US dollars a month for one user, or for all members of a group together.

    Attributes:
        whose: in words: ``the quota of ana``.
        owners: the ids of the users whose calls count.
    """

    whose: str
    dollars: float
    owners: tuple[str, ...]


class Quotas(CataloguePart):
    """The limits that hold for somebody's calls of models."""

    def of(self, user_id: str) -> Sequence[Quota]:
        """Their own and those of their groups; none for whoever sits at the machine."""
        if not user_id:
            return ()
        limit, mine = users.c.monthly_dollars, group_members.c.user_id == user_id
        own = select(users.c.name, limit).where(users.c.id == user_id, limit.is_not(None))
        groups = select(group_members.c.group_id).where(mine)
        shared = (
            select(user_groups.c.name, user_groups.c.monthly_dollars, group_members.c.user_id)
            .join(group_members, group_members.c.group_id == user_groups.c.id)
            .where(user_groups.c.id.in_(groups), user_groups.c.monthly_dollars.is_not(None))
            .order_by(user_groups.c.name)
        )
        found = [
            Quota(whose=f"the quota of {row.name}", dollars=row.monthly_dollars, owners=(user_id,))
            for row in self._rows(own)
        ]
        members: dict[tuple[str, float], list[str]] = {}
        for row in self._rows(shared):
            members.setdefault((row.name, row.monthly_dollars), []).append(row.user_id)
        found += [
            Quota(whose=f"the quota of the group {name}", dollars=dollars, owners=tuple(ids))
            for (name, dollars), ids in members.items()
        ]
        return found
