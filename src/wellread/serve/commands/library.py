"""Commands that show what there is: ``documents``, ``media``, ``transcript``, ``timeline``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.serve.clock import seconds_of
from wellread.serve.dates import first_moment, last_moment
from wellread.serve.limits import (
    Authors,
    Fields,
    Languages,
    Limit,
    Offset,
    Order,
    OrderName,
    SourceTypes,
    TakenName,
    UnitName,
    limited,
)
from wellread.serve.options import Kinds, Since, Speakers, Topics, Until, filters_of
from wellread.serve.terminal import terminal_of


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(documents)
    app.command()(media)
    app.command()(transcript)
    app.command()(timeline)


def documents(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    author: Authors = None,
    language: Languages = None,
    source_type: SourceTypes = None,
    field: Fields = None,
    order: Order = OrderName.NEWEST,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List the documents that meet the limits, and say how many there are."""
    from wellread.library.document_lists import listed  # noqa: PLC0415 - loads the stores
    from wellread.serve.library_tables import print_documents  # noqa: PLC0415
    from wellread.serve.lookups import documents_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    filters = limited(
        filters_of(topic, kind, speaker, since, until), author, language, source_type, field
    )
    with terminal.open() as kb:
        page = listed(kb, filters, limit=limit, offset=offset, order=order.value)
    body = documents_body(page, offset)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_documents(terminal.out, body)


def media(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    order: Order = OrderName.NEWEST,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List transcripts and recordings: date, length, who speaks."""
    from wellread.library.recordings import recordings  # noqa: PLC0415 - loads the stores
    from wellread.serve.library_tables import print_recordings  # noqa: PLC0415
    from wellread.serve.lookups import recordings_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    filters = filters_of(topic, None, speaker, since, until)
    with terminal.open() as kb:
        found = recordings(kb, filters, limit=limit, offset=offset, order=order.value)
    body = recordings_body(found, offset)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_recordings(terminal.out, body)


def transcript(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID|TITLE", help="Its id, title, or part of it.")],
    topic: Topics = None,
    speaker: Annotated[
        str, typer.Option(metavar="NAME", help="Only the turns of this person.")
    ] = "",
    since: Annotated[
        str, typer.Option("--from", metavar="MM:SS", help="Only what is said from here on.")
    ] = "",
    until: Annotated[
        str, typer.Option("--to", metavar="MM:SS", help="Only what is said up to here.")
    ] = "",
) -> None:
    """Show a whole transcript turn by turn, with times and speakers."""
    from wellread.library.recordings import transcript as read  # noqa: PLC0415 - the stores
    from wellread.serve.library_tables import print_transcript  # noqa: PLC0415
    from wellread.serve.lookups import transcript_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    start = seconds_of(since) if since else None
    end = seconds_of(until) if until else None
    with terminal.open() as kb:
        found = read(
            kb, name, collections=tuple(topic or ()), speaker=speaker, since=start, until=end
        )
    body = transcript_body(found)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_transcript(terminal.out, body)


def timeline(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A collection, an entity, or a story.")],
    topic: Topics = None,
    since: Annotated[str | None, typer.Option("--from", metavar="DATE", help="From then on.")] = (
        None
    ),
    until: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Up to then.")] = None,
    taken: Annotated[
        TakenName | None, typer.Option("--as", help="What the name is, where it is several.")
    ] = None,
    unit: Annotated[
        UnitName | None, typer.Option("--by", help="What to count by; what is readable else.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most entries, the newest.")] = 20,
) -> None:
    """Show how a topic went on: counts per period, and what happened, oldest first.

    Of a collection these are its stories, of an entity the documents that name it, of a story its
    news. A `=` marks a near-duplicate of an earlier item.
    """
    from wellread.library.timelines import Window  # noqa: PLC0415 - loads the stores
    from wellread.library.timelines import timeline as read  # noqa: PLC0415
    from wellread.serve.library_tables import print_timeline  # noqa: PLC0415
    from wellread.serve.lookups import timeline_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    window = Window(
        since=first_moment(since) if since else None,
        until=last_moment(until) if until else None,
        limit=limit,
    )
    with terminal.open() as kb:
        found = read(
            kb,
            name,
            window,
            collections=tuple(topic or ()),
            taken=taken.value if taken else None,
        )
    body = timeline_body(name, found, unit.value if unit else None)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        print_timeline(terminal.out, body)
