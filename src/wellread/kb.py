"""Opens the parts of one home (catalogue, index, embedder, model) and holds them; no behaviour.

Questions are answered with the index that is live and the embedder that shaped it, also while the
settings ask for others (``ingest/reindex.py`` makes those). Another process may switch the live
index at any time; ``live`` follows.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import ValidationError

from wellread.config import EmbeddingSettings, Settings, load_settings
from wellread.errors import FingerprintError, ModelError, SettingsError, StoreError
from wellread.models.base import Embedder, LanguageModel
from wellread.models.cached import CachedEmbedder, Closeable
from wellread.models.llm import open_model
from wellread.models.open import open_embedder, open_reranker
from wellread.models.rerank import Reranker
from wellread.store.base import Fingerprint, Index
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.reindexing import LiveIndex
from wellread.store.lance import LanceIndex
from wellread.store.lance_tables import drop_other_indexes, other_indexes

logger = logging.getLogger(__name__)

CATALOGUE_FILE = "catalogue.db"
INDEX_FOLDER = "index"
INGEST_LOCK = "ingest.lock"
CHUNKING_VERSION = 1  # raise it when ``ingest/passages.py`` cuts differently
SCHEMA_VERSION = 1
# What is kept of the settings with the live index, to open its embedder again.
OPENS_EMBEDDER = ("backend", "model_path", "url", "model", "api_key_env")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The index in use, and the embedder that shaped it."""

    embedder: CachedEmbedder
    index: Index
    fingerprint: Fingerprint

    @property
    def tokens(self) -> int:
        """The size that passages of this index are cut to, in word pieces."""
        return int(self.fingerprint.chunking.rpartition("/")[2])

    @property
    def outdated_cuts(self) -> bool:
        """Whether another release cut the passages, so that the same text is cut otherwise now."""
        return self.fingerprint.chunking.split("/")[1] != str(CHUNKING_VERSION)


