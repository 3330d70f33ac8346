"""The command ``similar``: past questions like a new one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.serve.options import Topics
from wellread.serve.terminal import harmless, terminal_of

if TYPE_CHECKING:
    from rich.console import Console

    from wellread.serve.api.similar import SimilarBody


class ComparisonName(StrEnum):
    """How a past question's rating has to compare."""

    LT = "lt"
    LTE = "lte"
    EQ = "eq"


def register(app: typer.Typer) -> None:
    """Put the command into ``app``."""
    app.command()(similar)


def similar(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The new question.")],
    rating: Annotated[
        int | None, typer.Option(min=0, max=100, help="Expert rating to compare with.")
    ] = None,
    compare: Annotated[
        ComparisonName, typer.Option(help="How a past question's rating has to compare.")
    ] = ComparisonName.LT,
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
    from wellread.serve.api.similar import (  # noqa: PLC0415 - loads the stores
        SimilarQuery,
        similar_body,
    )

    terminal = terminal_of(context)
    asked = SimilarQuery(
        question=question,
        rating=rating,
        compare=compare.value,
        language=language,
        threshold=threshold,
        limit=limit,
        collection=topic or [],
    )
    with terminal.open() as kb:
        body = similar_body(kb, asked)
    if terminal.json:
        terminal.write_json(body.model_dump(mode="json"))
    else:
        _print(terminal.out, body)


def _print(console: Console, body: SimilarBody) -> None:
    from rich.text import Text  # noqa: PLC0415 - `--help` has to be quick

    if not body.results:
        console.print(Text("No past question is like this one.", style="yellow"))
    for number, one in enumerate(body.results):
        if number:
            console.print()
        score = f", rated {one.score}/100" if one.score is not None else ""
        head = Text(harmless(one.question), style="bold")
        head.append(f"  {one.similarity:.2f}{score}", style="dim")
        console.print(head)
        console.print(Text(harmless(one.answer)))
        for sentence in one.feedback:
            said = [f"{sentence.score}/100"] if sentence.score is not None else []
            said += [harmless(sentence.explanation)] if sentence.explanation else []
            said += ["harmful"] if sentence.harmful else []
            said += ["content issue"] if sentence.content_issue else []
            if said:
                console.print(Text(f"  - {'; '.join(said)}"))
        link = one.expert_citation_url or one.citation_url
        if link:
            console.print(Text(f"  {harmless(link)}", style="dim"), soft_wrap=True)
        if one.expired:
            console.print(Text(f"Expired: {harmless(one.expired)}", style="yellow"))
