"""Keys taken out of what a server, or a program, sends back: into logs, answers and the catalogue
goes only what remains.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

HIDDEN = "***"
SHORTEST = 4  # characters; less is no secret, and would be found in every word
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)S?(?:_|$)", re.IGNORECASE
)


def without_keys(text: str, keys: Iterable[str]) -> str:
    """``text`` with each of ``keys`` hidden, also as a URL, JSON or base64 writes it.

    To be called on the whole text: a key that was cut in two is not found.
    """
    forms = {form for key in keys for form in _forms(key)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def secrets_in(environ: Mapping[str, str]) -> list[str]:
    """The values of variables that are called a key, a token or the like."""
    return [value for name, value in environ.items() if _SECRET_NAME.search(name)]


def _forms(key: str) -> Iterable[str]:
    key = key.strip()
    if len(key) < SHORTEST:
        return
    yield key
    yield quote(key, safe="")
    yield json.dumps(key)[1:-1]
    data = key.encode("utf-8", "surrogateescape")
    yield base64.b64encode(data).decode().rstrip("=")
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")
