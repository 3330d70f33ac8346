"""Calls a language model on a server (OpenAI-compatible, Anthropic or Google) with pydantic-ai.

This module needs the extra ``llm`` and is imported only when such a model is configured. A
``Wire`` holds the differences between providers. The clients' own retries and the library's
telemetry are switched off: ``server_calls.py`` retries, and nothing is reported anywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import Exchange, ModelUsage, Piece, Prompt, TextDelta, ToolCall
from wellread.models.open_language_model import OPENAI, PLACEHOLDER_KEY, Endpoint, ProviderName
from wellread.models.server_calls import ThoughtFilter, remove_keys

NO_WORDS = "(no words)"  # some servers refuse an empty message


def messages_of(prompt: Prompt, *, mark_cache: bool = False) -> list[ModelMessage]:
    """Convert a prompt and its history to the library's messages."""
    content: str | list[UserContent] = prompt.user
    if mark_cache and prompt.shared:
        content = [prompt.user[: prompt.shared], CachePoint(), prompt.user[prompt.shared :]]
    opening = ModelRequest(
        parts=[SystemPromptPart(content=prompt.system), UserPromptPart(content=content)]
    )
    messages: list[ModelMessage] = [opening]
    for exchange in prompt.history:
        # A server that is offered no tools refuses results of tools.
        messages += _with_calls(exchange) if prompt.tools and exchange.calls else _as_text(exchange)
    return messages


def parameters_of(prompt: Prompt, *, structured: bool = False) -> ModelRequestParameters:
    """Convert the tools of a prompt, and its schema if ``structured``, to request parameters."""
    schema = dict(prompt.schema) if prompt.schema and structured else None
    return ModelRequestParameters(
        output_mode="native" if schema else "text",
        output_object=OutputObjectDefinition(name="reply", json_schema=schema) if schema else None,
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in prompt.tools
        ],
    )


def tool_calls_of(reply: ModelResponse) -> tuple[ToolCall, ...]:
    """Return the tool calls of a complete reply."""
    return tuple(
        ToolCall(
            id=part.tool_call_id,
            name=part.tool_name,
            arguments=part.args if isinstance(part.args, str) else json.dumps(part.args or {}),
        )
        for part in reply.tool_calls
    )


def _with_calls(exchange: Exchange) -> Iterator[ModelMessage]:
    replies: list[ModelResponsePart] = [TextPart(content=exchange.text)] if exchange.text else []
    replies += [
        ToolCallPart(tool_name=call.name, args=_arguments(call.arguments), tool_call_id=call.id)
        for call in exchange.calls
    ]
    yield ModelResponse(parts=replies)
    requests: list[ModelRequestPart] = [
        ToolReturnPart(tool_name=call.name, content=result, tool_call_id=call.id)
        for call, result in zip(exchange.calls, exchange.results, strict=True)
    ]
    if exchange.told:
        requests.append(UserPromptPart(content=exchange.told))
    yield ModelRequest(parts=requests)


def _as_text(exchange: Exchange) -> Iterator[ModelMessage]:
    yield ModelResponse(parts=[TextPart(content=exchange.text or NO_WORDS)])
    yield ModelRequest(parts=[UserPromptPart(content=exchange.heard or NO_WORDS)])


def _arguments(arguments: str) -> dict[str, object]:
    """Parse arguments as a JSON object; servers refuse a history with invalid ones."""
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


MAX_REASON_CHARS = 300
REFUSAL_HINT = "rephrase the question, or use another model"

E = TypeVar("E", bound=BaseException)


