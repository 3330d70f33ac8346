"""What a call of a model costs: by the settings, or by the price list of ``genai-prices``.

The list comes with the library, so no network is asked. It is part of the extra ``llm``; without
it, and for models that are not on it (servers of one's own), the price is unknown.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from wellread.config import GenerationSettings, Role
from wellread.models.base import Prompt
from wellread.models.word_pieces import count_tokens

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4  # of English; where word pieces are fewer, this guess counts

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """US dollars for a million tokens, as the settings say; None: as the price list says."""

    read: float | None = None
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars; 0 when the price is not ``known``."""

    dollars: float
    known: bool = True


LISTED = Tariff()
SET_PRICES = "set generation.input_price and generation.output_price"


def tariff_of(settings: GenerationSettings, role: Role = "model") -> Tariff:
    """What the settings say of the price of the model in that role."""
    if role != "model":
        return LISTED
    return Tariff(read=settings.input_price, written=settings.output_price)


def named(identity: str) -> tuple[str, str]:
    """Provider and model of an identity: ``openai:gpt-4o``, ``llama3.2@localhost:11434``."""
    model, at, host = identity.rpartition("@")
    if at:
        return host, model
    provider, _, model = identity.partition(":")
    return provider, model


def cost_of(identity: str, read: int, written: int, tariff: Tariff = LISTED) -> Cost:
    """What reading and writing so many tokens costs.

    A side that the tariff leaves open costs what the list says, or nothing where the tariff has
    the other side and the list knows neither.
    """
    own = (read * (tariff.read or 0.0) + written * (tariff.written or 0.0)) / MILLION
    listed = None
    if tariff.read is None or tariff.written is None:
        open_read = read if tariff.read is None else 0
        open_written = written if tariff.written is None else 0
        listed = _listed(*named(identity), open_read, open_written)
    return Cost(dollars=own + (listed or 0.0), known=listed is not None or tariff != LISTED)


def is_listed(provider: str, model: str) -> bool:
    """Whether the price list has the model."""
    return _listed(provider, model, 1, 1) is not None


def tokens_of(text: str) -> int:
    """About how many tokens a model counts in ``text``: models differ by a tenth or two."""
    return max(count_tokens(text), len(text) // CHARACTERS_PER_TOKEN)


def prompt_tokens(prompt: Prompt) -> int:
    """About how many tokens a model reads of ``prompt``."""
    offered = (f"{one.name} {one.description} {json.dumps(one.parameters)}" for one in prompt.tools)
    called = (
        f"{one.name} {one.arguments}" for exchange in prompt.history for one in exchange.calls
    )
    said = (text for one in prompt.history for text in (one.text, one.heard))
    texts = (prompt.system, prompt.user, *offered, *called, *said)
    return sum(tokens_of(text) for text in texts)


@cache
def warn_unpriced(identity: str) -> None:
    """Tell the log, once, that calls of a model count nothing in the budget."""
    logger.warning(
        "price unknown: %s; its calls count nothing in the budget (%s)", identity, SET_PRICES
    )


def _listed(provider: str, model: str, read: int, written: int) -> float | None:
    """US dollars by the price list; None when it does not know."""
    if not model or not _installed():
        return None
    # Heavy (a quarter of a second), and only there with the extra.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    usage = Usage(input_tokens=read, output_tokens=written)
    try:
        if "." in provider or ":" in provider or provider == "localhost":  # a host, not a name
            price = calc_price(usage, model, provider_api_url=f"https://{provider}/v1")
        else:
            price = calc_price(usage, model, provider_id=provider)
    except (LookupError, ValueError) as error:
        logger.debug("no price for %s of %s: %s", model, provider, error)
        return None
    return float(price.total_price)


@cache
def _installed() -> bool:
    return find_spec("genai_prices") is not None
