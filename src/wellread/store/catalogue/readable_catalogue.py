"""The catalogue restricted to what one user may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlalchemy import func, select

from wellread.errors import RequestError
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.collection_records import (
    Collections,
    PastQuestions,
    Vocabularies,
    stamps_of,
)
from wellread.store.catalogue.documents.entity_graph import Graph
from wellread.store.catalogue.documents.integrity import Integrity
from wellread.store.catalogue.documents.listings import DocumentCounts, Listings
from wellread.store.catalogue.documents.name_records import NameRecords
from wellread.store.catalogue.documents.reindexing import Reindexing, Vectors
from wellread.store.catalogue.documents.story_records import Stories
from wellread.store.catalogue.feedback_records import Expiry, FeedbackRecords
from wellread.store.catalogue.forgetting import Forgetting
from wellread.store.catalogue.gap_records import GapLedger
from wellread.store.catalogue.preference_records import CoverageReads, Notices
from wellread.store.catalogue.run_logs import Jobs
from wellread.store.rights import ReadScope, RestrictedDatabase, RestrictedReaders
from wellread.store.schema.stored_values import Feedback, GapStatus
from wellread.store.schema.tables import passages

_SIZE = select(
    func.count(), func.sum(passages.c.end - passages.c.start + func.length(passages.c.context))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """The amount of readable text; ``stamp`` changes with the material."""

    stamp: str
    passages: int
    characters: int


class ReadableCatalogue(Catalogue):
    """Parts on three databases. A new part needs one of: own (the user's answers, sessions and
    runs, writable); material (documents and what is derived from them, read-only); all owners
    (feedback on every answer whose sources the user may read, to learn from).
    """

    def __init__(self, readers: RestrictedReaders, scope: ReadScope) -> None:
        super().__init__(RestrictedDatabase(readers, scope))
        material = RestrictedDatabase(readers, scope, writes=False)
        self.jobs = Jobs(material)
        self.vectors = Vectors(material)
        self.stories = Stories(material)
        self.collection_settings = Collections(material)
        self.reindexing = Reindexing(material)
        self.graph = Graph(material)
        self.integrity = Integrity(material)
        self.forgetting = Forgetting(material)
        self.counts = DocumentCounts(material)
        self.vocabulary = Vocabularies(material)
        self.names = NameRecords(material)
        self.listings = Listings(material)
        self.past_questions = PastQuestions(material)
        self.coverage = CoverageReads(material)
        self.gap_ledger = _OwnGaps(self._database)
        self.notices = _OwnNotices(self._database)
        all_owners = RestrictedDatabase(readers, ReadScope(scope.collections, None))
        records = (FeedbackRecords(self._database), FeedbackRecords(readers.unrestricted))
        self.feedback = _SharedFeedback(all_owners, *records, scope.owner or "")
        self.expiry = Expiry(all_owners)
        self._word_counts: WordCounts | None = None

    def word_counts(self) -> WordCounts:
        """The amount of readable text, counted again only when the material changes."""
        with self._database.read() as connection:
            stamp = str(sorted(stamps_of(connection).items()))
            counts = self._word_counts
            if counts is None or counts.stamp != stamp:
                count, characters = connection.execute(_SIZE).one()
                counts = WordCounts(stamp=stamp, passages=count, characters=int(characters or 0))
                self._word_counts = counts
        return counts

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise RequestError(
            "this view of the material is read-only",
            hint="change the material with a job, or with a command on the server itself",
        )

    commit = record_sources = intend = settle = _refused
    remove_sources = remove_documents = _refused


class _SharedFeedback(FeedbackRecords):
    """Feedback of all users to learn from; lists contain only the user's own.

    Flags for harmful sentences apply to every user, also those who may not read the rated answer:
    such a user gets the hashes of the sentences without their words.
    """

    def __init__(
        self,
        all_owners: RestrictedDatabase,
        own: FeedbackRecords,
        unrestricted: FeedbackRecords,
        owner: str,
    ) -> None:
        super().__init__(all_owners)
        self._own, self._whole, self._owner = own, unrestricted, owner

    def harmful_by(self) -> dict[str, dict[str, str]]:
        """As ``FeedbackRecords.harmful_by``."""
        sentences = super().harmful_by()
        return {
            author: dict.fromkeys(hashes, "") | sentences.get(author, {})
            for author, hashes in self._whole.harmful_hashes().items()
        }

    def list_all(self, *, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        """As ``FeedbackRecords.list_all``."""
        own = [feedback for feedback in self._own.list_all() if feedback.author == self._owner]
        return own[offset:] if limit is None else own[offset : offset + limit]

    def of_answers(self, answer_ids: Iterable[str]) -> dict[str, list[Feedback]]:
        """As ``FeedbackRecords.of_answers``."""
        ids = list(answer_ids)
        return super().of_answers(ids) | self._own.of_answers(ids)

    def count(self) -> int:
        """As ``FeedbackRecords.count``."""
        return len(self.list_all())


class _OwnNotices(Notices):
    """Notices of which only those that the user may read can be changed."""

    def mark_seen(self, notice_ids: list[int]) -> None:
        """As ``Notices.mark_seen``."""
        super().mark_seen(self.known(notice_ids))


class _OwnGaps(GapLedger):
    """Gaps of which only those that the user may read can be changed."""

    def set_status(self, ids: Iterable[int], status: GapStatus) -> int:
        """As ``GapLedger.set_status``."""
        return super().set_status([gap.id for gap in self.of(ids)], status)
