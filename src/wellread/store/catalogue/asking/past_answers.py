"""Answers that were given: the turns of sessions, and what may be given again.

A turn is the recorded answer that bears the session's id, so what is forgotten in an answer is
forgotten in the conversation. Every read and every removal names the owner: a session of somebody
else is the same as none. The key of an answer that may be given again hangs on everything it was
made from, and says nothing of the question. The entry goes with its answer, and when that becomes
stale; as keys hold the day, entries of earlier days are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from wellread.codec import from_plain, storable
from wellread.identity import tagged_hash
from wellread.store.catalogue.asking.answer_records import (
    FACTS,
    find_answer,
    record_answer,
    rewrite_answer,
)
from wellread.store.catalogue.asking.gap_erasure import forget_conversation, forget_questions
from wellread.store.catalogue.documents.index_debts import note_deletion
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.documents.reindexing import SWITCHES
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.store.schema.database import CataloguePart, chunks, made_of, writing
from wellread.store.schema.folding import Folded
from wellread.store.schema.tables import answers, cached_answers, properties, sessions, vector_debts
from wellread.values.answers import Answer, Step

TAG = "ans_"  # with which the id of every answer begins
_MEANING = str.maketrans({mark: f"/{mark}" for mark in "/%_"})  # what LIKE takes for more


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """A conversation.

    Attributes:
        title: its first question, shortened, until it is renamed.
        turns: how many questions were asked in it.
        seen_at: when it was last used.
    """

    id: str
    title: str
    turns: int
    created_at: datetime
    seen_at: datetime


class Sessions(CataloguePart):
    """The sessions and answers of one owner at a time."""

    # --- sessions ---

    def known(self, session_id: str, owner: str) -> bool:
        """Whether the owner has a session with this id."""
        return bool(self._rows(_of(session_id, owner)))

    def of(self, owner: str, limit: int = 100, offset: int = 0) -> list[SessionFacts]:
        """The owner's sessions, the one used last first."""
        return self.search(owner, "", limit, offset)

    def search(
        self, owner: str, words: str, limit: int = 100, offset: int = 0
    ) -> list[SessionFacts]:
        """The owner's sessions that have all of ``words``, the one used last first.

        A word may stand in the title, in a question or in an answer, also as a part of a longer
        one; capitals make no difference. Without words all sessions are found.
        """
        wanted = [_has(word) for word in dict.fromkeys(storable(words).split())]
        order = (sessions.c.seen_at.desc(), sessions.c.id)
        statement = _facts().where(sessions.c.owner == owner, *wanted).order_by(*order)
        return made_of(SessionFacts, self._rows(statement.limit(limit).offset(offset)))

    def rename(self, session_id: str, owner: str, title: str) -> bool:
        """Call a session ``title`` from now on, in one line; whether the owner has it."""
        mine = (sessions.c.id == session_id, sessions.c.owner == owner)
        named = update(sessions).where(*mine).values(title=" ".join(storable(title).split()))
        with self._database.write() as connection:
            return connection.execute(named).rowcount > 0

    def session(self, session_id: str, owner: str) -> SessionFacts | None:
        """One session of the owner, or None."""
        mine = (sessions.c.id == session_id, sessions.c.owner == owner)
        found = made_of(SessionFacts, self._rows(_facts().where(*mine)))
        return found[0] if found else None

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
            bodies = select(answers.c.id, answers.c.body).where(answers.c.id.in_(ids))
            found = {row.id: from_plain(Answer, row.body) for row in connection.execute(bodies)}
        return [found[known] for known in ids]

    def remove(self, session_id: str, owner: str) -> int | None:
        """Remove a session with its answers, and what only they left; how many answers.

        That are the gaps that they filed, reports and plans of research, and what people were told
        of feedback on them. None when the owner has no such session.
        """
        mine = (answers.c.session_id == session_id, answers.c.owner == owner)
        with self._database.write() as connection:
            if connection.execute(_of(session_id, owner)).first() is None:
                return None
            asked = list(connection.execute(select(answers.c.body).where(*mine)).scalars())
            forget_conversation(connection, session_id, owner, [one["id"] for one in asked])
            connection.execute(delete(answers).where(*mine))
            held = (sessions.c.id == session_id, sessions.c.owner == owner)
            connection.execute(delete(sessions).where(*held))
            forget_questions(connection, asked)
            note_deletion(connection)
        self._database.forget_deleted()
        return len(asked)

    # --- answers ---

    def answers(self, owner: str, limit: int = 100, offset: int = 0) -> list[StoredAnswer]:
        """Facts about the owner's answers, newest first."""
        order = (answers.c.created_at.desc(), answers.c.id)
        statement = select(*FACTS).where(answers.c.owner == owner).order_by(*order)
        return made_of(StoredAnswer, self._rows(statement.limit(limit).offset(offset)))

    def answer(self, answer_id: str, owner: str) -> tuple[StoredAnswer, Answer] | None:
        """The owner's answer of that id, with its facts, or None."""
        return self._only(owner, answers.c.id == answer_id)

    def answer_beginning(self, start: str, owner: str) -> tuple[StoredAnswer, Answer] | None:
        """The owner's only answer whose id begins so, with its facts; else None."""
        begins = [f"{tag}{start.lower()}" for tag in ("", TAG)]
        named = [answers.c.id.startswith(one, autoescape=True) for one in begins]
        return self._only(owner, or_(*named))

    def _only(self, owner: str, wanted: ColumnElement[bool]) -> tuple[StoredAnswer, Answer] | None:
        mine = select(*FACTS).where(wanted, answers.c.owner == owner).limit(2)
        with self._database.read() as connection:
            rows = connection.execute(mine).all()
            whole = find_answer(connection, rows[0].id) if len(rows) == 1 else None
        return (StoredAnswer(**rows[0]._mapping), whole) if whole else None

    def steps(self, owner: str, limit: int) -> list[tuple[Step, ...]]:
        """The steps of each of the owner's answers, newest first."""
        order = (answers.c.created_at.desc(), answers.c.id)
        statement = select(answers.c.body["steps"]).where(answers.c.owner == owner).order_by(*order)
        told = self._values(statement.limit(limit))
        return [tuple(from_plain(Step, one) for one in steps or ()) for steps in told]

    rewrite = writing(rewrite_answer)


