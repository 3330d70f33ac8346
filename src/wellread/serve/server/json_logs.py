"""The log as one JSON object a line, for programs that collect logs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from wellread.text.words import escaped_json

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
