"""Restricts a knowledge base to what one user may read.

The view has its own catalogue and index, limited to what the user may read. Models, embedders,
readers and settings are shared with the knowledge base itself. Caches derived from the material
are keyed by ``KnowledgeBase.cache_key``, which only users with the same read rights share.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import EVERYTHING, NOBODY, Asker, Everything
from wellread.kb import KnowledgeBase, Parts
from wellread.kb.index_parts import ReadableIndex
from wellread.models.base import Reader, opened_once
from wellread.models.open_reader import LexicalReader
from wellread.store.base import Fingerprint, KeptIndex
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.readable_catalogue import ReadableCatalogue
from wellread.store.rights import ReadScope, RestrictedReaders
from wellread.types import Filters
from wellread.values.answers import Question

_VIEWS = "views"  # the views' key in ``KnowledgeBase.held``
MOST_VIEWS = 256  # views kept, the most recently used ones
MOST_RIGHTS = 64  # sets of readable collections with shared caches


def view_for(kb: KnowledgeBase, asker: Asker) -> KnowledgeBase:
    """Return the view of ``kb`` for ``asker``, the same object while it stays in the cache.

    Args:
        kb: the knowledge base, or another view of it.
    """
    base = base_of(kb)
    return base if asker == base.asker else _views_of(base).of(base, asker)


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


def _views_of(kb: KnowledgeBase) -> _Views:
    base = base_of(kb)
    views = base.held.setdefault(_VIEWS, _Views())
    if not isinstance(views, _Views):
        raise TypeError(f"{_VIEWS!r} is held by something else")
    return views


class _Rights:
    """The catalogue and index shared by users who may read the same collections."""

    def __init__(self, collections: frozenset[str], readers: RestrictedReaders) -> None:
        self.collections = collections
        self.readers = readers
        self.shown = ReadableCatalogue(readers, ReadScope(collections, ""))
        self._index: tuple[KeptIndex, ReadableIndex] | None = None

    def index_over(self, index: KeptIndex) -> ReadableIndex:
        """Return the readable part of ``index``, the same object for the same index."""
        current = self._index
        if current is None or current[0] is not index:
            current = (index, ReadableIndex(index, self.collections, self.shown))
            self._index = current
        return current[1]


class KnowledgeBaseView(KnowledgeBase):
    """A knowledge base restricted to one asker; only its catalogue is its own."""

    def __init__(self, whole: KnowledgeBase, asker: Asker, rights: _Rights | None) -> None:
        # The base class is not initialised: everything opened once belongs to ``whole``.
        self.whole = whole
        self.asker = asker
        self.home, self.settings = whole.home, whole.settings
        self.place, self.locks, self.read_only = whole.place, whole.locks, whole.read_only
        self.ledger, self.models = whole.ledger, whole.models
        self.stand_ins = whole.stand_ins
        self._embedders = whole._embedders
        self._rights = rights
        self._shown: tuple[Parts, Parts] | None = None

    @property
    def cache_key(self) -> object:
        """See ``KnowledgeBase.cache_key``."""
        return self._rights or self.whole.cache_key

    @opened_once
    def catalogue(self) -> Catalogue:
        """The catalogue restricted to what the asker may read."""
        rights = self._rights
        if rights is None:
            return self.whole.catalogue
        own = ReadScope(rights.collections, self.asker.owner, self.asker.limited)
        catalogue = ReadableCatalogue(rights.readers, own)
        catalogue.vocabulary = rights.shown.vocabulary
        return catalogue

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
        parts, rights, cached = self.whole.live(), self._rights, self._shown
        if rights is None:
            return parts
        if cached is None or cached[0] is not parts:
            index = rights.index_over(parts.index)
            cached = self._shown = (parts, replace(parts, index=index))
        return cached[1]

    @property
    def index(self) -> KeptIndex:
        """The index in use, restricted to what the asker may read."""
        rights = self._rights
        return rights.index_over(self.whole.index) if rights else self.whole.index

    def open_index(self, fingerprint: Fingerprint) -> KeptIndex:
        """Open an index other than the live one; refused to askers with limited rights."""
        if self._rights is None:
            return self.whole.open_index(fingerprint)
        raise RequestError(
            "the complete indexes cannot be opened with a user's limited rights",
            hint="run the command on the machine itself",
        )

    def close(self) -> None:
        """Close the view's own catalogue; the other parts belong to the whole knowledge base."""
        opened = self.__dict__.pop("catalogue", None)
        if isinstance(opened, ReadableCatalogue):
            opened.close()


class _Views:
    """The most recently used views of one knowledge base. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over: Catalogue | None = None
        self._readers: RestrictedReaders | None = None
        self._rights: OrderedDict[frozenset[str], _Rights] = OrderedDict()
        self._views: OrderedDict[Asker, KnowledgeBaseView] = OrderedDict()

    def of(self, base: KnowledgeBase, asker: Asker) -> KnowledgeBaseView:
        """Return the view of ``asker``, creating it when needed."""
        with self._lock:
            self._follow(base)
            view = self._views.get(asker)
            if view is None:
                view = KnowledgeBaseView(base, asker, self._rights_of(base, asker.reads))
                self._views[asker] = view
                if len(self._views) > MOST_VIEWS:
                    self._views.popitem(last=False)[1].close()
            self._views.move_to_end(asker)
            return view

    def _rights_of(self, base: KnowledgeBase, reads: frozenset[str] | Everything) -> _Rights | None:
        if isinstance(reads, Everything):
            return None
        rights = self._rights.get(reads)
        if rights is None:
            if self._readers is None:
                self._readers = base.catalogue.restricted_readers()
            rights = self._rights[reads] = _Rights(reads, self._readers)
            if len(self._rights) > MOST_RIGHTS:
                self._rights.popitem(last=False)
        self._rights.move_to_end(reads)
        return rights

    def _follow(self, base: KnowledgeBase) -> None:
        """Drop all views when the catalogue has been reopened, as after a repair."""
        if self._over is not base.catalogue:
            if self._readers is not None:
                self._readers.close()
            self._over, self._readers = base.catalogue, None
            self._let_go()

    def close(self) -> None:
        """Close all views and connections."""
        with self._lock:
            if self._readers is not None:
                self._readers.close()
            self._over = self._readers = None
            self._let_go()

    def _let_go(self) -> None:
        """Close every view, and the file that each watches for changes."""
        for view in self._views.values():
            view.close()
        self._rights.clear()
        self._views.clear()


def _by_accounts(base: KnowledgeBase, asker: Asker) -> Asker:
    """Return ``asker`` with the rights of the accounts table; everything without users."""
    accounts = base.catalogue.accounts
    if not accounts.users.any():
        return replace(asker, reads=EVERYTHING)
    user = accounts.users.get(asker.owner)
    return accounts.rights.asker_of(user) if user and not user.disabled else NOBODY
