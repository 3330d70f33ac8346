"""Commands that find and show what there is: ``search``, ``query`` and ``show``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.retrieve.search import SearchMode, check_collections
from wellread.ask.retrieve.story_search import StoryQuery, find_stories
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import listed
from wellread.library.named_things import whole as whole_document
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
    option_window,
)
from wellread.serve.features.answering import print_catalogue
from wellread.serve.features.documents_found import (
    WholeDocumentBody,
    documents_body,
    print_documents,
    print_recordings,
    print_transcript,
    print_whole_document,
    recordings_body,
)
from wellread.serve.features.entities_shown import (
    entities_body,
    entity_body,
    entity_list_body,
    print_entities,
    print_entity,
    unknown_entity,
)
from wellread.serve.features.kept_answers import opened_body, print_opened
from wellread.serve.features.material_found import (
    print_results,
    print_surroundings,
    results_body,
)
from wellread.serve.features.timelines_shown import (
    LONGEST_AGO,
    Unit,
    list_stories,
    print_found,
    print_stories,
    print_story,
    print_timeline,
    story_detail,
    timeline_body,
)
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.periods import seconds_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)
show = typer.Typer(
    name="show",
    help="Show a document, recording, entity or story, or list them; passages, timelines, …",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(show)


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
    more: wellread show passage ID.
    """
    terminal = terminal_of(context)
    more = {"authors": author, "languages": language, "source_types": source_type, "fields": field}
    filters = filters_of(topic, kind, speaker, since, until, **more)
    if not query.strip() and filters == Filters():
        raise RequestError("there is nothing to look for", hint="give words, or a limit: --speaker")
    with terminal.open_to_ask() as kb:
        if query.strip():
            found = find(kb, query, filters, mode=mode, limit=limit)
        else:
            found = newest(kb, filters, limit=limit)
    terminal.show(results_body(found, mode), print_results)


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

    The fields are those of POST /api/catalogue (/docs of a server).
    """
    terminal = terminal_of(context)
    asked = _fields(fields)
    with terminal.open_to_ask() as kb:
        terminal.show(worked_out(kb, asked), print_catalogue)


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
        raise RequestError(detail, hint="the fields are described at /docs of a server") from error


# --- show: one thing by its name, or a list of those there are -------------------------------

Named = Annotated[
    str, typer.Argument(metavar="[ID|TITLE]", help="Its id, title, or part of it; else a list.")
]


@show.command()
def document(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Named = "",
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
    """Show a document: facts, whom it names, its text. Without a name: list those in the limits."""
    terminal = terminal_of(context)
    more = {"authors": author, "languages": language, "source_types": source_type, "fields": field}
    filters = filters_of(topic, kind, speaker, since, until, **more)
    with terminal.open() as kb:
        if name:
            whole = WholeDocumentBody(document=whole_document(kb, name, filters.collections))
            terminal.show(whole, print_whole_document)
            return
        page = listed(kb, filters, limit=limit, offset=offset, order=order)
    body = documents_body(page, offset)
    terminal.show_list(body.documents, lambda out: print_documents(out, body), body.total)


@show.command()
def recording(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Named = "",
    topic: Topics = None,
    speaker: Speakers = None,
    since: Annotated[
        str, typer.Option("--from", metavar="MM:SS|DATE", help="Said, of a list published, since.")
    ] = "",
    until: Annotated[
        str, typer.Option("--to", metavar="MM:SS|DATE", help="Said, of a list published, until.")
    ] = "",
    order: ListOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """Show a recording turn by turn, with times and speakers. Without a name: list them."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if name:
            transcript = read_transcript(
                kb,
                name,
                collections=tuple(topic or ()),
                speaker=(speaker or [""])[0],
                since=seconds_of(since) if since else None,
                until=seconds_of(until) if until else None,
            )
            terminal.show(transcript, print_transcript)
            return
        filters = filters_of(topic, None, speaker, since, until)
        found = recordings(kb, filters, limit=limit, offset=offset, order=order)
    body = recordings_body(found, offset)
    terminal.show_list(body.videos, lambda out: print_recordings(out, body), body.total)


