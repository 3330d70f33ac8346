"""Many values in one query, in pieces that every database takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Select

AT_ONCE = 500  # values in one IN (...): far below every database's limit

T = TypeVar("T")


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """``values`` in lists of at most ``AT_ONCE``."""
    iterator = iter(values)
    while chunk := list(islice(iterator, AT_ONCE)):
        yield chunk


def rows_in(connection: Connection, statement: Select[Any], values: Iterable[str]) -> Iterator[Any]:
    """The rows of ``statement`` for all ``values`` of its expanding parameter ``values``."""
    for chunk in chunks(dict.fromkeys(values)):
        yield from connection.execute(statement, {"values": chunk})
