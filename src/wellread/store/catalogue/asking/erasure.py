"""Making deletes true: words in answers, and bytes that a database keeps of deleted rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import delete, exists, func, select, update

from wellread.store.catalogue.asking.answer_facts_records import forget_read
from wellread.store.catalogue.asking.answer_removal import (
    forget_gone,
    forget_words,
    quoting_gone,
    stored_texts,
    titles_of,
    without_words,
)
from wellread.store.catalogue.asking.answer_rows import NAMED, forget_cached
from wellread.store.catalogue.asking.feedback_words import forget_in_feedback
from wellread.store.catalogue.asking.removed_words import RemovedWords
from wellread.store.catalogue.documents.collection_records import documents_of_sources, touch
from wellread.store.catalogue.documents.index_debts import DELETED, note_deletion
from wellread.store.schema.database import CataloguePart, chunks, reading
from wellread.store.schema.tables import (
    answer_citations,
    answers,
    collections,
    documents,
    jobs,
    metadata,
    properties,
    sources,
    stories,
)


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
        with self._database.read() as connection:
            looked_at = without_words(connection, removed) if removed else {}
        with self._database.write() as connection:
            forget_in_feedback(connection, removed)
            return forget_words(connection, removed, titles, looked_at)

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
