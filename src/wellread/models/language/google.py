"""How Google's models are asked, by the Gemini API."""

from __future__ import annotations

import httpx2
from google.genai import Client
from google.genai.types import HttpOptions
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from wellread.models.language.endpoint import Endpoint
from wellread.models.language.hosted import Wire, certificates


def _connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    # For clients that are never used: it would read the authorities anew for each of them.
    unused = {"verify": certificates(trust_env=http.trust_env)}
    options = HttpOptions(
        base_url=endpoint.url,
        httpx_async_client=http,
        timeout=int((http.timeout.read or 0) * 1000) or None,
        client_args=unused,
        async_client_args=unused,
    )
    client = Client(vertexai=False, api_key=endpoint.key, http_options=options)
    return GoogleModel(endpoint.model, provider=GoogleProvider(client=client))


def _samples(model: Model) -> bool:  # noqa: ARG001 - all of them do
    return True


# Counts come with every event.
WIRE = Wire(connect=_connect, samples=_samples, counts_end_a_reply=False)
