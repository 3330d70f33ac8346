"""Opens the parts of one home (catalogue, index, embedder, model) and holds them; no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wellread.config import Settings, load_settings
from wellread.errors import FingerprintError, StoreError
from wellread.models.base import Embedder, LanguageModel
from wellread.models.cached import CachedEmbedder
from wellread.models.llm import open_model
from wellread.models.open import open_embedder
from wellread.store.base import Fingerprint, Index
from wellread.store.catalogue import Catalogue
from wellread.store.lance import LanceIndex

CATALOGUE_FILE = "catalogue.db"
INDEX_FOLDER = "index"
INGEST_LOCK = "ingest.lock"
CHUNKING_VERSION = 1  # raise it when ``ingest/passages.py`` cuts differently
SCHEMA_VERSION = 1


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


class KnowledgeBase:
    """The parts of one home, each opened when it is first used.

    Args:
        embedder, model: stand in for what the settings name (tests, plug-ins).
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        model: LanguageModel | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self._embedder = embedder
        self._model = model

    @cached_property
    def catalogue(self) -> Catalogue:
        """The truth about documents, passages, sources and answers."""
        return Catalogue.open(self.home / CATALOGUE_FILE)

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """What turns texts and questions into vectors."""
        return CachedEmbedder(self._embedder or open_embedder(self.settings.embedding, self.home))

    @cached_property
    def model(self) -> LanguageModel | None:
        """The language model, or None when answers are extractive."""
        return self._model or open_model(self.settings.generation)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What the settings ask the index to be shaped by."""
        return Fingerprint(
            embedder=self.embedder.identity,
            dimensions=self.embedder.dimensions,
            chunking=f"sections-sentences/{CHUNKING_VERSION}/{self.settings.chunking.tokens}",
            schema=SCHEMA_VERSION,
        )

    @cached_property
    def index(self) -> Index:
        """The index of this home.

        Raises:
            FingerprintError: it was built by another embedder or chunking than the settings name.
        """
        live = self.catalogue.fingerprint()
        if live is None:
            self.catalogue.set_fingerprint(self.fingerprint)
        elif live != self.fingerprint:
            raise FingerprintError(
                f"the index in {self.home} was built with {_describe(live)}, "
                f"the settings ask for {_describe(self.fingerprint)}",
                hint="set the settings back, or add the sources to a new --home",
            )
        return LanceIndex.open(self.home / INDEX_FOLDER, self.fingerprint)

    def live(self) -> Parts:
        """The parts that are in use."""
        return Parts(embedder=self.embedder, index=self.index, fingerprint=self.fingerprint)

    def close(self) -> None:
        """Let go of files and connections. Closing twice is no error."""
        for part in ("embedder", "catalogue"):
            opened = self.__dict__.pop(part, None)
            if opened is not None:
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_kb(
    home: Path,
    *,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
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
    return KnowledgeBase(home, load_settings(home, overrides), embedder=embedder, model=model)


def _describe(fingerprint: Fingerprint) -> str:
    return f"{fingerprint.embedder}, passages of {fingerprint.chunking}"
