"""Options by which documents are told apart, beside those of every question (``options.py``)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wellread.types import Filters


class OrderName(StrEnum):
    """How lists are ordered."""

    NEWEST = "newest"
    OLDEST = "oldest"
    TITLE = "title"
    ADDED = "added"


class TakenName(StrEnum):
    """What a name can be taken for."""

    COLLECTION = "collection"
    ENTITY = "entity"
    STORY = "story"


class UnitName(StrEnum):
    """By what a timeline counts."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


Authors = Annotated[
    list[str] | None,
    typer.Option("--author", metavar="NAME", help="Only what this person wrote; repeatable."),
]
Languages = Annotated[
    list[str] | None,
    typer.Option("--language", metavar="CODE", help="Only this language; repeatable."),
]
SourceTypes = Annotated[
    list[str] | None,
    typer.Option("--source-type", metavar="NAME", help="Only this type of source; repeatable."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=VALUE", help="Only this value of a field; repeatable."),
]
Order = Annotated[OrderName, typer.Option("--order", help="In which order.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most of them.")]
Offset = Annotated[int, typer.Option(min=0, help="How many to leave out in front.")]


def limited(
    filters: Filters,
    authors: list[str] | None,
    languages: list[str] | None,
    source_types: list[str] | None,
    fields: list[str] | None,
) -> Filters:
    """``filters`` with these limits added.

    Raises:
        RequestError: a field is not ``name=value``.
    """
    from wellread.library.named_things import pair_of  # noqa: PLC0415 - loads the stores

    return replace(
        filters,
        authors=tuple(authors or ()),
        languages=tuple(languages or ()),
        source_types=tuple(source_types or ()),
        taxonomy=tuple(pair_of(field) for field in fields or ()),
    )
