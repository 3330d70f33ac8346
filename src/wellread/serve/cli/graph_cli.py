"""Commands about entities and stories: ``entity``, ``entities``, ``stories``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from wellread.ask.retrieve.search import check_collections
from wellread.ask.retrieve.story_search import StoryQuery, find_stories
from wellread.errors import RequestError
from wellread.serve.cli.options import Since, Topics, Until, option_window
from wellread.serve.features import timelines_shown
from wellread.serve.features.entities_shown import (
    entity_body,
    entity_list_body,
    print_entities,
    print_entity,
    unknown_entity,
)
from wellread.serve.terminal import terminal_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)
stories_app = typer.Typer(
    name="stories",
    help="What the news is about, the latest first; with --query what it says about something.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(stories_app)


@stories_app.callback()
def stories(
    context: typer.Context,
    topic: Topics = None,
    query: Annotated[
        str, typer.Option("--query", "--topic-words", "-q", help="Only stories about this.")
    ] = "",
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most stories.")] = 20,
) -> None:
    """List stories, the latest first."""
    if context.invoked_subcommand:
        return
    terminal = terminal_of(context)
    start, end = option_window(since, until)
    topics = tuple(topic or ())
    with terminal.open() as kb:
        stored = kb.catalogue.stories
        if query.strip():
            # Who looks around wants the old ones too.
            first = start or datetime.min.replace(tzinfo=UTC)
            found = find_stories(
                kb,
                StoryQuery(text=query, collections=topics, since=first, until=end, top_k=limit),
            )
            dates = stored.dates([one.story.id for one in found])
            bodies = [timelines_shown.found_body(one, dates[one.story.id]) for one in found]
            if terminal.json:
                terminal.write_json({"query": query, "stories": bodies})
            else:
                timelines_shown.print_found(terminal.out, found)
            return
        check_collections(kb, Filters(collections=topics))
        latest = stored.latest(topics, start, end, limit=limit)
        dates = stored.dates([story.id for story in latest])
    if terminal.json:
        bodies = [timelines_shown.story_body(story, dates[story.id]) for story in latest]
        terminal.write_json({"stories": bodies})
    else:
        timelines_shown.print_stories(terminal.out, latest, dates)


@stories_app.command("show")
def show(
    context: typer.Context,
    story_id: Annotated[str, typer.Argument(metavar="ID", help="The story, or how its id begins.")],
    limit: Annotated[int, typer.Option(min=1, help="Most news items listed, the newest.")] = 50,
) -> None:
    """Show one story with its timeline. A `=` marks a near-duplicate of an earlier item."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        stored = kb.catalogue.stories
        found = stored.named(story_id)
        if len(found) != 1:
            reason = "several stories have" if found else "no story has"
            raise RequestError(
                f"{reason} an id that begins with {story_id!r}",
                hint="wellread stories lists them",
            )
        items = stored.items(found[0].id)
    if terminal.json:
        dates = [item.published_at for item in items if item.published_at]
        body = timelines_shown.story_body(found[0], dates)
        terminal.write_json(
            {**body, "news": [timelines_shown.item_body(item) for item in items[-limit:]]}
        )
    else:
        timelines_shown.print_story(terminal.out, found[0], items, limit)


@app.command()
def entity(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its id, title, alias or web address.")],
    topic: Topics = None,
    limit: Annotated[int, typer.Option(min=0, max=200, help="Most documents that name it.")] = 20,
) -> None:
    """Show an entity: facts, relations in both directions, and the documents that name it.

    Exit status: 1 when nothing is called so.
    """
    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        body = entity_body(kb, scope, name, limit)
        if body is None:
            terminal.write_problem(
                unknown_entity(kb, scope, name, lists="`wellread entities` lists what is there")
            )
            raise typer.Exit(1)
    terminal.show(body, print_entity)


@app.command()
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
    terminal = terminal_of(context)
    scope = tuple(topic or ())
    with terminal.open() as kb:
        check_collections(kb, Filters(collections=scope))
        body = entity_list_body(kb, scope, sort, limit)
    terminal.show(body, print_entities)
