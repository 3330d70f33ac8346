"""The catalogue: the truth about documents, passages, sources, answers and gaps.

SQLite in a file by default, any PostgreSQL by its URL. A search hit counts only when its passage
is live here. Ingest writes the index first and flips the version here last, in one transaction;
what the index may hold too much of is written down before and settled after (``pending``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import bindparam, delete, insert, inspect, select, text, update

from wellread.answers import Answer
from wellread.codec import from_plain, to_plain
from wellread.store.base import Fingerprint, IndexKey
from wellread.store.catalogue import document_writes
from wellread.store.catalogue.asking import answer_records
from wellread.store.catalogue.asking.erasure import Forgetting
from wellread.store.catalogue.asking.past_answers import AnswerCache, Sessions
from wellread.store.catalogue.documents import index_debts, lookup, source_records
from wellread.store.catalogue.documents.aggregates import Censuses
from wellread.store.catalogue.documents.index_debts import Vectors
from wellread.store.catalogue.documents.integrity import Integrity
from wellread.store.catalogue.documents.listings import Listings, PastQuestions
from wellread.store.catalogue.documents.reindexing import Reindexing
from wellread.store.catalogue.documents.vocabularies import Collections, Vocabularies
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.run_logs import Calls, Jobs
from wellread.store.catalogue.stories.story_records import Stories
from wellread.store.schema.catalogue_values import (
    CollectionFacts,
    Gap,
    KindCount,
    PassageRow,
    PendingWrite,
    SourceChange,
    SourceRecord,
    StoredAnswer,
    VersionKey,
)
from wellread.store.schema.database import Database, upgrade
from wellread.store.schema.document_tables import HEAD, properties, sources
from wellread.types import Document, DocumentFacts, Mark, Passage, Span

FINGERPRINT = "fingerprint"
MANY = 1_000_000_000
CURRENT = text("SELECT version_num FROM alembic_version")  # Alembic's own table


class Catalogue:
    """Open it once and share it between threads. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.jobs = Jobs(database)
        self.vectors = Vectors(database)
        self.stories = Stories(database)
        self.collection_settings = Collections(database)
        self.reindexing = Reindexing(database)
        self.graph = Graph(database)
        self.integrity = Integrity(database)
        self.forgetting = Forgetting(database)
        self.censuses = Censuses(database)
        self.vocabulary = Vocabularies(database)
        self.listings = Listings(database)
        self.past_questions = PastQuestions(database)
        self.calls = Calls(database)
        self.answer_cache = AnswerCache(database)
        self.sessions = Sessions(database)

    @classmethod
    def open(cls, where: str | Path) -> Catalogue:
        """The catalogue in a file or at a database URL; made or upgraded when needed."""
        database = Database(where)
        with database.alone(), database.write() as connection:
            there = inspect(connection).has_table("alembic_version")
            current = connection.execute(CURRENT).scalar() if there else None
            if current != HEAD:
                database.lock_schema(connection)
                upgrade(connection)
        return cls(database)

    def close(self) -> None:
        """Give all connections back."""
        self._database.close()

    # --- sources ---

    def sources(self, collection: str) -> dict[str, SourceRecord]:
        """Uri to what is known of each source of the collection."""
        with self._database.read() as connection:
            return source_records.source_records(connection, collection)

    def record_source(self, record: SourceRecord) -> None:
        """Keep what was seen of one source, without a change of its documents."""
        self.record_sources([record])

    def record_sources(self, records: Sequence[SourceRecord]) -> None:
        """``record_source`` for many, in one transaction."""
        with self._database.write() as connection:
            source_records.record_sources(connection, records)

    def touch(self, collection: str, uris: Iterable[str]) -> None:
        """These sources were seen just now and are unchanged."""
        now = datetime.now(UTC)
        keys = [{"c": collection, "u": uri} for uri in uris]
        if not keys:
            return
        statement = (
            update(sources)
            .where(sources.c.collection == bindparam("c"), sources.c.uri == bindparam("u"))
            .values(seen_at=now, status="unchanged")
        )
        with self._database.write() as connection:
            connection.execute(statement, keys)

    # --- writing documents ---

    def intend(self, keys: Sequence[VersionKey], run: str = "") -> None:
        """Index rows of these versions are about to be written; committed when it returns."""
        with self._database.write() as connection:
            index_debts.plan_writes(connection, keys, run)

    def pending(self) -> list[PendingWrite]:
        """Index rows that may be there and should not, or may be half there."""
        with self._database.read() as connection:
            return index_debts.pending_writes(connection)

    def settle(self, keys: Sequence[VersionKey]) -> None:
        """The index holds what it should of these versions."""
        with self._database.write() as connection:
            index_debts.settle(connection, keys)

    def commit(self, changes: Sequence[SourceChange]) -> None:
        """Flip whole sources to their new content, in one transaction.

        Documents that a source yielded before and no more are deleted. The write intents of the
        new versions are settled; replaced and deleted versions become pending removals; answers
        that rest on them become stale.
        """
        with self._database.write() as connection:
            document_writes.commit_changes(connection, changes)

    def remove_sources(self, collection: str, uris: Iterable[str]) -> list[VersionKey]:
        """Delete sources with their documents; the versions whose index rows are to go.

        Answers that rest on them become stale and lose what they quoted.
        """
        names = list(uris)
        with self._database.write() as connection:
            gone = source_records.documents_of_sources(connection, collection, names)
            document_writes.delete_documents(connection, gone)
            source_records.delete_sources(connection, collection, names)
        self._database.forget_deleted()
        return list(gone.items())

    def remove_documents(self, document_ids: Iterable[str]) -> list[VersionKey]:
        """Delete single documents, as ``remove_sources`` does."""
        with self._database.write() as connection:
            gone = lookup.live_versions(connection, document_ids)
            origins = source_records.origins(connection, gone)
            document_writes.delete_documents(connection, gone)
            source_records.leave_out_emptied(connection, origins)
        self._database.forget_deleted()
        return list(gone.items())

    # --- reading documents ---

    def live_versions(self, document_ids: Iterable[str]) -> dict[str, str]:
        """Document id to live version; unknown documents are left out."""
        with self._database.read() as connection:
            return lookup.live_versions(connection, document_ids)

    def live_hashes(self, document_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Document id to (version, hash of its facts): what an unchanged document has equal."""
        with self._database.read() as connection:
            return lookup.live_hashes(connection, document_ids)

    def document_ids(self) -> Iterator[str]:
        """The id of every document, streamed from one snapshot."""
        with self._database.read() as connection:
            yield from lookup.document_ids(connection)

    def facts(self, document_ids: Iterable[str]) -> dict[str, DocumentFacts]:
        """Document id to its facts; unknown documents are left out."""
        with self._database.read() as connection:
            return lookup.facts(connection, document_ids)

    def document(self, document_id: str) -> Document | None:
        """The whole document with its text and marks, or None."""
        with self._database.read() as connection:
            return lookup.document(connection, document_id)

    def documents(self, collection: str, limit: int = MANY, offset: int = 0) -> list[DocumentFacts]:
        """Facts of a collection's documents, by uri."""
        with self._database.read() as connection:
            return lookup.list_documents(connection, collection, limit, offset)

    def find(self, collection: str, uri: str) -> DocumentFacts | None:
        """Facts of the document known by (collection, uri), or None."""
        with self._database.read() as connection:
            return lookup.find(connection, collection, uri)

    def texts(self, spans: Sequence[tuple[str, Span]]) -> list[str]:
        """The text of each (document id, span), of the document's live version.

        Raises:
            StoreError: a document is not there (any more).
        """
        with self._database.read() as connection:
            return lookup.span_texts(connection, spans)

    def marks(self, document_ids: Iterable[str]) -> dict[str, tuple[Mark, ...]]:
        """Document id to its marks; unknown documents are left out."""
        with self._database.read() as connection:
            return lookup.all_marks(connection, document_ids)

    def marks_over(self, spans: Sequence[tuple[str, Span]]) -> list[tuple[Mark, ...]]:
        """The marks that each (document id, span) needs to be located; far cheaper than all."""
        with self._database.read() as connection:
            return lookup.span_marks(connection, spans)

    # --- reading passages ---

    def live_passages(self, passage_ids: Iterable[str]) -> dict[str, Passage]:
        """Passage id to passage with its text, in one query; only live ones are there."""
        with self._database.read() as connection:
            return lookup.whole_passages(connection, passage_ids)

    def passages(self, document_id: str) -> list[PassageRow]:
        """All passages of a document, in reading order."""
        with self._database.read() as connection:
            return lookup.passage_rows(connection, document_id)

    def passages_of(self, document_ids: Iterable[str]) -> list[Passage]:
        """All passages of documents with their texts, in reading order document by document."""
        with self._database.read() as connection:
            return lookup.passages_of(connection, document_ids)

    def neighbours(self, passage_id: str, before: int, after: int) -> list[Passage]:
        """The passage with those around it, in reading order; empty when it is not live."""
        with self._database.read() as connection:
            return lookup.neighbours(connection, passage_id, before, after)

    def passage_keys(self) -> Iterator[IndexKey]:
        """The key of every live passage, streamed from one snapshot."""
        with self._database.read() as connection:
            yield from lookup.passage_keys(connection)

    # --- overviews ---

    def entity_names(self, collections: Iterable[str]) -> dict[str, str]:
        """Case-folded id, title or alias of each entity in the collections to its id."""
        with self._database.read() as connection:
            return source_records.entity_names(connection, collections)

    def collection_names(self) -> list[str]:
        """The name of every collection, sorted; far cheaper than with its counts."""
        with self._database.read() as connection:
            return source_records.collection_names(connection)

    def collections(self) -> list[CollectionFacts]:
        """Every collection with its counts, by name."""
        with self._database.read() as connection:
            return source_records.collection_facts(connection)

    def stats(self) -> list[KindCount]:
        """Counts of every kind in every collection."""
        with self._database.read() as connection:
            return source_records.kind_counts(connection)

    # --- answers and gaps ---

    def record_answer(self, answer: Answer) -> None:
        """Keep an answer with what it rests on; one of the same id is replaced."""
        with self._database.write() as connection:
            answer_records.record_answer(connection, answer)

    def answer(self, answer_id: str) -> Answer | None:
        """The whole answer, or None."""
        with self._database.read() as connection:
            return answer_records.find_answer(connection, answer_id)

    def answers(self, limit: int = 100) -> list[StoredAnswer]:
        """Facts about the newest answers, newest first."""
        with self._database.read() as connection:
            return answer_records.list_answers(connection, limit)

    def record_gap(self, question: str, reason: str) -> None:
        """Keep a question that could not be answered."""
        with self._database.write() as connection:
            answer_records.record_gap(connection, question, reason)

    def gaps(self, limit: int = 1_000) -> list[Gap]:
        """The newest gaps, newest first."""
        with self._database.read() as connection:
            return answer_records.list_gaps(connection, limit)

    # --- properties ---

    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of the index that is in use; None before the first ingest."""
        with self._database.read() as connection:
            statement = select(properties.c.value).where(properties.c.key == FINGERPRINT)
            value = connection.execute(statement).scalar()
        return from_plain(Fingerprint, value) if value is not None else None

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Use the index of ``fingerprint`` from now on."""
        with self._database.write() as connection:
            connection.execute(delete(properties).where(properties.c.key == FINGERPRINT))
            row = {"key": FINGERPRINT, "value": to_plain(fingerprint)}
            connection.execute(insert(properties), row)
