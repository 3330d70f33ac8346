"""From settings to an embedder."""

from __future__ import annotations

import os
from pathlib import Path

from wellread.config import EmbeddingSettings
from wellread.errors import SettingsError
from wellread.models.base import Embedder


def open_embedder(settings: EmbeddingSettings, home: Path) -> Embedder:
    """The embedder that ``settings.backend`` asks for; files it derives are kept under ``home``.

    Only the chosen embedder's libraries are imported. The HTTP embedder is not called yet.

    Raises:
        SettingsError: the HTTP embedder lacks its URL or its model.
        ModelError: the model could not be opened.
    """
    if settings.backend == "http":
        return _http(settings)
    if settings.backend == "static":
        from wellread.models.static import StaticEmbedder  # noqa: PLC0415

        return StaticEmbedder(home, model_path=settings.model_path, threads=settings.threads)
    from wellread.models.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder(home, model_path=settings.model_path, threads=settings.threads)


def _http(settings: EmbeddingSettings) -> Embedder:
    from wellread.models.http import HttpEmbedder  # noqa: PLC0415

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
