"""Restricts a knowledge base to what one user may read.

The view has its own catalogue and index, limited to what the user may read. Models, embedders,
readers and settings are shared with the knowledge base itself. Caches derived from the material
are keyed by ``KnowledgeBase.cache_key``, which only users with the same read rights share.
"""

from __future__ import annotations

from dataclasses import replace

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import EVERYTHING, NOBODY, Asker, Everything
from wellread.kb import KnowledgeBase, Parts
from wellread.kb.index_parts import ReadableIndex
from wellread.models.base import Reader, opened_once
from wellread.models.open_reader import LexicalReader
from wellread.store.base import Fingerprint, KeptIndex
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.readable_catalogue import ReadableCatalogue, readable
from wellread.store.rights import ReadScope
from wellread.types import Filters
from wellread.values.answers import Question


def view_for(kb: KnowledgeBase, asker: Asker) -> KnowledgeBase:
    """Return the view for ``asker`` of a knowledge base, or of the one behind another view."""
    if asker == kb.asker:
        return kb
    base = base_of(kb)
    return base if asker == base.asker else KnowledgeBaseView(base, asker)


def sees_all(kb: KnowledgeBase) -> bool:
    """Whether the asker of ``kb`` may read everything."""
    return isinstance(kb.asker.reads, Everything)


def reads_all_of(kb: KnowledgeBase, other: KnowledgeBase) -> bool:
    """Whether the asker of ``kb`` may read everything that the asker of ``other`` may."""
    return _covers(kb.asker.reads, other.asker.reads)


def base_of(kb: KnowledgeBase) -> KnowledgeBase:
    """Return the unrestricted knowledge base behind ``kb``, for work on behalf of everybody."""
    return kb.whole if isinstance(kb, KnowledgeBaseView) else kb


def with_current_rights(kb: KnowledgeBase, owner: str) -> KnowledgeBase:
    """Return the view with the current rights of ``owner``, for work in the owner's absence."""
    base = base_of(kb)
    if not owner:
        return base
    return view_for(base, _by_accounts(base, Asker(owner=owner, reads=frozenset())))


def edited_by(kb: KnowledgeBase, owner: str) -> frozenset[str] | Everything:
    """The collections that ``owner`` may currently edit; all of them without user accounts."""
    accounts = base_of(kb).catalogue.accounts
    if not owner or not accounts.users.any():
        return EVERYTHING
    user = accounts.users.get(owner)
    return accounts.rights.of(user).edits if user and not user.disabled else frozenset()


def check_rights(kb: KnowledgeBase) -> None:
    """Raise when the asker has since lost the right to read something that ``kb`` shows."""
    if not isinstance(kb, KnowledgeBaseView):
        return
    if not _covers(_by_accounts(kb.whole, kb.asker).reads, kb.asker.reads):
        raise UnknownNameError("the sources of this no longer exist", hint="ask again")


def asked_by(kb: KnowledgeBase, question: Question) -> Question:
    """Return ``question`` with the asker of ``kb`` as its owner."""
    if not isinstance(kb, KnowledgeBaseView):
        return question
    return replace(question, owner=kb.asker.owner)


def drawn_from(kb: KnowledgeBase, filters: Filters) -> list[str]:
    """The collections that a question with these filters may use."""
    names = kb.catalogue.collection_names()
    return [name for name in names if not filters.collections or name in filters.collections]


def _covers(reads: frozenset[str] | Everything, others: frozenset[str] | Everything) -> bool:
    if isinstance(reads, Everything):
        return True
    return not isinstance(others, Everything) and others <= reads


class KnowledgeBaseView(KnowledgeBase):
    """A knowledge base restricted to one asker; only its catalogue is its own."""

    def __init__(self, base: KnowledgeBase, asker: Asker) -> None:
        # The base class is not initialised: everything opened once belongs to ``base``.
        self.whole = base
        self.asker = asker
        self.home, self.settings = base.home, base.settings
        self.place, self.locks = base.place, base.locks
        self.ledger, self.models = base.ledger, base.models
        self.stand_ins = base.stand_ins
        self._embedders = base._embedders
        self._live_parts: tuple[Parts, Parts] | None = None

    @property
    def cache_key(self) -> object:
        """See ``KnowledgeBase.cache_key``."""
        catalogue = self.catalogue
        return catalogue.shared if isinstance(catalogue, ReadableCatalogue) else self.whole

    @opened_once
    def catalogue(self) -> Catalogue:
        """The catalogue restricted to what the asker may read."""
        asker = self.asker
        if isinstance(asker.reads, Everything):
            return self.whole.catalogue
        return readable(self.whole.catalogue, ReadScope(asker.reads, asker.owner, asker.limited))

    @opened_once
    def lexical(self) -> LexicalReader:
        """See ``KnowledgeBase.lexical``."""
        return self.whole.lexical

    @opened_once
    def reader(self) -> Reader:
        """See ``KnowledgeBase.reader``."""
        return self.whole.reader

    def live(self) -> Parts:
        """Return the parts in use, with the index restricted to what the asker may read."""
        parts, cached = self.whole.live(), self._live_parts
        if cached is None or cached[0] is not parts:
            cached = self._live_parts = (parts, replace(parts, index=self._readable(parts.index)))
        return cached[1]

    @property
    def index(self) -> KeptIndex:
        """The index in use, restricted to what the asker may read."""
        return self._readable(self.whole.index)

    def open_index(self, fingerprint: Fingerprint) -> KeptIndex:
        """Open an index other than the live one; refused to askers with limited rights."""
        if sees_all(self):
            return self.whole.open_index(fingerprint)
        raise RequestError(
            "the complete indexes cannot be opened with a user's limited rights",
            hint="run the command on the machine itself",
        )

    def close(self) -> None:
        """Do nothing: all that is open belongs to the unrestricted knowledge base."""

    def _readable(self, index: KeptIndex) -> KeptIndex:
        catalogue, reads = self.catalogue, self.asker.reads
        if isinstance(reads, Everything) or not isinstance(catalogue, ReadableCatalogue):
            return index
        return ReadableIndex(index, reads, catalogue.shared)


def _by_accounts(base: KnowledgeBase, asker: Asker) -> Asker:
    """Return ``asker`` with the rights of the accounts table; everything without users."""
    accounts = base.catalogue.accounts
    if not accounts.users.any():
        return replace(asker, reads=EVERYTHING)
    user = accounts.users.get(asker.owner)
    return accounts.rights.asker_of(user) if user and not user.disabled else NOBODY
