"""Options that several commands share, and what they stand for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.errors import RequestError
from wellread.serve.dates import first_moment, last_moment

if TYPE_CHECKING:
    from wellread.types import Filters


class KindName(StrEnum):
    """The kinds of ``wellread.types.KINDS``, as choices of an option."""

    ARTICLE = "article"
    PAGE = "page"
    PAPER = "paper"
    TRANSCRIPT = "transcript"
    ENTITY = "entity"
    QA = "qa"


class ModeName(StrEnum):
    """How thoroughly a question is answered."""

    QUICK = "quick"
    DEEP = "deep"
    AUTO = "auto"


class SearchName(StrEnum):
    """Which ranked lists a search uses."""

    HYBRID = "hybrid"
    TEXT = "text"
    VECTOR = "vector"


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


def filters_of(
    topics: list[str] | None,
    kinds: list[KindName] | None,
    speakers: list[str] | None,
    since: str | None,
    until: str | None,
) -> Filters:
    """What the options limit a search to.

    Raises:
        RequestError: a date that is none, or a window that ends before it begins.
    """
    from wellread.types import Filters  # noqa: PLC0415 - loads numpy, which `--help` need not

    start = first_moment(since) if since else None
    end = last_moment(until) if until else None
    if start and end and start > end:
        raise RequestError(
            f"the time window from {since} to {until} is empty", hint="swap --from and --to"
        )
    return Filters(
        collections=tuple(topics or ()),
        kinds=tuple(kind.value for kind in kinds or ()),
        speakers=tuple(speakers or ()),
        published_from=start,
        published_to=end,
    )
