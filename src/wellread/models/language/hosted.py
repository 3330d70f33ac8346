"""A language model on a server, asked through pydantic-ai.

This module needs the extra ``llm`` and is imported only when such a model is configured. What
differs between providers is a ``Wire``. The clients' own retries and the library's telemetry are
switched off: retries are ours (``retrying.py``), and nothing is reported anywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from wellread.config import GenerationSettings
from wellread.models.base import ModelUsage, Piece, Prompt, TextDelta
from wellread.models.language.endpoint import Endpoint, ProviderName
from wellread.models.language.messages import called_in, messages_of, offered
from wellread.models.language.provider_errors import Failures
from wellread.models.language.reasoning_tags import ThoughtFilter

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
# What the libraries let through when a reply is JSON but not of the form they know.
MISREAD = (ValueError, TypeError, AttributeError, LookupError, AssertionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What is particular to one provider.

    Attributes:
        connect: the library's model at an endpoint, over a given client.
        chooses: the field of a model's profile that says that it refuses a temperature.
        counts_end_a_reply: whether token counts come last, so that they prove a whole reply.
        marks_cache: whether it keeps read what a mark in the prompt says.
    """

    connect: Callable[[Endpoint, httpx2.AsyncClient], Model]
    chooses: str = ""
    counts_end_a_reply: bool = False
    marks_cache: bool = False


# Each imports its client here: heavy (a second each), and only there with the extra.


def _openai() -> Wire:
    from openai import AsyncOpenAI  # noqa: PLC0415
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    def connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
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

    return Wire(connect=connect, chooses="openai_supports_reasoning", counts_end_a_reply=True)


def _anthropic() -> Wire:
    from anthropic import AsyncAnthropic  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    def connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
        client = AsyncAnthropic(
            base_url=endpoint.url, api_key=endpoint.key, http_client=http, max_retries=0
        )
        return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))

    # The first event of a reply holds a count already.
    return Wire(connect=connect, chooses="anthropic_disallows_sampling_settings", marks_cache=True)


def _google() -> Wire:
    from google.genai import Client  # noqa: PLC0415
    from google.genai.types import HttpOptions  # noqa: PLC0415
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    def connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
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

    return Wire(connect=connect)  # counts come with every event


WIRES: Mapping[ProviderName, Callable[[], Wire]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
}


