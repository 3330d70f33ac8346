"""Stores answers, conversation sessions and the answer cache, and marks answers stale.

A turn of a session is the stored answer with the session's id, so redacting an answer redacts the
conversation. Every read and removal takes the owner: a session of another user is treated as
unknown. A cache key depends on everything that the answer was made from and does not reveal the
question. A cache entry is deleted with its answer, and when the answer becomes stale; since keys
include the day, older entries are deleted too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, update

from wellread.codec import storable
from wellread.identity import tagged_hash
from wellread.store.catalogue.accounts.sign_in_records import log_answer
from wellread.store.catalogue.asking.answer_removal import (
    RemovedWords,
    answers_citing,
    delete_answers,
    redact_answer,
)
from wellread.store.catalogue.asking.answer_rows import (
    MENTIONED,
    AnswerRecord,
    forget_cached,
    read_answers,
    read_records,
    record_collections,
    rewrite_rows,
    to_record,
    write_facts,
    write_rows,
)
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.catalogue.documents.reindexing import SWITCHES, note_deletion
from wellread.store.schema.database import Casefold, CataloguePart, chunks, rows_to_values, writing
from wellread.store.schema.stored_values import StoredAnswer
from wellread.store.schema.tables import (
    answer_citations,
    answers,
    cached_answers,
    properties,
    research_runs,
    sessions,
    vector_debts,
)
from wellread.text.sentences import shorten
from wellread.values.answers import Answer

FACTS = [answers.c[name] for name in StoredAnswer.__dataclass_fields__]
MAX_TITLE_CHARS = 80  # characters of the first question that become a session's title


def record_answer(connection: Connection, answer: Answer, read: Iterable[str] = ()) -> None:
    """Store ``answer`` with the spans that it cites, replacing an answer with the same id.

    It is stored as stale when a source changed or was removed while it was being written. Its
    session is created when it does not exist.
    """
    record = current_record(connection, answer)
    now = datetime.now(UTC)
    write_rows(connection, record, now)
    record_collections(connection, answer.id, now, read)
    document_ids = [row["document_id"] for row in record.rows if not row["shape"]]
    log_answer(connection, answer.owner, answer.id, document_ids)
    _touch_session(connection, answer, now)


def rewrite_answer(connection: Connection, answer: Answer, *, stale: bool) -> None:
    """Replace the stored answer by ``answer``, except the titles, which its text contains."""
    cited = select(answer_citations).where(answer_citations.c.answer_id == answer.id)
    titles = {row.document_id: row.told["title"] for row in connection.execute(cited)}
    citations = (
        replace(item, title=titles.get(item.document_id, item.title)) for item in answer.citations
    )
    record = current_record(connection, replace(answer, citations=tuple(citations)))
    record.stale = record.stale or stale
    rewrite_rows(connection, record)


def current_record(connection: Connection, answer: Answer) -> AnswerRecord:
    """The stored form of ``answer``: removed documents redacted, stale when sources changed."""
    record = to_record(connection, answer)
    removed = {row["document_id"]: "" for row in record.rows if row["live"] is None}
    record.stale = any(row["version"] not in (MENTIONED, row["live"]) for row in record.rows)
    if removed:
        quotes = [cited.quote for cited in answer.citations if cited.document_id in removed]
        redact_answer(record, RemovedWords(quotes), removed)
    return record


def _touch_session(connection: Connection, answer: Answer, now: datetime) -> None:
    """Update the session of ``answer``, or create it with the question as its title."""
    if not answer.session_id:
        return
    is_session = _is_session(answer.session_id, answer.owner)
    if connection.execute(update(sessions).where(is_session).values(seen_at=now)).rowcount:
        return
    row = {
        "id": answer.session_id,
        "owner": answer.owner,
        "title": shorten(answer.question, MAX_TITLE_CHARS),
    }
    connection.execute(insert(sessions).values(created_at=now, seen_at=now, **row))


def find_answer(connection: Connection, answer_id: str) -> Answer | None:
    """The complete answer with this id, or None."""
    return read_answers(connection, [answer_id]).get(answer_id)


def list_answers(connection: Connection, limit: int = 100) -> list[StoredAnswer]:
    """The facts of the newest answers, newest first."""
    statement = select(*FACTS).order_by(answers.c.created_at.desc(), answers.c.id).limit(limit)
    return rows_to_values(StoredAnswer, connection.execute(statement))


def mark_stale(connection: Connection, document_ids: Iterable[str]) -> None:
    """Mark the answers that cite these documents as stale, and remove them from the cache."""
    citing = answers_citing(connection, document_ids)
    for ids in chunks(citing):
        connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
    forget_cached(connection, citing)


def refresh_figures(connection: Connection, document_ids: Iterable[str]) -> None:
    """Update the statistics of answers that cite these documents after a change of their facts."""
    citing = answers_citing(connection, document_ids)
    moments = select(answers.c.id, answers.c.created_at)
    for ids in chunks(citing):
        records = read_records(connection, ids)
        for row in connection.execute(moments.where(answers.c.id.in_(ids))).all():
            write_facts(connection, row.id, row.created_at, records[row.id].body)


ID_PREFIX = "ans_"  # the prefix of every answer id
_ESCAPES = str.maketrans({sign: f"/{sign}" for sign in "/%_"})  # escapes wildcards of LIKE


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """A conversation session, with its number of turns."""

    id: str
    title: str
    turns: int
    created_at: datetime
    seen_at: datetime


_TURNS = (
    select(func.count())
    .where(answers.c.session_id == sessions.c.id, answers.c.owner == sessions.c.owner)
    .scalar_subquery()
)
_FACTS = (sessions.c[name] for name in ("id", "title", "created_at", "seen_at"))
_SESSIONS = select(*_FACTS, _TURNS.label("turns"))


class Sessions(CataloguePart):
    """The sessions and answers of one owner at a time."""

    # --- sessions ---

    def known(self, session_id: str, owner: str) -> bool:
        """Whether the owner has a session with this id."""
        return bool(self._rows(select(sessions.c.id).where(_is_session(session_id, owner))))

    def of(
        self, owner: str, limit: int = 100, offset: int = 0, words: str = ""
    ) -> list[SessionFacts]:
        """The owner's sessions that contain all of ``words``, most recently used first.

        A word may occur in the title, a question or an answer, or be part of a longer word, in any
        case. Without words all sessions are returned.
        """
        has_words = [_contains(word) for word in dict.fromkeys(storable(words).split())]
        order = (sessions.c.seen_at.desc(), sessions.c.id)
        statement = _SESSIONS.where(sessions.c.owner == owner, *has_words).order_by(*order)
        return rows_to_values(SessionFacts, self._rows(statement.limit(limit).offset(offset)))

    def rename(self, session_id: str, owner: str, title: str) -> bool:
        """Set the title of a session, as one line; return whether the owner has the session."""
        new_title = shorten(" ".join(storable(title).split()), MAX_TITLE_CHARS)
        query = update(sessions).where(_is_session(session_id, owner)).values(title=new_title)
        with self._database.write() as connection:
            return connection.execute(query).rowcount > 0

    def session(self, session_id: str, owner: str) -> SessionFacts | None:
        """One session of the owner, or None."""
        rows = self._rows(_SESSIONS.where(_is_session(session_id, owner)))
        return next(iter(rows_to_values(SessionFacts, rows)), None)

    def turns(self, session_id: str, owner: str, most: int) -> list[Answer]:
        """The first turn and the newest turns, at most ``most`` in all, oldest first."""
        order = (answers.c.created_at, answers.c.id)
        turn_ids = select(answers.c.id).where(
            answers.c.session_id == session_id, answers.c.owner == owner
        )
        newest = turn_ids.order_by(*(column.desc() for column in order)).limit(most)
        with self._database.read() as connection:
            ids = list(connection.execute(newest).scalars())[::-1]
            first = connection.execute(turn_ids.order_by(*order).limit(1)).scalar()
            if first is not None and first not in ids:
                ids[0] = first
            answers_by_id = read_answers(connection, ids)
        return [answers_by_id[answer_id] for answer_id in ids]

    def remove(self, session_id: str, owner: str) -> int | None:
        """Remove a session with its answers and their traces; return the number of answers.

        The traces are the gaps recorded for them and their research
        runs. Return None when the owner has no such session.
        """
        in_session = (answers.c.session_id == session_id, answers.c.owner == owner)
        with self._database.write() as connection:
            is_session = delete(sessions).where(_is_session(session_id, owner))
            if not connection.execute(is_session).rowcount:
                return None
            ids = connection.execute(select(answers.c.id).where(*in_session)).scalars().all()
            run_session = research_runs.c.request["question"]["session_id"].as_string()
            in_run = (run_session == session_id, research_runs.c.owner == owner)
            connection.execute(delete(research_runs).where(*in_run))
            delete_answers(connection, owner, ids)
            note_deletion(connection)
        self._database.forget_deleted()
        return len(ids)

    # --- answers ---

    def answers(
        self, owner: str, limit: int = 100, offset: int = 0, *, citing: str = ""
    ) -> list[StoredAnswer]:
        """The facts of the owner's answers, or of those that cite a document, newest first."""
        order = (answers.c.created_at.desc(), answers.c.id)
        statement = select(*FACTS).where(answers.c.owner == owner).order_by(*order)
        if citing:
            cited = answer_citations.c
            is_citing = (cited.document_id == citing, cited.number != 0)
            statement = statement.where(answers.c.id.in_(select(cited.answer_id).where(*is_citing)))
        return rows_to_values(StoredAnswer, self._rows(statement.limit(limit).offset(offset)))

    def answer(self, answer_id: str, owner: str) -> tuple[StoredAnswer, Answer] | None:
        """The owner's answer with this id and its facts, or None."""
        return self._single(owner, answers.c.id == answer_id)

    def answer_by_prefix(self, start: str, owner: str) -> tuple[StoredAnswer, Answer] | None:
        """The owner's answer whose id starts with ``start``; None when none or several match."""
        prefixes = [f"{tag}{start.lower()}" for tag in ("", ID_PREFIX)]
        has_prefix = [answers.c.id.startswith(prefix, autoescape=True) for prefix in prefixes]
        return self._single(owner, or_(*has_prefix))

    def _single(self, owner: str, match: ColumnElement[bool]) -> tuple[StoredAnswer, Answer] | None:
        statement = select(*FACTS).where(match, answers.c.owner == owner).limit(2)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
            answer = find_answer(connection, rows[0].id) if len(rows) == 1 else None
        return (StoredAnswer(**rows[0]._mapping), answer) if answer else None

    rewrite = writing(rewrite_answer)


