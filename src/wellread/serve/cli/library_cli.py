"""Commands ``search`` and ``show``: find passages, and show or list items of the library."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.ask.retrieve.search import SearchMode, check_collections
from wellread.errors import RequestError
from wellread.library.named_things import list_documents, load_document
from wellread.library.recordings import Transcript, recordings
from wellread.library.recordings import transcript as read_transcript
from wellread.library.searches import around, find, newest
from wellread.library.timelines import Window, timeline
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
    timeline_body,
)
from wellread.serve.terminal import Terminal, opened, print_facts, print_line, print_rows
from wellread.text.characters import harmless
from wellread.text.periods import seconds_of
from wellread.types import Filters
from wellread.values.locators import format_time

app = typer.Typer(rich_markup_mode=None)
show = typer.Typer(
    name="show",
    help="Show or list documents, recordings, entities and stories; show timelines, passages and "
    "citations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(show)


@app.command()
@limited(" ".join(LIMITS))
def search(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="Words to search for; without words, the newest results.")
    ] = "",
    *,
    filters: Filters,
    mode: Annotated[SearchMode, typer.Option(help="By keywords, by meaning, or both.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of passages.")] = 10,
) -> None:
    """Find passages by keywords, by meaning, or both.

    With --speaker, only that speaker's words are quoted. The id at the end of a result's first line
    shows more: wellread show passage ID.
    """
    if not query.strip() and filters == Filters():
        raise RequestError("there is nothing to search for", hint="give words or a filter")
    with opened(context, Terminal.open_to_ask) as (terminal, kb):
        if query.strip():
            results = find(kb, query, filters, mode=mode, limit=limit)
        else:
            results = newest(kb, filters, limit=limit)
    body = results_body(results, mode)
    if terminal.json:
        terminal.write_listing(body, "results")
    else:
        print_results(terminal.out, body.found)


# --- show: one item by its name, or a list ---------------------------------------------------

Named = Annotated[
    str, typer.Argument(metavar="[ID|TITLE]", help="Id or (part of the) title; without it, list.")
]

# The fields that lists and facts print: see ``serve/terminal.py``.
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
EVENTS = "date=at:day kind event=title:line count source=source.title"
NO_MATCH = "Nothing matches."


@show.command()
@limited(" ".join(LIMITS))
def document(
    context: typer.Context,
    name: Named = "",
    *,
    filters: Filters,
    limit: Limit = 20,
) -> None:
    """Show a document with its facts, entities and text. Without a name, list documents."""
    with opened(context) as (terminal, kb):
        if name:
            body = WholeDocumentBody(document=load_document(kb, name, filters.collections))
            terminal.show(body, _print_document)
            return
        page = list_documents(kb, filters, limit=limit)
    terminal.show_rows(page.documents, DOCUMENTS, page.total, none=NO_MATCH)


def _print_document(console: Console, body: WholeDocumentBody) -> None:
    print_facts(console, body, DOCUMENT)
    print_line(console, ", ".join(mention.node.title for mention in body.document.entities), "dim")
    print_line(console, f"\n{body.document.document.text}")


@show.command()
def recording(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    name: Named = "",
    topic: Topics = None,
    speaker: Speakers = None,
    since: Annotated[
        str, typer.Option("--from", metavar="MM:SS|DATE", help="From this time (list: date) on.")
    ] = "",
    until: Annotated[
        str, typer.Option("--to", metavar="MM:SS|DATE", help="Up to this time (list: date).")
    ] = "",
    limit: Limit = 20,
) -> None:
    """Show a recording turn by turn, with times and speakers. Without a name, list recordings."""
    with opened(context) as (terminal, kb):
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
        page = recordings(kb, filters, limit=limit)
    terminal.show_rows(page.recordings, RECORDINGS, page.total, none=NO_MATCH)


def _print_transcript(console: Console, transcript: Transcript) -> None:
    print_facts(console, transcript, RECORDING)
    print_line(console, f"{len(transcript.turns):,} of {transcript.total:,} turns", "dim")
    for turn in transcript.turns:
        time = "" if turn.begin is None else format_time(turn.begin)
        print_line(console, "\n" + "  ".join(filter(None, (time, turn.speaker))), "bold cyan")
        print_line(console, turn.text)


@show.command()
def entity(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Id, title, alias or web address; without it, list all.")
    ] = "",
    topic: Topics = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="In a list: only this type; repeatable."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=1000, help="Maximum number of documents or list entries.")
    ] = 20,
) -> None:
    """Show an entity with relations and the documents that name it. Without a name, list entities.

    Exit status: 1 when no entity has this name.
    """
    scope = tuple(topic or ())
    with opened(context) as (terminal, kb):
        check_collections(kb, Filters(collections=scope))
        if not name:
            page = entities_body(kb, scope, types, (limit, 0))
            none = "There are no entities."
            terminal.show_rows(page.entities, ENTITIES, page.total, none=none)
            return
        body = entity_body(kb, scope, name, limit)
        if body is None:
            hint = "`wellread show entity` lists all entities"
            terminal.write_problem(unknown_entity(kb, scope, name, fallback_hint=hint))
            raise typer.Exit(1)
        terminal.show(body, _print_entity)


def _print_entity(console: Console, body: EntityBody) -> None:
    print_facts(console, body, ENTITY)
    for dimension, values in body.taxonomy.items():
        print_line(console, f"{dimension}: {', '.join(values)}")
    print_rows(console, body.relations, RELATIONS, "Relations")
    total = body.mention_total
    named = f"Named in {total.documents:,} documents, {total.mentions:,} times"
    print_rows(console, body.mentions, MENTIONS, named)
    if body.others:
        others = ", ".join(
            f"{node.title} ({node.id} in “{node.collection}”)" for node in body.others
        )
        print_line(console, f"\nOthers with this name: {others}", "yellow")


@show.command()
def story(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    story_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="Id or its start; without it, list the latest.")
    ] = "",
    topic: Topics = None,
    query: Annotated[
        str, typer.Option("--query", "-q", help="In a list: only stories about this.")
    ] = "",
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of stories or news items.")
    ] = 20,
) -> None:
    """Show a news story with its timeline. Without an id, list stories, latest first."""
    window = option_window(since, until)
    with opened(context) as (terminal, kb):
        if story_id:
            terminal.show(story_detail(kb, story_id, limit), _print_story)
            return
        page = list_stories(kb, tuple(topic or ()), window, query, limit, 0)
    none = "No stories. They are built from articles (stories.kinds) at the end of every run."
    terminal.show_rows(page.stories, STORIES, page.total, none=none)


def _print_story(console: Console, body: StoryDetail) -> None:
    print_facts(console, body, STORY)
    for sentence in body.story.summary:
        print_line(console, f"\n  “{sentence.text}”")
    print_rows(console, body.periods, PERIODS, f"News by {body.unit}")
    print_rows(console, body.news, NEWS, "News")


@show.command("timeline")
def show_timeline(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A collection, an entity or a story.")],
    topic: Topics = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
) -> None:
    """Show what happened around a collection, entity or story, oldest first."""
    first, last = option_window(since, until)
    with opened(context) as (terminal, kb):
        window = Window(since=first, until=last, limit=limit)
        events = timeline(kb, name, window, collections=tuple(topic or ()))
    body = timeline_body(name, events)
    if terminal.json:
        terminal.write_listing(body, "entries")
        return
    print_line(terminal.out, f"{events.title} ({events.taken})", "bold")
    print_rows(terminal.out, body.periods, PERIODS)
    print_line(terminal.out, "")
    terminal.show_rows(events.entries, EVENTS, events.total, none="Nothing has a date.")


@show.command()
def passage(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="Id or its start.")],
    before: Annotated[int, typer.Option(min=0, max=50, help="Passages before it.")] = 2,
    after: Annotated[int, typer.Option(min=0, max=50, help="Passages after it.")] = 2,
    topic: Topics = None,
) -> None:
    """Show a passage with the passages before and after it."""
    with opened(context) as (terminal, kb):
        body = around(kb, name, before, after, tuple(topic or ()))
    terminal.show(body, print_surroundings)


@show.command()
def citation(
    context: typer.Context,
    number: Annotated[int, typer.Argument(min=1, help="The citation's number.")] = 1,
    answer: Annotated[
        str, typer.Option(metavar="ID", help="The answer. [default: the newest]")
    ] = "",
) -> None:
    """Show a citation in its source: the quotation with the text around it."""
    with opened(context) as (terminal, kb):
        answer_id = answer or next((stored.id for stored in kb.catalogue.answers(limit=1)), "")
        sessions, owner = kb.catalogue.sessions, kb.asker.owner
        stored_answer = sessions.answer_by_prefix(answer_id, owner) if answer_id else None
        if stored_answer is None:
            detail = f"there is no answer {answer!r}" if answer else "there are no answers yet"
            raise RequestError(detail, hint="ask a question first")
        body = opened_body(kb, stored_answer[1], number)
    terminal.show(body, _print_opened)


def _print_opened(console: Console, body: OpenedBody) -> None:
    """Print the quotation highlighted in the text around it."""
    position = f" — {body.locator}" if body.locator else ""
    print_line(console, f"[{body.number}] {body.title}{position}", "bold")
    print_line(console, f"{body.link}\n", "dim cyan")
    parts = [(body.before, "dim"), (body.quote, "bold black on yellow"), (body.after, "dim")]
    console.print(Text(" ").join(Text(harmless(text), style) for text, style in parts if text))
