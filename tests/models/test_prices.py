"""What calls cost: by the price list, by the settings, or unknown."""

from __future__ import annotations

import pytest

from wellread.config import GenerationSettings
from wellread.models.base import Prompt
from wellread.models.recording import (
    Tariff,
    cost_of,
    estimate_prompt_tokens,
    estimate_tokens,
    is_listed,
    split_identity,
    tariff_of,
)


@pytest.mark.parametrize(
    ("identity", "provider", "model"),
    [
        ("openai:gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("openai:ft:gpt-4o:me", "openai", "ft:gpt-4o:me"),
        ("llama3.2:3b@localhost:11434", "localhost:11434", "llama3.2:3b"),
        ("@cf/meta/llama@api.example.com", "api.example.com", "@cf/meta/llama"),
        ("claude-cli", "claude-cli", ""),
    ],
)
def test_an_identity_names_provider_and_model(identity: str, provider: str, model: str) -> None:
    assert split_identity(identity) == (provider, model)


@pytest.mark.parametrize(
    "identity",
    ["openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5", "google:gemini-2.5-flash"],
)
def test_the_providers_that_are_known_are_on_the_list(identity: str) -> None:
    cost = cost_of(identity, 1_000_000, 0)
    assert cost.known
    assert 0.01 < cost.dollars < 100
    assert cost_of(identity, 0, 1_000_000).dollars > cost.dollars


@pytest.mark.parametrize(
    "identity",
    ["gpt-4o@127.0.0.1:8000", "gpt-4o@localhost:11434", "gpt-4o@box", "openai:no-such", "x"],
)
def test_an_unknown_model_costs_nothing_and_says_so(identity: str) -> None:
    cost = cost_of(identity, 1000, 1000)
    assert (cost.dollars, cost.known) == (0.0, False)
    assert not is_listed(*split_identity(identity))


def test_the_settings_override_the_list() -> None:
    settings = GenerationSettings(model="openai:gpt-4o-mini", input_price=2.0, output_price=10.0)
    cost = cost_of("openai:gpt-4o-mini", 500_000, 100_000, tariff_of(settings))
    assert cost.dollars == pytest.approx(1.0 + 1.0)


def test_a_side_that_the_settings_leave_open_is_the_list_s() -> None:
    listed = cost_of("openai:gpt-4o-mini", 0, 1_000_000).dollars
    cost = cost_of("openai:gpt-4o-mini", 1_000_000, 1_000_000, Tariff(read=3.0))
    assert cost.dollars == pytest.approx(3.0 + listed)
    other = cost_of("small@localhost:1", 1_000_000, 1_000_000, Tariff(written=4.0))
    assert other.dollars == pytest.approx(4.0)
    assert other.known


def test_tokens_are_counted_about_as_models_do() -> None:
    text = "The ferry leaves the harbour at six every morning. " * 40
    assert 400 <= estimate_tokens(text) <= 520
    assert estimate_tokens("x" * 4000) >= 1000
    prompt = Prompt(system="One two three.", user=text)
    assert estimate_prompt_tokens(prompt) == estimate_tokens("One two three.") + estimate_tokens(
        text
    )
