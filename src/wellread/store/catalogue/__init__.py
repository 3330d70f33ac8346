"""The catalogue: the authoritative database of documents, passages, sources, answers and gaps.

It is a SQLite file by default, or a PostgreSQL database by its URL. A search hit counts only when
its passage is live here. Ingest writes the index first and switches the version here last, in one
transaction; rows that the index may hold wrongly are recorded as ``pending`` until that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, inspect, text

from wellread.errors import DamageError
from wellread.store.base import IndexKey
from wellread.store.catalogue import document_writes, gap_records
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.catalogue.answer_figures import AnswerFigures, CounterRecords, QuestionCounts
from wellread.store.catalogue.asking import answer_records, research_records
from wellread.store.catalogue.asking.answer_records import AnswerCache, Sessions
from wellread.store.catalogue.asking.research_records import ResearchRuns
from wellread.store.catalogue.conversion import OLD_SCHEMAS, convert
from wellread.store.catalogue.documents import collection_records, lookup
from wellread.store.catalogue.documents.collection_records import (
    Collections,
    PastQuestions,
    Vocabularies,
)
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.integrity import Integrity
from wellread.store.catalogue.documents.listings import Listings
from wellread.store.catalogue.documents.name_records import NameRecords
from wellread.store.catalogue.documents.reindexing import (
    Reindexing,
    Vectors,
    pending_writes,
    plan_writes,
    settle,
)
from wellread.store.catalogue.documents.story_records import Stories
from wellread.store.catalogue.feedback_records import Expiry, FeedbackRecords
from wellread.store.catalogue.forgetting import AccountForgetting, Forgetting
from wellread.store.catalogue.gap_records import GapLedger
from wellread.store.catalogue.preference_records import CoverageReads, PreferenceRecords
from wellread.store.catalogue.run_logs import Calls, Jobs
from wellread.store.rights import RestrictedReaders
from wellread.store.schema.database import (
    CataloguePart,
    Database,
    check_known,
    reading,
    upgrade,
    writing,
)
from wellread.store.schema.postgresql import size
from wellread.store.schema.stored_values import VersionKey
from wellread.store.schema.tables import HEAD
from wellread.values.reports import Report

REPAIR = "run 'wellread verify --repair' to restore them from a backup, if there is one"
CURRENT = text("SELECT version_num FROM alembic_version")  # Alembic's own table


P = TypeVar("P", covariant=True)


class Part(Generic[P]):
    """A part of the catalogue on one of its databases (``Catalogue``), made on first use."""

    def __init__(self, kind: Callable[[Any], P], database: str = "_database") -> None:
        self._kind, self._source = kind, database

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, catalogue: Catalogue, _owner: type) -> P:
        made = self._kind(getattr(catalogue, self._source))
        # Python reads the attribute from now on. Of two threads the first one's part stays.
        part: P = vars(catalogue).setdefault(self._name, made)
        return part


class Catalogue(CataloguePart):
    """All parts of the catalogue. Thread-safe; every method raises StoreError on failure.

    The three databases of the parts differ only for a user with limited rights: the user's own
    (answers, sessions and runs, writable), ``material`` (documents and what is derived from them,
    read-only) and ``everybody`` (feedback on every answer whose sources the user may read).
    """

    jobs = Part(Jobs, "material")
    vectors = Part(Vectors, "material")
    stories = Part(Stories, "material")
    collection_settings = Part(Collections, "material")
    reindexing = Part(Reindexing, "material")
    graph = Part(Graph, "material")
    integrity = Part(Integrity, "material")
    forgetting = Part(Forgetting, "material")
    vocabulary = Part(Vocabularies, "material")
    names = Part(NameRecords, "material")
    listings = Part(Listings, "material")
    past_questions = Part(PastQuestions, "material")
    coverage = Part(CoverageReads, "material")
    calls = Part(Calls)
    answer_cache = Part(AnswerCache)
    sessions = Part(Sessions)
    research = Part(ResearchRuns)
    feedback = Part(FeedbackRecords)
    expiry = Part(Expiry, "everybody")
    figures = Part(AnswerFigures)
    counters = Part(CounterRecords)
    gap_ledger = Part(GapLedger)
    question_counts = Part(QuestionCounts)
    preferences = Part(PreferenceRecords)
    accounts = Part(Accounts)
    forgetting_users = Part(AccountForgetting)

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.material = self.everybody = database

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        new: bool = True,
        before_upgrade: Callable[[], object] = lambda: None,
    ) -> Catalogue:
        """Open the catalogue in a file or at a database URL; create or upgrade it when needed."""
        database = Database(where)
        try:
            with database.alone():
                _bring_up_to_date(database, new, before_upgrade)
        except BaseException:
            database.close()
            raise
        return cls(database)

    @cached_property
    def readers(self) -> RestrictedReaders:
        """Connections for users who may not read everything."""
        return RestrictedReaders(self._database)

    def close(self) -> None:
        """Close all connections."""
        if "readers" in vars(self):
            self.readers.close()
        self._database.close()

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A read transaction over the current content, for copying all of it."""
        return self._database.read()

    def check_files(self) -> None:
        """Raise when the database's files were replaced or removed since it was opened."""
        self._database.check_files()

    def size_on_server(self) -> int:
        """The size of the tables on a server in bytes; 0 for a file, which is in the home."""
        if self._database.path:
            return 0
        with self._database.read() as connection:
            return size(connection)

    # --- sources and documents ---

    sources = reading(collection_records.source_records)
    source = reading(collection_records.source_record)
    known_sources = reading(collection_records.known_sources)
    troubled_sources = reading(collection_records.failed_sources)
    record_sources = writing(collection_records.record_sources)

    def remove_sources(self, collection: str, uris: Iterable[str]) -> list[VersionKey]:
        """Delete sources with their documents; return the versions whose index rows must go.

        Answers that cite them become stale and lose their quotations.
        """
        names = list(uris)
        with self._database.write() as connection:
            versions = collection_records.documents_of_sources(connection, collection, names)
            document_writes.delete_documents(connection, versions)
            collection_records.delete_sources(connection, collection, names)
        self._database.forget_deleted()
        return list(versions.items())

    commit = writing(document_writes.commit_changes)
    move_sources = writing(document_writes.move_sources)

    def remove_documents(self, document_ids: Iterable[str]) -> list[VersionKey]:
        """Delete single documents, as ``remove_sources`` does."""
        with self._database.write() as connection:
            versions = lookup.live_versions(connection, document_ids)
            origins = collection_records.origins(connection, versions)
            document_writes.delete_documents(connection, versions)
            collection_records.mark_emptied_skipped(connection, origins)
        self._database.forget_deleted()
        return list(versions.items())

    live_versions = reading(lookup.live_versions)
    changed_at = reading(lookup.changed_at)
    live_hashes = reading(lookup.live_hashes)
    facts = reading(lookup.facts)
    document = reading(lookup.document)
    documents = reading(lookup.list_documents)
    texts = reading(lookup.span_texts)
    marks = reading(lookup.all_marks)
    marks_over = reading(lookup.span_marks)

    def document_ids(self) -> Iterator[str]:
        """The id of every document, streamed from one snapshot."""
        return (document_id for (document_id,) in self._stream(lookup.EVERY_DOCUMENT))

    # --- passages ---

    live_passages = reading(lookup.whole_passages)
    passages_of = reading(lookup.passages_of)
    neighbours = reading(lookup.neighbours)

    def passage_keys(self) -> Iterator[IndexKey]:
        """The key of every live passage, streamed from one snapshot."""
        for row in self._stream(lookup.EVERY_PASSAGE):
            yield IndexKey(passage_id=row.id, document_id=row.document_id, version=row.version)

    # --- index rows that are surplus or missing ---

    intend = writing(plan_writes)
    pending = reading(pending_writes)
    settle = writing(settle)

    # --- overviews, answers, gaps ---

    collection_names = reading(collection_records.collection_names)

    record_answer = writing(answer_records.record_answer)
    answer = reading(answer_records.find_answer)
    answers = reading(answer_records.list_answers)
    record_gap = writing(gap_records.record_gap)
    gaps = reading(gap_records.list_gaps)

    def finish_research(
        self, run_id: str, report: Report, lacks: gap_records.Filing, read: Iterable[str] = ()
    ) -> None:
        """Store the report of a run, its answer and its gap in one transaction.

        So a run that died here and is resumed files its gap only once.
        """
        answer = report.answer
        with self._database.write() as connection:
            answer_records.record_answer(connection, answer, read)
            if answer.data_gaps:
                reason = "; ".join(answer.data_gaps)
                gap_records.record_gap(connection, report.plan.question, reason, **lacks)
            research_records.finish_run(connection, run_id, report)


def _bring_up_to_date(database: Database, new: bool, before_upgrade: Callable[[], object]) -> None:
    with database.read() as connection:
        has_version = inspect(connection).has_table("alembic_version")
        current = connection.execute(CURRENT).scalar() if has_version else None
    if current == HEAD:
        return
    if current is None and not new:
        raise DamageError("the catalogue's tables are missing", hint=REPAIR)
    if current is not None:
        if current not in OLD_SCHEMAS:
            check_known(current)
        before_upgrade()
    with database.setting_up() as connection:
        if current in OLD_SCHEMAS:
            convert(connection, current)
        else:
            upgrade(connection)
