"""Opens the language model that the settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from wellread.ask_settings import GenerationSettings
from wellread.errors import ModelError
from wellread.models.base import LanguageModel
from wellread.models.endpoint import endpoint_of
from wellread.models.retrying import RetryingModel


def open_model(
    settings: GenerationSettings,
    environ: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
) -> LanguageModel | None:
    """The language model ``name`` (default: ``settings.model``) with its retries.

    ``None`` when that name is empty: no such model is configured.

    A try that begins after ``settings.timeout`` seconds is not made, so that a call takes at most
    twice the time limit.

    Raises:
        SettingsError: the model's name or ``generation.base_url`` cannot be used.
        ModelError: the extra ``llm`` is not installed, or the key is missing.
    """
    if name is not None:
        settings = settings.model_copy(update={"model": name})
    if not settings.model.strip():
        return None
    endpoint = endpoint_of(settings, os.environ if environ is None else environ)
    try:
        # Heavy (a second), and only there with the extra.
        from wellread.models.openai_compatible import OpenAICompatibleModel  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(
            f"generation.model {settings.model!r} needs the extra 'llm', which cannot be "
            f"imported: {error}",
            hint='pip install "wellread[llm]"',
        ) from error
    model = OpenAICompatibleModel(endpoint, settings)
    return RetryingModel(model, settings.retries, patience=settings.timeout)
