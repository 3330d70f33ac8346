"""From settings to an embedder, Wellread's own or a plug-in's; and one that remembers vectors.

A plug-in is an entry point ``wellread.embedders``: a function that takes the settings of the
section ``embedding`` and the home, and gives an ``Embedder``.
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
from wellread.models.base import Closeable, Embedder, Purpose
from wellread.models.embedders.static_embedder import StaticEmbedder
from wellread.models.model_files import model_file, sha256_of
from wellread.plugins import find

GROUP = "wellread.embedders"
Factory = Callable[[EmbeddingSettings, Path], Embedder]


def open_embedder(settings: EmbeddingSettings, home: Path) -> Embedder:
    """The embedder that ``settings.backend`` asks for; files it derives are kept under ``home``.

    Only the chosen embedder's libraries are imported. The HTTP embedder is not called yet.

    Raises:
        SettingsError: there is no such embedder, or a setting that it needs is empty.
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
"""Passages of one call that are remembered: more are documents that come in, each but once."""

Key = tuple[Purpose, str]


class CachedEmbedder:
    """Wraps an embedder; keeps the vectors of the most recent queries and few passages.

    Questions about one subject look at the same sentences again: of those of 126 questions to the
    sample base, 43 % had been embedded before. Safe to call from several threads; two that ask for
    the same new text at the same moment may both compute it.
    """

    def __init__(self, embedder: Embedder, *, capacity: int = CAPACITY) -> None:
        """Wrap ``embedder``, remembering at most ``capacity`` texts (1 or more)."""
        if capacity < 1:
            raise ModelError(f"a cache of {capacity} texts is out of range: 1 or more")
        self._embedder = embedder
        self._capacity = capacity
        self._vectors: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """That of the embedder inside: caching shapes no vector."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """That of the embedder inside."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        """Unit vectors of ``texts``, in order; the caller may change the array."""
        if not texts or (purpose != "query" and len(texts) > FEW):
            return self._embedder.embed(texts, purpose)
        found = self._recall(texts, purpose)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            computed = self._embedder.embed(missing, purpose)
            # Copies of single rows: a view would keep the whole array alive.
            fresh = {text: row.copy() for text, row in zip(missing, computed, strict=True)}
            self._remember(fresh, purpose)
            found |= fresh
        return np.stack([found[text] for text in texts])

    def close(self) -> None:
        """Let go of the connections of the embedder inside, where it has any."""
        if isinstance(self._embedder, Closeable):
            self._embedder.close()

    def _recall(self, texts: Sequence[str], purpose: Purpose) -> dict[str, NDArray[np.float32]]:
        found = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get((purpose, text))
                if vector is not None:
                    self._vectors.move_to_end((purpose, text))
                    found[text] = vector
        return found

    def _remember(self, vectors: dict[str, NDArray[np.float32]], purpose: Purpose) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[purpose, text] = vector
                self._vectors.move_to_end((purpose, text))
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
