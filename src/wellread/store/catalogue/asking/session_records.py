"""Sessions and their turns. A turn is the recorded answer that bears the session's id.

So what is forgotten in an answer is forgotten in the conversation. Every read and every removal
names the owner: a session of somebody else is the same as none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, or_, select

from wellread.answers import Answer
from wellread.codec import from_plain
from wellread.store.catalogue.asking.answer_records import (
    FACTS,
    find_answer,
    forget_questions,
    rewrite_answer,
)
from wellread.store.catalogue.runs.index_debts import note_deletion
from wellread.store.schema.activity_tables import sessions
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.store.schema.database import Database
from wellread.store.schema.document_tables import answers

TAG = "ans_"  # with which the id of every answer begins


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """A conversation.

    Attributes:
        title: its first question, shortened.
        turns: how many questions were asked in it.
        seen_at: when it was last used.
    """

    id: str
    title: str
    turns: int
    created_at: datetime
    seen_at: datetime


class Sessions:
    """The sessions and answers of one owner at a time. StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- sessions ---

    def known(self, session_id: str, owner: str) -> bool:
        """Whether the owner has a session with this id."""
        with self._database.read() as connection:
            return connection.execute(_of(session_id, owner)).first() is not None

    def of(self, owner: str, limit: int = 100, offset: int = 0) -> list[SessionFacts]:
        """The owner's sessions, the one used last first."""
        order = (sessions.c.seen_at.desc(), sessions.c.id)
        statement = _facts().where(sessions.c.owner == owner).order_by(*order)
        with self._database.read() as connection:
            rows = connection.execute(statement.limit(limit).offset(offset)).all()
        return [SessionFacts(**row._mapping) for row in rows]

    def session(self, session_id: str, owner: str) -> SessionFacts | None:
        """One session of the owner, or None."""
        mine = (sessions.c.id == session_id, sessions.c.owner == owner)
        with self._database.read() as connection:
            row = connection.execute(_facts().where(*mine)).first()
        return SessionFacts(**row._mapping) if row else None

    def turns(self, session_id: str, owner: str, most: int) -> list[Answer]:
        """The first turn and those after it up to the newest, ``most`` in all, oldest first."""
        order = (answers.c.created_at, answers.c.id)
        mine = select(answers.c.id).where(
            answers.c.session_id == session_id, answers.c.owner == owner
        )
        newest = mine.order_by(*(each.desc() for each in order)).limit(most)
        with self._database.read() as connection:
            ids = list(connection.execute(newest).scalars())[::-1]
            first = connection.execute(mine.order_by(*order).limit(1)).scalar()
            if first is not None and first not in ids:
                ids[0] = first
            found = {
                row.id: from_plain(Answer, row.body)
                for row in connection.execute(
                    select(answers.c.id, answers.c.body).where(answers.c.id.in_(ids))
                )
            }
        return [found[known] for known in ids]

    def remove(self, session_id: str, owner: str) -> int | None:
        """Remove a session with its answers, and the gaps that only they filed; how many answers.

        None when the owner has no such session.
        """
        mine = (answers.c.session_id == session_id, answers.c.owner == owner)
        with self._database.write() as connection:
            if connection.execute(_of(session_id, owner)).first() is None:
                return None
            asked = list(connection.execute(select(answers.c.body).where(*mine)).scalars())
            connection.execute(delete(answers).where(*mine))
            connection.execute(delete(sessions).where(sessions.c.id == session_id))
            forget_questions(connection, asked)
            note_deletion(connection)
        self._database.forget_deleted()
        return len(asked)

    # --- answers ---

    def answers(self, owner: str, limit: int = 100, offset: int = 0) -> list[StoredAnswer]:
        """Facts about the owner's answers, newest first."""
        order = (answers.c.created_at.desc(), answers.c.id)
        statement = select(*FACTS).where(answers.c.owner == owner).order_by(*order)
        with self._database.read() as connection:
            rows = connection.execute(statement.limit(limit).offset(offset)).all()
        return [StoredAnswer(**row._mapping) for row in rows]

    def answer(self, answer_id: str, owner: str) -> tuple[StoredAnswer, Answer] | None:
        """The owner's answer of that id, or the only one whose id begins so, with its facts."""
        named = [answers.c.id.startswith(f"{tag}{answer_id}", autoescape=True) for tag in ("", TAG)]
        mine = select(*FACTS).where(or_(*named), answers.c.owner == owner).limit(2)
        with self._database.read() as connection:
            rows = connection.execute(mine).all()
            whole = find_answer(connection, rows[0].id) if len(rows) == 1 else None
        return (StoredAnswer(**rows[0]._mapping), whole) if whole else None

    def rewrite(self, answer: Answer, *, stale: bool) -> None:
        """Keep an answer as it was found to be when it was checked again."""
        with self._database.write() as connection:
            rewrite_answer(connection, answer, stale=stale)


def _of(session_id: str, owner: str) -> Select[tuple[str]]:
    return select(sessions.c.id).where(sessions.c.id == session_id, sessions.c.owner == owner)


def _facts() -> Select[tuple[str, str, int, datetime, datetime]]:
    turns = (
        select(func.count())
        .where(answers.c.session_id == sessions.c.id, answers.c.owner == sessions.c.owner)
        .scalar_subquery()
    )
    return select(
        sessions.c.id,
        sessions.c.title,
        turns.label("turns"),
        sessions.c.created_at,
        sessions.c.seen_at,
    )
