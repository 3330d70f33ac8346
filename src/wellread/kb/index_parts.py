"""The search indexes of one home, and the embedders: of the settings, and of the live index."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from wellread.config import PASSWORD_ENV, EmbeddingSettings, IndexSettings
from wellread.errors import FingerprintError, ModelError, SettingsError, StoreError
from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import CachedEmbedder
from wellread.models.recording import Record, RecordedEmbedder
from wellread.store.base import Fingerprint, KeptIndex, ServiceAddress
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.store.index.backends import EMBEDDED, backend_of

logger = logging.getLogger(__name__)

# What is kept of the settings with the live index, to open its embedder again.
OPENS_EMBEDDER = ("backend", "model_path", "url", "model", "api_key_env")
Opener = Callable[[EmbeddingSettings], Embedder]


class Embedders:
    """The embedders of one home, each opened once: that of the settings, and that of the index.

    Args:
        opener: opens the one that settings name.
        record: is told every call of one that costs something.
        given: stands in for the one that the settings name.
    """

    def __init__(
        self,
        home: Path,
        settings: EmbeddingSettings,
        opener: Opener,
        record: Record,
        given: Embedder | None,
    ) -> None:
        self._home = home
        self._settings = settings
        self._opener = opener
        self._record = record
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
        if settings.backend == "local" == self._settings.backend:
            # A file's hash, not its place, says which model it is.
            return True if settings.model_path == self._settings.model_path else None
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
                self._opened[settings] = CachedEmbedder(self._recorded(settings))
            return self._opened[settings]

    def _recorded(self, settings: EmbeddingSettings) -> Embedder:
        """Its calls are recorded below the cache: what is remembered is no call."""
        embedder = self._opener(settings)
        if settings.backend != "http":
            return embedder  # on this machine, and free
        host = urlsplit(settings.url).netloc.rpartition("@")[2]
        return RecordedEmbedder(embedder, self._record, provider=host, model=settings.model)

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


def _named(settings: EmbeddingSettings) -> tuple[str, ...]:
    """What of the settings decides which embedder it is; the built-in ones are one model each."""
    if settings.backend != "http":
        return (settings.backend,)
    return (settings.backend, settings.model, urlsplit(settings.url).netloc.rpartition("@")[2])


INDEX_FOLDER = "index"


class Indexes:
    """The indexes of one base: in the index folder of its home, or with the server of its settings.

    The embedded back end has the folder itself, every other one that keeps files a folder in it.
    """

    def __init__(self, home: Path, settings: IndexSettings, base_id: Callable[[], str]) -> None:
        self._folder = home / INDEX_FOLDER
        self._settings = settings
        self._base_id = base_id

    def open(self, fingerprint: Fingerprint) -> KeptIndex:
        """The index of ``fingerprint``; made when it is not there.

        Raises:
            SettingsError: its back end is not installed, or its address is not set.
            StoreError: the index cannot be opened or made.
        """
        return backend_of(fingerprint.backend).open(self._of(fingerprint.backend), fingerprint)

    def set_aside(self, fingerprint: Fingerprint) -> None:
        """Put what is damaged of an index under another name, so that it can be made anew.

        Raises:
            StoreError: it cannot be moved, or is being written.
        """
        backend_of(fingerprint.backend).set_aside(self._of(fingerprint.backend), fingerprint)

    def others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """The names of the indexes that are of none of these fingerprints."""
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += backend_of(backend).others(self._of(backend), *prints)
        return names + [folder.name for folder in self._left(kept)]

    def drop_others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """Drop every index but those of ``kept``; the names of those that went.

        Raises:
            StoreError: one cannot be dropped, or is being written.
        """
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += backend_of(backend).drop_others(self._of(backend), *prints)
        for folder in self._left(kept):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"the old index {folder} cannot be dropped: {error}") from error
            names.append(folder.name)
        return names

    def _of(self, backend: str) -> Path | ServiceAddress:
        if backend == self._settings.service:
            password = os.environ.get(PASSWORD_ENV, "")
            return ServiceAddress(url=self._settings.url, base=self._base_id(), password=password)
        return self._folder if backend == EMBEDDED else self._folder / backend

    def _backends(self, kept: Sequence[Fingerprint]) -> dict[str, list[Fingerprint]]:
        asked = [self._settings.service] if self._settings.service else []
        names = dict.fromkeys([EMBEDDED, *asked, *(made.backend for made in kept)])
        return {name: [made for made in kept if made.backend == name] for name in names}

    def _left(self, kept: Sequence[Fingerprint]) -> list[Path]:
        """Folders of back ends that are in use no more, and may not be installed any more."""
        used = {made.backend for made in kept}
        folders = (path for path in self._folder.glob("*") if path.is_dir())
        return sorted(path for path in folders if not path.suffix and path.name not in used)
