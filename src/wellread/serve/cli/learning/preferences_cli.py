"""``wellread preferences``: what you prefer, and what was learned from your ratings."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import ValidationError

from wellread.errors import RequestError
from wellread.serve.features.people import (
    PreferencesChange,
    change_preferences,
    preferences_body,
    print_personas,
    print_preferences,
)
from wellread.serve.terminal import terminal_of

app = typer.Typer(rich_markup_mode=None)
RULE = "KIND:VALUE"


@app.callback()
def _several() -> None:
    """Keeps ``preferences`` a command by its name."""


@app.command()
def preferences(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar=RULE,
            help="These sources rank a little higher: document:, collection:, source_type: or "
            "site:; repeatable, in place of earlier ones; an empty value: none.",
        ),
    ] = None,
    lower: Annotated[
        list[str] | None, typer.Option(metavar=RULE, help="These rank a little lower.")
    ] = None,
    mute: Annotated[
        list[str] | None,
        typer.Option(metavar=RULE, help="These are not used unless they are asked for."),
    ] = None,
    length: Annotated[
        str | None, typer.Option(help="short, normal or long; empty: the setting.")
    ] = None,
    persona: Annotated[
        str | None, typer.Option(metavar="ID", help="A persona of the home; empty: none.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="Asked where none is named; empty: all.")
    ] = None,
    learn: Annotated[
        bool | None,
        typer.Option("--learn/--forget", help="Let ratings add to this, or drop what they added."),
    ] = None,
    revoke: Annotated[
        list[str] | None,
        typer.Option(metavar="DOCUMENT", help="Take back what was learned about a document."),
    ] = None,
    list_personas: Annotated[
        bool, typer.Option("--personas", help="List the personas of the home.")
    ] = False,
) -> None:
    """Show what you prefer, or change it."""
    given = {
        "preferred": _rules(prefer),
        "lowered": _rules(lower),
        "muted": _rules(mute),
        "length": length,
        "persona": persona,
        "collection": collection,
        "consent": learn,
        "revoke": tuple(revoke or ()),
    }
    try:
        change = PreferencesChange.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"{first['loc'][0]}: {first['msg']}") from error
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if change != PreferencesChange():
            change_preferences(kb, kb.asker.owner, change)
        body = preferences_body(kb, kb.asker.owner)
    terminal.show(body, print_personas if list_personas else print_preferences)


def _rules(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(one for one in given if one.strip())
