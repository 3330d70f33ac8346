"""Answers that were given: recorded, found again, turns of sessions, and stale when sources change.

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

from wellread.codec import storable
from wellread.identity import tagged_hash
from wellread.store.catalogue.accounts.sign_in_records import note_asked
from wellread.store.catalogue.asking.answer_removal import (
    answers_on,
    forget_conversation,
    forget_questions,
    forgotten,
)
from wellread.store.catalogue.asking.answer_rows import (
    NAMED,
    Kept,
    RemovedWords,
    forget_cached,
    kept_answers,
    kept_form,
    note_read,
    renew_facts,
    rewrite_rows,
    shown,
    shown_answers,
    write_rows,
)
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.documents.reindexing import SWITCHES, note_deletion
from wellread.store.schema.database import CataloguePart, Folded, chunks, made_of, writing
from wellread.store.schema.stored_values import StoredAnswer
from wellread.store.schema.tables import (
    answers,
    cached_answers,
    properties,
    sessions,
    vector_debts,
)
from wellread.text.sentences import shortened
from wellread.values.answers import Answer

FACTS = [answers.c[name] for name in StoredAnswer.__dataclass_fields__]
TITLE = 80  # characters of a first question that name a session


def record_answer(connection: Connection, answer: Answer, read: Iterable[str] = ()) -> None:
    """Keep ``answer`` with the spans that it cites; one of the same id is replaced.

    It is stale from the start when a source changed or went while it was being written. Its
    session is made when there is none yet.
    """
    kept = as_it_stands(connection, answer)
    now = datetime.now(UTC)
    write_rows(connection, kept, now)
    note_read(connection, answer.id, now, read)
    shown = [row["document_id"] for row in kept.rows if not row["shape"]]
    note_asked(connection, answer.owner, answer.id, shown)
    _seen(connection, answer, now)


def rewrite_answer(connection: Connection, answer: Answer, *, stale: bool) -> None:
    """Keep ``answer`` as it was found to be now, in place of what was recorded of it."""
    kept = as_it_stands(connection, answer)
    kept.stale = kept.stale or stale
    rewrite_rows(connection, kept)


def as_it_stands(connection: Connection, answer: Answer) -> Kept:
    """The answer to keep, without what is not there any more; stale where that was something."""
    kept = kept_form(connection, answer)
    lost = {row["document_id"]: "" for row in kept.rows if row["live"] is None}
    kept.stale = any(row["version"] not in (NAMED, row["live"]) for row in kept.rows)
    if lost:
        quotes = [one.quote for one in answer.citations if one.document_id in lost]
        forgotten(kept, RemovedWords(quotes), lost)
    return kept


def _seen(connection: Connection, answer: Answer, now: datetime) -> None:
    """The session of ``answer`` was used; its first question names it."""
    if not answer.session_id:
        return
    mine = (sessions.c.id == answer.session_id, sessions.c.owner == answer.owner)
    done = connection.execute(update(sessions).where(*mine).values(seen_at=now))
    if done.rowcount:
        return
    connection.execute(
        insert(sessions),
        {
            "id": answer.session_id,
            "owner": answer.owner,
            "title": shortened(answer.question, TITLE),
            "created_at": now,
            "seen_at": now,
        },
    )


def find_answer(connection: Connection, answer_id: str) -> Answer | None:
    """The whole answer."""
    return shown_answers(connection, [answer_id]).get(answer_id)


def list_answers(connection: Connection, limit: int = 100) -> list[StoredAnswer]:
    """Facts about the newest answers, newest first."""
    order = (answers.c.created_at.desc(), answers.c.id)
    statement = select(*FACTS).order_by(*order).limit(limit)
    return made_of(StoredAnswer, connection.execute(statement))


def mark_stale(connection: Connection, document_ids: Iterable[str]) -> None:
    """The answers that rest on these documents are stale: each keeps what it said and quoted."""
    resting = answers_on(connection, document_ids)
    for ids in chunks(resting):
        connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
    forget_cached(connection, resting)


def file_again(connection: Connection, document_ids: Iterable[str]) -> None:
    """Documents are filed otherwise: so are the answers that rest on them."""
    resting = answers_on(connection, document_ids)
    moments = select(answers.c.id, answers.c.created_at)
    for ids in chunks(resting):
        kept = kept_answers(connection, ids)
        for row in connection.execute(moments.where(answers.c.id.in_(ids))).all():
            renew_facts(connection, kept[row.id], row.created_at)


TAG = "ans_"  # with which the id of every answer begins
_MEANING = str.maketrans({mark: f"/{mark}" for mark in "/%_"})  # what LIKE takes for more


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """A conversation."""

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
        statement = _session_facts().where(sessions.c.owner == owner, *wanted).order_by(*order)
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
        found = made_of(SessionFacts, self._rows(_session_facts().where(*mine)))
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
            found = shown_answers(connection, ids)
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
            ids = connection.execute(select(answers.c.id).where(*mine)).scalars().all()
            asked = [shown(gone) for gone in kept_answers(connection, ids).values()]
            forget_conversation(connection, session_id, owner, ids)
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

    rewrite = writing(rewrite_answer)


def _of(session_id: str, owner: str) -> Select[tuple[str]]:
    return select(sessions.c.id).where(sessions.c.id == session_id, sessions.c.owner == owner)


def _has(word: str) -> ColumnElement[bool]:
    """Whether the title of a session, or a question or answer of it, has ``word``."""
    pattern = Folded(literal(f"%{word.translate(_MEANING)}%"))
    title, question, text = (
        Folded(column).like(pattern, escape="/")
        for column in (sessions.c.title, answers.c.question, answers.c.text)
    )
    turns = (answers.c.session_id == sessions.c.id, answers.c.owner == sessions.c.owner)
    return or_(title, exists().where(*turns, or_(question, text)))


def _session_facts() -> Select[tuple[str, str, int, datetime, datetime]]:
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


KEPT = timedelta(days=2)


class AnswerCache(CataloguePart):
    """Keys to answers."""

    def find(self, key: str) -> Answer | None:
        """The answer under ``key``, unless there is none or it is stale."""
        statement = (
            select(answers.c.id)
            .join(cached_answers, cached_answers.c.answer_id == answers.c.id)
            .where(cached_answers.c.key == key, answers.c.stale.is_(False))
        )
        with self._database.read() as connection:
            answer_id = connection.execute(statement).scalar()
            return find_answer(connection, answer_id) if answer_id else None

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


def _sweep(connection: Connection, now: datetime) -> None:
    """Drop entries that no question can hit any more."""
    connection.execute(delete(cached_answers).where(cached_answers.c.created_at < now - KEPT))


def _counter(collection: str) -> str:
    """Says nothing of the collection, so that nothing of it is left when it is removed."""
    return tagged_hash("joined", collection)
