"""Opens the language models named in the settings: resolves provider, endpoint and key.

A plug-in is an entry point ``wellread.language_models``: a function of the part after the colon
of a model's name (``mine:small``), the settings of the section ``generation`` and the environment,
which returns a ``LanguageModel``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from wellread.config import GenerationSettings
from wellread.errors import ModelError, SettingsError
from wellread.models.base import LanguageModel
from wellread.models.claude_cli import CLAUDE_CLI, ClaudeCommand
from wellread.models.server_calls import RetryingModel
from wellread.plugins import find, installed

# Servers without keys (Ollama, llama.cpp, vLLM) still get a header, because the client requires it.
PLACEHOLDER_KEY = "none"
LIST_SECONDS = 10.0  # until a server has listed its models

ProviderName = Literal["openai", "anthropic", "google"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A service that is known by its name, the part before the colon in a model's name.

    ``version`` is a suffix that base URLs often have although the client adds it; of the
    ``key_variables`` the first that is set has the key.
    """

    name: ProviderName
    url: str
    version: str
    key_variables: tuple[str, ...]


OPENAI = Provider(
    name="openai",
    url="https://api.openai.com/v1",
    version="",  # its client expects the version in the base URL
    key_variables=("OPENAI_API_KEY",),
)
ANTHROPIC = Provider(
    name="anthropic",
    url="https://api.anthropic.com",
    version="/v1",
    key_variables=("ANTHROPIC_API_KEY",),
)
GOOGLE = Provider(
    name="google",
    url="https://generativelanguage.googleapis.com",
    version="/v1beta",
    key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
)
PROVIDERS = (OPENAI, ANTHROPIC, GOOGLE)
KNOWN = (
    f"write openai:NAME, anthropic:NAME, google:NAME, {CLAUDE_CLI} or {CLAUDE_CLI}:NAME, or set "
    "generation.base_url to an OpenAI-compatible server (for example http://localhost:11434/v1 "
    "for Ollama)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address, name and secret key of a model, with the provider whose wire format is used.

    ``own_server``: ``generation.base_url`` names the server. ``key_variable`` is empty for a key
    that the home keeps.
    """

    provider: Provider
    url: str
    model: str
    key: str
    own_server: bool
    key_variable: str

    def __repr__(self) -> str:
        return f"Endpoint({self.model!r} at {self.host})"

    @property
    def host(self) -> str:
        """``host:port``, without user name and path."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def identity(self) -> str:
        """``openai:gpt-4o-mini``, or ``llama3.2@localhost:11434`` with ``generation.base_url``."""
        if self.own_server:
            return f"{self.model}@{self.host}"
        return f"{self.provider.name}:{self.model}"


def endpoint_of(
    settings: GenerationSettings,
    environ: Mapping[str, str],
    name: str | None = None,
    keys: Mapping[str, str] | None = None,
) -> Endpoint:
    """Return the endpoint of the model ``name`` (default: ``settings.model``).

    A key of ``keys`` that was entered for this very address is used before the environment's.

    ``generation.base_url`` and ``generation.api_key_env`` belong to the provider of the first
    model that the settings name. A model of another provider uses that provider's usual address
    and key, so that no key goes to a server it was not meant for.

    Raises:
        SettingsError: the model's name or the base URL cannot be used.
        ModelError: the key is missing or invalid.
    """
    name = (settings.model if name is None else name).strip()
    provider, url, own_server = address_of(settings, name)
    kept_key = (keys or {}).get(url, "")
    variables = provider.key_variables
    if settings.api_key_env and (own_server or _provider_named(name) == _first_provider(settings)):
        variables = (settings.api_key_env,)
    variable = next((part for part in variables if environ.get(part, "").strip()), variables[0])
    key = kept_key or environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"the environment variable {variable} does not contain a valid key")
    if not key and not own_server:
        raise ModelError(
            f"{name} needs a key, but the environment variable {variable} is empty",
            hint=f"enter the key on the settings page, set {variable}, or name another variable in "
            "generation.api_key_env",
        )
    return Endpoint(
        provider=provider,
        url=url,
        model=name.removeprefix(f"{provider.name}:"),
        key=key or PLACEHOLDER_KEY,
        own_server=own_server,
        key_variable="" if kept_key else variable,
    )


def address_of(settings: GenerationSettings, name: str) -> tuple[Provider, str, bool]:
    """Return the provider and the address of a model, and whether the settings name the server."""
    named_provider = _provider_named(name)
    provider = named_provider or OPENAI
    first = _first_provider(settings)
    uses_base_url = named_provider == first or (not named_provider and first == OPENAI)
    base_url = settings.base_url if uses_base_url else ""
    if not name.removeprefix(f"{provider.name}:") or not (named_provider or base_url):
        raise SettingsError(f"the model {name!r} does not name a known provider", hint=KNOWN)
    url = _checked_url(base_url).removesuffix(provider.version) if base_url else provider.url
    return provider, url, bool(base_url)


def command_model(name: str) -> str | None:
    """Return NAME of ``claude-cli:NAME``, empty for ``claude-cli``; None for other providers."""
    program, _, model = name.strip().partition(":")
    return model.strip() if program == CLAUDE_CLI else None


