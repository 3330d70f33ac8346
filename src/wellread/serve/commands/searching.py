"""Commands that find passages: ``search`` and ``context``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.serve.commands.indexing import warn_if_outdated
from wellread.serve.limits import Authors, Fields, Languages, SourceTypes, limited
from wellread.serve.options import Kinds, SearchName, Since, Speakers, Topics, Until, filters_of
from wellread.serve.terminal import terminal_of


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(search)
    app.command()(context)


def search(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="Words to look for; without any, the newest within the limits.")
    ] = "",
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    author: Authors = None,
    language: Languages = None,
    source_type: SourceTypes = None,
    field: Fields = None,
    mode: Annotated[SearchName, typer.Option(help="By words, by meaning, or both.")] = (
        SearchName.HYBRID
    ),
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most passages.")] = 10,
) -> None:
    """Find passages by words, by meaning, or both.

    Of a speaker, only what that person says is quoted. The id at the end of the first line shows
    more: wellread context ID.
    """
    from wellread.errors import RequestError  # noqa: PLC0415
    from wellread.library.searches import find, newest  # noqa: PLC0415 - loads the stores
    from wellread.serve.lookup_tables import print_results  # noqa: PLC0415
    from wellread.serve.lookups import results_body  # noqa: PLC0415 - loads pydantic models
    from wellread.types import Filters  # noqa: PLC0415 - loads numpy

    terminal = terminal_of(context)
    filters = limited(
        filters_of(topic, kind, speaker, since, until), author, language, source_type, field
    )
    if not query.strip() and filters == Filters():
        raise RequestError("there is nothing to look for", hint="give words, or a limit: --speaker")
    with terminal.open() as kb:
        warn_if_outdated(kb)
        if query.strip():
            found = find(kb, query, filters, mode=mode.value, limit=limit)
        else:
            found = newest(kb, filters, limit=limit)
    body = results_body(found, mode.value)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_results(terminal.out, body)


def context(
    context: typer.Context,
    passage: Annotated[str, typer.Argument(help="Its id, or how the id begins.")],
    before: Annotated[int, typer.Option(min=0, max=50, help="Passages before it.")] = 2,
    after: Annotated[int, typer.Option(min=0, max=50, help="Passages after it.")] = 2,
    topic: Topics = None,
) -> None:
    """Show a passage with those before and after it in its document."""
    from wellread.library.searches import around  # noqa: PLC0415 - loads the stores
    from wellread.serve.lookup_tables import print_surroundings  # noqa: PLC0415
    from wellread.serve.lookups import surroundings_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = surroundings_body(around(kb, passage, before, after, tuple(topic or ())))
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_surroundings(terminal.out, body)
