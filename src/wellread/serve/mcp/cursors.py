"""Opaque cursors: where the next part of a long result begins.

A cursor says everything that its tool needs to go on, so that no state is kept between two calls
and it outlives the program. It names the version of a text that it points into: after a change
the place would be another one.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from wellread.errors import RequestError

WITHOUT = "call the tool again without a cursor"


def encoded(use: str, facts: Mapping[str, object]) -> str:
    """The cursor of ``facts`` for ``use``."""
    told = json.dumps({"use": use, **facts}, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def decoded(use: str, cursor: str) -> dict[str, Any]:
    """The facts of a cursor that was made for ``use``.

    Raises:
        RequestError: it was not, or it is none.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        told = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"{cursor!r} is no cursor of this server", hint=WITHOUT) from error
    if not isinstance(told, dict) or told.pop("use", "") != use:
        raise RequestError("the cursor belongs to another tool", hint=WITHOUT)
    return told


def number(facts: Mapping[str, Any], name: str) -> int:
    """A place in a cursor.

    Raises:
        RequestError: there is none: somebody made the cursor up.
    """
    value = facts.get(name)
    if type(value) is not int or value < 0:
        raise RequestError("the cursor is damaged", hint=WITHOUT)
    return value