def _provider_named(name: str) -> Provider | None:
    """Return the provider in a model's name; None means ``generation.base_url``.

    Only known prefixes count: "llama3.2:3b" is a complete name.
    """
    return next((item for item in PROVIDERS if name.startswith(f"{item.name}:")), None)


def _first_provider(settings: GenerationSettings) -> Provider | None:
    """Return the provider of the first model called over HTTP; None for a plain name."""
    names = (settings.model, settings.fallback_model, settings.cheap_model)
    http_names = [name.strip() for name in names if name.strip() and command_model(name) is None]
    return _provider_named(http_names[0]) if http_names else None


def _checked_url(url: str) -> str:
    hint = "write it like http://localhost:11434/v1"
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise SettingsError(f"generation.base_url is not a URL: {error}", hint=hint) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise SettingsError("generation.base_url is not an http(s) URL with a host", hint=hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsError(
            "generation.base_url contains a user name, a query or a fragment",
            hint=f"{hint}; the key goes into the variable named by generation.api_key_env",
        )
    return url.strip().rstrip("/")


KEYS_FILE = "model_keys.json"  # in the home, for its owner alone; exports and backups lack it


def kept_keys(home: Path) -> dict[str, str]:
    """Return the keys that the home keeps, each by the address that it was entered for."""
    try:
        read = json.loads((home / KEYS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        read = None
    if not isinstance(read, dict):
        raise SettingsError(
            f"{KEYS_FILE} cannot be read", hint="remove it, and enter the keys again"
        )
    return {str(url): str(key) for url, key in read.items()}


def keep_key(home: Path, url: str, key: str) -> None:
    """Keep the key of a server for its address alone; an empty key forgets it."""
    keys = {**kept_keys(home), url: key.strip()}
    draft = home / f"{KEYS_FILE}.new"
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(json.dumps({name: kept for name, kept in keys.items() if kept}))
    draft.replace(home / KEYS_FILE)


def models_of(endpoint: Endpoint) -> list[str]:
    """Ask a server for the names of its models."""
    import httpx  # noqa: PLC0415 - slow, and only the settings page needs it

    headers = {
        OPENAI: {"authorization": f"Bearer {endpoint.key}"},
        ANTHROPIC: {"x-api-key": endpoint.key, "anthropic-version": "2023-06-01"},
        GOOGLE: {"x-goog-api-key": endpoint.key},
    }[endpoint.provider]
    address = f"{endpoint.url}{endpoint.provider.version}/models"
    try:
        reply = httpx.get(address, headers=headers, timeout=LIST_SECONDS)
        reply.raise_for_status()
        listed = reply.json()
        items = listed.get("data") or listed.get("models") or []
        names = {str(item.get("id") or item["name"]).removeprefix("models/") for item in items}
    except (httpx.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = "sent no list of models"
        if isinstance(error, httpx.HTTPStatusError):
            what = f"answered {error.response.status_code} when asked for its models"
        elif isinstance(error, httpx.HTTPError):
            what = "cannot be reached"
        hint = "check the address, which often ends in /v1, and the key"
        raise ModelError(f"{endpoint.host} {what}", hint=hint) from error
    return sorted(names)


GROUP = "wellread.language_models"
Factory = Callable[[str, GenerationSettings, Mapping[str, str]], LanguageModel]


def open_model(
    settings: GenerationSettings,
    environ: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    keys: Mapping[str, str] | None = None,
) -> LanguageModel | None:
    """Open the language model ``name`` (default: ``settings.model``) with retries.

    ``keys`` are those that the home keeps, by address.

    Returns None when the name is empty. No attempt starts after ``settings.timeout`` seconds, so
    a call takes at most twice the time limit.

    Raises:
        SettingsError: the model's name or ``generation.base_url`` cannot be used.
        ModelError: the extra ``llm``, the program or the key is missing.
    """
    name = (settings.model if name is None else name).strip()
    if not name:
        return None
    environ = os.environ if environ is None else environ
    provider, _, inner = name.partition(":")
    model: LanguageModel
    hosted = [str(item.name) for item in PROVIDERS]
    if provider in BUILT_IN or (provider in installed(GROUP) and provider not in hosted):
        model = find(GROUP, provider, BUILT_IN, "generation.model")(
            inner.strip(), settings, environ
        )
    else:
        model = _hosted(endpoint_of(settings, environ, name, keys), settings)
    return RetryingModel(model, settings.retries, patience=settings.timeout)


BUILT_IN: Mapping[str, Callable[[], Factory]] = {CLAUDE_CLI: lambda: ClaudeCommand}


def _hosted(endpoint: Endpoint, settings: GenerationSettings) -> LanguageModel:
    try:
        from wellread.models.hosted import HostedModel  # noqa: PLC0415

        return HostedModel(endpoint, settings)
    except ImportError as error:
        raise ModelError(
            f"{endpoint.identity} needs the extra 'llm', which cannot be imported: {error}",
            hint='pip install "wellread[llm]"',
        ) from error
