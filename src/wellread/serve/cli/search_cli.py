"""Commands that find passages and past questions: ``search``, ``context`` and ``similar``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.ask.retrieve.past_questions import Comparison
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.library.searches import around, find, newest
from wellread.serve.cli.options import (
    Authors,
    Fields,
    Kinds,
    Languages,
    Since,
    SourceTypes,
    Speakers,
    Topics,
    Until,
    filters_of,
    limited,
)
from wellread.serve.features.asking.similar_questions import (
    print_similar,
    similar_body,
    wanted_like,
)
from wellread.serve.features.passage_views import (
    print_results,
    print_surroundings,
    results_body,
    surroundings_body,
)
from wellread.serve.terminal import terminal_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)


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
