"""How Anthropic's models are asked."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from wellread.models.language.endpoint import Endpoint
from wellread.models.language.hosted import Wire


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    client = AsyncAnthropic(
        base_url=endpoint.url, api_key=endpoint.key, http_client=http, max_retries=0
    )
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))


def _samples(model: Model) -> bool:
    return not model.profile.get("anthropic_disallows_sampling_settings", False)


# The first event of a reply holds a count already.
WIRE = Wire(connect=_connect, samples=_samples, counts_end_a_reply=False)