class KnowledgeBase:
    """The parts of one home, each opened when it is first used.

    Args:
        embedder, model, reranker: stand in for what the settings name (tests, plug-ins).
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self._embedders = _Embedders(home, settings.embedding, embedder)
        self._model = model
        self._reranker = reranker
        self._opening = threading.RLock()
        self._index: tuple[LiveIndex, Index] | None = None
        self._parts: tuple[LiveIndex, Parts] | None = None

    @cached_property
    def catalogue(self) -> Catalogue:
        """The truth about documents, passages, sources and answers."""
        return Catalogue.open(self.home / CATALOGUE_FILE)

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model, or None when answers are extractive."""
        return self._model or open_model(self.settings.generation)

    @cached_property
    def reranker(self) -> Reranker | None:
        """What reorders the best hits, or None when the order of a search stays."""
        return self._reranker or open_reranker(self.settings.rerank, lambda: self.model)

    # --- what is in use ---

    def live(self) -> Parts:
        """The parts in use: the same object until the live index is switched. One cheap query.

        Raises:
            FingerprintError: the embedder that shaped the live index cannot be opened any more.
            ModelError, StoreError: a part cannot be opened.
        """
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
    def index(self) -> Index:
        """The index in use; unlike ``live`` it opens no embedder."""
        return self._index_of(self._live_index())

    @property
    def embedder(self) -> CachedEmbedder:
        """The embedder in use: what turns texts and questions into vectors of the live index."""
        return self.live().embedder

    # --- what the settings ask for ---

    @cached_property
    def wanted(self) -> Fingerprint:
        """What the settings ask the index to be shaped by. Opens their embedder."""
        embedder = self._embedders.wanted()
        return Fingerprint(
            embedder=embedder.identity,
            dimensions=embedder.dimensions,
            chunking=_chunking(self.settings),
            schema=SCHEMA_VERSION,
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

        Raises:
            ModelError, SettingsError: the embedder that the settings name cannot be opened.
        """
        live = self.catalogue.reindexing.live()
        if live is None:
            return False
        shape = live.fingerprint
        if (shape.chunking, shape.schema) != (_chunking(self.settings), SCHEMA_VERSION):
            return True
        same = self._embedders.same_as_wanted(live)
        return shape != self.wanted if same is None else not same

    # --- indexes ---

    def open_index(self, fingerprint: Fingerprint) -> Index:
        """The index of ``fingerprint``, live or not; made when it is not there."""
        return LanceIndex.open(self.home / INDEX_FOLDER, fingerprint)

    def drop_other_indexes(self) -> list[str]:
        """Drop every index that is neither live nor being made; the names of those that went.

        Raises:
            StoreError: one cannot be dropped, or is being written.
        """
        kept = self._kept_indexes()
        return drop_other_indexes(self.home / INDEX_FOLDER, *kept) if kept else []

    def other_indexes(self) -> list[str]:
        """The names of indexes that are neither live nor being made."""
        kept = self._kept_indexes()
        return other_indexes(self.home / INDEX_FOLDER, *kept) if kept else []

    def _kept_indexes(self) -> list[Fingerprint]:
        live = self.catalogue.reindexing.live()
        attempt = self.catalogue.reindexing.attempt()
        return [made for made in (live and live.fingerprint, attempt) if made] if live else []

    def close(self) -> None:
        """Let go of files and connections. Closing twice is no error."""
        with self._opening:
            self._index = self._parts = None
            self._embedders.close()
        for part in ("reranker", "catalogue"):
            opened = self.__dict__.pop(part, None)
            if isinstance(opened, Closeable):
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _live_index(self) -> LiveIndex:
        """The live index as the catalogue has it now; an empty home takes that of the settings."""
        live = self.catalogue.reindexing.live()
        return live or self.catalogue.reindexing.claim(self.wanted_live())

    def _index_of(self, live: LiveIndex) -> Index:
        with self._opening:
            if self._index is None or self._index[0] != live:
                self._index = (live, self.open_index(live.fingerprint))
            return self._index[1]


class _Embedders:
    """The embedders of one home, each opened once: that of the settings, and that of the index.

    Args:
        given: stands in for the one that the settings name.
    """

    def __init__(self, home: Path, settings: EmbeddingSettings, given: Embedder | None) -> None:
        self._home = home
        self._settings = settings
        self._given = CachedEmbedder(given) if given else None
        self._opened: dict[EmbeddingSettings, CachedEmbedder] = {}
        self._lock = threading.Lock()

    def wanted(self) -> CachedEmbedder:
        """That of the settings."""
        return self._given or self._open(self._settings)

    def record(self) -> dict[str, str]:
        """How to open that of the settings again; empty when something stands in for it."""
        if self._given:
            return {}
        return self._settings.model_dump(include=set(OPENS_EMBEDDER))

    def same_as_wanted(self, live: LiveIndex) -> bool | None:
        """Whether the live index and the settings name the same embedder; None: open it to see."""
        settings = self._settings_of(live)
        if self._given or settings is None:
            return None
        return _named(settings) == _named(self._settings)

    def shaping(self, live: LiveIndex) -> CachedEmbedder:
        """That which shaped the live index.

        Raises:
            FingerprintError: neither how it was opened then nor the settings of today give it.
            ModelError: it cannot be reached just now.
        """
        wanted = live.fingerprint.embedder
        reasons = []
        for settings in dict.fromkeys((self._settings_of(live), None)):
            try:
                embedder = self._open(settings) if settings else self.wanted()
                if embedder.identity == wanted:
                    return embedder
                reasons.append(f"the settings give {embedder.identity}")
            except (ModelError, SettingsError) as error:
                if error.retryable:
                    raise
                reasons.append(str(error))
        raise FingerprintError(
            f"the index in {self._home} was made with the embedder {wanted}, which cannot be "
            f"opened any more: {'; '.join(dict.fromkeys(reasons))}",
            hint="set the settings back, or run 'wellread reindex' to make the index anew",
        )

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
        for embedder in [*opened, *([self._given] if self._given else [])]:
            embedder.close()

    def _open(self, settings: EmbeddingSettings) -> CachedEmbedder:
        with self._lock:
            if settings not in self._opened:
                self._opened[settings] = CachedEmbedder(open_embedder(settings, self._home))
            return self._opened[settings]

    def _settings_of(self, live: LiveIndex) -> EmbeddingSettings | None:
        """How the live index's embedder was opened, where that is known and can be read."""
        if not live.embedder:
            return None
        try:
            return EmbeddingSettings.model_validate(
                {**self._settings.model_dump(), **live.embedder}
            )
        except ValidationError:
            logger.warning("a newer release made the index; taking the embedder of the settings")
            return None


def open_kb(
    home: Path,
    *,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    reranker: Reranker | None = None,
) -> KnowledgeBase:
    """The knowledge base in ``home``, which is made when it is not there.

    Raises:
        SettingsError: the settings of the home or the environment are wrong.
        StoreError: the home cannot be made.
    """
    home = home.expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the home {home} cannot be made: {error}", hint="choose another with --home"
        ) from error
    settings = load_settings(home, overrides)
    return KnowledgeBase(home, settings, embedder=embedder, model=model, reranker=reranker)


def _chunking(settings: Settings) -> str:
    return f"sections-sentences/{CHUNKING_VERSION}/{settings.chunking.tokens}"


def _named(settings: EmbeddingSettings) -> tuple[str, ...]:
    """What of the settings decides which embedder it is; the built-in ones are one model each."""
    if settings.backend != "http":
        return (settings.backend,)
    return (settings.backend, settings.model, urlsplit(settings.url).netloc.rpartition("@")[2])
