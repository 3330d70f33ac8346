"""A language model behind an OpenAI-compatible server, asked through pydantic-ai.

This module needs the extra ``llm`` and is imported by ``llm.open_model`` only when a model is
configured. The client's own retries and the library's telemetry are switched off: retries are
ours (``retrying.py``), and nothing is reported anywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from wellread.ask_settings import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import ModelUsage, Prompt, TextDelta
from wellread.models.endpoint import PLACEHOLDER_KEY, Endpoint
from wellread.models.thoughts import ThoughtFilter

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
LONGEST_REASON = 300

E = TypeVar("E", bound=BaseException)


class OpenAICompatibleModel:
    """One model on one server. Holds no connection between calls, so any event loop may use it."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._where = f"{endpoint.model} at {endpoint.host}"

    @property
    def identity(self) -> str:
        """``openai:gpt-4o-mini`` or ``llama3.2@localhost:11434``."""
        return self._endpoint.identity

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The reply as it arrives, then its token counts (0 where the server gives none).

        The time limit runs from the call to the last piece, the reader's own time included.

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
                raise self._timed_out() from error
            except (AgentRunError, UserError) as error:
                raise self._translated(error) from error
            usage = self._finish(reply.get(), wrote=wrote)
        yield usage

    async def _open(self, prompt: Prompt, stack: AsyncExitStack) -> StreamedResponse:
        endpoint, settings = self._endpoint, self._settings
        http = await stack.enter_async_context(
            httpx2.AsyncClient(
                timeout=httpx2.Timeout(
                    settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout)
                ),
                # A proxy cannot reach this machine's own loopback.
                trust_env=not _is_loopback(endpoint.url),
            )
        )
        client = AsyncOpenAI(
            base_url=endpoint.url, api_key=endpoint.key, http_client=http, max_retries=0
        )
        model = OpenAIChatModel(
            endpoint.model,
            provider=_provider(endpoint, client),
            # Servers other than OpenAI's know the older name of the output limit.
            profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
            if endpoint.own_server
            else None,
        )
        request = ModelRequest(
            parts=[
                SystemPromptPart(content=prompt.system),
                UserPromptPart(content=prompt.user),
            ]
        )
        options = ModelSettings(max_tokens=settings.max_tokens)
        if not model.profile.get("openai_supports_reasoning", False):
            options["temperature"] = settings.temperature  # reasoning models refuse it
        return await stack.enter_async_context(
            model_request_stream(model, [request], model_settings=options, instrument=False)
        )

    def _finish(self, reply: ModelResponse, *, wrote: bool) -> ModelUsage:
        """The usage of a reply that has ended, once it is known to be a whole one."""
        details = reply.provider_details or {}
        usage = reply.usage
        if refusal := details.get("refusal"):
            raise ModelError(
                f"{self._where} refused to answer: {_one_line(str(refusal))}",
                hint="ask in other words, or use another model",
            )
        if reply.finish_reason == "content_filter":
            raise ModelError(
                f"{self._where}: the server's content filter stopped the reply",
                hint="ask in other words, or use another model",
            )
        # Servers end a reply with a reason, a count or both; a reply with neither was cut off.
        if "finish_reason" not in details and not usage.output_tokens:
            raise self._cut_off("the stream ended without a finish reason")
        if not wrote:
            spent = reply.finish_reason == "length"
            raise ModelError(
                f"{self._where} gave an empty reply"
                + (" and used up its output limit" if spent else ""),
                hint="raise generation.max_tokens" if spent else "try again or use another model",
                retryable=not spent,
            )
        if reply.finish_reason == "length":
            logger.warning(
                "%s stopped at generation.max_tokens (%d)", self._where, self._settings.max_tokens
            )
        return ModelUsage(
            model=reply.model_name or self._endpoint.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )

    def _timed_out(self) -> ModelTimeoutError:
        return ModelTimeoutError(
            f"{self._where} did not finish within {self._settings.timeout:g} s",
            hint="raise generation.timeout, or use a faster model",
        )

    def _cut_off(self, reason: str) -> ModelError:
        return ModelError(
            f"{self._where} was cut off in the middle of its reply: {reason}",
            hint="try again",
            retryable=True,
        )

    def _translated(self, error: AgentRunError | UserError) -> ModelError:
        """The library's error in our words, with what to do about it."""
        if isinstance(error, ModelHTTPError):
            return self._refused(error)
        if transport := _cause(error, httpx2.TransportError):
            return self._lost(transport)
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return ModelError(
                f"{self._where} sent something that is not a streamed chat reply: "
                f"{self._clean(error.message)}",
                hint=f"try again; if it stays, check that {self._endpoint.url} is the server's "
                "OpenAI-compatible base URL (it mostly ends in /v1)",
                retryable=True,
            )
        return ModelError(f"{self._where} could not be asked: {self._clean(str(error))}")

    def _lost(self, error: httpx2.TransportError) -> ModelError:
        """The error of a connection that failed."""
        if isinstance(error, httpx2.ConnectTimeout):
            return self._unreachable("no connection in time")
        if isinstance(error, httpx2.TimeoutException):
            return self._timed_out()
        reason = _one_line(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
            return self._cut_off(reason)
        return self._unreachable(reason)

    def _unreachable(self, reason: str) -> ModelError:
        return ModelError(
            f"{self._where} cannot be reached: {reason}",
            hint=f"is the server at {self._endpoint.url} running?",
            retryable=True,
        )

    def _refused(self, error: ModelHTTPError) -> ModelError:
        """The error of an HTTP status (also of one that was sent inside a stream)."""
        status = error.status_code
        spent = status == 402 or error.provider_error_code == "insufficient_quota"
        retryable = not spent and (status in (408, 409, 425, 429) or 500 <= status != 501)
        translated = ModelError(
            f"{self._where} answered {status}: {self._clean(_reason(error.body))}",
            hint=self._hint(status, spent=spent),
            retryable=retryable,
        )
        translated.retry_after = error.retry_after
        return translated

    def _hint(self, status: int, *, spent: bool) -> str:
        if spent:
            return "the account has no credit left; top it up or use another model"
        if status in (401, 403):
            return f"check the key in the environment variable {self._endpoint.key_variable}"
        if status == 404:
            return (
                f"does the server have a model {self._endpoint.model!r}, and is "
                f"{self._endpoint.url} its base URL (mostly …/v1)?"
            )
        if status in (400, 413, 422):
            return "too much evidence for the model? lower context.max_tokens"
        return "try again later" if status == 429 or status >= 500 else ""

    def _clean(self, reason: str) -> str:
        """One short line without the key, should the server have sent it back."""
        key = self._endpoint.key
        return _one_line(reason if key == PLACEHOLDER_KEY else reason.replace(key, "***"))


def _provider(endpoint: Endpoint, client: AsyncOpenAI) -> OpenAIProvider | OpenAICompatibleProvider:
    if endpoint.own_server:
        return OpenAICompatibleProvider(endpoint.host, openai_client=client)
    return OpenAIProvider(openai_client=client)


async def _next(
    events: AsyncIterator[ModelResponseStreamEvent], deadline: float
) -> ModelResponseStreamEvent | None:
    async with asyncio.timeout_at(deadline):
        return await anext(events, None)


def _text_of(event: ModelResponseStreamEvent) -> str:
    """The text an event adds to the reply; thoughts and tool calls add none."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _reason(body: object) -> str:
    """What a server says in an error's body, whichever of the usual shapes it has."""
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if body.get(name):
                return _reason(body[name])
    return "no reason given" if not body else str(body)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _cause(error: BaseException, kind: type[E]) -> E | None:
    """The nearest error of ``kind`` that led to ``error``."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__
    return cause


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
