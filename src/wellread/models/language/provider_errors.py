"""What went wrong with a model on a server, in our words, with what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import httpx2
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

from wellread.ask_settings import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.language.endpoint import OPENAI, PLACEHOLDER_KEY, Endpoint

LONGEST_REASON = 300

E = TypeVar("E", bound=BaseException)


class Failures:
    """Makes the errors of one model at one endpoint. Keys are never in them."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._where = f"{endpoint.model} at {endpoint.host}"

    def translated(self, error: AgentRunError | UserError) -> ModelError:
        """The library's error."""
        if isinstance(error, ModelHTTPError):
            return self._refused(error)
        if transport := _cause(error, httpx2.TransportError):
            return self._lost(transport)
        if isinstance(error, ModelAPIError) and error.in_stream:
            return self._broken_off(error)
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return ModelError(
                f"{self._where} sent something that is not a streamed chat reply: "
                f"{self._clean(error.message)}",
                hint=f"try again; if it stays, check that {self._base_url()}",
                retryable=True,
            )
        return ModelError(f"{self._where} could not be asked: {self._clean(str(error))}")

    def timed_out(self) -> ModelTimeoutError:
        """No end within the time limit."""
        return ModelTimeoutError(
            f"{self._where} did not finish within {self._settings.timeout:g} s",
            hint="raise generation.timeout, or use a faster model",
        )

    def cut_off(self, reason: str) -> ModelError:
        """A reply without its end."""
        return ModelError(
            f"{self._where} was cut off in the middle of its reply: {reason}",
            hint="try again",
            retryable=True,
        )

    def declined(self, reason: str) -> ModelError:
        """The model itself would not answer."""
        return ModelError(
            f"{self._where} refused to answer: {self._clean(reason)}",
            hint="ask in other words, or use another model",
        )

    def filtered(self, reason: str) -> ModelError:
        """The server would not let the reply, or the prompt, through."""
        return ModelError(
            f"{self._where}: the server's content filter stopped the reply"
            + (f" ({self._clean(reason)})" if reason else ""),
            hint="ask in other words, or use another model",
        )

    def empty(self, called: Sequence[str], *, spent: bool) -> ModelError:
        """A reply without a word; ``called`` names the tools that it asked for instead."""
        if called:
            return ModelError(
                f"{self._where} called {self._clean(', '.join(called))} instead of answering, "
                "although no tool was offered",
                hint="try again or use another model",
                retryable=True,
            )
        return ModelError(
            f"{self._where} gave an empty reply"
            + (" and used up its output limit" if spent else ""),
            hint="raise generation.max_tokens" if spent else "try again or use another model",
            retryable=not spent,
        )

    def _lost(self, error: httpx2.TransportError) -> ModelError:
        """The error of a connection that failed."""
        if isinstance(error, httpx2.ConnectTimeout):
            return self._unreachable("no connection in time")
        if isinstance(error, httpx2.TimeoutException):
            return self.timed_out()
        reason = self._clean(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
            return self.cut_off(reason)
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
        spent = isinstance(error, ModelQuotaExceededError)
        retryable = not spent and (status in (408, 409, 425, 429) or 500 <= status != 501)
        translated = ModelError(
            f"{self._where} answered {status}: {self._clean(_reason(error.body))}",
            hint=self._hint(error, spent=spent),
            retryable=retryable,
        )
        translated.retry_after = error.retry_after
        return translated

    def _broken_off(self, error: ModelAPIError) -> ModelError:
        """An error that a server sent inside a stream without a status that is known."""
        passing = isinstance(error, ModelRateLimitError | ModelUnavailableError | ModelServerError)
        spent = isinstance(error, ModelQuotaExceededError)
        return ModelError(
            f"{self._where} broke off its reply: {self._clean(_reason(error.body))}",
            hint="try again later" if passing else "",
            retryable=not spent,
        )

    def _hint(self, error: ModelHTTPError, *, spent: bool) -> str:
        status = error.status_code
        if spent:
            return "the account has no credit left; top it up or use another model"
        if status in (401, 403) or "API_KEY_INVALID" in str(error.body):
            return f"check the key in the environment variable {self._endpoint.key_variable}"
        if status == 404:
            return (
                f"check that the server has a model {self._endpoint.model!r} and that "
                f"{self._base_url()}"
            )
        if isinstance(error, ModelContextWindowExceededError) or status in (400, 413, 422):
            return "too much evidence for the model? lower context.max_tokens"
        return "try again later" if status == 429 or status >= 500 else ""

    def _base_url(self) -> str:
        url, provider = self._endpoint.url, self._endpoint.provider
        if provider == OPENAI:
            return f"{url} is the server's OpenAI-compatible base URL (it mostly ends in /v1)"
        return f"{url} speaks the wire format of {provider.name}"

    def _clean(self, reason: str) -> str:
        """One short line without the key, should the server have sent it back."""
        key = self._endpoint.key
        line = " ".join((reason if key == PLACEHOLDER_KEY else reason.replace(key, "***")).split())
        return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _reason(body: object) -> str:
    """What a server says in an error's body, whichever of the usual shapes it has."""
    if isinstance(body, list) and body:
        return _reason(body[0])
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if body.get(name):
                return _reason(body[name])
    return "no reason given" if not body else str(body)


def _cause(error: BaseException, kind: type[E]) -> E | None:
    """The nearest error of ``kind`` that led to ``error``."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__
    return cause
