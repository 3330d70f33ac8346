"""Where the settings say that a language model is, and under which name it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from wellread.config import GenerationSettings
from wellread.errors import ModelError, SettingsError

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_PREFIX = "openai:"
# Servers without keys (Ollama, llama.cpp, vLLM) still get a header, since the client insists.
PLACEHOLDER_KEY = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is asked, and under which name.

    Attributes:
        url: base URL, without a slash at its end.
        model: the name the server knows the model by.
        key: the bearer token; never shown.
        own_server: whether ``generation.base_url`` named the server.
        key_variable: the environment variable the key was looked for in.
    """

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
        """``openai:gpt-4o-mini``, or ``llama3.2@localhost:11434`` for a server of one's own."""
        return f"{self.model}@{self.host}" if self.own_server else f"{OPENAI_PREFIX}{self.model}"


def endpoint_of(settings: GenerationSettings, environ: Mapping[str, str]) -> Endpoint:
    """Where the settings say that the model is.

    Raises:
        SettingsError: the model's name or the base URL cannot be used.
        ModelError: the key is missing.
    """
    name = settings.model.strip()
    key = environ.get(settings.api_key_env, "").strip()
    if settings.base_url:
        # Only this prefix is ours: "llama3.2:3b" is a whole name.
        return Endpoint(
            url=_checked_url(settings.base_url),
            model=name.removeprefix(OPENAI_PREFIX),
            key=key or PLACEHOLDER_KEY,
            own_server=True,
            key_variable=settings.api_key_env,
        )
    if not name.startswith(OPENAI_PREFIX) or name == OPENAI_PREFIX:
        raise SettingsError(
            f"generation.model {name!r} names no provider that is known",
            hint="write openai:NAME, or set generation.base_url to an OpenAI-compatible server "
            "(for example http://localhost:11434/v1 for Ollama)",
        )
    if not key:
        raise ModelError(
            f"{name} needs a key, and the environment variable {settings.api_key_env} is empty",
            hint=f"set {settings.api_key_env}, or name another variable in generation.api_key_env",
        )
    return Endpoint(
        url=OPENAI_URL,
        model=name.removeprefix(OPENAI_PREFIX),
        key=key,
        own_server=False,
        key_variable=settings.api_key_env,
    )


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
            "generation.base_url holds a user name, a query or a fragment",
            hint=f"{hint}; the key goes into the variable named by generation.api_key_env",
        )
    return url.strip().rstrip("/")
