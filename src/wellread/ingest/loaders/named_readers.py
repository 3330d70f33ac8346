"""Who may read a document, where its source says so: the field ``readers``.

What cannot be understood there is an error of the source: it must not end as a document that
everybody reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wellread.errors import SourceError
from wellread.identity import GROUP

FIELD = "readers"
MOST_BYTES = 1_500  # of all names of a document
LONGEST_NAME = 100  # as of users and groups


class ReadersError(SourceError):
    """A source says who may read it, and it cannot be understood."""


def named_readers(fields: Mapping[str, Any], uri: str) -> tuple[str, ...]:
    """The users and groups that the field ``readers`` names, sorted; none: it is not there.

    Raises:
        ReadersError: it is there and is not a list of names.
    """
    given = [value for name, value in fields.items() if str(name).strip().casefold() == FIELD]
    if not given:
        return ()
    if len(given) > 1:
        raise ReadersError(uri, f"{FIELD} stands there twice; say it once")
    try:
        return checked_readers(given[0])
    except ValueError as error:
        raise ReadersError(uri, f"{FIELD}: {error}") from error


def checked_readers(given: object) -> tuple[str, ...]:
    """The names in a list, as users and groups are called, sorted.

    Raises:
        ValueError: it is no list, is empty, or holds something that is no name.
    """
    if not isinstance(given, list | tuple):
        raise ValueError("give a list of names, such as [ana, group:board]")
    if not given:
        raise ValueError("the list is empty; name who may read it, or leave the field out")
    found = tuple(sorted({_name(one) for one in given}))
    if len("".join(found).encode()) > MOST_BYTES:
        raise ValueError("too many names; put them into a group, and name that")
    return found


def _name(given: object) -> str:
    if not isinstance(given, str):
        raise ValueError(f"{given!r:.60} is no name; a number needs quotes")
    plain = given.strip().casefold()
    bare = plain.removeprefix(GROUP)
    odd = any(letter.isspace() or not letter.isprintable() for letter in plain)
    if not bare or odd or len(bare) > LONGEST_NAME:
        raise ValueError(f"{given!r:.60} is no name of a user, and no group:NAME")
    return plain


def cell_names(cell: str) -> list[str]:
    """The names in a cell of a table, which holds no list: ``ana; group:board``."""
    return [name.strip() for name in cell.split(";")]


def readers_of_all(named: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Who may read something of a source with such documents; none: everybody may.

    Args:
        named: the readers of each document.
    """
    every = list(named)
    return tuple(sorted({name for names in every for name in names})) if all(every) else ()
