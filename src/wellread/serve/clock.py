"""Places in a recording as people type them: ``90``, ``1:30``, ``01:30``, ``1:01:30``."""

from __future__ import annotations

import re

from wellread.errors import RequestError

_SECONDS = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)")


def seconds_of(text: str) -> float:
    """The seconds that ``text`` stands for.

    Raises:
        RequestError: it is neither a number of seconds nor ``MM:SS`` nor ``H:MM:SS``.
    """
    plain = text.strip()
    if _SECONDS.fullmatch(plain):
        return float(plain)
    clock = _CLOCK.fullmatch(plain)
    if clock is None or (clock[1] and int(clock[2]) > 59):
        raise RequestError(
            f"{text!r} is not a time in a recording", hint="write seconds, MM:SS or H:MM:SS"
        )
    return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
