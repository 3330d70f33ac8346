"""Secrets that programs and browsers hold: random, and kept here only as a hash.

They have 256 random bits, so a quick hash is as good as a slow one.
"""

from __future__ import annotations

import hashlib
import secrets

KEY_PREFIX = "wr_"  # by which people, and scanners of code, know a key
SHOWN = 10  # characters of a key by which its owner knows it again


def new_secret(prefix: str = "") -> str:
    """A secret that nobody can guess."""
    return prefix + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
