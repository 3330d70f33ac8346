"""The audit log: who did what, and which documents they were shown.

It holds no second copy of what was asked: an entry leads to the answer, and what is removed there
is gone here too. The entry itself stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from wellread.store.schema.account_tables import audit, users
from wellread.store.schema.account_values import AuditEntry
from wellread.store.schema.catalogue_values import REMOVED
from wellread.store.schema.database import CataloguePart, trim
from wellread.store.schema.tables import answers

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
        return [_made(row) for row in self._rows(statement.limit(limit))]

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
            found.append(_made(row))
            if len(found) == limit:
                break
    return found


def _made(row: Any) -> AuditEntry:
    shown: Sequence[str] = row.documents
    facts = dict(row._mapping)
    facts["documents"] = tuple(shown)
    facts["user"] = row.user or (REMOVED if row.user_id else "")
    asked = row.question if row.question is not None else REMOVED
    facts["question"] = asked if row.answer_id else ""
    return AuditEntry(**facts)
