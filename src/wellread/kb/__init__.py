"""Opens the parts of one home (catalogue, index, embedder, model) and holds them; no behaviour.

Questions are answered with the index that is live and the embedder that shaped it, also while the
settings ask for others (``ingest/reindex.py`` makes those). Another process may switch the live
index at any time; ``live`` follows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from wellread.config import Role, Settings, load_settings
from wellread.errors import WellreadError
from wellread.identity import LOCAL, Asker
from wellread.kb.home_catalogue import CataloguePlace, made_home
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
from wellread.models.open_language_model import open_model
from wellread.models.open_reader import LexicalReader, ReaderByHead, open_reader
from wellread.store.base import Fingerprint, KeptIndex
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.values.calls import ANSWER

INGEST_LOCK = "ingest.lock"
CHUNKING_VERSION = 1  # raise it when ``ingest/pipeline/parse.py`` cuts differently
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The index in use, and the embedder that shaped it."""

    embedder: CachedEmbedder
    index: KeptIndex
    fingerprint: Fingerprint

    @property
    def tokens(self) -> int:
        """The size that passages of this index are cut to, in word pieces."""
        return int(self.fingerprint.chunking.rpartition("/")[2])

    @property
    def outdated_cuts(self) -> bool:
        """Whether another release cut the passages, so that the same text is cut otherwise now."""
        return self.fingerprint.chunking.split("/")[1] != str(CHUNKING_VERSION)


class Given(TypedDict, total=False):
    """What stands in for the parts that the settings name (tests, plug-ins)."""

    embedder: Embedder | None
    model: LanguageModel | None
    fallback_model: LanguageModel | None
    cheap_model: LanguageModel | None
    judge_model: LanguageModel | None
    reader: Reader | None


