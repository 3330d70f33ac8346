"""Making deletes true: of documents in what was said of them, and of people in what they left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, exists, func, select, update

from wellread.errors import RequestError
from wellread.store.catalogue.accounts.user_records import check_managed
from wellread.store.catalogue.asking.answer_removal import (
    forget_conversation,
    forget_gone,
    forget_questions,
    forget_removed,
    quoting_gone,
    stored_texts,
    titles_of,
)
from wellread.store.catalogue.asking.answer_rows import (
    NAMED,
    RemovedWords,
    blacked,
    forget_cached,
    forget_read,
    kept_answers,
    shown,
)
from wellread.store.catalogue.documents.collection_records import documents_of_sources, touch
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.reindexing import DELETED, note_deletion
from wellread.store.catalogue.feedback_records import forget_in_feedback, note_change
from wellread.store.catalogue.gap_records import forget_in_gaps, rename_in_gaps
from wellread.store.schema.database import CataloguePart, chunks, reading, rows_in
from wellread.store.schema.stored_values import REMOVED
from wellread.store.schema.tables import (
    answer_citations,
    answers,
    audit,
    collections,
    documents,
    feedback,
    gaps,
    jobs,
    metadata,
    notices,
    preferences,
    properties,
    research_runs,
    sessions,
    sources,
    stories,
    users,
)


def forget_words(
    connection: Connection, removed: RemovedWords, titles: Collection[str] = ()
) -> int:
    """Take quotations, and titles, out of answers and gaps; how many answers quoted some.

    For what they say of documents without citing them.
    """
    kept = select(documents.c.title).where(documents.c.title.in_(VALUES))
    lost = set(titles).difference(row.title for row in rows_in(connection, kept, titles))
    if lost:
        rename_in_gaps(connection, {title: blacked(title) for title in lost})
    if removed:
        forget_in_gaps(connection, removed)
    return forget_removed(connection, removed, lost) if removed or lost else 0


class Forgetting(CataloguePart):
    """What is left of deleted documents."""

    # --- words ---

    def texts(self, document_ids: Collection[str]) -> list[str]:
        """The words of documents, and what answers quote of older versions of them."""
        with self._database.read() as connection:
            return list(stored_texts(connection, document_ids))

    def titles(self, document_ids: Collection[str]) -> set[str]:
        """What documents are called."""
        with self._database.read() as connection:
            return set(titles_of(connection, document_ids).values())

    def words(self, texts: Iterable[str], titles: Collection[str] = ()) -> int:
        """Take what answers and gaps quote of removed texts out of them; how many answers had it.

        ``titles``: what the documents were called.

        Deleting a document does so for the answers that cite it; this is for all the others.
        """
        removed = RemovedWords(texts)
        with self._database.write() as connection:
            forget_in_feedback(connection, removed)
            return forget_words(connection, removed, titles)

    # --- what is there ---

    def knows(self, collection: str) -> bool:
        """Whether anything is kept under that name."""
        named = (
            select(documents.c.id).where(documents.c.collection == collection),
            select(sources.c.uri).where(sources.c.collection == collection),
            select(collections.c.name).where(collections.c.name == collection),
        )
        return any(self._rows(each.limit(1)) for each in named)

    def yielded(self, collection: str, uris: Iterable[str]) -> list[str]:
        """The ids of the documents that sources yielded."""
        with self._database.read() as connection:
            return list(documents_of_sources(connection, collection, uris))

    def collection(self, name: str) -> None:
        """Forget what is kept of a collection beside its documents: sources to job logs."""
        with self._database.write() as connection:
            named = (sources.c.collection, stories.c.collection, collections.c.name)
            for column in named:
                connection.execute(delete(column.table).where(column == name))
            rules = properties.c.key == f"stories/{name}"  # by which its stories were made
            connection.execute(delete(properties).where(rules))
            touch(connection, [name])
            forget_read(connection, name)
            ended = jobs.c.state != "running"
            connection.execute(delete(jobs).where(jobs.c.collection == name, ended))
            note_deletion(connection)

    def stale_answers(self) -> int:
        """How many answers rest on what has changed or gone."""
        statement = select(func.count()).where(answers.c.stale.is_(True))
        return int(self._values(statement)[0])

    # --- answers that rest on what is not live ---

    def fresh_but_outdated(self) -> list[str]:
        """Answers that cite what is not live and are not marked stale."""
        live = exists().where(
            documents.c.id == answer_citations.c.document_id,
            documents.c.version == answer_citations.c.version,
        )
        statement = (
            select(answers.c.id)
            .join(answer_citations, answer_citations.c.answer_id == answers.c.id)
            .where(answers.c.stale.is_(False), ~live, answer_citations.c.version != NAMED)
            .distinct()
            .order_by(answers.c.id)
        )
        return self._values(statement)

    def mark_stale(self, answer_ids: Iterable[str]) -> None:
        """These answers rest on what has changed or gone."""
        with self._database.write() as connection:
            for ids in chunks(answer_ids):
                connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
                forget_cached(connection, ids)

    quoting_removed = reading(quoting_gone)

    def forget_quotes(self) -> None:
        """Take what answers quote of documents that went out of them."""
        for answer_id, lost in self.quoting_removed().items():
            with self._database.write() as connection:
                forget_in_feedback(connection, forget_gone(connection, answer_id, lost))

    # --- bytes ---

    def rewritten(self) -> bool:
        """Whether nothing was deleted or replaced since the file was rewritten."""
        statement = select(properties.c.key).where(properties.c.key == DELETED)
        return not self._rows(statement)

    def rewrite(self) -> bool:
        """Write the file, or the server's tables, anew: no byte of deleted rows is left in them.

        SQLite overwrites what it deletes, but where it moved rows between pages before, copies of
        them stay in the gaps. A server keeps what was written in its write-ahead log, replicas and
        backups as well, which nothing here reaches. False when a busy reader needs some of the
        old rows, so that it has to be done again.
        """
        if self.rewritten():
            return True
        if not self._database.rewrite(table.name for table in metadata.sorted_tables):
            return False
        self._run(delete(properties).where(properties.c.key == DELETED))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What went with a user."""

    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    texts: tuple[str, ...] = ()


class AccountForgetting(CataloguePart):
    """Takes users out."""

    def remove(self, user_id: str) -> None:
        """Remove an account with its keys, sessions and grants; what it asked and did stays."""
        with self._database.write() as connection:
            _delete(connection, user_id)

    def forget(self, user_id: str) -> Forgotten:
        """Remove an account and all that it left: questions, answers, feedback, preferences.

        The audit log and the calls of models keep what was done, without whom and from where.
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
    bodies = [shown(kept) for kept in kept_answers(connection, ids).values()]
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
