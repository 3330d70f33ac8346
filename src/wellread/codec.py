"""Converts frozen values to plain JSON and back by their type hints, with marks as short lists.

The round trip is exact, except that a time without a zone comes back in UTC.
"""

from __future__ import annotations

import json
import re
import types
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from wellread.types import (
    Box,
    HeadingMark,
    LineMark,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TableMark,
    TimeMark,
)

T = TypeVar("T")

MARKS = get_args(Mark)
_BARE_MARKS = (PageMark, TimeMark, LineMark, Span)  # values without strings, or with clean ones
# Characters that the stores cannot keep: NUL ends a string in SQLite, and lone surrogates (half an
# emoji, written by programs that truncate JSON strings) have no UTF-8 form.
UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")
# Marks are numerous and similar: level 1 halves them in a tenth of the time of level 6.
MARKS_LEVEL = 1
MAX_MARKS_BYTES = 1 << 28  # of one document, unpacked: a home may be untrusted

_HINTS: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def storable(value: T) -> T:
    """Return ``value`` with every unstorable character replaced, at any depth; lengths stay.

    Dataclasses, mappings, lists and tuples are searched; a clean value is returned unchanged.
    """
    cleaned = _storable(value)
    return value if cleaned is value else cast(T, cleaned)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else UNSTORABLE.sub("\ufffd", value)
    if value is None or isinstance(value, _BARE_MARKS):
        return value
    if isinstance(value, Mapping):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(_storable, value))
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        new = {name: _storable(item) for name, item in old.items()}
        return replace(value, **new) if new != old else value
    return value


def to_plain(value: object) -> Any:
    """Convert ``value`` to dictionaries, lists, strings, numbers, booleans and None."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, MARKS):
        return list(_mark_line(value))
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"cannot store a {type(value).__name__}")


def from_plain(kind: type[T], plain: Any) -> T:
    """Restore a dataclass ``kind`` from the output of ``to_plain``.

    Missing fields keep their defaults and unknown fields are ignored, so that values written by an
    older release can be read.
    """
    hints = _HINTS(kind)
    names = hints.keys() & plain.keys()
    return kind(**{name: _restore(hints[name], plain[name]) for name in names})


def marks_to_blob(marks: Sequence[Mark]) -> bytes:
    """Pack all marks in order, compressed."""
    lines = [_mark_line(mark) for mark in marks]
    return zlib.compress(json.dumps(lines, separators=(",", ":")).encode(), MARKS_LEVEL)


def marks_from_blob(blob: bytes) -> tuple[Mark, ...]:
    """Unpack the marks that ``marks_to_blob`` packed."""
    return tuple(_mark(*line) for line in mark_lines(blob))


def marks_over(blob: bytes, span: Span) -> tuple[Mark, ...]:
    """Unpack only the marks that overlap ``span`` or contain its first character.

    Creating the objects is most of the cost, and a passage needs few of a book's many marks.
    """
    end = max(span.end, span.start + 1)
    return tuple(
        _mark(*line) for line in mark_lines(blob) if line[1] < end and line[2] > span.start
    )


def mark_lines(blob: bytes) -> list[list[Any]]:
    """Decode the packed form of marks: a letter, start, end and the mark's values."""
    unpacker = zlib.decompressobj()
    packed = unpacker.decompress(blob, MAX_MARKS_BYTES)
    if not unpacker.eof:
        raise zlib.error(f"marks are truncated, or unpack to more than {MAX_MARKS_BYTES:,} bytes")
    lines: list[list[Any]] = json.loads(packed)
    return lines


def _mark_line(mark: Mark) -> tuple[Any, ...]:
    match mark:
        case PageMark():
            box = mark.box
            corners = (box.left, box.top, box.right, box.bottom) if box else ()
            label = (mark.label,) if mark.label else ()
            return ("p", mark.start, mark.end, mark.page, *corners, *label)
        case TimeMark():
            return ("t", mark.start, mark.end, mark.begin, mark.finish)
        case SpeakerMark():
            return ("s", mark.start, mark.end, mark.speaker)
        case HeadingMark():
            return ("h", mark.start, mark.end, mark.path)
        case LineMark():
            return ("l", mark.start, mark.end, mark.line)
        case TableMark():
            return ("c", mark.start, mark.end, mark.columns)
    raise TypeError(f"cannot store a {type(mark).__name__}")


def _mark(letter: str, start: int, end: int, *rest: Any) -> Mark:
    match letter:
        case "p":
            page, *corners = rest
            label = corners.pop() if len(corners) % 4 else ""
            box = (
                Box(left=corners[0], top=corners[1], right=corners[2], bottom=corners[3])
                if corners
                else None
            )
            return PageMark(start=start, end=end, page=page, box=box, label=label)
        case "t":
            return TimeMark(start=start, end=end, begin=rest[0], finish=rest[1])
        case "s":
            return SpeakerMark(start=start, end=end, speaker=rest[0])
        case "h":
            return HeadingMark(start=start, end=end, path=tuple(rest[0]))
        case "l":
            return LineMark(start=start, end=end, line=rest[0])
        case "c":
            return TableMark(start=start, end=end, columns=tuple(rest[0]))
    raise ValueError(f"unknown type of mark: {letter!r}")


def _restore(hint: Any, plain: Any) -> Any:
    if plain is None:
        return None
    if hint == Mark:
        return _mark(*plain)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        hint = next(choice for choice in get_args(hint) if choice is not type(None))
        origin = get_origin(hint)
    if origin in (tuple, Mapping):
        return _restore_many(origin, get_args(hint), plain)
    if hint is datetime:
        return datetime.fromisoformat(plain)
    if isinstance(hint, type) and is_dataclass(hint):
        return from_plain(hint, plain)
    convertible = hint is float or (isinstance(hint, type) and issubclass(hint, Enum))
    return hint(plain) if convertible else plain


def _restore_many(origin: Any, items: tuple[Any, ...], plain: Any) -> Any:
    if origin is tuple:
        return tuple(_restore(items[0], value) for value in plain)
    return {name: _restore(items[1], value) for name, value in plain.items()}
