"""The providers of language models, each with the server that speaks as it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.doubles import anthropic_server, google_server, openai_server
from tests.doubles.anthropic_server import AnthropicServer
from tests.doubles.google_server import GoogleServer
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.replies import Malformed, Reply
from tests.doubles.wire_server import WireServer

from wellread.config import GenerationSettings
from wellread.models.base import LanguageModel
from wellread.models.open_language_model import open_model

KEY = "sk-secret-123"
ENVIRON = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), KEY)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider and how its servers fail."""

    model: str
    server: Callable[[list[Reply]], WireServer]
    fails: Any  # the module of its double, which has its failures
    variable: str
    # An event that is no JSON, under the name that makes the client read it.
    broken: Malformed
    # JSON that is not what the wire format says.
    strange: tuple[Malformed, ...]

    @property
    def wire(self) -> str:
        return self.model.partition(":")[0]

    @property
    def name(self) -> str:
        return self.model.partition(":")[2]


DELTA = "content_block_delta"
PROVIDERS = (
    Provider(
        model="openai:gpt-4o-mini",
        server=OpenAIServer,
        fails=openai_server,
        variable="OPENAI_API_KEY",
        broken=Malformed(text="The sky"),
        strange=(
            Malformed(data="[]"),
            Malformed(data="3"),
            Malformed(text="The", data='{"choices": 7}'),
            Malformed(text="The", data='{"choices": [7]}'),
        ),
    ),
    Provider(
        model="anthropic:claude-haiku-4-5",
        server=AnthropicServer,
        fails=anthropic_server,
        variable="ANTHROPIC_API_KEY",
        broken=Malformed(text="The sky", name=DELTA),
        strange=(
            Malformed(data="[]", name=DELTA),
            Malformed(data="{}", name=DELTA),
            Malformed(data='{"index": 0, "delta": 7}', name=DELTA),
            Malformed(
                data='{"type": "content_block_delta", "index": 4, "delta": {"type":"text_delta"}}',
                name=DELTA,
            ),
        ),
    ),
    Provider(
        model="google:gemini-2.5-flash",
        server=GoogleServer,
        fails=google_server,
        variable="GEMINI_API_KEY",
        broken=Malformed(text="The sky"),
        strange=(
            Malformed(data="[]"),
            Malformed(data="3"),
            Malformed(text="The", data='{"candidates": 7}'),
            Malformed(text="The", data='{"candidates": [{"content": {"parts": [{"odd": 1}]}}]}'),
        ),
    ),
)


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.wire)
def provider(request: pytest.FixtureRequest) -> Provider:
    chosen = request.param
    assert isinstance(chosen, Provider)
    return chosen


def model_at(
    provider: Provider, server: WireServer, environ: Mapping[str, str] = ENVIRON, **settings: Any
) -> LanguageModel:
    given = {"model": provider.model, "base_url": server.url, "timeout": 10.0, "retries": 0}
    model = open_model(GenerationSettings.model_validate(given | settings), environ)
    assert model is not None
    return model
