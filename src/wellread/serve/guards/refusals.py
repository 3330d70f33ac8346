"""An error told before the routes are reached: the page or the JSON that the routes give too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from fastapi import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from wellread.serve.error_shapes import STOPPING, Problem, body_at

ErrorPage = Callable[[Request, Problem], Response]
SOON = 5  # seconds after which who was told "too many", or "stopping", may try again
TOO_MANY_REQUESTS = 429


class Refusals:
    """Tells of a problem: by ``page`` whoever ``wants_page``, everybody else in JSON."""

    def __init__(self, page: ErrorPage, wants_page: Callable[[Request], bool]) -> None:
        self._page = page
        self.wants_page = wants_page

    def response(
        self,
        request: Request,
        problem: Problem,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The response that tells of ``problem``."""
        given = dict(headers or {})
        if problem.status == TOO_MANY_REQUESTS or problem == STOPPING:
            given.setdefault("retry-after", str(pause_after(problem)))
        if self.wants_page(request):
            page = self._page(request, problem)
            page.headers.update(given)
            return page
        told = body_at(request.scope["path"], problem)
        return JSONResponse(told, status_code=problem.status, headers=given)

    async def refuse(
        self,
        problem: Problem,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send that response."""
        response = self.response(Request(scope), problem, headers)
        await response(scope, receive, send)


def pause_after(problem: Problem) -> int:
    """Seconds until it may be otherwise: a budget has the next day (UTC), all else is busy."""
    if problem.error != "budget":
        return problem.wait or SOON
    now = datetime.now(UTC)
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return int((tomorrow - now).total_seconds()) + 1
