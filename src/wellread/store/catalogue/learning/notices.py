"""What people are told when they come back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import insert, select, update

from wellread.store.schema.database import CataloguePart, made_of
from wellread.store.schema.learning_tables import notices


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that a person should know.

    Attributes:
        kind: ``correction_expired``, ``gap_closed``, ….
        target: the id of what it is about.
    """

    id: int
    owner: str
    created_at: datetime
    kind: str
    target: str
    text: str
    seen_at: datetime | None


class Notices(CataloguePart):
    """The notices of all people."""

    def tell(self, owner: str, kind: str, target: str, text: str) -> None:
        """Tell somebody something."""
        values = {"owner": owner, "kind": kind, "target": target, "text": text}
        self._run(insert(notices).values(created_at=datetime.now(UTC), **values))

    def of(self, owner: str, *, unseen: bool = True, limit: int = 100) -> list[Notice]:
        """The newest notices of a person, newest first."""
        where = [notices.c.owner == owner]
        if unseen:
            where.append(notices.c.seen_at.is_(None))
        statement = select(notices).where(*where).order_by(notices.c.id.desc()).limit(limit)
        return made_of(Notice, self._rows(statement))

    def newest(self, *, unseen: bool = True, limit: int = 100) -> list[Notice]:
        """The newest notices of everybody, newest first."""
        statement = select(notices).order_by(notices.c.id.desc()).limit(limit)
        if unseen:
            statement = statement.where(notices.c.seen_at.is_(None))
        return made_of(Notice, self._rows(statement))

    def known(self, notice_ids: list[int]) -> list[int]:
        """Those of the ids that a notice has."""
        return self._values(select(notices.c.id).where(notices.c.id.in_(notice_ids)))

    def mark_seen(self, notice_ids: list[int]) -> None:
        """These were seen, whoever they are for."""
        mine = (notices.c.id.in_(notice_ids), notices.c.seen_at.is_(None))
        self._run(update(notices).where(*mine).values(seen_at=datetime.now(UTC)))