def _of(session_id: str, owner: str) -> Select[tuple[str]]:
    return select(sessions.c.id).where(sessions.c.id == session_id, sessions.c.owner == owner)


def _has(word: str) -> ColumnElement[bool]:
    """Whether the title of a session, or a question or answer of it, has ``word``."""
    pattern = Folded(literal(f"%{word.translate(_MEANING)}%"))
    title, question, text = (
        Folded(column).like(pattern, escape="/")
        for column in (sessions.c.title, answers.c.question, answers.c.body["text"].as_string())
    )
    turns = (answers.c.session_id == sessions.c.id, answers.c.owner == sessions.c.owner)
    return or_(title, exists().where(*turns, or_(question, text)))


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


MOST = 10_000  # entries that are kept, the newest
KEPT = timedelta(days=2)


class AnswerCache(CataloguePart):
    """Keys to answers."""

    def find(self, key: str) -> Answer | None:
        """The answer under ``key``, unless there is none or it is stale."""
        statement = (
            select(answers.c.body)
            .join(cached_answers, cached_answers.c.answer_id == answers.c.id)
            .where(cached_answers.c.key == key, answers.c.stale.is_(False))
        )
        found = self._values(statement)
        return from_plain(Answer, found[0]) if found else None

    def record(self, answer: Answer, key: str, read: Iterable[str] = ()) -> None:
        """Keep an answer as ``Catalogue.record_answer`` does, to be given again under ``key``.

        The last one to come takes the key; answers that are stale by now do not.
        """
        with self._database.write() as connection:
            record_answer(connection, answer, read)
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
            before = property_of(connection, key) or 0
            put_properties(connection, {key: int(before) + 1})

    def clear(self) -> None:
        """Give no answer again that was given until now."""
        self._run(delete(cached_answers))

    def outdated(self) -> list[str]:
        """Answers that are stale and have an entry all the same."""
        statement = select(cached_answers.c.answer_id).where(_stale()).distinct()
        return sorted(self._values(statement))

    def drop_outdated(self) -> None:
        """Drop the entries of answers that are stale."""
        self._run(delete(cached_answers).where(_stale()))


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
