"""Commands that find and show what there is: ``search`` and ``show``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.ask.retrieve.search import SearchMode, check_collections
from wellread.errors import RequestError
from wellread.library.named_things import listed
from wellread.library.named_things import whole as whole_document
from wellread.library.recordings import Transcript, recordings
from wellread.library.recordings import transcript as read_transcript
from wellread.library.searches import around, find, newest
from wellread.serve.cli.answer_printing import print_results, print_surroundings
from wellread.serve.cli.options import (
    LIMITS,
    Limit,
    Since,
    Speakers,
    Topics,
    Until,
    filters_of,
    limited,
    option_window,
)
from wellread.serve.features.documents_found import WholeDocumentBody
from wellread.serve.features.entities_shown import (
    EntityBody,
    entities_body,
    entity_body,
    unknown_entity,
)
from wellread.serve.features.kept_answers import OpenedBody, opened_body
from wellread.serve.features.material_found import results_body
from wellread.serve.features.timelines_shown import (
    StoryDetail,
    list_stories,
    story_detail,
)
from wellread.serve.terminal import print_facts, print_line, print_rows, terminal_of
from wellread.text.periods import seconds_of
from wellread.text.words import harmless
from wellread.types import Filters
from wellread.values.locators import format_time

app = typer.Typer(rich_markup_mode=None)
show = typer.Typer(
    name="show",
    help="Show a document, recording, entity or story, or list them; passages, timelines, …",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(show)


@app.command()
@limited(" ".join(LIMITS))
def search(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="Words to look for; without any, the newest within the limits.")
    ] = "",
    *,
    filters: Filters,
    mode: Annotated[SearchMode, typer.Option(help="By words, by meaning, or both.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most passages.")] = 10,
) -> None:
    """Find passages by words, by meaning, or both.

    Of a speaker, only what that person says is quoted. The id at the end of the first line shows
    more: wellread show passage ID.
    """
    terminal = terminal_of(context)
    if not query.strip() and filters == Filters():
        raise RequestError("there is nothing to look for", hint="give words, or a limit: --speaker")
    with terminal.open_to_ask() as kb:
        if query.strip():
            found = find(kb, query, filters, mode=mode, limit=limit)
        else:
            found = newest(kb, filters, limit=limit)
    terminal.show(results_body(found, mode), lambda out, body: print_results(out, body.found))


# --- show: one thing by its name, or a list of those there are -------------------------------

Named = Annotated[
    str, typer.Argument(metavar="[ID|TITLE]", help="Its id, title, or part of it; else a list.")
]


DOCUMENTS = "date=published_at:day kind collection title:line authors passages id=document_id:id"
DOCUMENT = "title id=document_id kind collection date=published_at:day authors url"
RECORDINGS = """date=published_at:day length=duration:clock title:line who_speaks=speakers segments
    id=document_id:id"""
RECORDING = "title id=document_id date=published_at:day length=duration:clock media=media_url"
ENTITIES = "type entity=title id relations documents=mentioned_in mentions"
ENTITY = "entity=title type id collection also_called=aliases url summary"
RELATIONS = "relation name id=entity.id"
MENTIONS = "times=mentions document=title date=published_at:day at=locator sentence=quote:line"
STORIES = "id:id news=items sources last=last_at:day score story=title:line"
STORY = """story=title id news=items sources first=first_at:day last=last_at:day about=terms"""
NEWS = "date=published_at:day news=title:line in=source:line repeats"
PERIODS = "when=label count how_many=count:bar"
NONE = "None within these limits."


@show.command()
@limited(" ".join(LIMITS))
def document(
    context: typer.Context,
    name: Named = "",
    *,
    filters: Filters,
    limit: Limit = 20,
) -> None:
    """Show a document: facts, whom it names, its text. Without a name: list those in the limits."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if name:
            whole = WholeDocumentBody(document=whole_document(kb, name, filters.collections))
            terminal.show(whole, _print_document)
            return
        page = listed(kb, filters, limit=limit)
    terminal.show_rows(page.documents, DOCUMENTS, page.total, none=NONE)


