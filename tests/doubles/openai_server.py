"""A scripted server that speaks the OpenAI chat wire format."""

from __future__ import annotations

from collections.abc import Sequence

from tests.doubles.openai_wire import OpenAIWire
from tests.doubles.replies import Failure, Reply
from tests.doubles.wire_server import WireServer

UNAUTHORIZED = Failure(status=401, message="Incorrect API key provided", code="invalid_api_key")
MODEL_NOT_FOUND = Failure(
    status=404, message="The model does not exist or you do not have access", code="model_not_found"
)
RATE_LIMITED = Failure(
    status=429, message="Rate limit reached", code="rate_limit_exceeded", retry_after="2"
)
SERVER_ERROR = Failure(status=500, message="Internal error")
OVERLOADED = Failure(status=503, message="The model is overloaded")
NO_TEMPERATURE = Failure(
    status=400,
    message="Unsupported value: 'temperature' does not support 0.3 with this model.",
    code="unsupported_value",
)


class OpenAIServer(WireServer):
    """Runs while the ``with`` block lasts.

    Example::

        with OpenAIServer([RATE_LIMITED, Text(text="Blue [e1].")]) as server:
            settings = GenerationSettings(model="any", base_url=server.url)
    """

    def __init__(self, replies: Sequence[Reply], *, models: Sequence[str] = ("scripted",)) -> None:
        super().__init__(replies, OpenAIWire(tuple(models)))

    @property
    def url(self) -> str:
        """The base URL, with ``/v1``."""
        return f"{self.address}/v1"
