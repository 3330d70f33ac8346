"""How OpenAI and the servers that speak its chat format are asked."""

from __future__ import annotations

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from wellread.models.language.endpoint import Endpoint
from wellread.models.language.hosted import Wire


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    client = AsyncOpenAI(
        base_url=endpoint.url, api_key=endpoint.key, http_client=http, max_retries=0
    )
    if not endpoint.own_server:
        return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=client))
    return OpenAIChatModel(
        endpoint.model,
        provider=OpenAICompatibleProvider(endpoint.host, openai_client=client),
        # Servers other than OpenAI's know the older name of the output limit.
        profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False),
    )


def _samples(model: Model) -> bool:
    # Reasoning models refuse a temperature.
    return not model.profile.get("openai_supports_reasoning", False)


WIRE = Wire(connect=_connect, samples=_samples, counts_end_a_reply=True)
