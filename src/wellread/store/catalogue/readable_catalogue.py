"""Restricts the catalogue to what one user may read, and shares caches between equal rights."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sqlalchemy import func, select

from wellread.store.catalogue import Catalogue, Part
from wellread.store.catalogue.documents.collection_records import stamps_of
from wellread.store.catalogue.feedback_records import FeedbackRecords
from wellread.store.catalogue.gap_records import GapLedger
from wellread.store.rights import ReadScope, RestrictedDatabase, refuse_to_write
from wellread.store.schema.stored_values import Feedback, GapStatus
from wellread.store.schema.tables import passages

MAX_SHARED = 64  # sets of readable collections whose caches are kept
_TEXT_SIZE = select(
    func.count(), func.sum(passages.c.end - passages.c.start + func.length(passages.c.context))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """The amount of readable text, and how many passages contain each stem counted so far."""

    stamp: str
    passages: int
    characters: int
    frequencies: dict[str, int] = field(default_factory=dict)


class _SharedFeedback(FeedbackRecords):
    """Feedback of all users to learn from; lists contain only the user's own.

    Flags for harmful sentences apply to every user. One who may not read the rated answer gets the
    hashes of its sentences without their words.
    """

    def __init__(self, database: RestrictedDatabase) -> None:
        super().__init__(database.of_all_owners())
        self._own = FeedbackRecords(database)
        self._unrestricted = FeedbackRecords(database.readers.unrestricted)
        self._owner = database.scope.owner or ""

    def harmful_by(self) -> dict[str, dict[str, str]]:
        """As ``FeedbackRecords.harmful_by``."""
        sentences = super().harmful_by()
        return {
            author: dict.fromkeys(hashes, "") | sentences.get(author, {})
            for author, hashes in self._unrestricted.harmful_hashes().items()
        }

    def list_all(self, *, limit: int | None = None, offset: int = 0) -> list[Feedback]:
        """As ``FeedbackRecords.list_all``."""
        entries = [feedback for feedback in self._own.list_all() if feedback.author == self._owner]
        return entries[offset:] if limit is None else entries[offset : offset + limit]

    def of_answers(self, answer_ids: Iterable[str]) -> dict[str, list[Feedback]]:
        """As ``FeedbackRecords.of_answers``."""
        ids = list(answer_ids)
        return super().of_answers(ids) | self._own.of_answers(ids)

    def count(self) -> int:
        """As ``FeedbackRecords.count``."""
        return len(self.list_all())


class _OwnGaps(GapLedger):
    """Gaps; only those that the user may read can be changed."""

    def set_status(self, ids: Iterable[int], status: GapStatus) -> int:
        """As ``GapLedger.set_status``."""
        return super().set_status([gap.id for gap in self.of(ids)], status)


class ReadableCatalogue(Catalogue):
    """The catalogue for one user: own answers can be written, the material cannot.

    ``shared`` is the same object for all users who may read the same collections; it holds the
    caches of the material.
    """

    feedback = Part(_SharedFeedback)
    gap_ledger = Part(_OwnGaps)

    def __init__(
        self, database: RestrictedDatabase, shared: ReadableCatalogue | None = None
    ) -> None:
        super().__init__(database)
        self.material = database.without_writes()
        self.everybody = database.of_all_owners()
        self.shared = shared or self
        if shared:
            for name in ("vocabulary", "graph", "listings"):
                vars(self)[name] = getattr(shared, name)
        self._word_counts: WordCounts | None = None

    def word_counts(self) -> WordCounts:
        """The amount of readable text, counted again only when the material changes."""
        with self._database.read() as connection:
            stamp = str(sorted(stamps_of(connection).items()))
            counts = self._word_counts
            if counts is None or counts.stamp != stamp:
                count, characters = connection.execute(_TEXT_SIZE).one()
                counts = WordCounts(stamp=stamp, passages=count, characters=int(characters or 0))
                self._word_counts = counts
        return counts

    commit = record_sources = intend = settle = refuse_to_write
    remove_sources = remove_documents = refuse_to_write


_shared: WeakKeyDictionary[Catalogue, OrderedDict[frozenset[str], ReadableCatalogue]] = (
    WeakKeyDictionary()
)
_lock = threading.Lock()


def readable(catalogue: Catalogue, scope: ReadScope) -> ReadableCatalogue:
    """Return ``catalogue`` restricted to ``scope``."""
    with _lock:
        by_rights = _shared.setdefault(catalogue, OrderedDict())
        shared = by_rights.get(scope.collections)
        if shared is None:
            all_owners = RestrictedDatabase(catalogue.readers, ReadScope(scope.collections, ""))
            shared = by_rights[scope.collections] = ReadableCatalogue(all_owners)
            if len(by_rights) > MAX_SHARED:
                by_rights.popitem(last=False)
        by_rights.move_to_end(scope.collections)
    return ReadableCatalogue(RestrictedDatabase(catalogue.readers, scope), shared)
