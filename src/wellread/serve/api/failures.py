"""Turns every error into the body ``{error, detail, hint}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from wellread.errors import WellreadError
from wellread.serve.problems import INTERNAL, Problem, problem_of, problem_of_status

SEE = "The format is described in /openapi.json and docs/api.md."
_HINTS = {
    404: SEE,
    405: SEE,
    413: "Shorten the body, or raise serve.max_request_bytes.",
}


class ProblemError(Exception):
    """Ends a request with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def install(app: FastAPI) -> None:
    """Make ``app`` answer every error in the one shape."""
    app.add_exception_handler(ProblemError, _own)
    app.add_exception_handler(WellreadError, _wellread)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _respond(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(problem.body(), status_code=problem.status, headers=headers)


async def _own(_request: Request, error: Exception) -> JSONResponse:
    return _respond(cast(ProblemError, error).problem)


async def _wellread(_request: Request, error: Exception) -> JSONResponse:
    return _respond(problem_of(cast(WellreadError, error)))


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """A request that does not fit its schema: 400, naming the first field that is wrong."""
    first = cast(RequestValidationError, error).errors()[0]
    # The first part says where it was looked for: in the body, the query, the path.
    where = ".".join(str(part) for part in first["loc"][1:])
    detail = f"{where}: {first['msg']}" if where else str(first["msg"])
    return _respond(problem_of_status(400, detail, SEE))


async def _http(_request: Request, error: Exception) -> JSONResponse:
    raised = cast(HTTPException, error)
    problem = problem_of_status(
        raised.status_code, str(raised.detail), _HINTS.get(raised.status_code, "")
    )
    return _respond(problem, raised.headers)


async def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
    # Starlette raises the error again after this response, so the server logs its traceback.
    return _respond(INTERNAL)
