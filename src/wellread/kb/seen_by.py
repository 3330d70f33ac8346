"""A knowledge base as one asker has it: the one way to open it in the name of somebody.

The view has a catalogue and an index of its own, which show what the asker may read. Models,
embedders, readers and the settings are those of the knowledge base itself. What is worked out from
the material and held hangs on ``KnowledgeBase.common``, which only those share who may read the
same.
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
from wellread.store.rights import Reads, RestrictedReaders
from wellread.types import Filters
from wellread.values.answers import Question

_VIEWS = "views"  # under which a knowledge base holds them
MOST_VIEWS = 256  # askers whose views are held, those that asked last
MOST_RIGHTS = 64  # sets of collections that something is held for


def seen_by(kb: KnowledgeBase, asker: Asker) -> KnowledgeBase:
    """``kb`` as ``asker`` may read it; the same object as long as it is in use.

    Args:
        kb: the knowledge base, or another view of it.
    """
    whole = whole_of(kb)
    return whole if asker == whole.asker else _views_of(whole).of(whole, asker)


def sees_all(kb: KnowledgeBase) -> bool:
    """Whether the asker of ``kb`` may read everything."""
    return isinstance(kb.asker.reads, Everything)


def reads_all_of(kb: KnowledgeBase, other: KnowledgeBase) -> bool:
    """Whether the asker of ``kb`` may read all that the asker of ``other`` may."""
    return _covers(kb.asker.reads, other.asker.reads)


def whole_of(kb: KnowledgeBase) -> KnowledgeBase:
    """The knowledge base that ``kb`` is a view of, for what is done for everybody."""
    return kb.whole if isinstance(kb, KnowledgeBaseView) else kb


def now(kb: KnowledgeBase, owner: str) -> KnowledgeBase:
    """``kb`` as its ``owner`` may read it now: for what is done for somebody who is not there."""
    whole = whole_of(kb)
    if not owner:
        return whole
    return seen_by(whole, _by_accounts(whole, Asker(owner=owner, reads=frozenset())))


def edited_by(kb: KnowledgeBase, owner: str) -> frozenset[str] | Everything:
    """The collections that ``owner`` may edit now; all, where there are no users."""
    accounts = whole_of(kb).catalogue.accounts
    if not owner or not accounts.users.any():
        return EVERYTHING
    user = accounts.users.get(owner)
    return accounts.rights.of(user).edits if user and not user.disabled else frozenset()


def check_rights(kb: KnowledgeBase) -> None:
    """Refuse to go on where the asker may not read any more all that ``kb`` shows."""
    if not isinstance(kb, KnowledgeBaseView):
        return
    if not _covers(_by_accounts(kb.whole, kb.asker).reads, kb.asker.reads):
        raise UnknownNameError("what this was drawn from is not there any more", hint="ask again")


def asked_by(kb: KnowledgeBase, question: Question) -> Question:
    """``question`` as that of the asker, whoever it says it is of."""
    if not isinstance(kb, KnowledgeBaseView):
        return question
    return replace(question, owner=kb.asker.owner)


def drawn_from(kb: KnowledgeBase, filters: Filters) -> list[str]:
    """The collections that what is asked within ``filters`` can be drawn from."""
    known = kb.catalogue.collection_names()
    return [name for name in known if not filters.collections or name in filters.collections]


def _covers(reads: frozenset[str] | Everything, others: frozenset[str] | Everything) -> bool:
    if isinstance(reads, Everything):
        return True
    return not isinstance(others, Everything) and others <= reads


def _views_of(kb: KnowledgeBase) -> _Views:
    whole = whole_of(kb)
    views = whole.held.setdefault(_VIEWS, _Views())
    if not isinstance(views, _Views):
        raise TypeError(f"{_VIEWS!r} is held by something else")
    return views


class _Rights:
    """What those share who may read the same collections."""

    def __init__(self, collections: frozenset[str], readers: RestrictedReaders) -> None:
        self.collections = collections
        self.readers = readers
        self.shown = ReadableCatalogue(readers, Reads(collections, ""))
        self._index: tuple[KeptIndex, ReadableIndex] | None = None

    def index_over(self, index: KeptIndex) -> ReadableIndex:
        """What may be searched of ``index``; the same object as long as that is."""
        held = self._index
        if held is None or held[0] is not index:
            held = (index, ReadableIndex(index, self.collections, self.shown))
            self._index = held
        return held[1]


class KnowledgeBaseView(KnowledgeBase):
    """A knowledge base in the name of an asker; it opens nothing of its own but its catalogue."""

    def __init__(self, whole: KnowledgeBase, asker: Asker, rights: _Rights | None) -> None:
        # Not as a knowledge base is made: all that is opened once is the whole one's.
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
    def common(self) -> object:
        """See ``KnowledgeBase.common``."""
        return self._rights or self.whole.common

    @opened_once
    def catalogue(self) -> Catalogue:
        """What the asker may read of the truth about documents, passages, sources and answers."""
        rights = self._rights
        if rights is None:
            return self.whole.catalogue
        own = Reads(rights.collections, self.asker.owner, self.asker.limited)
        made = ReadableCatalogue(rights.readers, own)
        made.vocabulary = rights.shown.vocabulary
        return made

    @opened_once
    def lexical(self) -> LexicalReader:
        """See ``KnowledgeBase.lexical``."""
        return self.whole.lexical

    @opened_once
    def reader(self) -> Reader:
        """See ``KnowledgeBase.reader``."""
        return self.whole.reader

    def live(self) -> Parts:
        """The parts in use; of the index what the asker may read."""
        whole, rights, held = self.whole.live(), self._rights, self._shown
        if rights is None:
            return whole
        if held is None or held[0] is not whole:
            index = rights.index_over(whole.index)
            held = self._shown = (whole, replace(whole, index=index))
        return held[1]

    @property
    def index(self) -> KeptIndex:
        """What the asker may read of the index in use."""
        rights = self._rights
        return rights.index_over(self.whole.index) if rights else self.whole.index

    def open_index(self, fingerprint: Fingerprint) -> KeptIndex:
        """No index but that in use is opened for an asker with limited rights."""
        if self._rights is None:
            return self.whole.open_index(fingerprint)
        raise RequestError(
            "the indexes of the whole library are not opened in the name of a reader",
            hint="run the command on the machine itself",
        )

    def close(self) -> None:
        """Nothing but the catalogue is of its own; the rest goes with the whole."""
        opened = self.__dict__.pop("catalogue", None)
        if isinstance(opened, ReadableCatalogue):
            opened.close()


class _Views:
    """The views of one knowledge base that were used last. May be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over: Catalogue | None = None
        self._readers: RestrictedReaders | None = None
        self._rights: OrderedDict[frozenset[str], _Rights] = OrderedDict()
        self._views: OrderedDict[Asker, KnowledgeBaseView] = OrderedDict()

    def of(self, whole: KnowledgeBase, asker: Asker) -> KnowledgeBaseView:
        """The view of ``asker``."""
        with self._lock:
            self._follow(whole)
            view = self._views.get(asker)
            if view is None:
                view = KnowledgeBaseView(whole, asker, self._rights_of(whole, asker.reads))
                self._views[asker] = view
                if len(self._views) > MOST_VIEWS:
                    self._views.popitem(last=False)[1].close()
            self._views.move_to_end(asker)
            return view

    def _rights_of(
        self, whole: KnowledgeBase, reads: frozenset[str] | Everything
    ) -> _Rights | None:
        if isinstance(reads, Everything):
            return None
        rights = self._rights.get(reads)
        if rights is None:
            if self._readers is None:
                self._readers = whole.catalogue.restricted_readers()
            rights = self._rights[reads] = _Rights(reads, self._readers)
            if len(self._rights) > MOST_RIGHTS:
                self._rights.popitem(last=False)
        self._rights.move_to_end(reads)
        return rights

    def _follow(self, whole: KnowledgeBase) -> None:
        """Let go of everything when the catalogue was opened anew, as after a repair."""
        if self._over is not whole.catalogue:
            if self._readers is not None:
                self._readers.close()
            self._over, self._readers = whole.catalogue, None
            self._let_go()

    def close(self) -> None:
        """Give all connections back."""
        with self._lock:
            if self._readers is not None:
                self._readers.close()
            self._over = self._readers = None
            self._let_go()

    def _let_go(self) -> None:
        """Of every view, and of the file that each watches for changes."""
        for view in self._views.values():
            view.close()
        self._rights.clear()
        self._views.clear()


def _by_accounts(whole: KnowledgeBase, asker: Asker) -> Asker:
    """The rights as the accounts have them; everything where there are no users."""
    accounts = whole.catalogue.accounts
    if not accounts.users.any():
        return replace(asker, reads=EVERYTHING)
    user = accounts.users.get(asker.owner)
    return accounts.rights.asker_of(user) if user and not user.disabled else NOBODY
