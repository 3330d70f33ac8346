"""Commands ``ask`` and ``demo``: answer a question, and try Wellread on its sample material."""

from __future__ import annotations

import shlex
import time
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.text import Text

from wellread.ask.plan import analyse_alone, find
from wellread.ask.retrieve.ranking import pack
from wellread.asking import answer_in_mode
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.cli.answer_printing import (
    print_answer,
    print_coverage,
    print_past,
    print_source,
)
from wellread.serve.cli.options import limited
from wellread.serve.features.answering import (
    answer_body,
    quote_contexts,
    scope_coverage,
    similar_past_questions,
)
from wellread.serve.progress import ingest_progress, status_line
from wellread.serve.terminal import Terminal, opened, print_line, terminal_of
from wellread.serve.views import json_of
from wellread.types import Filters, Mode
from wellread.values.answer_text import as_rendered
from wellread.values.answers import NOBODY, Answer, FinalEvent, Question, StepEvent, TokenEvent

app = typer.Typer(rich_markup_mode=None)
EXIT_NOT_ANSWERED = 3

Strict = Annotated[
    bool | None,
    typer.Option("--strict/--no-strict", help="Drop unsupported sentences.", show_default=False),
]
SessionId = Annotated[
    str, typer.Option("--session", help="Ask within this session; a new name starts one.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Write a new answer even if a stored one exists.")
]
Detailed = Annotated[
    bool,
    typer.Option(
        "--detailed", help="Also show the text around each quotation and the duration of each step."
    ),
]


@app.command()
@limited()
def ask(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    *,
    filters: Filters,
    mode: Annotated[
        Mode, typer.Option(help="How thoroughly to search; deep: a research run.")
    ] = "auto",
    max_clusters: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of news stories used.")
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="List the passages without writing an answer.")
    ] = False,
    detailed: Detailed = False,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Also show how the documents cover the taxonomy."),
    ] = False,
    strict: Strict = None,
    session: SessionId = "",
    fresh: Fresh = False,
) -> None:
    """Answer a question from the material, with a verdict for every sentence.

    ✓ supported  ~ partly supported  ✗ unsupported  ? uncited  · not checked

    Exit status: 0 answered, 1 an error, 2 wrong options, 3 not answered from this material.
    """
    if mode == "deep" and sources_only:
        raise RequestError(
            "--sources-only describes a single search, but --mode deep makes many",
            hint="omit --mode deep",
        )
    request = Question(
        text=question,
        filters=filters,
        mode=mode,
        strict=strict,
        max_clusters=max_clusters,
        session_id=session,
        fresh=fresh,
    )
    with opened(context, Terminal.open_to_ask) as (terminal, kb):
        if sources_only:
            answered = show_sources(terminal, kb, request)
        else:
            answer = show_answer(terminal, kb, request, detailed=detailed, coverage=coverage)
            answered = answer.answered_by != NOBODY
    if not answered:
        raise typer.Exit(EXIT_NOT_ANSWERED)


def show_answer(
    terminal: Terminal,
    kb: KnowledgeBase,
    question: Question,
    *,
    detailed: bool = False,
    coverage: bool = False,
    indent: int | None = 2,
) -> Answer:
    """Answer ``question`` and print the answer with the requested extras; return it."""
    started = time.perf_counter()
    result = answer_of(terminal, kb, question)
    seconds = time.perf_counter() - started
    contexts = quote_contexts(kb, result) if detailed else ()
    covered = scope_coverage(kb, question.filters) if coverage else ()
    similar = similar_past_questions(kb, result)
    if terminal.json:
        body = json_of(answer_body(result, similar))
        body |= {"contexts": contexts} if detailed else {}
        terminal.write_json(body | ({"coverage": covered} if coverage else {}), indent=indent)
        return result
    rendered = as_rendered(result, kb.settings.citations)
    print_answer(terminal.out, rendered, seconds=seconds, detailed=detailed, contexts=contexts)
    print_past(terminal.out, similar)
    if coverage:
        print_coverage(terminal.out, covered)
    return result