class KnowledgeBase:
    """The parts of one home, each opened when it is first used.

    Attributes:
        ledger: the books of what calls of models cost, and the budget.
        models: the language models that the settings name.
        place: where the catalogue is.
        locks: what keeps the writers of this base apart, also those on other machines.
        read_only: whether the home may not be written; then only a copy of its catalogue is.
        stand_ins: the names of the models and the reader that were given.
        asker: in whose name it is read; ``seen_by`` gives it as another has it.
        held: what is built over it and closed with it, by name.
    """

    asker: Asker = LOCAL

    def __init__(self, home: Path, settings: Settings, **given: Unpack[Given]) -> None:
        self.home = home
        self.place = CataloguePlace(home, settings.catalogue.url)
        self.read_only = self.place.read_only
        self.locks = self.place.locks
        self.settings = settings
        self.ledger = BudgetLedger(settings.budget, lambda: self.catalogue)
        models: dict[Role, LanguageModel | None] = {
            "model": given.get("model"),
            "fallback_model": given.get("fallback_model"),
            "cheap_model": given.get("cheap_model"),
            "judge_model": given.get("judge_model"),
        }
        self.models = LanguageModels(
            settings.generation,
            self.ledger,
            lambda name: open_model(settings.generation, name=name),
            models,
            judge=settings.verification.model,
        )
        self._embedders = Embedders(
            home,
            settings.embedding,
            lambda wanted: open_embedder(wanted, home),
            self.ledger.record,
            given.get("embedder"),
        )
        self._indexes = Indexes(home, settings.index, lambda: self.catalogue.reindexing.base_id())
        self._reader = given.get("reader")
        stand_ins = (*models.values(), self._reader)
        self.stand_ins = tuple(part.identity if part else "" for part in stand_ins)
        self.held: dict[str, Closeable] = {}
        self._opening = threading.RLock()
        self._index: tuple[LiveIndex, KeptIndex] | None = None
        self._parts: tuple[LiveIndex, Parts] | None = None
        self._preparing = threading.Thread(target=self._load_models, daemon=True)

    @opened_once
    def catalogue(self) -> Catalogue:
        """The truth about documents, passages, sources and answers."""
        return self.place.open(self.settings.backups)

    @property
    def common(self) -> object:
        """What is made from the material and held hangs on this: all share it who read the same."""
        return self

    @property
    def model(self) -> LanguageModel | None:
        """The language model that writes answers, or None when they are extractive."""
        return self.model_for(ANSWER)

    def model_for(self, purpose: str) -> LanguageModel | None:
        """The language model, its calls recorded as being for ``purpose`` (``values/calls.py``).

        It keeps the budget: the cheap model is asked when that is low, and a call that it does
        not allow fails with a ``BudgetError``, which is a ``ModelError``.
        """
        return self.models.within_budget(purpose)

    @opened_once
    def lexical(self) -> LexicalReader:
        """Ranks by how words stand, as every search does."""
        return LexicalReader()

    @opened_once
    def reader(self) -> Reader:
        """Who reads questions together with texts, as the settings say."""
        if self._reader is not None:
            return self._reader
        return open_reader(self.settings.reader)

    @property
    def passage_reader(self) -> PassageReader | None:
        """Who reads whole passages for a question; None where the settings name nobody."""
        return self.reader.passages if isinstance(self.reader, ReaderByHead) else None

    def prepare(self) -> None:
        """Load the models of the first question in a thread, beside what else has to be loaded."""
        self._preparing.start()

    def _load_models(self) -> None:
        with suppress(WellreadError):  # who uses them meets the same error, and tells it
            live = self.catalogue.reindexing.live()
            if isinstance(self.reader, Preparable):
                self.reader.prepare()
            if live:
                self._embedders.shaping(live)

    # --- what is in use ---

    def live(self) -> Parts:
        """The parts in use: the same object until the live index is switched. One cheap query."""
        held = self._parts
        if held is not None and held[0] == self._live_index():
            return held[1]
        with self._opening:
            live = self._live_index()
            if self._parts is None or self._parts[0] != live:
                parts = Parts(
                    embedder=self._embedders.shaping(live),
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
        """The embedder in use: what turns texts and questions into vectors of the live index."""
        return self.live().embedder

    # --- what the settings ask for ---

    @opened_once
    def wanted(self) -> Fingerprint:
        """What the settings ask the index to be shaped by. Opens their embedder."""
        embedder = self._embedders.wanted()
        return Fingerprint(
            embedder=embedder.identity,
            dimensions=embedder.dimensions,
            chunking=_chunking(self.settings),
            schema=SCHEMA_VERSION,
            backend=self.settings.index.engine,
        )

    def wanted_parts(self) -> Parts:
        """What the settings ask for, to be filled beside the live index."""
        return Parts(
            embedder=self._embedders.wanted(),
            index=self.open_index(self.wanted),
            fingerprint=self.wanted,
        )

    def wanted_live(self) -> LiveIndex:
        """What the catalogue keeps when the index that the settings ask for goes live."""
        return LiveIndex(fingerprint=self.wanted, embedder=self._embedders.record())

    @property
    def reindex_needed(self) -> bool:
        """Whether the settings ask for another index than the live one.

        Where the catalogue knows how to open the live embedder, none is opened to tell; that a
        release computes other vectors from the same settings shows in ``live`` only.
        """
        live = self.catalogue.reindexing.live()
        if live is None:
            return False
        shape = live.fingerprint
        wanted = (_chunking(self.settings), SCHEMA_VERSION, self.settings.index.engine)
        if (shape.chunking, shape.schema, shape.backend) != wanted:
            return True
        same = self._embedders.same_as_wanted(live)
        return shape != self.wanted if same is None else not same

    # --- indexes ---

    def open_index(self, fingerprint: Fingerprint) -> KeptIndex:
        """The index of ``fingerprint``, live or not; made when it is not there."""
        return self._indexes.open(fingerprint)

    def renewed_index(self) -> KeptIndex:
        """The live index, empty; what there was of it is set aside (``other_indexes``)."""
        with self._opening:
            live = self._live_index()
            self._index = self._parts = None
            self._indexes.set_aside(live.fingerprint)
            return self._index_of(live)

    def drop_other_indexes(self) -> list[str]:
        """Drop every index that is neither live nor being made; the names of those that went."""
        kept = self._kept_indexes()
        return self._indexes.drop_others(kept) if kept else []

    def other_indexes(self) -> list[str]:
        """The names of indexes that are neither live nor being made."""
        kept = self._kept_indexes()
        return self._indexes.others(kept) if kept else []

    def _kept_indexes(self) -> list[Fingerprint]:
        live = self.catalogue.reindexing.live()
        attempt = self.catalogue.reindexing.attempt()
        return [made for made in (live and live.fingerprint, attempt) if made] if live else []

    def forget_catalogue(self) -> None:
        """Let go of the catalogue's file, because another takes its place; it is opened anew."""
        with self._opening:
            self._index = self._parts = None
            opened = self.__dict__.pop("catalogue", None)
        if opened is not None:
            opened.close()

    def close(self) -> None:
        """Let go of files and connections. Closing twice is no error."""
        if self._preparing.is_alive():
            self._preparing.join()
        with self._opening:
            self._index = self._parts = None
            self._embedders.close()
        while self.held:
            self.held.popitem()[1].close()
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
        """The live index as the catalogue has it now; an empty home takes that of the settings."""
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
    **given: Unpack[Given],
) -> KnowledgeBase:
    """The knowledge base in ``home``, which is made when it is not there.

    Args:
        given: parts that stand in for what the settings name.
    """
    home = made_home(home)
    return KnowledgeBase(home, load_settings(home, overrides), **given)


def _chunking(settings: Settings) -> str:
    return f"sections-sentences/{CHUNKING_VERSION}/{settings.chunking.tokens}"