@show.command()
def entity(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Its id, title, alias or web address; else a list by type.")
    ] = "",
    topic: Topics = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Of a list: only this type; repeatable."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=1000, help="Most documents that name it, or of each type.")
    ] = 20,
) -> None:
    """Show an entity: facts, relations in both directions, and the documents that name it.

    Exit status: 1 when nothing is called so.
    """
    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        if name:
            body = entity_body(kb, scope, name, limit)
            if body is None:
                lists = "`wellread show entity` lists what is there"
                terminal.write_problem(unknown_entity(kb, scope, name, lists=lists))
                raise typer.Exit(1)
            terminal.show(body, print_entity)
        elif terminal.json:
            every = entities_body(kb, scope, sort, (limit, 0))
            terminal.write_list(every.entities, every.total)
        else:
            print_entities(terminal.out, entity_list_body(kb, scope, sort, limit))


@show.command()
def story(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    story_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="How its id begins; else the latest stories.")
    ] = "",
    topic: Topics = None,
    words: Annotated[
        str, typer.Option("--query", "-q", help="Of the list: only stories about this.")
    ] = "",
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Most stories, or news items of one.")
    ] = 20,
) -> None:
    """Show a story of the news with its timeline. Without an id: list them, the latest first.

    A `=` marks a near-duplicate of an earlier item.
    """
    terminal = terminal_of(context)
    start, end = option_window(since, until)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        if story_id:
            _show_story(terminal, kb, story_id, limit)
        elif terminal.json:
            body = list_stories(kb, scope, (start, end), words, limit, 0)
            terminal.write_list(body.stories, body.total)
        elif words.strip():
            # Who looks around wants the old ones too.
            first = start or LONGEST_AGO
            wanted = StoryQuery(text=words, collections=scope, since=first, until=end, top_k=limit)
            print_found(terminal.out, find_stories(kb, wanted))
        else:
            check_collections(kb, Filters(collections=scope))
            stored = kb.catalogue.stories
            latest = stored.latest(scope, start, end, limit=limit)
            dates = stored.dates([each.id for each in latest])
            print_stories(terminal.out, latest, dates)


def _show_story(terminal: Terminal, kb: KnowledgeBase, story_id: str, limit: int) -> None:
    found = kb.catalogue.stories.named(story_id)
    if len(found) != 1:
        reason = "several stories have" if found else "no story has"
        detail = f"{reason} an id that begins with {story_id!r}"
        raise RequestError(detail, hint="wellread show story lists them")
    if terminal.json:
        terminal.write_json(story_detail(kb, story_id, limit))
    else:
        items = kb.catalogue.stories.items(found[0].id)
        print_story(terminal.out, found[0], items, limit)


@show.command()
def passage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="Its id, or how the id begins.")],
    before: Annotated[int, typer.Option(min=0, max=50, help="Passages before it.")] = 2,
    after: Annotated[int, typer.Option(min=0, max=50, help="Passages after it.")] = 2,
    topic: Topics = None,
) -> None:
    """Show a passage with those before and after it in its document."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = around(kb, name, before, after, tuple(topic or ()))
    terminal.show(body, print_surroundings)


@show.command()
def citation(
    context: typer.Context,
    number: Annotated[int, typer.Argument(min=1, help="The citation's number.")] = 1,
    answer: Annotated[
        str, typer.Option(metavar="ID", help="The answer; the newest one when not given.")
    ] = "",
) -> None:
    """Show a citation at its place: the quotation, and the source around it."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        wanted = answer or next((stored.id for stored in kb.catalogue.answers(limit=1)), "")
        sessions, owner = kb.catalogue.sessions, kb.asker.owner
        found = sessions.answer_beginning(wanted, owner) if wanted else None
        if found is None:
            detail = f"there is no answer {answer}" if answer else "there is no answer yet"
            raise RequestError(detail, hint="ask a question first")
        body = opened_body(kb, found[1], number)
    terminal.show(body, print_opened)


@show.command()
def timeline(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A collection, an entity, or a story.")],
    topic: Topics = None,
    since: Since = None,
    until: Until = None,
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
    start, end = option_window(since, until)
    window = Window(since=start, until=end, limit=limit)
    with terminal.open() as kb:
        found = read_timeline(kb, name, window, collections=tuple(topic or ()), taken=taken)
    terminal.show(timeline_body(name, found, unit), print_timeline)
