"""Opens the embedder that the settings name, and caches the vectors of recent texts.

A plug-in is an entry point ``wellread.embedders``: a function of the settings of the section
``embedding`` and the home, which returns an ``Embedder``.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.config import EmbeddingSettings
from wellread.errors import ModelError, SettingsError
from wellread.models.base import Closeable, Embedder, Purpose, reads
from wellread.models.embedders.static_embedder import StaticEmbedder
from wellread.models.model_files import model_file, sha256_of
from wellread.plugins import find

GROUP = "wellread.embedders"
Factory = Callable[[EmbeddingSettings, Path], Embedder]


def open_embedder(settings: EmbeddingSettings, home: Path) -> Embedder:
    """Open the embedder that ``settings.backend`` names; its derived files go under ``home``.

    Only the chosen embedder's libraries are imported. The HTTP embedder is not called yet.

    Raises:
        SettingsError: the embedder is unknown, or a setting that it needs is empty.
        ModelError: the model could not be opened.
    """
    factory = find(GROUP, settings.backend, BUILT_IN, "embedding.backend")
    return factory(settings, home)


def _local(settings: EmbeddingSettings, home: Path) -> Embedder:
    from wellread.models.embedders import local_embedder  # noqa: PLC0415

    if settings.model_path:
        path = model_file(settings.model_path)
        sha256 = sha256_of(path)
        if encoder := local_embedder.ENCODERS.get(sha256):
            return local_embedder.EncoderEmbedder(path, sha256, encoder, threads=settings.threads)
    return local_embedder.LocalEmbedder(
        home, model_path=settings.model_path, threads=settings.threads
    )


def _static(settings: EmbeddingSettings, home: Path) -> Embedder:
    return StaticEmbedder(home, model_path=settings.model_path, threads=settings.threads)


def _http(settings: EmbeddingSettings, home: Path) -> Embedder:  # noqa: ARG001 - as all factories
    from wellread.models.embedders.http_embedder import HttpEmbedder  # noqa: PLC0415

    for name in ("url", "model"):
        if not getattr(settings, name):
            raise SettingsError(
                f"embedding.backend is http, but embedding.{name} is not set",
                hint=f"set embedding.{name} or WELLREAD_EMBEDDING_{name.upper()}",
            )
    return HttpEmbedder(
        settings.url,
        settings.model,
        api_key=os.environ.get(settings.api_key_env, "") if settings.api_key_env else "",
        timeout=settings.timeout,
    )


BUILT_IN: Mapping[str, Callable[[], Factory]] = {
    "local": lambda: _local,
    "static": lambda: _static,
    "http": lambda: _http,
}

CAPACITY = 4_096
FEW = 16
"""Most passages of a call that are cached: larger calls embed new documents, only once."""

Key = tuple[Purpose, str]


class CachedEmbedder:
    """Wraps an embedder with a cache of recent vectors. Thread-safe.

    Questions about one subject need the same sentences again: of those in 126 questions to the
    sample base, 43 % had been embedded before. Two threads that embed the same new text at the
    same moment may both compute it.
    """

    def __init__(self, embedder: Embedder, *, capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise ModelError(f"a cache of {capacity} texts is too small: use 1 or more")
        self._embedder = embedder
        self._capacity = capacity
        self._vectors: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """The identity of the wrapped embedder: caching changes no vector."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return self._embedder.dimensions

    def reads(self, text: str) -> bool:
        """Whether the wrapped embedder can read ``text``."""
        return reads(self._embedder, text)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Return unit vectors of ``texts`` in order; the caller may change the array."""
        if not texts or (purpose != "query" and len(texts) > FEW):
            return self._embedder.embed(texts, purpose)
        vectors: dict[str, NDArray[np.float32]] = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get((purpose, text))
                if vector is not None:
                    self._vectors.move_to_end((purpose, text))
                    vectors[text] = vector
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            computed = self._embedder.embed(missing, purpose)
            # Copies of single rows: a view would keep the whole array alive.
            vectors |= {text: row.copy() for text, row in zip(missing, computed, strict=True)}
            with self._lock:
                self._vectors |= {(purpose, text): vectors[text] for text in missing}
                while len(self._vectors) > self._capacity:
                    self._vectors.popitem(last=False)
        return np.stack([vectors[text] for text in texts])

    def close(self) -> None:
        """Close the connections of the wrapped embedder, if it has any."""
        if isinstance(self._embedder, Closeable):
            self._embedder.close()
