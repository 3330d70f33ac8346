"""The routers of the HTTP interface, in the order in which the documentation lists their routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from wellread.errors import WellreadError
from wellread.serve.api import ask_api, research_api
from wellread.serve.error_shapes import (
    INTERNAL,
    OPENAI_PATH,
    Problem,
    ProblemError,
    problem_of,
    problem_of_status,
)
from wellread.serve.features import (
    documents_found,
    entities_shown,
    figures,
    gaps_and_coverage,
    home_and_jobs,
    kept_answers,
    material_found,
    people,
    timelines_shown,
)
from wellread.serve.guards.refusals import Refusals

API_ROUTERS = (
    ask_api.router,
    ask_api.query_router,
    research_api.router,
    kept_answers.router,
    home_and_jobs.router,
    entities_shown.router,
    timelines_shown.stories_router,
    material_found.router,
    documents_found.router,
    timelines_shown.router,
    kept_answers.feedback_router,
    gaps_and_coverage.router,
    gaps_and_coverage.coverage_router,
    figures.router,
    people.router,
)


SEE = "The format is described at /docs and in /openapi.json."
SEE_OPENAI = "docs/programs.md has the routes and fields of /v1."
_HINTS = {
    404: SEE,
    405: SEE,
    413: "Shorten the body.",
}


def shape_errors(app: FastAPI, refusals: Refusals) -> None:
    """Make ``app`` answer the errors that its routes raise on purpose as ``refusals`` do.

    Any other error goes through to ``SecurityHeaders``.
    """

    async def shaped(request: Request, error: Exception) -> Response:
        problem, headers = _problem_in(error)
        if request.scope["path"].startswith(OPENAI_PATH):
            problem, headers = _for_openai(problem, error), _retries(error, headers)
        return refusals.response(request, problem, headers)

    for kind in (ProblemError, WellreadError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, shaped)


def _problem_in(error: Exception) -> tuple[Problem, Mapping[str, str] | None]:
    """The problem that ``error`` stands for, and headers that belong to it."""
    problem: Problem = INTERNAL
    headers: Mapping[str, str] | None = None
    match error:
        case ProblemError():
            problem = error.problem
        case WellreadError():
            problem = problem_of(error)
        case RequestValidationError():  # 400, naming the first field that is wrong
            first = error.errors()[0]
            # The first part says where it was looked for: in the body, the query, the path.
            where = ".".join(str(part) for part in first["loc"][1:])
            detail = f"{where}: {first['msg']}" if where else str(first["msg"])
            problem = problem_of_status(400, detail, SEE, param=where)
        case HTTPException(status_code=status):
            problem = problem_of_status(status, str(error.detail), _HINTS.get(status, ""))
            headers = error.headers
    return problem, headers


def _for_openai(problem: Problem, error: Exception) -> Problem:
    """``problem`` with what helps whoever calls the interface of OpenAI."""
    nowhere = isinstance(error, HTTPException) and problem.status in (404, 405)
    return replace(problem, hint=SEE_OPENAI if nowhere or problem.hint == SEE else problem.hint)


def _retries(error: Exception, headers: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """``headers`` with whether the client of OpenAI is to try again by itself."""
    if not isinstance(error, WellreadError):
        return headers
    return {**(headers or {}), "x-should-retry": "true" if error.retryable else "false"}
