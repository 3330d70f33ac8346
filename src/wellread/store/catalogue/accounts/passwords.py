"""Passwords: what is kept of them, and what one must be.

Argon2id with the library's own parameters (RFC 9106, low memory). Whether an account is there must
not show in the time that a sign-in takes, so there is always a hash to verify against.
"""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from wellread.errors import RequestError

SHORTEST, LONGEST = 10, 1_000  # characters
_HASHER = PasswordHasher()
_nobody: dict[str, str] = {}


def hashed(password: str) -> str:
    """What is kept of a password."""
    return _HASHER.hash(password)


def fits(kept: str, password: str) -> bool:
    """Whether a password is the one of which ``kept`` was kept; as long for one that is empty."""
    against = kept or _nobodys()
    try:
        _HASHER.verify(against, password[:LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


def outdated(kept: str) -> bool:
    """Whether ``kept`` was made with weaker parameters than those of today."""
    return _HASHER.check_needs_rehash(kept)


def check_password(password: str, name: str) -> None:
    """Refuse what is no password.

    Raises:
        RequestError: it is too short, too long, or the name itself.
    """
    if len(password) < SHORTEST:
        raise RequestError(
            f"the password has fewer than {SHORTEST} characters", hint="take a few words"
        )
    if len(password) > LONGEST:
        raise RequestError(f"the password has more than {LONGEST} characters", hint="shorten it")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise RequestError(
            "the password is the name, or the same few characters", hint="take a few words"
        )


def _nobodys() -> str:
    """The hash of a password that nobody has."""
    if "hash" not in _nobody:
        _nobody["hash"] = hashed("of nobody at all")
    return _nobody["hash"]
