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

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.key_redaction import without_keys
from wellread.models.language.endpoint import OPENAI, PLACEHOLDER_KEY, Endpoint

LONGEST_REASON = 300
OTHERWISE = "ask in other words, or use another model"

E = TypeVar("E", bound=BaseException)


class Failures:
    """Makes the errors of one model at one endpoint. Keys are never in them."""

    def __init__(self, endpoint: Endpoint, settings: GenerationSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._where = f"{endpoint.model} at {endpoint.host}"

    def _error(self, what: str, hint: str = "", *, retryable: bool = False) -> ModelError:
        return ModelError(f"{self._where} {what}", hint=hint, retryable=retryable)

    def translated(self, error: AgentRunError | UserError) -> ModelError:
        """The library's error."""
        if isinstance(error, ModelHTTPError):
            return self._refused(error)
        if transport := _cause(error, httpx2.TransportError):
            return self._lost(transport)
        if isinstance(error, ModelAPIError) and error.in_stream:
            return self._broken_off(error)
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return self._error(
                f"sent something that is not a streamed chat reply: {self._clean(error.message)}",
                f"try again; if it stays, check that {self._base_url()}",
                retryable=True,
            )
        return self._error(f"could not be asked: {self._clean(str(error))}")

    def timed_out(self) -> ModelTimeoutError:
        """No end within the time limit."""
        return ModelTimeoutError(
            f"{self._where} did not finish within {self._settings.timeout:g} s",
            hint="raise generation.timeout, or use a faster model",
        )

    def cut_off(self, reason: str) -> ModelError:
        """A reply without its end."""
        what = f"was cut off in the middle of its reply: {reason}"
        return self._error(what, "try again", retryable=True)

    def declined(self, reason: str) -> ModelError:
        """The model itself would not answer."""
        return self._error(f"refused to answer: {self._clean(reason)}", OTHERWISE)

    def filtered(self, reason: str) -> ModelError:
        """The server would not let the reply, or the prompt, through."""
        why = f" ({self._clean(reason)})" if reason else ""
        return ModelError(
            f"{self._where}: the server's content filter stopped the reply{why}", hint=OTHERWISE
        )

    def empty(self, called: Sequence[str], *, spent: bool) -> ModelError:
        """A reply without a word; ``called`` names the tools that it asked for instead."""
        again = "try again or use another model"
        if called:
            names = self._clean(", ".join(called))
            what = f"called {names} instead of answering, although no tool was offered"
            return self._error(what, again, retryable=True)
        if spent:
            what = "gave an empty reply and used up its output limit"
            return self._error(what, "raise generation.max_tokens")
        return self._error("gave an empty reply", again, retryable=True)

    def _lost(self, error: httpx2.TransportError) -> ModelError:
        """The error of a connection that failed."""
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
        """The error of an HTTP status (also of one that was sent inside a stream)."""
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
        """An error that a server sent inside a stream without a status that is known."""
        passing = isinstance(error, ModelRateLimitError | ModelUnavailableError | ModelServerError)
        return self._error(
            f"broke off its reply: {self._clean(_reason(error.body))}",
            "try again later" if passing else "",
            retryable=not isinstance(error, ModelQuotaExceededError),
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
        keys = [key for key in (self._endpoint.key,) if key != PLACEHOLDER_KEY]
        line = " ".join(without_keys(reason, keys).split())
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
