"""Which errors of reading a database mean that its file is damaged."""

from __future__ import annotations

import sqlite3
import zlib
from json import JSONDecodeError

_NAMES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_FORMAT")
_OF_THE_FILE = ("no such table", "no such column", "Could not decode to UTF-8", "malformed")
_OF_A_VALUE = ("Couldn't parse", "Invalid isoformat string")  # moments


def is_damage(error: object) -> bool:
    """Whether an error says that the file is damaged, and not that it is in use or has no room."""
    match error:
        case JSONDecodeError() | zlib.error():
            return True
        case sqlite3.Error():
            name = getattr(error, "sqlite_errorname", "")
            return name.startswith(_NAMES) or any(words in str(error) for words in _OF_THE_FILE)
        case ValueError():
            return str(error).startswith(_OF_A_VALUE)
    return False
