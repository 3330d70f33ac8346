"""The catalogue as one asker with limited rights has it."""

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
from wellread.store.catalogue.documents.listings import Censuses, Listings
from wellread.store.catalogue.documents.name_records import NameRecords
from wellread.store.catalogue.documents.reindexing import Reindexing, Vectors
from wellread.store.catalogue.documents.story_records import Stories
from wellread.store.catalogue.feedback_records import Expiry, FeedbackRecords
from wellread.store.catalogue.forgetting import Forgetting
from wellread.store.catalogue.gap_records import GapLedger
from wellread.store.catalogue.preference_records import CoverageReads, Notices
from wellread.store.catalogue.run_logs import Jobs
from wellread.store.rights import (
    Reads,
    RestrictedDatabase,
    RestrictedReaders,
)
from wellread.store.schema.stored_values import Feedback, GapStatus
from wellread.store.schema.tables import passages

_SIZE = select(
    func.count(),
    func.sum(passages.c.end - passages.c.start + func.length(passages.c.context)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """How much text there is, as far as it may be read."""

    stamp: str
    passages: int
    characters: int


class ReadableCatalogue(Catalogue):
    """What an asker may read: the material of some collections, and what is the asker's own.

    What experts said of answers is learned from for everybody who may read all that they rest on.
    What is written is the asker's own; the material is not written.
    """

    def __init__(self, readers: RestrictedReaders, own: Reads) -> None:
        super().__init__(RestrictedDatabase(readers, own))
        material = RestrictedDatabase(readers, own, writes=False)
        self.jobs = Jobs(material)
        self.vectors = Vectors(material)
        self.stories = Stories(material)
        self.collection_settings = Collections(material)
        self.reindexing = Reindexing(material)
        self.graph = Graph(material)
        self.integrity = Integrity(material)
        self.forgetting = Forgetting(material)
        self.censuses = Censuses(material)
        self.vocabulary = Vocabularies(material)
        self.names = NameRecords(material)
        self.listings = Listings(material)
        self.past_questions = PastQuestions(material)
        self.coverage = CoverageReads(material)
        self.gap_ledger = _OwnGaps(self._database)
        self.notices = _OwnNotices(self._database)
        everybody = RestrictedDatabase(readers, Reads(own.collections, None))
        records = (FeedbackRecords(self._database), FeedbackRecords(readers.whole))
        self.feedback = _SharedFeedback(everybody, *records, own.owner or "")
        self.expiry = Expiry(everybody)
        self._counted: WordCounts | None = None

    def word_counts(self) -> WordCounts:
        """How much text may be read; counted once as long as the material stays the same."""
        with self._database.read() as connection:
            stamp = str(sorted(stamps_of(connection).items()))
            known = self._counted
            if known is None or known.stamp != stamp:
                count, characters = connection.execute(_SIZE).one()
                known = WordCounts(stamp=stamp, passages=count, characters=int(characters or 0))
                self._counted = known
        return known

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        """The material is not written in the name of a reader."""
        raise RequestError(
            "the material cannot be changed in the name of a reader",
            hint="changes are made by jobs and by commands on the machine",
        )

    commit = record_sources = intend = settle = _refused
    remove_sources = remove_documents = _refused


class _SharedFeedback(FeedbackRecords):
    """What is learned from everybody; what is listed is what the asker gave.

    What an expert flagged as harmful holds for everybody, whoever may read what was rated: of such
    sentences the hashes count, and their words are not told.
    """

    def __init__(
        self,
        everybody: RestrictedDatabase,
        own: FeedbackRecords,
        whole: FeedbackRecords,
        owner: str,
    ) -> None:
        super().__init__(everybody)
        self._own, self._whole, self._owner = own, whole, owner

    def harmful_by(self) -> dict[str, dict[str, str]]:
        """As ``FeedbackRecords.harmful_by``."""
        known = super().harmful_by()
        return {
            author: dict.fromkeys(hashes, "") | known.get(author, {})
            for author, hashes in self._whole.harmful_hashes().items()
        }

    def every(self, *, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        """As ``FeedbackRecords.every``."""
        given = [one for one in self._own.every() if one.author == self._owner]
        return given[offset:] if limit is None else given[offset : offset + limit]

    def of_answers(self, answer_ids: Iterable[str]) -> dict[str, list[Feedback]]:
        """As ``FeedbackRecords.of_answers``."""
        wanted = list(answer_ids)
        return super().of_answers(wanted) | self._own.of_answers(wanted)

    def count(self) -> int:
        """As ``FeedbackRecords.count``."""
        return len(self.every())


class _OwnNotices(Notices):
    """The notices that the asker was shown; no others are changed."""

    def mark_seen(self, notice_ids: list[int]) -> None:
        """As ``Notices.mark_seen``."""
        super().mark_seen(self.known(notice_ids))


class _OwnGaps(GapLedger):
    """The gaps that the asker was shown; no others are changed."""

    def set_status(self, ids: Iterable[int], status: GapStatus) -> int:
        """As ``GapLedger.set_status``."""
        return super().set_status([gap.id for gap in self.of(ids)], status)
