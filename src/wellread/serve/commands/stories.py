"""``wellread stories``: what the news is about, and how each story went on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.errors import RequestError
from wellread.serve import story_tables
from wellread.serve.dates import first_moment, last_moment
from wellread.serve.options import Since, Topics, Until
from wellread.serve.terminal import Terminal, terminal_of

if TYPE_CHECKING:
    from wellread.kb import KnowledgeBase

stories_app = typer.Typer(
    name="stories",
    help="What the news is about, the latest first; with --query what it says about something.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

Window = tuple[datetime | None, datetime | None]


def register(app: typer.Typer) -> None:
    """Put the command into ``app``."""
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
    start, end = _window(since, until)
    with terminal.open() as kb:
        if query.strip():
            _show_found(terminal, kb, query, tuple(topic or ()), (start, end), limit)
        else:
            _show_latest(terminal, kb, tuple(topic or ()), (start, end), limit)


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
        body = story_tables.story_body(found[0], dates)
        terminal.write_json(
            {**body, "news": [story_tables.item_body(item) for item in items[-limit:]]}
        )
    else:
        story_tables.print_story(terminal.out, found[0], items, limit)


def _window(since: str | None, until: str | None) -> Window:
    """The window that was asked for.

    Raises:
        RequestError: a date that is none, or a window that ends before it begins.
    """
    start = first_moment(since) if since else None
    end = last_moment(until) if until else None
    if start and end and start > end:
        raise RequestError(
            f"the time window from {since} to {until} is empty", hint="swap --from and --to"
        )
    return start, end


def _show_latest(
    terminal: Terminal, kb: KnowledgeBase, topics: tuple[str, ...], window: Window, limit: int
) -> None:
    from wellread.ask.retrieve.search import check_collections  # noqa: PLC0415 - loads the stores
    from wellread.types import Filters  # noqa: PLC0415 - loads numpy

    check_collections(kb, Filters(collections=topics))
    found = kb.catalogue.stories.latest(topics, *window, limit=limit)
    dates = kb.catalogue.stories.dates([story.id for story in found])
    if terminal.json:
        bodies = [story_tables.story_body(story, dates[story.id]) for story in found]
        terminal.write_json({"stories": bodies})
    else:
        story_tables.print_stories(terminal.out, found, dates)


def _show_found(
    terminal: Terminal,
    kb: KnowledgeBase,
    query: str,
    topics: tuple[str, ...],
    window: Window,
    limit: int,
) -> None:
    from wellread.ask.retrieve.story_search import StoryQuery, find_stories  # noqa: PLC0415 - loads the stores

    start, end = window
    asked = StoryQuery(
        text=query,
        collections=topics,
        since=start or datetime.min.replace(tzinfo=UTC),  # who looks around wants the old ones too
        until=end,
        top_k=limit,
    )
    found = find_stories(kb, asked)
    if terminal.json:
        dates = kb.catalogue.stories.dates([one.story.id for one in found])
        bodies = [story_tables.found_body(one, dates[one.story.id]) for one in found]
        terminal.write_json({"query": query, "stories": bodies})
    else:
        story_tables.print_found(terminal.out, found)
