"""Options that several commands share, and the filters that they stand for."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import typer

from wellread.library.named_things import pair_of
from wellread.store.catalogue.documents.listings import Order
from wellread.text.periods import window_of
from wellread.types import Filters


class KindName(StrEnum):
    """The kinds of documents, as choices of a repeatable option (Typer takes no literals there)."""

    ARTICLE = "article"
    PAGE = "page"
    PAPER = "paper"
    TRANSCRIPT = "transcript"
    ENTITY = "entity"
    QA = "qa"


ReadBy = Annotated[
    Literal["trained", "lexical"] | None,
    typer.Option(
        "--reader",
        help="Who reads: trained (a small network) or lexical (words; faster on slow machines).",
        show_default=False,
    ),
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", "-c", "--collection", metavar="NAME", help="Only this collection; repeatable."
    ),
]
Kinds = Annotated[
    list[KindName] | None, typer.Option("--kind", help="Only this kind of source; repeatable.")
]
Speakers = Annotated[
    list[str] | None,
    typer.Option("--speaker", metavar="NAME", help="Only what this person said; repeatable."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="DATE", help="Published on or after (2025, 2025-10, 2025-10-14)."
    ),
]
Until = Annotated[str | None, typer.Option("--to", metavar="DATE", help="Published on or before.")]
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
ListOrder = Annotated[Order, typer.Option("--order", help="In which order.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most of them.")]
Offset = Annotated[int, typer.Option(min=0, help="How many to leave out in front.")]


def option_window(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """First and last moment of what ``--from`` and ``--to`` ask for.

    Raises:
        RequestError: a date that is none, or a window that ends before it begins.
    """
    return window_of(since, until, hint="swap --from and --to")


def filters_of(  # noqa: PLR0913 - as many as there are options
    topics: list[str] | None,
    kinds: list[KindName] | None,
    speakers: list[str] | None,
    since: str | None,
    until: str | None,
    *,
    authors: list[str] | None = None,
    languages: list[str] | None = None,
    source_types: list[str] | None = None,
    fields: list[str] | None = None,
) -> Filters:
    """What the options limit a search to.

    Raises:
        RequestError: as ``option_window``, or a field is not ``name=value``.
    """
    start, end = option_window(since, until)
    return Filters(
        collections=tuple(topics or ()),
        kinds=tuple(kind.value for kind in kinds or ()),
        speakers=tuple(speakers or ()),
        published_from=start,
        published_to=end,
        authors=tuple(authors or ()),
        languages=tuple(languages or ()),
        source_types=tuple(source_types or ()),
        taxonomy=tuple(pair_of(field) for field in fields or ()),
    )


def read_by(reader: str | None) -> dict[str, dict[str, str]] | None:
    """The settings that have everything read by ``reader``."""
    return {"reader": {"answers": reader}} if reader else None


CollectionOption = Annotated[
    str, typer.Option("--collection", "-c", metavar="NAME", help="The collection.")
]
