"""From settings to an embedder: one of those that come with Wellread, or a plug-in's.

A plug-in is an entry point ``wellread.embedders``: a function that takes the settings of the
section ``embedding`` and the home, and gives an ``Embedder``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from wellread.config import EmbeddingSettings
from wellread.errors import SettingsError
from wellread.models.base import Embedder
from wellread.models.embedders.static_embedder import StaticEmbedder
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
    from wellread.models.embedders.local_embedder import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder(home, model_path=settings.model_path, threads=settings.threads)


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
