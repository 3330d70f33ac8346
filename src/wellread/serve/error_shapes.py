"""Maps exceptions to the error name, HTTP status and JSON body that clients see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from wellread import errors
from wellread.text.characters import harmless

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error as a caller sees it.

    Attributes:
        error: a stable short name for programs (``unknown_topic``).
        detail: what happened, for people.
        hint: what to do about it; may be empty.
        status: the HTTP status.
        param: the wrong field of the request; may be empty.
        wait: seconds after which a retry may succeed (``Retry-After``); 0 if unknown.
    """

    error: str
    detail: str
    hint: str = ""
    status: int = HTTPStatus.INTERNAL_SERVER_ERROR
    param: str = ""
    wait: int = 0

    def __post_init__(self) -> None:
        """Strip control characters: file names and user text could carry terminal escapes."""
        for name in ("detail", "hint"):
            object.__setattr__(self, name, harmless(getattr(self, name)))

    def body(self) -> dict[str, str]:
        """Return the JSON body: ``{error, detail, hint}``."""
        return {"error": self.error, "detail": self.detail, "hint": self.hint}


class ProblemError(Exception):
    """Raised to end a request with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


# The first matching class wins, so subclasses come first.
_BY_CLASS: tuple[tuple[type[errors.WellreadError], str, HTTPStatus], ...] = (
    (errors.UnknownCollectionError, "unknown_topic", HTTPStatus.NOT_FOUND),
    (errors.UnknownNameError, "not_found", HTTPStatus.NOT_FOUND),
    (errors.RequestError, "bad_request", HTTPStatus.BAD_REQUEST),
    (errors.SettingsError, "settings", HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.SourceError, "source", HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.DamageError, "damaged", HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.FingerprintError, "index_outdated", HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.StoreError, "store", HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.BudgetError, "budget", HTTPStatus.TOO_MANY_REQUESTS),
    (errors.ModelTimeoutError, "model_timeout", HTTPStatus.GATEWAY_TIMEOUT),
    (errors.ModelError, "model", HTTPStatus.BAD_GATEWAY),
    (errors.WellreadError, "internal", HTTPStatus.INTERNAL_SERVER_ERROR),
)

_STATUS_NAMES = {
    HTTPStatus.BAD_REQUEST: "bad_request",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large",
    HTTPStatus.MISDIRECTED_REQUEST: "misdirected_request",
}


def problem_of(error: errors.WellreadError) -> Problem:
    """Return the problem for a raised error."""
    name, status = next((name, code) for kind, name, code in _BY_CLASS if isinstance(error, kind))
    detail = str(error.args[0]) if error.args else type(error).__name__
    return Problem(error=name, detail=detail, hint=error.hint, status=status)


def problem_to_tell(error: Exception, doing: str) -> Problem:
    """Return the problem for any error where no status can tell it; an unexpected one is logged."""
    if isinstance(error, errors.WellreadError):
        return problem_of(error)
    logger.error(doing, exc_info=error)
    return INTERNAL


def problem_of_status(status: int, detail: str, hint: str = "", param: str = "") -> Problem:
    """Return the problem for an HTTP status, named after it."""
    status_code = HTTPStatus(status)
    name = _STATUS_NAMES.get(status_code, status_code.phrase.lower().replace(" ", "_"))
    return Problem(error=name, detail=detail, hint=hint, status=status, param=param)


OPENAI_PATH = "/v1/"
_OPENAI_TYPES = {
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
QUOTA_SPENT = "insufficient_quota"


def body_at(path: str, problem: Problem) -> Mapping[str, object]:
    """Return an error as JSON for callers of ``path``; below ``/v1/`` in OpenAI's format."""
    return openai_error(problem) if path.startswith(OPENAI_PATH) else problem.body()


def openai_error(problem: Problem) -> dict[str, dict[str, str | None]]:
    """Return the body in OpenAI's format: ``{error: {message, type, param, code}}``."""
    fault = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind = _OPENAI_TYPES.get(HTTPStatus(problem.status), fault)
    return {
        "error": {
            "message": " ".join(filter(None, (problem.detail, problem.hint))),
            "type": QUOTA_SPENT if problem.error == "budget" else kind,
            "param": problem.param or None,
            "code": problem.error,
        }
    }


QA_SWITCHED_OFF = Problem(
    error="qa_disabled",
    detail="Answering questions is switched off (qa.enabled is false).",
    hint="Set qa.enabled to true in wellread.yaml, or WELLREAD_QA_ENABLED=true, and restart.",
    status=HTTPStatus.FORBIDDEN,
)
INTERNAL = Problem(
    error="internal",
    detail="Something went wrong inside the server.",
    hint="The server's log has the details.",
)
STOPPING = problem_of_status(503, "The server is stopping.", "Ask again in a moment.")