class HostedModel:
    """One model on one server. Holds no connection between calls, so any event loop may use it."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._wire = WIRES[endpoint.provider.name]()
        self._failures = Failures(endpoint, settings)
        self._refuses_temperature = False
        self._refuses_tools = False
        self._refuses_schema = False

    @property
    def identity(self) -> str:
        """``openai:gpt-4o-mini`` or ``llama3.2@localhost:11434``."""
        return self._endpoint.identity

    @property
    def takes_tools(self) -> bool:
        """Yes, until the server has refused some."""
        return not self._refuses_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """The reply as it arrives, its calls, then its token counts (0 where there are none).

        Without tools in the prompt, calls of a tool in the reply are left out, and a reply of
        nothing else is an error. The time limit runs from the call to the last piece, the
        reader's own time included.

        Raises:
            ModelError: refused, unreachable, cut off, empty, or not the wire format.
            ModelTimeoutError: no end within ``settings.timeout`` seconds.
        """
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        thoughts = ThoughtFilter()
        wrote = False
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout_at(deadline):
                    reply = await self._open(prompt, stack)
                events = aiter(reply)
                # The limit holds around each wait and never across a yield: it would otherwise
                # cancel the reader's own work.
                while (event := await _next(events, deadline)) is not None:
                    if piece := thoughts.feed(_text_of(event)):
                        wrote = wrote or not piece.isspace()
                        yield TextDelta(text=piece)
                if rest := thoughts.finish():
                    wrote = wrote or not rest.isspace()
                    yield TextDelta(text=rest)
            except TimeoutError as error:
                raise self._failures.timed_out() from error
            except (AgentRunError, UserError) as error:
                raise self._failures.translated(error) from error
            whole = reply.get()
            calls = called_in(whole) if prompt.tools else ()
            usage = self._finish(whole, wrote=wrote, asked_for=bool(calls))
        for call in calls:
            yield call
        yield usage

    async def _open(self, prompt: Prompt, stack: AsyncExitStack) -> StreamedResponse:
        endpoint, settings = self._endpoint, self._settings
        # A proxy cannot reach this machine's own loopback.
        abroad = not _is_loopback(endpoint.url)
        http = await stack.enter_async_context(
            httpx2.AsyncClient(
                # One connection, so there is none to wait for.
                timeout=httpx2.Timeout(
                    settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout), pool=None
                ),
                trust_env=abroad,
                verify=certificates(trust_env=abroad),
            )
        )
        model = self._wire.connect(endpoint, http)
        options = ModelSettings(max_tokens=settings.max_tokens)
        if not (model.profile.get(self._wire.chooses) or self._refuses_temperature):
            asked = prompt.temperature
            options["temperature"] = settings.temperature if asked is None else asked
        structured = bool(prompt.schema and model.profile.get("supports_json_schema_output"))
        while True:
            messages = messages_of(prompt, marked=self._wire.marks_cache)
            parameters = offered(prompt, structured=structured and not self._refuses_schema)
            try:
                return await _ask(model, messages, parameters, options, stack)
            except ModelHTTPError as error:
                self._refuses_tools = self._refuses_tools or (
                    bool(prompt.tools) and _is_about(error, "tool", "function call")
                )
                if "temperature" in options and _is_about(error, "temperature"):
                    # A model newer than the library's list of those that choose their own.
                    logger.info("%s takes no temperature; asked again without", self.identity)
                    self._refuses_temperature = True
                    del options["temperature"]
                elif parameters.output_object and _is_about(error, "format", "schema"):
                    logger.info("%s takes no schema; asked again without", self.identity)
                    self._refuses_schema = True
                else:
                    raise

    def _finish(self, reply: ModelResponse, *, wrote: bool, asked_for: bool) -> ModelUsage:
        """The usage of a reply that has ended, once it is known to be a whole one."""
        details = reply.provider_details or {}
        usage = reply.usage
        reason = str(details.get("finish_reason", ""))
        if refusal := details.get("refusal") or (reason == "refusal" and "no reason given"):
            raise self._failures.declined(str(refusal))
        if reply.finish_reason == "content_filter":
            raise self._failures.filtered(str(details.get("block_reason", reason)))
        # Some servers end a reply with a reason, a count or both; one with neither was cut off.
        counted = self._wire.counts_end_a_reply and usage.output_tokens
        if not reason and not counted:
            raise self._failures.cut_off("the stream ended without a finish reason")
        called = [part.tool_name for part in reply.tool_calls]
        if not (wrote or asked_for):
            raise self._failures.empty(called, spent=reply.finish_reason == "length")
        if called and not asked_for:
            logger.warning(
                "%s called tools that it was not offered: %s", self.identity, ", ".join(called)
            )
        if reply.finish_reason == "length":
            logger.warning(
                "%s stopped at generation.max_tokens (%d)", self.identity, self._settings.max_tokens
            )
        return ModelUsage(
            model=reply.model_name or self._endpoint.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )


@cache
def certificates(*, trust_env: bool) -> ssl.SSLContext:
    """The authorities that are trusted; read once, since that takes longer than a call."""
    return httpx2.create_ssl_context(trust_env=trust_env)


async def _ask(
    model: Model,
    messages: list[ModelMessage],
    parameters: ModelRequestParameters,
    options: ModelSettings,
    stack: AsyncExitStack,
) -> StreamedResponse:
    opening = model_request_stream(
        model,
        messages,
        model_settings=options,
        model_request_parameters=parameters,
        instrument=False,
    )
    try:
        return await stack.enter_async_context(opening)
    except MISREAD as error:
        raise UnexpectedModelBehavior(f"its beginning cannot be read: {error}") from error


async def _next(
    events: AsyncIterator[ModelResponseStreamEvent], deadline: float
) -> ModelResponseStreamEvent | None:
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(events, None)
    except MISREAD as error:
        raise UnexpectedModelBehavior(f"an event cannot be read: {error}") from error


def _text_of(event: ModelResponseStreamEvent) -> str:
    """The text an event adds to the reply; thoughts and tool calls add none."""
    text: str | None = ""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        text = event.part.content
    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        text = event.delta.content_delta
    return text or ""  # the clients do not check what a server sends


def _is_about(error: ModelHTTPError, *words: str) -> bool:
    said = str(error.body).lower()
    return error.status_code in (400, 404, 422) and any(word in said for word in words)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
