"""Commands about the graph: ``entity`` and ``entities``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.serve.options import Topics
from wellread.serve.terminal import terminal_of


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(entity)
    app.command()(entities)


def entity(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its id, title, alias or web address.")],
    topic: Topics = None,
    limit: Annotated[int, typer.Option(min=0, max=200, help="Most documents that name it.")] = 20,
) -> None:
    """Show an entity: facts, relations in both directions, and the documents that name it.

    Exit status: 1 when nothing is called so.
    """
    from wellread.ask.retrieve.search import check_collections  # noqa: PLC0415 - loads the stores
    from wellread.serve import entities as shown  # noqa: PLC0415
    from wellread.serve.entity_tables import print_entity  # noqa: PLC0415
    from wellread.types import Filters  # noqa: PLC0415 - loads numpy

    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        body = shown.entity_body(kb, scope, name, limit)
        if body is None:
            terminal.write_problem(shown.unknown_entity(kb, scope, name))
            raise typer.Exit(1)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_entity(terminal.out, body)


def entities(
    context: typer.Context,
    topic: Topics = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Only entities of this type; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most entities of each type.")] = 20,
) -> None:
    """List entities by type: how many there are, their relations, and how often they are named."""
    from wellread.ask.retrieve.search import check_collections  # noqa: PLC0415 - loads the stores
    from wellread.serve import entities as shown  # noqa: PLC0415
    from wellread.serve.entity_tables import print_entities  # noqa: PLC0415
    from wellread.types import Filters  # noqa: PLC0415 - loads numpy

    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        body = shown.entity_list_body(kb, scope, sort, limit)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_entities(terminal.out, body)
