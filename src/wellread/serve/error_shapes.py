"""How an error looks outside: one table for the HTTP interface and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from wellread import errors
from wellread.text.words import harmless


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error as a caller sees it.

    Attributes:
        error: a short name to program against (``unknown_topic``).
        detail: what happened, in words.
        hint: what to do about it; may be empty.
        status: the HTTP status.
        param: the field of the request that is wrong; empty when it is none.
        wait: seconds after which it may be otherwise (``Retry-After``); 0: not known.
    """

    error: str
    detail: str
    hint: str = ""
    status: int = HTTPStatus.INTERNAL_SERVER_ERROR
    param: str = ""
    wait: int = 0

    def __post_init__(self) -> None:
        """An error quotes names of files and what was asked: nothing of that drives a screen."""
        for name in ("detail", "hint"):
            object.__setattr__(self, name, harmless(getattr(self, name)))

    def body(self) -> dict[str, str]:
        """The JSON body: ``{error, detail, hint}``."""
        return {"error": self.error, "detail": self.detail, "hint": self.hint}


class ProblemError(Exception):
    """Ends a request with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


# The first class that fits wins, so the finer classes come first.
_TABLE: tuple[tuple[type[errors.WellreadError], str, HTTPStatus], ...] = (
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
    """The problem that a raised error stands for."""
    name, status = next((name, status) for kind, name, status in _TABLE if isinstance(error, kind))
    detail = str(error.args[0]) if error.args else type(error).__name__
    return Problem(error=name, detail=detail, hint=error.hint, status=status)


def problem_of_status(status: int, detail: str, hint: str = "", param: str = "") -> Problem:
    """The problem for a bare HTTP status, named after it."""
    known = HTTPStatus(status)
    name = _STATUS_NAMES.get(known, known.phrase.lower().replace(" ", "_"))
    return Problem(error=name, detail=detail, hint=hint, status=status, param=param)


OPENAI_PATH = "/v1/"
_OPENAI_TYPES = {
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
SPENT = "insufficient_quota"


def body_at(path: str, problem: Problem) -> Mapping[str, object]:
    """The JSON body of an error for whoever called ``path``: OpenAI's form below ``/v1/``."""
    return openai_error(problem) if path.startswith(OPENAI_PATH) else problem.body()


def openai_error(problem: Problem) -> dict[str, dict[str, str | None]]:
    """The JSON body that programs for OpenAI read: ``{error: {message, type, param, code}}``."""
    fault = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind = _OPENAI_TYPES.get(HTTPStatus(problem.status), fault)
    return {
        "error": {
            "message": " ".join(filter(None, (problem.detail, problem.hint))),
            "type": SPENT if problem.error == "budget" else kind,
            "param": problem.param or None,
            "code": problem.error,
        }
    }


QA_SWITCHED_OFF = Problem(
    error="qa_disabled",
    detail="Answering questions is switched off (qa.enabled is false).",
    hint="Set qa.enabled to true in wellread.yaml, or WELLREAD_QA_ENABLED=true, and start again.",
    status=HTTPStatus.FORBIDDEN,
)
INTERNAL = Problem(
    error="internal",
    detail="Something went wrong inside the server.",
    hint="The server's log has the details.",
)
STOPPING = problem_of_status(503, "The server is stopping.", "Ask again in a moment.")
