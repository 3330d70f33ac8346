"""Which model a name means, where it is asked, and which key goes there."""

from __future__ import annotations

import pytest

from wellread.config import GenerationSettings
from wellread.errors import ModelError, SettingsError
from wellread.models.open_language_model import ANTHROPIC, GOOGLE, OPENAI, endpoint_of, open_model

ENVIRON = {
    "OPENAI_API_KEY": "sk-openai",
    "ANTHROPIC_API_KEY": "sk-anthropic",
    "GEMINI_API_KEY": "sk-gemini",
    "MY_KEY": "sk-mine",
}
LOCAL = "http://localhost:11434/v1"


def test_no_model_is_configured_by_default() -> None:
    settings = GenerationSettings()
    assert open_model(settings, {}) is None
    assert open_model(settings, {}, name="") is None
    assert open_model(settings, {}, name=settings.fallback_model) is None


@pytest.mark.parametrize(
    ("name", "provider", "url", "variable"),
    [
        ("openai:m", OPENAI, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("anthropic:m", ANTHROPIC, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("google:m", GOOGLE, "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ],
)
def test_each_provider_has_its_address_and_its_key(
    name: str, provider: object, url: str, variable: str
) -> None:
    endpoint = endpoint_of(GenerationSettings(model=f" {name} "), ENVIRON)
    assert (endpoint.provider, endpoint.url, endpoint.key) == (provider, url, ENVIRON[variable])
    assert (endpoint.identity, endpoint.own_server) == (name, False)
    model = open_model(GenerationSettings(model=name), ENVIRON)
    assert model is not None
    assert model.identity == name
    with pytest.raises(ModelError, match=variable.replace("GEMINI", "GOOGLE")):
        open_model(GenerationSettings(model=name), {})
    with pytest.raises(ModelError, match="NO_SUCH_KEY"):
        open_model(GenerationSettings(model=name, api_key_env="NO_SUCH_KEY"), ENVIRON)
    mine = endpoint_of(GenerationSettings(model=name, api_key_env="MY_KEY"), ENVIRON)
    assert mine.key == "sk-mine"


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines", "a\x00b"])
def test_what_cannot_be_a_key_is_not_sent_and_not_shown(key: str) -> None:
    with pytest.raises(ModelError, match="MY_KEY") as caught:
        open_model(GenerationSettings(model="openai:m", api_key_env="MY_KEY"), {"MY_KEY": key})
    assert key not in str(caught.value)


def test_a_key_is_not_in_the_repr() -> None:
    endpoint = endpoint_of(GenerationSettings(model="openai:gpt-4o-mini"), ENVIRON)
    assert "sk-" not in repr(endpoint)


@pytest.mark.parametrize(
    ("model", "other", "url", "key"),
    [
        # A local model, and a paid one to fall back on: the paid one's key stays away from here.
        ("llama3.2:3b", "openai:gpt-4o-mini", "https://api.openai.com/v1", "sk-openai"),
        ("llama3.2:3b", "anthropic:any", "https://api.anthropic.com", "sk-anthropic"),
        ("llama3.2:3b", "qwen3:1.7b", LOCAL, "sk-mine"),
        ("openai:large", "llama3.2:3b", LOCAL, "sk-mine"),
        ("claude-cli", "llama3.2:3b", LOCAL, "sk-mine"),
        ("", "anthropic:any", "http://localhost:11434", "sk-mine"),
    ],
)
def test_the_server_and_the_key_belong_to_the_first_provider_named(
    model: str, other: str, url: str, key: str
) -> None:
    settings = GenerationSettings(
        model=model, fallback_model=other, base_url=LOCAL, api_key_env="MY_KEY"
    )
    endpoint = endpoint_of(settings, ENVIRON, other)
    assert (endpoint.url, endpoint.key) == (url, key)


@pytest.mark.parametrize("name", ["mistral:large", "gpt-4o-mini", "openai:", "claude", "google"])
def test_an_unknown_provider_is_refused_and_the_known_ones_are_listed(name: str) -> None:
    with pytest.raises(SettingsError, match="base_url") as caught:
        open_model(GenerationSettings(model=name), ENVIRON)
    for known in ("openai:NAME", "anthropic:NAME", "google:NAME", "claude-cli"):
        assert known in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http://me:pw@host/v1",
    ],
)
def test_a_wrong_base_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingsError, match=r"generation\.base_url") as caught:
        open_model(GenerationSettings(model="m", base_url=url), {})
    assert "pw" not in str(caught.value)
