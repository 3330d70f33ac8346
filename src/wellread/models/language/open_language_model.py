"""Opens the language models that the settings name, also those of plug-ins.

A plug-in is an entry point ``wellread.language_models``: a function that takes what stands behind
the colon in a model's name (``mine:small``), the settings of the section ``generation`` and the
environment, and gives a ``LanguageModel``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from wellread.config import GenerationSettings
from wellread.errors import ModelError
from wellread.models.base import LanguageModel
from wellread.models.language.claude_cli import ClaudeCommand
from wellread.models.language.endpoint import CLAUDE_CLI, PROVIDERS, Endpoint, endpoint_of
from wellread.models.retrying import RetryingModel
from wellread.plugins import find, installed

GROUP = "wellread.language_models"
Factory = Callable[[str, GenerationSettings, Mapping[str, str]], LanguageModel]


def open_model(
    settings: GenerationSettings,
    environ: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
) -> LanguageModel | None:
    """The language model ``name`` (default: ``settings.model``) with its retries.

    ``None`` when that name is empty: no such model is configured. A try that begins after
    ``settings.timeout`` seconds is not made, so that a call takes at most twice the time limit.

    Raises:
        SettingsError: the model's name or ``generation.base_url`` cannot be used.
        ModelError: the extra ``llm`` is not installed, the command is not there, or the key is
            missing.
    """
    name = (settings.model if name is None else name).strip()
    if not name:
        return None
    environ = os.environ if environ is None else environ
    provider, _, inner = name.partition(":")
    model: LanguageModel
    known = [str(each.name) for each in PROVIDERS]
    if provider in BUILT_IN or (provider in installed(GROUP) and provider not in known):
        model = find(GROUP, provider, BUILT_IN, "generation.model")(
            inner.strip(), settings, environ
        )
    else:
        model = _hosted(endpoint_of(settings, environ, name), settings)
    return RetryingModel(model, settings.retries, patience=settings.timeout)


def _command(model: str, settings: GenerationSettings, environ: Mapping[str, str]) -> LanguageModel:
    return ClaudeCommand(settings, model, environ)


BUILT_IN: Mapping[str, Callable[[], Factory]] = {CLAUDE_CLI: lambda: _command}


def _hosted(endpoint: Endpoint, settings: GenerationSettings) -> LanguageModel:
    try:
        from wellread.models.language.hosted import HostedModel  # noqa: PLC0415

        return HostedModel(endpoint, settings)
    except ImportError as error:
        raise ModelError(
            f"{endpoint.identity} needs the extra 'llm', which cannot be imported: {error}",
            hint='pip install "wellread[llm]"',
        ) from error