def show_sources(
    terminal: Terminal, kb: KnowledgeBase, question: Question, *, indent: int | None = 2
) -> bool:
    """Print the passages from which ``question`` could be answered; False if there are none."""
    evidence = pack(kb, find(kb, analyse_alone(kb, question)).hits)
    if terminal.json:
        listing = {"items": evidence, "total": len(evidence), "question": question.text}
        terminal.write_json(listing, indent=indent)
    elif not evidence:
        print_line(terminal.out, "Nothing in this material is related to the question.", "yellow")
    else:
        for number, source in enumerate(evidence, start=1):
            print_source(terminal.out, f"[{number}]", source, f"{source.hit.score:.2f}")
    return bool(evidence)


def answer_of(terminal: Terminal, kb: KnowledgeBase, question: Question) -> Answer:
    """Answer ``question``, showing the steps on a terminal meanwhile."""

    async def run() -> Answer:
        draft_chars = 0
        async with aclosing(answer_in_mode(kb, question)) as events:
            async for event in events:
                if isinstance(event, StepEvent):
                    show_status(f"{event.step.name}: {event.step.found:,}")
                elif isinstance(event, TokenEvent):
                    draft_chars += len(event.text)
                    show_status(f"writing: {draft_chars:,} characters")
                elif isinstance(event, FinalEvent):
                    return event.answer
        raise WellreadError("the answer ended without a result", hint="report this as a defect")

    with status_line(terminal) as show_status:
        return anyio.run(run)


HOME = Path("wellread-demo")
QUESTIONS = (
    "How many families make their living from lobster pots north of the dividing line?",
    "Are older appliances easier to mend than recent ones?",
    "How much could a family get back per year from the planned repair vouchers?",
    "How far away is the Andromeda galaxy?",  # not in the material: must be declined
)


@app.command()
def demo(context: typer.Context) -> None:
    """Try Wellread on its sample material.

    Adds the sample (news, papers, transcripts and commons entries about invented islands) to its
    own knowledge base, ./wellread-demo unless --home names another, and answers four questions (the
    last has no answer in the material).
    """
    # Imported here: the readers take a quarter of a second to load, which ``ask`` does not need.
    from wellread.learning.asking_again import add  # noqa: PLC0415
    from wellread.serve.cli.material_cli import print_report  # noqa: PLC0415
    from wellread.serve.features.home_and_jobs import (  # noqa: PLC0415
        SAMPLE,
        report_body,
        sample_inputs,
    )

    terminal = terminal_of(context)
    home = terminal.home or HOME
    if not terminal.json:
        terminal.out.print(f"Adding the sample to {home} (delete the folder to remove it).")
    with terminal.open(home, overrides={"catalogue": {"url": ""}}) as kb:  # its own catalogue file
        with ingest_progress(terminal) as on_progress:
            report = add(kb, sample_inputs(), collection=SAMPLE, on_progress=on_progress)
        added = report_body(report, SAMPLE)
        if terminal.json:
            answers = [answer_of(terminal, kb, Question(text=text)) for text in QUESTIONS]
            bodies = [answer_body(answer) for answer in answers]
            terminal.write_json({"home": str(kb.home), "added": added, "answers": bodies})
            return
        print_report(terminal.out, added)
        for question in QUESTIONS:
            terminal.out.print()
            terminal.out.print(Text(f"» {question}", style="bold cyan"))
            show_answer(terminal, kb, Question(text=question))
    _print_next_steps(terminal, home)


def _print_next_steps(terminal: Terminal, home: Path) -> None:
    quoted_home = shlex.quote(str(home))
    print_line(terminal.out, "\nNext", "bold")
    print_line(
        terminal.out,
        f"""  wellread --home {quoted_home} ask "Who runs the tool library?"
  wellread --home {quoted_home} show citation        (the first citation in its source)
  wellread --home {quoted_home} search seagrass
  wellread --home {quoted_home} serve
  wellread add YOUR-FOLDER        (adds to your own knowledge base, ~/.wellread)""",
    )
