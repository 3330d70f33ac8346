"""What watches the server: whether it lives and can answer, and its log as JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import cast

from anyio import to_thread
from fastapi import APIRouter, Request

from wellread.ask.retrieve.search import check_index
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import STOPPING, ProblemError, problem_of_status
from wellread.text.words import escaped_json

# Where uvicorn writes too, so that it is seen without being asked for.
server_log = logging.getLogger("uvicorn.error")
router = APIRouter(include_in_schema=False)  # docs/users.md tells of them
NOT_READY = problem_of_status(503, "The stores cannot be read.", "The server's log says why.")


@router.get("/livez")
async def livez() -> dict[str, str]:
    """Whether the process answers at all. It looks at nothing."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(request: Request) -> dict[str, str]:
    """Whether questions can be answered: the server does not stop, the stores can be read, hold
    what they should, and are those that others read."""
    state = request.app.state
    if state.stopping:
        raise ProblemError(STOPPING)
    try:
        await to_thread.run_sync(_looked, state.kb, limiter=state.room_for_health)
    except WellreadError as error:
        server_log.error("not ready: %s", error)
        raise ProblemError(NOT_READY) from error
    return {"status": "ready"}


def _looked(kb: object) -> None:
    opened = cast(KnowledgeBase, kb)
    opened.catalogue.check_files()
    if opened.catalogue.reindexing.live() is not None:
        check_index(opened)


PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
LOGGERS = ("wellread", "uvicorn")


class JsonLines(logging.Formatter):
    """Time (UTC), level, logger and message, whatever else a record carries, and its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: value for name, value in vars(record).items() if name not in PLAIN}
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return escaped_json(json.dumps(told, ensure_ascii=False, default=str))


def use_json_logs() -> None:
    """Write the logs of this process to standard error in that form, requests among them."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO)
