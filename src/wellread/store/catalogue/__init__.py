"""The catalogue: the truth about documents, passages, sources, answers and gaps.

SQLite in a file by default, any PostgreSQL by its URL. A search hit counts only when its passage
is live here. Ingest writes the index first and flips the version here last, in one transaction;
what the index may hold too much of is written down before and settled after (``pending``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from wellread.errors import DamageError
from wellread.store.base import IndexKey
from wellread.store.catalogue import document_writes, gap_records
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.catalogue.answer_figures import (
    AnswerFigures,
    CounterRecords,
    QuestionCounts,
)
from wellread.store.catalogue.asking import answer_records, research_records
from wellread.store.catalogue.asking.answer_records import AnswerCache, Sessions
from wellread.store.catalogue.asking.research_records import ResearchRuns
from wellread.store.catalogue.conversion import OLD, convert
from wellread.store.catalogue.documents import collection_records, lookup, reindexing
from wellread.store.catalogue.documents.collection_records import (
    Collections,
    PastQuestions,
    Vocabularies,
)
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.integrity import Integrity
from wellread.store.catalogue.documents.listings import Censuses, Listings
from wellread.store.catalogue.documents.name_records import NameRecords
from wellread.store.catalogue.documents.reindexing import Reindexing, Vectors
from wellread.store.catalogue.documents.story_records import Stories
from wellread.store.catalogue.feedback_records import Expiry, FeedbackRecords
from wellread.store.catalogue.forgetting import AccountForgetting, Forgetting
from wellread.store.catalogue.gap_records import GapLedger
from wellread.store.catalogue.preference_records import (
    CoverageReads,
    Notices,
    PreferenceRecords,
)
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

REPAIR = "'wellread verify --repair' says what can be done"
CURRENT = text("SELECT version_num FROM alembic_version")  # Alembic's own table


class Catalogue(CataloguePart):
    """Open it once and share it between threads. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
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
        self.names = NameRecords(database)
        self.listings = Listings(database)
        self.past_questions = PastQuestions(database)
        self.calls = Calls(database)
        self.answer_cache = AnswerCache(database)
        self.sessions = Sessions(database)
        self.research = ResearchRuns(database)
        self.feedback = FeedbackRecords(database)
        self.expiry = Expiry(database)
        self.notices = Notices(database)
        self.figures = AnswerFigures(database)
        self.counters = CounterRecords(database)
        self.gap_ledger = GapLedger(database)
        self.question_counts = QuestionCounts(database)
        self.coverage = CoverageReads(database)
        self.preferences = PreferenceRecords(database)
        self.accounts = Accounts(database)
        self.forgetting_users = AccountForgetting(database)

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        new: bool = True,
        before_upgrade: Callable[[], object] = lambda: None,
    ) -> Catalogue:
        """The catalogue in a file or at a database URL; made or upgraded when needed."""
        database = Database(where)
        try:
            with database.alone():
                _bring_up_to_date(database, new, before_upgrade)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def restricted_readers(self) -> RestrictedReaders:
        """Connections for askers who may not read everything; the caller closes them."""
        return RestrictedReaders(self._database)

    def close(self) -> None:
        """Give all connections back."""
        self._database.close()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Everything as it is now, for whoever copies the whole."""
        with self._database.read() as connection:
            yield connection

    def check_files(self) -> None:
        """Refuse to go on when its files are not those at their paths any more."""
        self._database.check_files()

    def size_on_server(self) -> int:
        """Bytes of its tables on a server; 0 for a file, which is in the home."""
        if self._database.path:
            return 0
        with self._database.read() as connection:
            return size(connection)

    # --- sources and documents ---

    sources = reading(collection_records.source_records)
    source = reading(collection_records.source_record)
    known_sources = reading(collection_records.known_sources)
    troubled_sources = reading(collection_records.troubled_sources)
    record_sources = writing(collection_records.record_sources)

    def remove_sources(self, collection: str, uris: Iterable[str]) -> list[VersionKey]:
        """Delete sources with their documents; the versions whose index rows are to go.

        Answers that rest on them become stale and lose what they quoted.
        """
        names = list(uris)
        with self._database.write() as connection:
            gone = collection_records.documents_of_sources(connection, collection, names)
            document_writes.delete_documents(connection, gone)
            collection_records.delete_sources(connection, collection, names)
        self._database.forget_deleted()
        return list(gone.items())

    commit = writing(document_writes.commit_changes)

    def remove_documents(self, document_ids: Iterable[str]) -> list[VersionKey]:
        """Delete single documents, as ``remove_sources`` does."""
        with self._database.write() as connection:
            gone = lookup.live_versions(connection, document_ids)
            origins = collection_records.origins(connection, gone)
            document_writes.delete_documents(connection, gone)
            collection_records.leave_out_emptied(connection, origins)
        self._database.forget_deleted()
        return list(gone.items())

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
        return (known for (known,) in self._stream(lookup.EVERY_DOCUMENT))

    # --- passages ---

    live_passages = reading(lookup.whole_passages)
    passages_of = reading(lookup.passages_of)
    openings_of = reading(lookup.openings_of)
    neighbours = reading(lookup.neighbours)

    def passage_keys(self) -> Iterator[IndexKey]:
        """The key of every live passage, streamed from one snapshot."""
        for row in self._stream(lookup.EVERY_PASSAGE):
            yield IndexKey(passage_id=row.id, document_id=row.document_id, version=row.version)

    # --- what the index may hold too much of, or still lacks ---

    intend = writing(reindexing.plan_writes)
    pending = reading(reindexing.pending_writes)
    settle = writing(reindexing.settle)

    # --- overviews, answers, gaps ---

    collection_names = reading(collection_records.collection_names)
    stats = reading(collection_records.kind_counts)
    record_answer = writing(answer_records.record_answer)
    answer = reading(answer_records.find_answer)
    answers = reading(answer_records.list_answers)
    record_gap = writing(gap_records.record_gap)
    gaps = reading(gap_records.list_gaps)

    def finish_research(
        self,
        run_id: str,
        report: Report,
        lacks: gap_records.Filing,
        read: Iterable[str] = (),
    ) -> None:
        """Keep the report of a run, its answer and what that lacks, all or nothing.

        So whoever goes on with a run that died here files its gap once.
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
        there = inspect(connection).has_table("alembic_version")
        current = connection.execute(CURRENT).scalar() if there else None
    if current == HEAD:
        return
    if current is None and not new:
        raise DamageError("the catalogue's tables are gone", hint=REPAIR)
    if current is not None:
        if current not in OLD:
            check_known(current)
        before_upgrade()
    with database.setting_up() as connection:
        if current in OLD:
            convert(connection, current)
        else:
            upgrade(connection)