def _print_document(console: Console, body: WholeDocumentBody) -> None:
    print_facts(console, body, DOCUMENT)
    print_line(console, ", ".join(each.node.title for each in body.document.entities), "dim")
    print_line(console, f"\n{body.document.document.text}")


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
    limit: Limit = 20,
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
            terminal.show(transcript, _print_transcript)
            return
        filters = filters_of(since, until, topic=topic, speaker=speaker)
        found = recordings(kb, filters, limit=limit)
    terminal.show_rows(found.recordings, RECORDINGS, found.total, none=NONE)


def _print_transcript(console: Console, found: Transcript) -> None:
    """Facts, then every turn with its time and speaker."""
    print_facts(console, found, RECORDING)
    print_line(console, f"{len(found.turns):,} of {found.total:,} turns", "dim")
    for turn in found.turns:
        time = "" if turn.begin is None else format_time(turn.begin)
        print_line(console, "\n" + "  ".join(filter(None, (time, turn.speaker))), "bold cyan")
        print_line(console, turn.text)


@show.command()
def entity(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Its id, title, alias or web address; else a list.")
    ] = "",
    topic: Topics = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Of a list: only this type; repeatable."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=1000, help="Most documents that name it, or of a list.")
    ] = 20,
) -> None:
    """Show an entity: facts, relations in both directions, and the documents that name it.

    Exit status: 1 when nothing is called so.
    """
    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        if not name:
            found = entities_body(kb, scope, sort, (limit, 0))
            none = "There are no entities here."
            terminal.show_rows(found.entities, ENTITIES, found.total, none=none)
            return
        body = entity_body(kb, scope, name, limit)
        if body is None:
            lists = "`wellread show entity` lists what is there"
            terminal.write_problem(unknown_entity(kb, scope, name, lists=lists))
            raise typer.Exit(1)
        terminal.show(body, _print_entity)


def _print_entity(console: Console, body: EntityBody) -> None:
    """Facts, relations and mentions of one entity."""
    print_facts(console, body, ENTITY)
    for dimension, values in body.taxonomy.items():
        print_line(console, f"{dimension}: {', '.join(values)}")
    print_rows(console, body.relations, RELATIONS, "Relations")
    total = body.mention_total
    named = f"Named in {total.documents:,} documents, {total.mentions:,} times"
    print_rows(console, body.mentions, MENTIONS, named)
    if body.others:
        others = ", ".join(f"{one.title} ({one.id} in “{one.collection}”)" for one in body.others)
        print_line(console, f"\nAlso called so: {others}", "yellow")


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
    """Show a story of the news with its timeline. Without an id: list them, the latest first."""
    terminal = terminal_of(context)
    window = option_window(since, until)
    with terminal.open() as kb:
        if story_id:
            terminal.show(story_detail(kb, story_id, limit), _print_story)
            return
        found = list_stories(kb, tuple(topic or ()), window, words, limit, 0)
    none = "No stories there. They are built of articles (stories.kinds) at the end of every run."
    terminal.show_rows(found.stories, STORIES, found.total, none=none)


def _print_story(console: Console, body: StoryDetail) -> None:
    """Facts, summary, periods and news of one story."""
    print_facts(console, body, STORY)
    for sentence in body.story.summary:
        print_line(console, f"\n  “{sentence.text}”")
    print_rows(console, body.periods, PERIODS, f"News by {body.unit}")
    print_rows(console, body.news, NEWS, "News")


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
    terminal.show(body, _print_opened)


def _print_opened(console: Console, body: OpenedBody) -> None:
    """The quotation set off in the text around it."""
    place = f" — {body.locator}" if body.locator else ""
    print_line(console, f"[{body.number}] {body.title}{place}", "bold")
    print_line(console, f"{body.link}\n", "dim cyan")
    parts = ((body.before, "dim"), (body.quote, "bold black on yellow"), (body.after, "dim"))
    console.print(Text.assemble(*((harmless(words), style) for words, style in parts)))
