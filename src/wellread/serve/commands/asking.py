"""Commands that look things up: ``ask`` and ``search``."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.serve.commands.indexing import warn_if_outdated
from wellread.serve.options import (
    Kinds,
    ModeName,
    SearchName,
    Since,
    Speakers,
    Topics,
    Until,
    filters_of,
)
from wellread.serve.progress import status_line
from wellread.serve.terminal import Terminal, terminal_of

if TYPE_CHECKING:
    from wellread.answers import Answer, Event, Question
    from wellread.kb import KnowledgeBase


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(ask)
    app.command()(search)


def ask(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    mode: Annotated[ModeName, typer.Option(help="How thoroughly.")] = ModeName.AUTO,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="List the passages, write no answer.")
    ] = False,
    detailed: Annotated[
        bool, typer.Option("--detailed", help="Also every step with its seconds.")
    ] = False,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--no-strict", help="Drop unsupported sentences.", show_default=False
        ),
    ] = None,
) -> None:
    """Answer a question from the material, with a verdict for every sentence.

    ✓ supported  ~ partly supported  ✗ unsupported  ? uncited  · not checked
    """
    from wellread.answers import Question  # noqa: PLC0415 - loads numpy, which `--help` need not
    from wellread.serve.present import answer_body  # noqa: PLC0415 - loads pydantic models

    terminal = terminal_of(context)
    asked = Question(
        text=question,
        filters=filters_of(topic, kind, speaker, since, until),
        mode=mode.value,
        strict=strict,
    )
    with terminal.open() as kb:
        warn_if_outdated(kb)
        if sources_only:
            show_sources(terminal, kb, asked)
        elif terminal.json:
            body = answer_body(answer_of(terminal, kb, asked))
            terminal.write_json(body.model_dump(mode="json"))
        else:
            show_answer(terminal, kb, asked, detailed=detailed)


def search(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words to look for.")],
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    mode: Annotated[SearchName, typer.Option(help="By words, by meaning, or both.")] = (
        SearchName.HYBRID
    ),
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most passages.")] = 10,
) -> None:
    """Find passages by words, by meaning, or both."""
    from wellread.ask.retrieve import search as run  # noqa: PLC0415 - loads the stores
    from wellread.locators import Marks  # noqa: PLC0415
    from wellread.serve import present, render  # noqa: PLC0415

    terminal = terminal_of(context)
    filters = filters_of(topic, kind, speaker, since, until)
    with terminal.open() as kb:
        warn_if_outdated(kb)
        hits = run(kb, query, filters, mode=mode.value, limit=limit)
        places = [(hit.passage.document_id, hit.passage.span) for hit in hits]
        marks = kb.catalogue.marks_over(places)
    bodies = [
        present.hit_body(hit, Marks(found).locate(hit.passage.span))
        for hit, found in zip(hits, marks, strict=True)
    ]
    if terminal.json:
        results = [body.model_dump(mode="json") for body in bodies]
        terminal.write_json({"query": query, "results": results})
    else:
        render.print_hits(terminal.out, bodies, query)


def show_answer(
    terminal: Terminal, kb: KnowledgeBase, question: Question, *, detailed: bool = False
) -> None:
    """Answer ``question`` and write the answer as people read it."""
    from wellread.serve import render  # noqa: PLC0415 - loads pydantic models

    started = time.perf_counter()
    answered = answer_of(terminal, kb, question)
    seconds = time.perf_counter() - started
    render.print_answer(terminal.out, answered, seconds=seconds, detailed=detailed)


def show_sources(terminal: Terminal, kb: KnowledgeBase, question: Question) -> None:
    """Write the evidence that an answer to ``question`` could rest on."""
    from wellread.ask.evidence import pack  # noqa: PLC0415 - loads the stores
    from wellread.ask.question import analyse  # noqa: PLC0415
    from wellread.ask.retrieve import retrieve  # noqa: PLC0415
    from wellread.serve import present, render  # noqa: PLC0415

    bodies = [present.evidence_body(piece) for piece in pack(kb, retrieve(kb, analyse(question)))]
    if terminal.json:
        sources = [body.model_dump(mode="json") for body in bodies]
        terminal.write_json({"question": question.text, "sources": sources})
    else:
        render.print_evidence(terminal.out, bodies)


def answer_of(terminal: Terminal, kb: KnowledgeBase, question: Question) -> Answer:
    """Answer ``question``; on a terminal the steps show meanwhile."""
    import anyio  # noqa: PLC0415 - with the next line, most of what `--help` need not wait for

    from wellread.ask.answer import answer, final  # noqa: PLC0415

    async def run() -> Answer:
        with status_line(terminal) as say:
            return await final(_told(answer(kb, question), say))

    return anyio.run(run)


async def _told(events: AsyncIterator[Event], say: Callable[[str], None]) -> AsyncIterator[Event]:
    """``events`` unchanged; each step and the growing draft are told on the way."""
    from wellread.answers import StepEvent, TokenEvent  # noqa: PLC0415 - loads numpy

    written = 0
    async for event in events:
        if isinstance(event, StepEvent):
            say(f"{event.step.name}: {event.step.found:,}")
        elif isinstance(event, TokenEvent):
            written += len(event.text)
            say(f"writing: {written:,} characters")
        yield event
