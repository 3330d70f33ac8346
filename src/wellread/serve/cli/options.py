"""Command-line options that several commands share, and the filters built from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, cast

import typer

from wellread.library.named_things import pair_of
from wellread.text.periods import window_of
from wellread.types import KINDS, Filters

Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", "-c", "--collection", metavar="NAME", help="Only this collection; repeatable."
    ),
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
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of entries.")]
CollectionOption = Annotated[
    str, typer.Option("--collection", "-c", metavar="NAME", help="The collection.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def _repeatable(option: str, metavar: str, values: str) -> Any:
    option_ = typer.Option(option, metavar=metavar, help=f"Only {values}; repeatable.")
    return Annotated[list[str] | None, option_]


def _existing_kinds(kinds: list[str] | None) -> list[str] | None:
    """Refuse a kind that does not exist: a repeatable Typer option cannot have choices."""
    if unknown := set(kinds or ()) - set(KINDS):
        raise typer.BadParameter(f"{min(unknown)!r} is not one of {', '.join(KINDS)}")
    return kinds


LIMITS: dict[str, Any] = {
    "topic": Topics,
    "kind": Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="NAME",
            help=f"Only this kind of source ({', '.join(KINDS)}); repeatable.",
            callback=_existing_kinds,
        ),
    ],
    "speaker": Speakers,
    "since": Since,
    "until": Until,
    "author": _repeatable("--author", "NAME", "what this person wrote"),
    "language": _repeatable("--language", "CODE", "this language"),
    "source_type": _repeatable("--source-type", "NAME", "this type of source"),
    "field": _repeatable("--field", "NAME=VALUE", "this value of a field"),
}
DEFAULT_LIMITS = "topic kind speaker since until"


def limited(names: str = DEFAULT_LIMITS) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add these filter options to a command (Typer reads its signature) as ``filters``."""
    chosen = names.split()

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        def call(**arguments: Any) -> None:
            limits = {name: arguments.pop(name) for name in chosen}
            command(**arguments, filters=filters_of(**limits))

        called: Any = wraps(command)(call)
        parameters = inspect.signature(command, eval_str=True).parameters
        others = [parameter for name, parameter in parameters.items() if name != "filters"]
        kind = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, kind, default=None, annotation=LIMITS[name]) for name in chosen
        ]
        called.__signature__ = inspect.Signature([*others, *options])
        return cast("Callable[..., None]", called)

    return with_options


def option_window(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """The first and last moment for ``--from`` and ``--to``."""
    return window_of(since, until, hint="swap --from and --to")


def filters_of(since: str | None = None, until: str | None = None, **lists: Any) -> Filters:
    """Return the filters that these options ask for."""
    start, end = option_window(since, until)
    options = {name: tuple(values or ()) for name, values in lists.items()}
    return Filters(
        collections=options.get("topic", ()),
        kinds=options.get("kind", ()),
        speakers=options.get("speaker", ()),
        published_from=start,
        published_to=end,
        authors=options.get("author", ()),
        languages=options.get("language", ()),
        source_types=options.get("source_type", ()),
        taxonomy=tuple(pair_of(field) for field in options.get("field", ())),
    )
