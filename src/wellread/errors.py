"""The exceptions that Wellread raises on purpose.

::

    WellreadError
    ├── SettingsError        a setting is missing, unknown or out of range
    ├── SourceError          one source could not be read; the run goes on with the others
    ├── StoreError           the catalogue or the index refused or is damaged
    │   ├── DamageError      ... its files are damaged; the hint says how to repair them
    │   └── FingerprintError the index was built with another embedder or chunking
    ├── ModelError           an embedder or a language model failed
    │   ├── ModelTimeoutError     ... by taking too long
    │   └── BudgetError           ... was not called, because the budget does not allow it
    └── RequestError         the request is invalid or cannot be served
        ├── UnknownCollectionError
        └── UnknownNameError        a document, passage, speaker ... that does not exist

A message says what happened, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_PANICS = ("PanicException", "RustPanic")


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust panicked; its exception's class cannot be imported."""
    return type(error).__name__ in _PANICS


class WellreadError(Exception):
    """Root of all errors raised on purpose.

    Attributes:
        hint: what the user can do about it; empty when the message already says so.
        retryable: whether the same call may succeed later without any change.
    """

    retryable: bool = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class SettingsError(WellreadError):
    """A setting is missing, unknown or out of range."""


class SourceError(WellreadError):
    """One source could not be read.

    Attributes:
        uri: the source that failed.
        reason: one line, without the uri, fit for a table cell.
    """

    def __init__(self, uri: str, reason: str, *, hint: str = "") -> None:
        reason = " ".join(reason.split())  # parsers quote the source, line breaks included
        super().__init__(f"{uri}: {reason}", hint=hint)
        self.uri = uri
        self.reason = reason


class StoreError(WellreadError):
    """The catalogue or the index failed: refused, locked, unreachable or damaged."""

    def __init__(self, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class DamageError(StoreError):
    """The files of the catalogue or the index are damaged or missing."""


class FingerprintError(StoreError):
    """The index was built with an embedder or chunking other than the settings ask for."""


class ModelError(WellreadError):
    """An embedder or a language model failed.

    Attributes:
        retry_after: seconds that the server asked to wait before the next attempt, if it did.
        cost: recorded cost of the failed call in US dollars.
    """

    retry_after: float | None = None
    cost: float = 0.0

    def __init__(self, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class ModelTimeoutError(ModelError):
    """An embedder or a language model took longer than its time limit."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, retryable=True)


class BudgetError(ModelError):
    """A language model was not called, because the call may cost more than the budget allows."""


class RequestError(WellreadError):
    """The request is invalid or cannot be served."""


class UnknownCollectionError(RequestError):
    """A question was scoped to a collection that does not exist."""


class UnknownNameError(RequestError):
    """No item has the requested id or name; the hint lists similar ones."""


# --- messages --------------------------------------------------------------------------------

SIMILARITY = 0.7  # from which a name is suggested in place of a wrong one
# The kinds of pydantic's errors, by the beginning of their names, in our words.
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "int": "has to be a whole number",
    "float": "has to be a number",
    "decimal": "has to be a number",
    "finite_number": "has to be a number",
    "bool": "has to be true or false",
    "string_too_short": "must not be empty",
    "string_too_long": "has to be at most {max_length} characters long",
    "string_pattern_mismatch": "has another form than {pattern}",
    "string": "has to be text",
    "greater_than_equal": "has to be at least {ge}",
    "greater_than": "has to be greater than {gt}",
    "less_than_equal": "has to be at most {le}",
    "less_than": "has to be less than {lt}",
    "literal_error": "has to be {expected}",
    "enum": "has to be {expected}",
    "too_short": "has to have at least {min_length} entries",
    "too_long": "has to have at most {max_length} entries",
    "list": "has to be a list",
    "tuple": "has to be a list",
    "set": "has to be a list",
    "dict": "has to be an object with names and values",
    "model": "has to be an object with names and values",
    "date": "has to be a date",
    "json": "is not JSON",
}


def invalid_value(problem: Mapping[str, Any], name: str) -> str:
    """Describe one of pydantic's problems with the value called ``name`` in plain words."""
    kind, context = str(problem["type"]), problem.get("ctx") or {}
    reason = next((text for start, text in _REASONS.items() if kind.startswith(start)), "")
    if not reason:  # one of our own checks
        message = str(problem["msg"]).removeprefix("Value error, ")
        return f"{name}: {message}" if name else message
    limits = {key: f"{at:g}" if isinstance(at, float) else at for key, at in context.items()}
    return f"{name or 'the body'} {reason.format_map(limits)}"


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, prefix: str = "") -> str:
    """Ask whether one of the similar ``names`` was meant; ``otherwise`` when none is similar.

    Args:
        prefix: how all names begin, which makes none of them similar.
    """
    ends = [each.removeprefix(prefix) for each in names]
    similar = get_close_matches(name.removeprefix(prefix), ends, cutoff=SIMILARITY)
    return f"did you mean {' or '.join(prefix + end for end in similar)}?" if similar else otherwise
