"""Removes all traces of deleted documents and users from answers, feedback, gaps and logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, exists, func, select, update

from wellread.errors import RequestError
from wellread.store.catalogue.accounts.user_records import check_admin_left
from wellread.store.catalogue.asking.answer_removal import (
    RemovedWords,
    delete_answers,
    quoting_removed,
    redact_answers,
    stored_texts,
)
from wellread.store.catalogue.asking.answer_rows import MENTIONED, forget_cached, forget_collection
from wellread.store.catalogue.documents.collection_records import documents_of_sources, touch
from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.catalogue.documents.reindexing import DELETED, note_deletion
from wellread.store.catalogue.feedback_records import note_change, redact_feedback
from wellread.store.catalogue.gap_records import redact_gaps
from wellread.store.schema.database import CataloguePart, chunks, reading, rows_in, writing
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
    preferences,
    properties,
    research_runs,
    sessions,
    sources,
    stories,
    users,
)


def redact_everywhere(
    connection: Connection, removed: RemovedWords, gone: Mapping[str, str]
) -> None:
    """Redact removed documents, given as titles by id, in answers, feedback and gaps."""
    statement = select(documents.c.title).where(documents.c.title.in_(VALUES))
    remaining = {row.title for row in rows_in(connection, statement, gone.values())}
    titles = set(gone.values()) - remaining
    redact_answers(connection, removed, gone, titles)
    redact_feedback(connection, removed)
    redact_gaps(connection, removed, titles)


class Forgetting(CataloguePart):
    """Finds and removes the traces of deleted documents."""

    # --- words ---

    def texts(self, document_ids: Collection[str]) -> list[str]:
        """The texts of documents, and the quotations of their older versions in answers."""
        with self._database.read() as connection:
            return list(stored_texts(connection, document_ids))

    # --- collections ---

    def has_collection(self, collection: str) -> bool:
        """Whether the collection has documents, sources or settings."""
        queries = (
            select(documents.c.id).where(documents.c.collection == collection),
            select(sources.c.uri).where(sources.c.collection == collection),
            select(collections.c.name).where(collections.c.name == collection),
        )
        return any(self._rows(query.limit(1)) for query in queries)

    def documents_of_sources(self, collection: str, uris: Iterable[str]) -> list[str]:
        """The ids of the documents that come from these sources."""
        with self._database.read() as connection:
            return list(documents_of_sources(connection, collection, uris))

    def collection(self, name: str) -> None:
        """Delete everything stored of a collection except its documents."""
        with self._database.write() as connection:
            columns = (sources.c.collection, stories.c.collection, collections.c.name)
            for column in columns:
                connection.execute(delete(column.table).where(column == name))
            rules = properties.c.key == f"stories/{name}"  # by which its stories were made
            connection.execute(delete(properties).where(rules))
            touch(connection, [name])
            forget_collection(connection, name)
            ended = jobs.c.state != "running"
            connection.execute(delete(jobs).where(jobs.c.collection == name, ended))
            note_deletion(connection)

    def stale_answers(self) -> int:
        """The number of answers whose sources have changed or were removed."""
        return int(self._values(select(func.count()).where(answers.c.stale.is_(True)))[0])

    # --- answers whose sources are not live ---

    def fresh_but_outdated(self) -> list[str]:
        """The ids of answers that cite versions which are not live, but are not marked stale."""
        live = exists().where(
            documents.c.id == answer_citations.c.document_id,
            documents.c.version == answer_citations.c.version,
        )
        statement = (
            select(answers.c.id)
            .join(answer_citations, answer_citations.c.answer_id == answers.c.id)
            .where(answers.c.stale.is_(False), ~live, answer_citations.c.version != MENTIONED)
            .distinct()
            .order_by(answers.c.id)
        )
        return self._values(statement)

    def mark_stale(self, answer_ids: Iterable[str]) -> None:
        """Mark answers as stale and remove them from the answer cache."""
        with self._database.write() as connection:
            for ids in chunks(answer_ids):
                connection.execute(update(answers).where(answers.c.id.in_(ids)).values(stale=True))
                forget_cached(connection, ids)

    quoting_removed = reading(quoting_removed)

    def forget_quotes(self) -> None:
        """Redact the documents that were removed but are still quoted by answers."""
        ids = {document_id for lost in self.quoting_removed().values() for document_id in lost}
        quotes = select(answer_citations.c.quote).where(answer_citations.c.document_id.in_(VALUES))
        with self._database.write() as connection:
            removed = RemovedWords(row.quote for row in rows_in(connection, quotes, ids))
            redact_everywhere(connection, removed, dict.fromkeys(ids, ""))

    # --- bytes ---

    def rewritten(self) -> bool:
        """Whether nothing was deleted or replaced since the last rewrite."""
        return not self._rows(select(properties.c.key).where(properties.c.key == DELETED))

    def rewrite(self) -> bool:
        """Rewrite the file, or the server's tables, so that no bytes of deleted rows remain.

        SQLite overwrites deleted rows, but if it moved rows between pages before, copies remain in
        unused space. A server's write-ahead log, replicas and backups also contain deleted rows,
        and cannot be cleaned here. Return False when an active reader still needs old rows, so that
        the rewrite has to be repeated.
        """
        if self.rewritten():
            return True
        if not self._database.rewrite(table.name for table in metadata.sorted_tables):
            return False
        self._run(delete(properties).where(properties.c.key == DELETED))
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenUser:
    """The numbers of items deleted with a user, and the texts that the user had written."""

    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    texts: tuple[str, ...] = ()


def _delete_account(connection: Connection, user_id: str) -> None:
    """Remove an account with its keys, sign-ins and grants; answers and log entries stay."""
    connection.execute(delete(users).where(users.c.id == user_id))
    check_admin_left(connection)
    note_deletion(connection)


class AccountForgetting(CataloguePart):
    """Removes users, with or without what they asked and wrote."""

    remove = writing(_delete_account)

    def forget(self, user_id: str) -> ForgottenUser:
        """Remove an account with its questions, answers, feedback and preferences.

        The audit log keeps what was done, without the user and the address.
        """
        if not user_id:
            raise RequestError("no user id was given")
        with self._database.write() as connection:
            name = connection.execute(select(users.c.name).where(users.c.id == user_id)).scalar()
            texts = [*_written_texts(connection, user_id), name or ""]
            _delete_account(connection, user_id)
            is_owner = select(answers.c.id).where(answers.c.owner == user_id)
            answer_ids = connection.execute(is_owner).scalars().all()
            delete_answers(connection, user_id, answer_ids)
            statement = delete(sessions).where(sessions.c.owner == user_id)
            conversations = connection.execute(statement).rowcount
            statement = delete(feedback).where(feedback.c.author == user_id)
            ratings = connection.execute(statement).rowcount
            for table in (research_runs, gaps, preferences):
                connection.execute(delete(table).where(table.c.owner == user_id))
            entries = _redact_log(connection, user_id)
            note_change(connection)
            note_deletion(connection)
        self._database.forget_deleted()
        return ForgottenUser(
            answers=len(answer_ids),
            conversations=conversations,
            feedback=ratings,
            entries=entries,
            texts=tuple(filter(None, texts)),
        )


def _written_texts(connection: Connection, user_id: str) -> Sequence[str]:
    """The questions and feedback texts that this user wrote."""
    questions = select(answers.c.question).where(answers.c.owner == user_id)
    bodies = select(feedback.c.body).where(feedback.c.author == user_id)
    texts = list(connection.execute(questions).scalars())
    for body in connection.execute(bodies).scalars():
        texts += [str(body.get(name) or "") for name in ("comment", "correction")]
    return texts


def _redact_log(connection: Connection, user_id: str) -> int:
    """Remove a user from the entries of the audit log; return the number of own entries."""
    nameless = {"user_id": REMOVED, "key_id": "", "address": "", "answer_id": ""}
    update_own = update(audit).where(audit.c.user_id == user_id).values(**nameless)
    redacted = func.replace(audit.c.target, user_id, REMOVED)
    update_target = update(audit).where(audit.c.target.contains(user_id)).values(target=redacted)
    entries = connection.execute(update_own).rowcount
    connection.execute(update_target)
    return entries