class Failures:
    """Builds the errors of one model at one endpoint, with keys removed."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._where = f"{endpoint.model} at {endpoint.host}"

    def _error(self, problem: str, hint: str = "", *, retryable: bool = False) -> ModelError:
        return ModelError(f"{self._where} {problem}", hint=hint, retryable=retryable)

    def translated(self, error: AgentRunError | UserError) -> ModelError:
        """Convert an error of the library."""
        if isinstance(error, ModelHTTPError):
            return self._refused(error)
        if transport := _cause(error, httpx2.TransportError):
            return self._lost(transport)
        if isinstance(error, ModelAPIError) and error.in_stream:
            return self._broken_off(error)
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return self._error(
                f"sent something that is not a streamed chat reply: {self._clean(error.message)}",
                f"try again; if it persists, check that {self._base_url()}",
                retryable=True,
            )
        return self._error(f"could not be called: {self._clean(str(error))}")

    def timed_out(self) -> ModelTimeoutError:
        """Return the error of a reply that exceeded the time limit."""
        return ModelTimeoutError(
            f"{self._where} did not finish within {self._settings.timeout:g} s",
            hint="raise generation.timeout, or use a faster model",
        )

    def cut_off(self, reason: str) -> ModelError:
        """Return the error of an incomplete reply."""
        what = f"was cut off in the middle of its reply: {reason}"
        return self._error(what, "try again", retryable=True)

    def declined(self, reason: str) -> ModelError:
        """Return the error of a model's refusal."""
        return self._error(f"refused to answer: {self._clean(reason)}", REFUSAL_HINT)

    def filtered(self, reason: str) -> ModelError:
        """Return the error of a server's content filter."""
        why = f" ({self._clean(reason)})" if reason else ""
        return ModelError(
            f"{self._where}: the server's content filter stopped the reply{why}", hint=REFUSAL_HINT
        )

    def empty(self, called_tools: Sequence[str], *, spent: bool) -> ModelError:
        """Return the error of an empty reply; ``called_tools`` names tools it called instead."""
        again = "try again or use another model"
        if called_tools:
            names = self._clean(", ".join(called_tools))
            what = f"called {names} instead of answering, although no tool was offered"
            return self._error(what, again, retryable=True)
        if spent:
            what = "gave an empty reply and used up its output limit"
            return self._error(what, "raise generation.max_tokens")
        return self._error("gave an empty reply", again, retryable=True)

    def _lost(self, error: httpx2.TransportError) -> ModelError:
        reason = self._clean(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ConnectTimeout):
            reason = "no connection in time"
        elif isinstance(error, httpx2.TimeoutException):
            return self.timed_out()
        elif isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
            return self.cut_off(reason)
        hint = f"is the server at {self._endpoint.url} running?"
        return self._error(f"cannot be reached: {reason}", hint, retryable=True)

    def _refused(self, error: ModelHTTPError) -> ModelError:
        status = error.status_code
        spent = isinstance(error, ModelQuotaExceededError)
        translated = self._error(
            f"answered {status}: {self._clean(_reason(error.body))}",
            self._hint(error, spent=spent),
            retryable=not spent and (status in (408, 409, 425, 429) or 500 <= status != 501),
        )
        translated.retry_after = error.retry_after
        return translated

    def _broken_off(self, error: ModelAPIError) -> ModelError:
        passing = isinstance(error, ModelRateLimitError | ModelUnavailableError | ModelServerError)
        return self._error(
            f"interrupted its reply: {self._clean(_reason(error.body))}",
            "try again later" if passing else "",
            retryable=not isinstance(error, ModelQuotaExceededError),
        )

    def _hint(self, error: ModelHTTPError, *, spent: bool) -> str:
        status = error.status_code
        if spent:
            return "the account has no credit left; top it up or use another model"
        if status in (401, 403) or "API_KEY_INVALID" in str(error.body):
            variable = self._endpoint.key_variable
            place = (
                f"in the environment variable {variable}" if variable else "on the settings page"
            )
            return f"check the key {place}"
        if status == 404:
            return (
                f"check that the server has a model {self._endpoint.model!r} and that "
                f"{self._base_url()}"
            )
        if isinstance(error, ModelContextWindowExceededError) or status in (400, 413, 422):
            return "the evidence may be too long for the model: lower context.max_tokens"
        return "try again later" if status == 429 or status >= 500 else ""

    def _base_url(self) -> str:
        url, provider = self._endpoint.url, self._endpoint.provider
        if provider == OPENAI:
            return f"{url} is the server's OpenAI-compatible base URL (it usually ends in /v1)"
        return f"{url} uses the wire format of {provider.name}"

    def _clean(self, reason: str) -> str:
        """Shorten a message to one line, without the key if the server sent it back."""
        keys = [key for key in (self._endpoint.key,) if key != PLACEHOLDER_KEY]
        line = " ".join(remove_keys(reason, keys).split())
        return line if len(line) <= MAX_REASON_CHARS else line[: MAX_REASON_CHARS - 1] + "…"


def _reason(body: object) -> str:
    if isinstance(body, list) and body:
        return _reason(body[0])
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if body.get(name):
                return _reason(body[name])
    return "no reason given" if not body else str(body)


def _cause(error: BaseException, kind: type[E]) -> E | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__
    return cause


logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
# Errors that the libraries raise when a reply is JSON of an unknown form.
FORMAT_ERRORS = (ValueError, TypeError, AttributeError, LookupError, AssertionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The differences of one provider.

    Attributes:
        connect: opens the library's model at an endpoint with a given HTTP client.
        chooses: the field of a model's profile for models that refuse a temperature.
        counts_end_a_reply: whether token counts come last, and so prove a complete reply.
        marks_cache: whether a mark in the prompt sets the prefix that the server caches.
    """

    connect: Callable[[Endpoint, httpx2.AsyncClient], Model]
    chooses: str = ""
    counts_end_a_reply: bool = False
    marks_cache: bool = False


# Each imports its client here: slow (a second each), and installed only with the extra.


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

    # The first event of a reply already contains a count.
    return Wire(connect=connect, chooses="anthropic_disallows_sampling_settings", marks_cache=True)


def _google() -> Wire:
    from google.genai import Client  # noqa: PLC0415
    from google.genai.types import HttpOptions  # noqa: PLC0415
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    def connect(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
        # For clients that are never used: each would read the certificate authorities again.
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
    """A model on a server. Keeps no connection between calls, so any event loop may use it."""

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
        """Whether the server accepts tools: yes, until it refuses them."""
        return not self._refuses_tools

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it arrives, its calls, then its token counts (0 when not reported).

        Tool calls are dropped if the prompt has no tools, and a reply of nothing else is an
        error. The time limit runs from the call to the last piece, including the consumer's own
        time.
        """
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        thoughts = ThoughtFilter()
        wrote = False
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout_at(deadline):
                    reply = await self._open(prompt, stack)
                events = aiter(reply)
                # The limit applies to each wait and never across a yield, where it would cancel
                # the consumer's own work.
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
            response = reply.get()
            calls = tool_calls_of(response) if prompt.tools else ()
            usage = self._finish(response, wrote=wrote, has_calls=bool(calls))
        for call in calls:
            yield call
        yield usage

    async def _open(self, prompt: Prompt, stack: AsyncExitStack) -> StreamedResponse:
        endpoint, settings = self._endpoint, self._settings
        # A proxy cannot reach this machine's loopback.
        remote = not _is_loopback(endpoint.url)
        http = await stack.enter_async_context(
            httpx2.AsyncClient(
                # One connection, so there is no pool to wait for.
                timeout=httpx2.Timeout(
                    settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout), pool=None
                ),
                trust_env=remote,
                verify=certificates(trust_env=remote),
            )
        )
        model = self._wire.connect(endpoint, http)
        options = ModelSettings(max_tokens=settings.max_tokens)
        if not (model.profile.get(self._wire.chooses) or self._refuses_temperature):
            temperature = prompt.temperature
            options["temperature"] = settings.temperature if temperature is None else temperature
        structured = bool(prompt.schema and model.profile.get("supports_json_schema_output"))
        while True:
            messages = messages_of(prompt, mark_cache=self._wire.marks_cache)
            parameters = parameters_of(prompt, structured=structured and not self._refuses_schema)
            try:
                return await _ask(model, messages, parameters, options, stack)
            except ModelHTTPError as error:
                self._refuses_tools = self._refuses_tools or (
                    bool(prompt.tools) and _is_about(error, "tool", "function call")
                )
                if "temperature" in options and _is_about(error, "temperature"):
                    # The model is newer than the library's list of models without temperature.
                    logger.info("%s refuses a temperature; repeating without it", self.identity)
                    self._refuses_temperature = True
                    del options["temperature"]
                elif parameters.output_object and _is_about(error, "format", "schema"):
                    logger.info("%s refuses a schema; repeating without it", self.identity)
                    self._refuses_schema = True
                else:
                    raise

    def _finish(self, reply: ModelResponse, *, wrote: bool, has_calls: bool) -> ModelUsage:
        """Return the usage of a reply; raise when it is a refusal, incomplete or empty."""
        details = reply.provider_details or {}
        usage = reply.usage
        reason = str(details.get("finish_reason", ""))
        if refusal := details.get("refusal") or (reason == "refusal" and "no reason given"):
            raise self._failures.declined(str(refusal))
        if reply.finish_reason == "content_filter":
            raise self._failures.filtered(str(details.get("block_reason", reason)))
        # Servers end a reply with a reason, a count or both; a reply with neither was cut off.
        counted = self._wire.counts_end_a_reply and usage.output_tokens
        if not reason and not counted:
            raise self._failures.cut_off("the stream ended without a finish reason")
        called = [part.tool_name for part in reply.tool_calls]
        if not (wrote or has_calls):
            raise self._failures.empty(called, spent=reply.finish_reason == "length")
        if called and not has_calls:
            logger.warning(
                "%s called tools that were not offered: %s", self.identity, ", ".join(called)
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
    """Return the trusted authorities, read once because that takes longer than a call."""
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
    except FORMAT_ERRORS as error:
        raise UnexpectedModelBehavior(f"its beginning cannot be read: {error}") from error


async def _next(
    events: AsyncIterator[ModelResponseStreamEvent], deadline: float
) -> ModelResponseStreamEvent | None:
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(events, None)
    except FORMAT_ERRORS as error:
        raise UnexpectedModelBehavior(f"an event cannot be read: {error}") from error


def _text_of(event: ModelResponseStreamEvent) -> str:
    """Return the text that an event adds to the reply, without thoughts and tool calls."""
    text: str | None = ""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        text = event.part.content
    elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        text = event.delta.content_delta
    return text or ""  # the clients do not check what a server sends


def _is_about(error: ModelHTTPError, *words: str) -> bool:
    body = str(error.body).lower()
    return error.status_code in (400, 404, 422) and any(word in body for word in words)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
