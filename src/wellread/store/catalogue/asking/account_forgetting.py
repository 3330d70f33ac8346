"""The right to be forgotten: what is kept of a user goes, or loses its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from wellread.errors import RequestError
from wellread.store.catalogue.accounts.user_records import check_managed
from wellread.store.catalogue.asking.answer_rows import kept_answers
from wellread.store.catalogue.asking.feedback_words import note_change
from wellread.store.catalogue.asking.gap_erasure import forget_conversation, forget_questions
from wellread.store.catalogue.documents.index_debts import note_deletion
from wellread.store.schema.account_tables import audit, users
from wellread.store.schema.catalogue_values import REMOVED
from wellread.store.schema.database import CataloguePart, chunks
from wellread.store.schema.learning_tables import feedback, gaps, notices, preferences
from wellread.store.schema.research_tables import research_runs
from wellread.store.schema.tables import answers, sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What went with a user.

    Attributes:
        texts: what they had asked and been told, said of answers, and were called.
    """

    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    texts: tuple[str, ...] = ()


class AccountForgetting(CataloguePart):
    """Takes users out."""

    def remove(self, user_id: str) -> None:
        """Remove an account with its keys, sessions and grants; what it asked and did stays.

        Raises:
            RequestError: nobody would be left who may manage users.
        """
        with self._database.write() as connection:
            _delete(connection, user_id)

    def forget(self, user_id: str) -> Forgotten:
        """Remove an account and all that it left: questions, answers, feedback, preferences.

        The audit log and the calls of models keep what was done, without whom and from where.

        Raises:
            RequestError: nobody would be left who may manage users.
        """
        if not user_id:
            raise RequestError("there is no such user")
        with self._database.write() as connection:
            name = connection.execute(select(users.c.name).where(users.c.id == user_id)).scalar()
            texts = [*_said(connection, user_id), name or ""]
            _delete(connection, user_id)
            asked = _forget_answers(connection, user_id)
            talks = delete(sessions).where(sessions.c.owner == user_id)
            conversations = connection.execute(talks).rowcount
            rated = delete(feedback).where(feedback.c.author == user_id)
            ratings = connection.execute(rated).rowcount
            for table in (research_runs, gaps, notices, preferences):
                connection.execute(delete(table).where(table.c.owner == user_id))
            entries = _unname(connection, user_id)
            note_change(connection)
            note_deletion(connection)
        self._database.forget_deleted()
        return Forgotten(
            answers=asked,
            conversations=conversations,
            feedback=ratings,
            entries=entries,
            texts=tuple(filter(None, texts)),
        )


def _delete(connection: Connection, user_id: str) -> None:
    connection.execute(delete(users).where(users.c.id == user_id))
    check_managed(connection)
    note_deletion(connection)


def _said(connection: Connection, user_id: str) -> Sequence[str]:
    """The words that only this user left."""
    asked = select(answers.c.question).where(answers.c.owner == user_id)
    wrote = select(feedback.c.body).where(feedback.c.author == user_id)
    found = list(connection.execute(asked).scalars())
    for body in connection.execute(wrote).scalars():
        found += [str(body.get(name) or "") for name in ("comment", "correction")]
    return found


def _forget_answers(connection: Connection, user_id: str) -> int:
    ids = connection.execute(select(answers.c.id).where(answers.c.owner == user_id)).scalars().all()
    bodies = [kept.body for kept in kept_answers(connection, ids).values()]
    by_session: dict[str, list[str]] = {}
    for body in bodies:
        by_session.setdefault(body["session_id"], []).append(body["id"])
    for session_id, asked in by_session.items():
        forget_conversation(connection, session_id, user_id, asked)
    for some in chunks(ids):
        connection.execute(delete(answers).where(answers.c.id.in_(some)))
    forget_questions(connection, bodies)
    return len(bodies)


def _unname(connection: Connection, user_id: str) -> int:
    """Leave what was done, and not who did it; how many entries of the log it was."""
    nameless = {"user_id": REMOVED, "key_id": "", "address": "", "answer_id": ""}
    did = update(audit).where(audit.c.user_id == user_id).values(**nameless)
    told = func.replace(audit.c.target, user_id, REMOVED)
    about = update(audit).where(audit.c.target.contains(user_id)).values(target=told)
    entries = connection.execute(did).rowcount
    connection.execute(about)
    return entries
