"""Whether the values of a row are of the kind that their columns hold, as SQLite keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, LargeBinary, String

from wellread.store.schema.database import Moment
from wellread.store.schema.tables import metadata

BROKEN = object()
"""Stands for text whose bytes are no UTF-8."""

Check = Callable[[Any], bool]


def as_text(value: bytes) -> object:
    """What a connection makes of a text: the text, or ``BROKEN``."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return BROKEN


def checks_of(table: str) -> Mapping[str, Check]:
    """Of every column of a table, what says whether a value fits it."""
    return {column.name: _check_of(column) for column in metadata.tables[table].c}


def _check_of(column: Column[Any]) -> Check:
    fits = next(fits for kind, fits in _FITS if isinstance(column.type, kind))
    return (lambda value: value is None or fits(value)) if column.nullable else fits


def is_json_or_nothing(value: object) -> bool:
    """Whether a value fits a column that may hold JSON."""
    return value is None or _is_json(value)


def _is_json(value: object) -> bool:
    if isinstance(value, int | float):  # SQLite keeps a number in such a column as one
        return True
    if not isinstance(value, str):
        return False
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def _is_moment(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


_FITS: tuple[tuple[type[Any], Check], ...] = (
    (JSON, _is_json),
    (Moment, _is_moment),
    (Boolean, lambda value: value in (0, 1)),
    (Integer, lambda value: isinstance(value, int)),
    (Float, lambda value: isinstance(value, int | float)),
    (LargeBinary, lambda value: isinstance(value, bytes)),
    (String, lambda value: isinstance(value, str)),
)
