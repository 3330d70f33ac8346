"""A knowledge base folder with its parts: catalogue, index, embedder and models, opened on use.

Questions use the live index and the embedder that built it, even while the settings name
others (``ingest/reindex.py`` builds those). Another process may switch the live index at any
time; ``live`` follows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack, get_args

from wellread.config import Role, Settings
from wellread.errors import WellreadError
from wellread.identity import LOCAL, Asker
from wellread.kb.home_catalogue import CataloguePlace, ensure_home
from wellread.kb.index_parts import Embedders, Indexes
from wellread.kb.language_models import BudgetLedger, LanguageModels
from wellread.models.base import (
    Closeable,
    Embedder,
    LanguageModel,
    PassageReader,
    Preparable,
    Reader,
    opened_once,
)
from wellread.models.embedders.open_embedder import CachedEmbedder, open_embedder
from wellread.models.open_language_model import kept_keys, open_model
from wellread.models.open_reader import CompositeReader, LexicalReader, open_reader
from wellread.settings_file import load_settings
from wellread.store.base import Fingerprint, KeptIndex
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.values.calls import ANSWER

INGEST_LOCK = "ingest.lock"
CHUNKING_VERSION = 3  # raise it when ``ingest/pipeline/parse.py`` splits text differently
SCHEMA_VERSION = 3  # raise it when a row of the index has other words or fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """An index and the embedder that built it."""

    embedder: CachedEmbedder
    index: KeptIndex
    fingerprint: Fingerprint

    @property
    def tokens(self) -> int:
        """The passage size of this index in word pieces."""
        return int(self.fingerprint.chunking.rpartition("/")[2])

    @property
    def outdated_cuts(self) -> bool:
        """Whether a release with a different chunking version built the index."""
        return self.fingerprint.chunking.split("/")[1] != str(CHUNKING_VERSION)


class PartOverrides(TypedDict, total=False):
    """Parts that replace those named by the settings (for tests and plug-ins)."""

    embedder: Embedder | None
    model: LanguageModel | None
    fallback_model: LanguageModel | None
    cheap_model: LanguageModel | None
    judge_model: LanguageModel | None
    reader: Reader | None


class KnowledgeBase:
    """The parts of one knowledge base folder (its home), each opened on first use.

    The rights of ``asker`` apply; ``view_for`` returns the view of another user. ``stand_ins`` are
    the identities of the models and the reader passed in.
    """

    asker: Asker = LOCAL

    def __init__(self, home: Path, settings: Settings, **parts: Unpack[PartOverrides]) -> None:
        self.home = home
        self.place = CataloguePlace(home, settings.catalogue.url)
        self.locks = self.place.locks
        roles: tuple[Role, ...] = get_args(Role)
        self._given_models = {role: parts.get(role) for role in roles}
        self.use_models_of(settings)
        self._embedders = Embedders(
            home,
            settings.embedding,
            lambda configured: open_embedder(configured, home),
            self.ledger.record,
            parts.get("embedder"),
        )
        self._indexes = Indexes(home, settings.index, lambda: self.catalogue.reindexing.base_id())
        self._reader = parts.get("reader")
        stand_ins = (*self._given_models.values(), self._reader)
        self.stand_ins = tuple(part.identity if part else "" for part in stand_ins)
        self._opening = threading.RLock()
        self._index: tuple[LiveIndex, KeptIndex] | None = None
        self._parts: tuple[LiveIndex, Parts] | None = None
        self._preparing = threading.Thread(target=self._load_models, daemon=True)

    def use_models_of(self, settings: Settings) -> None:
        """Use the settings; later only their models and budget, for the questions that follow."""
        changed = {
            name: getattr(settings, name) for name in ("generation", "verification", "budget")
        }
        before = getattr(self, "settings", settings)
        self.settings = before.model_copy(update=changed)
        self.ledger = BudgetLedger(settings.budget, lambda: self.catalogue)
        self.models = LanguageModels(
            settings.generation,
            self.ledger,
            lambda name: open_model(settings.generation, name=name, keys=kept_keys(self.home)),
            self._given_models,
            judge=settings.verification.model,
        )

    @opened_once
    def catalogue(self) -> Catalogue:
        """The authoritative record of documents, passages, sources and answers."""
        return self.place.open(self.settings.backups)

    @property
    def cache_key(self) -> object:
        """The key object for caches derived from the material, shared by equal read rights."""
        return self

    @property
    def model(self) -> LanguageModel | None:
        """The language model that writes answers, or None when they are extractive."""
        return self.model_for(ANSWER)

    def model_for(self, purpose: str) -> LanguageModel | None:
        """Return the language model, with its calls recorded and within the budget.

        While the budget is low, the cheap model is used; a call beyond it fails (``BudgetError``).
        """
        return self.models.within_budget(purpose)

    @opened_once
    def lexical(self) -> LexicalReader:
        """The reader that ranks by word positions alone, as every search does."""
        return LexicalReader()

    @opened_once
    def reader(self) -> Reader:
        """The configured reader, which scores questions together with texts."""
        if self._reader is not None:
            return self._reader
        return open_reader(self.settings.reader)

    @property
    def passage_reader(self) -> PassageReader | None:
        """The reader of whole passages; None when the settings name no such reader."""
        return self.reader.passages if isinstance(self.reader, CompositeReader) else None

    def prepare(self) -> None:
        """Load the models that the first question needs, in a background thread."""
        self._preparing.start()

    def _load_models(self) -> None:
        with suppress(WellreadError):  # their first use raises the same error again
            live = self.catalogue.reindexing.live()
            if isinstance(self.reader, Preparable):
                self.reader.prepare()
            if live:
                self._embedders.for_index(live)

    # --- the parts in use ---

    def live(self) -> Parts:
        """Return the parts in use (one cheap query): the same object until the index switches."""
        current = self._parts
        if current is not None and current[0] == self._live_index():
            return current[1]
        with self._opening:
            live = self._live_index()
            if self._parts is None or self._parts[0] != live:
                parts = Parts(
                    embedder=self._embedders.for_index(live),
                    index=self._index_of(live),
                    fingerprint=live.fingerprint,
                )
                self._parts = (live, parts)
            return self._parts[1]

    @property
    def index(self) -> KeptIndex:
        """The index in use; unlike ``live`` it opens no embedder."""
        return self._index_of(self._live_index())

    @property
    def embedder(self) -> CachedEmbedder:
        """The embedder of the live index."""
        return self.live().embedder

    # --- the parts that the settings ask for ---

    @opened_once
    def wanted(self) -> Fingerprint:
        """The fingerprint of the index that the settings describe. Opens their embedder."""
        embedder = self._embedders.wanted()
        return Fingerprint(
            embedder=embedder.identity,
            dimensions=embedder.dimensions,
            chunking=_chunking(self.settings),
            schema=SCHEMA_VERSION,
            backend=self.settings.index.engine,
        )

    def wanted_parts(self) -> Parts:
        """Return the embedder and index of the settings, to be filled beside the live index."""
        return Parts(
            embedder=self._embedders.wanted(),
            index=self.open_index(self.wanted),
            fingerprint=self.wanted,
        )

    def wanted_live(self) -> LiveIndex:
        """Return the catalogue's record of the index that the settings describe."""
        return LiveIndex(fingerprint=self.wanted, embedder=self._embedders.record())

    @property
    def reindex_needed(self) -> bool:
        """Whether the settings describe an index other than the live one.

        No embedder is opened if the catalogue records how to open the live one.
        """
        live = self.catalogue.reindexing.live()
        if live is None:
            return False
        fingerprint = live.fingerprint
        configured = (_chunking(self.settings), SCHEMA_VERSION, self.settings.index.engine)
        if (fingerprint.chunking, fingerprint.schema, fingerprint.backend) != configured:
            return True
        same = self._embedders.same_as_wanted(live)
        return fingerprint != self.wanted if same is None else not same

    # --- indexes ---

    def open_index(self, fingerprint: Fingerprint) -> KeptIndex:
        """Open the index of ``fingerprint``, live or not, and create it when it is missing."""
        return self._indexes.open(fingerprint)

    def renewed_index(self) -> KeptIndex:
        """Return an empty live index, with the old one set aside (see ``other_indexes``)."""
        with self._opening:
            live = self._live_index()
            self._index = self._parts = None
            self._indexes.set_aside(live.fingerprint)
            return self._index_of(live)

    def drop_other_indexes(self) -> list[str]:
        """Drop every index that is neither live nor being built, and return their names."""
        used = self._kept_indexes()
        return self._indexes.drop_others(used) if used else []

    def other_indexes(self) -> list[str]:
        """The names of the indexes that are neither live nor being built."""
        used = self._kept_indexes()
        return self._indexes.others(used) if used else []

    def _kept_indexes(self) -> list[Fingerprint]:
        live = self.catalogue.reindexing.live()
        attempt = self.catalogue.reindexing.attempt()
        return [used for used in (live and live.fingerprint, attempt) if used] if live else []

    def forget_catalogue(self) -> None:
        """Close the catalogue before its file is replaced; the next use opens it again."""
        with self._opening:
            self._index = self._parts = None
            opened = self.__dict__.pop("catalogue", None)
        if opened is not None:
            opened.close()

    def close(self) -> None:
        """Close files and connections; closing twice is allowed."""
        if self._preparing.is_alive():
            self._preparing.join()
        with self._opening:
            self._index = self._parts = None
            self._embedders.close()
        for part in ("reader", "catalogue"):
            opened = self.__dict__.pop(part, None)
            if isinstance(opened, Closeable):
                opened.close()
        self.place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _live_index(self) -> LiveIndex:
        """Return the catalogue's live index; an empty home adopts the one of the settings."""
        live = self.catalogue.reindexing.live()
        return live or self.catalogue.reindexing.claim(self.wanted_live())

    def _index_of(self, live: LiveIndex) -> KeptIndex:
        with self._opening:
            if self._index is None or self._index[0] != live:
                self._index = (live, self.open_index(live.fingerprint))
            return self._index[1]


def open_kb(
    home: Path,
    *,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    **parts: Unpack[PartOverrides],
) -> KnowledgeBase:
    """Open the knowledge base in ``home``; ``parts`` replace those named by the settings."""
    home = ensure_home(home)
    return KnowledgeBase(home, load_settings(home, overrides), **parts)


def _chunking(settings: Settings) -> str:
    return f"sections-sentences/{CHUNKING_VERSION}/{settings.chunking.tokens}"
