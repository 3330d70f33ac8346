"""Commands that find and show what there is: ``search``, ``documents``, ``timeline``, …"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from wellread.ask.aggregate.execute import CatalogueRequest
from wellread.ask.retrieve.past_questions import Comparison
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.library.named_things import listed
from wellread.library.recordings import recordings
from wellread.library.recordings import transcript as read_transcript
from wellread.library.searches import around, find, newest
from wellread.library.timelines import Taken, Window
from wellread.library.timelines import timeline as read_timeline
from wellread.serve.cli.options import (
    Authors,
    Fields,
    Kinds,
    Languages,
    Limit,
    ListOrder,
    Offset,
    Since,
    SourceTypes,
    Speakers,
    Topics,
    Until,
    filters_of,
    limited,
)
from wellread.serve.features.catalogue_queries import (
    catalogue_body,
    print_catalogue,
)
from wellread.serve.features.document_views import (
    documents_body,
    print_documents,
    print_recordings,
    print_transcript,
    recordings_body,
    transcript_body,
)
from wellread.serve.features.passage_views import (
    print_results,
    print_similar,
    print_surroundings,
    results_body,
    similar_body,
    surroundings_body,
    wanted_like,
)
from wellread.serve.features.timeline_views import Unit, print_timeline, timeline_body
from wellread.serve.terminal import terminal_of
from wellread.text.periods import first_moment, last_moment, seconds_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)


@app.command()
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
    order: ListOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List the documents that meet the limits, and say how many there are."""
    terminal = terminal_of(context)
    filters = limited(
        filters_of(topic, kind, speaker, since, until), author, language, source_type, field
    )
    with terminal.open() as kb:
        page = listed(kb, filters, limit=limit, offset=offset, order=order)
    body = documents_body(page, offset)
    terminal.show(body, print_documents)


@app.command()
def media(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    order: ListOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List transcripts and recordings: date, length, who speaks."""
    terminal = terminal_of(context)
    filters = filters_of(topic, None, speaker, since, until)
    with terminal.open() as kb:
        found = recordings(kb, filters, limit=limit, offset=offset, order=order)
    body = recordings_body(found, offset)
    terminal.show(body, print_recordings)


@app.command()
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
    terminal = terminal_of(context)
    start = seconds_of(since) if since else None
    end = seconds_of(until) if until else None
    with terminal.open() as kb:
        found = read_transcript(
            kb, name, collections=tuple(topic or ()), speaker=speaker, since=start, until=end
        )
    body = transcript_body(found)
    terminal.show(body, print_transcript)


@app.command()
def timeline(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A collection, an entity, or a story.")],
    topic: Topics = None,
    since: Annotated[str | None, typer.Option("--from", metavar="DATE", help="From then on.")] = (
        None
    ),
    until: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Up to then.")] = None,
    taken: Annotated[
        Taken | None, typer.Option("--as", help="What the name is, where it is several.")
    ] = None,
    unit: Annotated[
        Unit | None, typer.Option("--by", help="What to count by; what is readable else.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most entries, the newest.")] = 20,
) -> None:
    """Show how a topic went on: counts per period, and what happened, oldest first.

    Of a collection these are its stories, of an entity the documents that name it, of a story its
    news. A `=` marks a near-duplicate of an earlier item.
    """
    terminal = terminal_of(context)
    window = Window(
        since=first_moment(since) if since else None,
        until=last_moment(until) if until else None,
        limit=limit,
    )
    with terminal.open() as kb:
        found = read_timeline(
            kb,
            name,
            window,
            collections=tuple(topic or ()),
            taken=taken,
        )
    body = timeline_body(name, found, unit)
    terminal.show(body, print_timeline)


@app.command()
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
    mode: Annotated[SearchMode, typer.Option(help="By words, by meaning, or both.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most passages.")] = 10,
) -> None:
    """Find passages by words, by meaning, or both.

    Of a speaker, only what that person says is quoted. The id at the end of the first line shows
    more: wellread context ID.
    """
    terminal = terminal_of(context)
    filters = limited(
        filters_of(topic, kind, speaker, since, until), author, language, source_type, field
    )
    if not query.strip() and filters == Filters():
        raise RequestError("there is nothing to look for", hint="give words, or a limit: --speaker")
    with terminal.open_to_ask() as kb:
        if query.strip():
            found = find(kb, query, filters, mode=mode, limit=limit)
        else:
            found = newest(kb, filters, limit=limit)
    terminal.show(results_body(found, mode), print_results)


@app.command("context")
def show_context(
    context: typer.Context,
    passage: Annotated[str, typer.Argument(help="Its id, or how the id begins.")],
    before: Annotated[int, typer.Option(min=0, max=50, help="Passages before it.")] = 2,
    after: Annotated[int, typer.Option(min=0, max=50, help="Passages after it.")] = 2,
    topic: Topics = None,
) -> None:
    """Show a passage with those before and after it in its document."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = surroundings_body(around(kb, passage, before, after, tuple(topic or ())))
    terminal.show(body, print_surroundings)


@app.command()
def similar(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The new question.")],
    rating: Annotated[
        int | None, typer.Option(min=0, max=100, help="Expert rating to compare with.")
    ] = None,
    compare: Annotated[
        Comparison, typer.Option(help="How a past question's rating has to compare.")
    ] = "lt",
    language: Annotated[str, typer.Option(help="Only past questions in this language.")] = "",
    threshold: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Least cosine of the two questions.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=50, help="Most past questions.")] = None,
    topic: Topics = None,
) -> None:
    """Show past questions like this one, with what experts said of their answers.

    It is what a language model is shown; feedback on sources that have changed since is marked.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        wanted = wanted_like(
            kb,
            tuple(topic or ()),
            rating=(rating, compare),
            language=language,
            threshold=threshold,
            limit=limit,
        )
        body = similar_body(kb, question, wanted)
    terminal.show(body, print_similar)


@app.command()
def query(
    context: typer.Context,
    fields: Annotated[
        str,
        typer.Argument(metavar="JSON", help='The fields, a file with them, or "-" to read them.'),
    ],
) -> None:
    """Work out a count, list, gap, trend or walk from everything there is.

    wellread query '{"form": "count", "of": "articles", "where": {"authors": ["Ada Moss"]}}'

    The fields are those of POST /api/catalogue (docs/api.md).
    """
    terminal = terminal_of(context)
    asked = _fields(fields)
    with terminal.open_to_ask() as kb:
        terminal.show(catalogue_body(kb, asked), print_catalogue)


def _fields(fields: str) -> CatalogueRequest:
    """The fields, from the argument, a file or standard input.

    Raises:
        RequestError: names the first field that is wrong.
    """
    text = fields
    if fields == "-":
        text = sys.stdin.read()
    elif not fields.lstrip().startswith("{"):
        try:
            text = Path(fields).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            hint = 'give {"form": "count", "of": "documents"}, or a file with it'
            raise RequestError(f"{fields!r} is neither JSON nor a file", hint=hint) from error
    try:
        return CatalogueRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        detail = f"{where}: {first['msg']}" if where else first["msg"]
        raise RequestError(detail, hint="the fields are described in docs/api.md") from error
