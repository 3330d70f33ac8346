"""Answers that may be given again, under a key that hangs on everything they were made from.

A key says nothing of the question. An entry goes with its answer, and when that becomes stale; as
keys hold the day, entries of earlier days are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select

from wellread.answers import Answer
from wellread.codec import from_plain
from wellread.identity import tagged_hash
from wellread.store.catalogue.asking.answer_records import record_answer
from wellread.store.catalogue.runs.reindexing import SWITCHES
from wellread.store.schema.activity_tables import cached_answers, vector_debts
from wellread.store.schema.database import Database, chunks
from wellread.store.schema.document_tables import answers, properties

MOST = 10_000  # entries that are kept, the newest
KEPT = timedelta(days=2)


class AnswerCache:
    """Keys to answers. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, key: str) -> Answer | None:
        """The answer under ``key``, unless there is none or it is stale."""
        statement = (
            select(answers.c.body)
            .join(cached_answers, cached_answers.c.answer_id == answers.c.id)
            .where(cached_answers.c.key == key, answers.c.stale.is_(False))
        )
        with self._database.read() as connection:
            body = connection.execute(statement).scalar()
        return from_plain(Answer, body) if body is not None else None

    def record(self, answer: Answer, key: str) -> None:
        """Keep an answer as ``Catalogue.record_answer`` does, to be given again under ``key``.

        The last one to come takes the key; answers that are stale by now do not.
        """
        with self._database.write() as connection:
            record_answer(connection, answer)
            stale = select(answers.c.stale).where(answers.c.id == answer.id)
            if connection.execute(stale).scalar():
                return
            connection.execute(delete(cached_answers).where(cached_answers.c.key == key))
            now = datetime.now(UTC)
            row = {"key": key, "answer_id": answer.id, "created_at": now}
            connection.execute(insert(cached_answers), row)
            _sweep(connection, now)

    def stamp(self, scope: Sequence[str]) -> str:
        """A hash of what is made of documents after they were written, for these collections.

        Another one after every pass that joined documents (``joined``), whenever vectors are
        still to come or have come, and when another index goes live.
        """
        names = [_counter(collection) for collection in scope]
        wanted = or_(*(properties.c.key.in_(part) for part in chunks([*names, SWITCHES])))
        counters = select(properties).where(wanted).order_by(properties.c.key)
        debts = select(func.count(), func.sum(vector_debts.c.passages))
        with self._database.read() as connection:
            told = [tuple(row) for row in connection.execute(counters)]
            owed = tuple(connection.execute(debts).one())
        return tagged_hash("stamp", *scope, str(told), str(owed))

    def joined(self, collection: str) -> None:
        """What joins the documents of the collection (stories, mentions) has changed."""
        key = _counter(collection)
        with self._database.write() as connection:
            before = connection.execute(
                select(properties.c.value).where(properties.c.key == key)
            ).scalar()
            connection.execute(delete(properties).where(properties.c.key == key))
            connection.execute(insert(properties), {"key": key, "value": int(before or 0) + 1})

    def clear(self) -> None:
        """Give no answer again that was given until now."""
        with self._database.write() as connection:
            connection.execute(delete(cached_answers))

    def outdated(self) -> list[str]:
        """Answers that are stale and have an entry all the same."""
        statement = select(cached_answers.c.answer_id).where(_stale()).distinct()
        with self._database.read() as connection:
            return sorted(connection.execute(statement).scalars())

    def drop_outdated(self) -> None:
        """Drop the entries of answers that are stale."""
        with self._database.write() as connection:
            connection.execute(delete(cached_answers).where(_stale()))


def _stale() -> ColumnElement[bool]:
    return exists().where(answers.c.id == cached_answers.c.answer_id, answers.c.stale.is_(True))


def _sweep(connection: Connection, now: datetime) -> None:
    """Drop entries that no question can hit any more, and the oldest ones beyond ``MOST``."""
    connection.execute(delete(cached_answers).where(cached_answers.c.created_at < now - KEPT))
    count = connection.execute(select(func.count()).select_from(cached_answers)).scalar() or 0
    if count > MOST:
        order = (cached_answers.c.created_at, cached_answers.c.key)
        oldest = select(cached_answers.c.key).order_by(*order).limit(count - MOST)
        connection.execute(delete(cached_answers).where(cached_answers.c.key.in_(oldest)))


def _counter(collection: str) -> str:
    """Says nothing of the collection, so that nothing of it is left when it is removed."""
    return tagged_hash("joined", collection)