def _is_session(session_id: str, owner: str) -> ColumnElement[bool]:
    return (sessions.c.id == session_id) & (sessions.c.owner == owner)


def _contains(word: str) -> ColumnElement[bool]:
    """The condition that a session's title, questions or answers contain ``word``."""
    pattern = Casefold(f"%{word.translate(_ESCAPES)}%")
    title, question, text = (
        Casefold(column).like(pattern, escape="/")
        for column in (sessions.c.title, answers.c.question, answers.c.text)
    )
    turns = (answers.c.session_id == sessions.c.id, answers.c.owner == sessions.c.owner)
    return or_(title, exists().where(*turns, or_(question, text)))


CACHE_DAYS = timedelta(days=2)  # keys include the day, so older entries cannot match


class AnswerCache(CataloguePart):
    """Caches answers by key, and computes the stamp that the keys include."""

    def find(self, key: str) -> Answer | None:
        """The answer under ``key``; None when there is none or it is stale."""
        statement = (
            select(answers.c.id)
            .join(cached_answers, cached_answers.c.answer_id == answers.c.id)
            .where(cached_answers.c.key == key, answers.c.stale.is_(False))
        )
        with self._database.read() as connection:
            answer_id = connection.execute(statement).scalar()
            return find_answer(connection, answer_id) if answer_id else None

    def record(self, answer: Answer, key: str, read: Iterable[str] = ()) -> None:
        """Record an answer as ``Catalogue.record_answer`` does, and cache it under ``key``.

        It replaces an earlier answer under the key; a stale answer is not cached.
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
            expired = cached_answers.c.created_at < now - CACHE_DAYS
            connection.execute(delete(cached_answers).where(expired))

    def stamp(self, scope: Sequence[str]) -> str:
        """A stamp of everything derived from the documents of these collections.

        It changes after every linking pass (``joined``), whenever pending vectors are added or
        completed, and when another index goes live.
        """
        names = [_counter_key(collection) for collection in scope]
        is_counter = or_(*(properties.c.key.in_(batch) for batch in chunks([*names, SWITCHES])))
        counters = select(properties).where(is_counter).order_by(properties.c.key)
        debts = select(func.count(), func.sum(vector_debts.c.passages))
        with self._database.read() as connection:
            counts = [tuple(row) for row in connection.execute(counters)]
            pending = tuple(connection.execute(debts).one())
        return tagged_hash("stamp", *scope, str(counts), str(pending))

    def joined(self, collection: str) -> None:
        """Record that the collection's stories or mentions have changed."""
        key = _counter_key(collection)
        with self._database.write() as connection:
            put_properties(connection, {key: int(property_of(connection, key) or 0) + 1})

    def clear(self) -> None:
        """Delete all cache entries."""
        self._run(delete(cached_answers))


def _counter_key(collection: str) -> str:
    """A hashed property key, so that a removed collection's name does not remain in it."""
    return tagged_hash("joined", collection)
