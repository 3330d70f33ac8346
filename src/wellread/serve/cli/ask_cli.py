"""The commands that answer: ``ask``, and ``demo`` on the packaged sample."""

from __future__ import annotations

import shlex
import time
from collections.abc import AsyncIterator, Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.text import Text

from wellread.ask.answer import Explain, answer, final
from wellread.ask.plan import find, reading
from wellread.ask.retrieve.ranking import Found, pack
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.serve.cli.answer_printing import (
    print_answer,
    print_coverage,
    print_explanation,
    print_past,
    print_source,
)
from wellread.serve.cli.options import limited
from wellread.serve.features.answer_forms import ExplainedResponse, Explanation
from wellread.serve.features.answering import (
    answer_body,
    past_beside,
    quote_contexts,
    scope_coverage,
)
from wellread.serve.progress import shown, status_line
from wellread.serve.terminal import Terminal, print_line, terminal_of
from wellread.serve.views import json_of
from wellread.types import Filters, Mode
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer, Event, Question, StepEvent, TokenEvent
from wellread.values.question import Analysis
from wellread.values.reports import ProgressEvent, ReportEvent, ResearchRequest

app = typer.Typer(rich_markup_mode=None)

DEEP: Mode = "deep"
Strict = Annotated[
    bool | None,
    typer.Option("--strict/--no-strict", help="Drop unsupported sentences.", show_default=False),
]
SessionId = Annotated[
    str, typer.Option("--session", help="Ask within this session; a new name begins one.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Write anew, also when the same was asked before.")
]
Detailed = Annotated[
    bool,
    typer.Option(
        "--detailed", help="Also the text around each quotation, and every step's seconds."
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
        Mode, typer.Option(help="How thoroughly; deep: a short research in rounds.")
    ] = "auto",
    max_clusters: Annotated[
        int | None, typer.Option(min=1, help="Most stories that news is told from.")
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="List the passages, write no answer.")
    ] = False,
    detailed: Detailed = False,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Also how the scope's documents cover the taxonomy."),
    ] = False,
    explain: Annotated[
        bool, typer.Option(help="Also how the answer was found, and why so.")
    ] = False,
    strict: Strict = None,
    session: SessionId = "",
    fresh: Fresh = False,
) -> None:
    """Answer a question from the material, with a verdict for every sentence.

    ✓ supported  ~ partly supported  ✗ unsupported  ? uncited  · not checked
    """
    if mode == DEEP and (explain or sources_only):
        raise RequestError(
            "--explain and --sources-only tell of one search, and --mode deep makes many",
            hint="leave --mode deep out",
        )
    terminal = terminal_of(context)
    asked = Question(
        text=question,
        filters=filters,
        mode=mode,
        strict=strict,
        max_clusters=max_clusters,
        session_id=session,
        fresh=fresh,
    )
    with terminal.open_to_ask() as kb:
        if sources_only:
            show_sources(terminal, kb, asked)
        else:
            show_answer(terminal, kb, asked, detailed=detailed, explain=explain, coverage=coverage)


def show_answer(
    terminal: Terminal,
    kb: KnowledgeBase,
    question: Question,
    *,
    detailed: bool = False,
    explain: bool = False,
    coverage: bool = False,
) -> None:
    """Answer ``question`` and write the answer, with what is wanted beside it."""
    read: list[tuple[Analysis, Found]] = []
    tell = (lambda *both: read.append(both)) if explain else None
    started = time.perf_counter()
    answered = answer_of(terminal, kb, question, explain=tell)
    seconds = time.perf_counter() - started
    why = Explanation(analysis=read[0][0], found=read[0][1]) if read else None
    contexts = quote_contexts(kb, answered) if detailed else ()
    covered = scope_coverage(kb, question.filters) if coverage else ()
    similar = past_beside(kb, answered)
    if terminal.json:
        body = answer_body(answered, similar)
        whole = json_of(ExplainedResponse(reply=body, explanation=why) if why else body)
        whole |= {"contexts": contexts} if detailed else {}
        terminal.write_json(whole | ({"coverage": covered} if coverage else {}))
        return
    if why:
        print_explanation(terminal.out, why)
    rendered = as_rendered(answered, kb.settings.citations)
    print_answer(terminal.out, rendered, seconds=seconds, detailed=detailed, contexts=contexts)
    print_past(terminal.out, similar)
    if coverage:
        print_coverage(terminal.out, covered)


def show_sources(terminal: Terminal, kb: KnowledgeBase, question: Question) -> None:
    """Write the evidence that an answer to ``question`` could rest on."""
    pieces = pack(kb, find(kb, reading(kb, question)).hits)
    if terminal.json:
        terminal.write_json({"question": question.text, "sources": pieces})
    elif not pieces:
        print_line(terminal.out, "Nothing in this material is near the question.", "yellow")
    else:
        for number, piece in enumerate(pieces, start=1):
            print_source(terminal.out, f"[{number}]", piece, f"{piece.hit.score:.2f}")


def answer_of(
    terminal: Terminal, kb: KnowledgeBase, question: Question, *, explain: Explain | None = None
) -> Answer:
    """Answer ``question``; on a terminal the steps show meanwhile."""
    with status_line(terminal) as say:
        return told_answer(kb, question, lambda step, _draft: say(step), explain=explain)


def told_answer(
    kb: KnowledgeBase,
    question: Question,
    tell: Callable[[str, str], None],
    *,
    explain: Explain | None = None,
) -> Answer:
    """Answer ``question``; ``tell`` hears of each step, and the draft as far as it is written.

    In deep mode it is the answer of a short research.
    """
    if question.mode == DEEP:
        return _researched(kb, question, tell)

    async def events() -> AsyncIterator[Event]:
        draft = ""
        async for event in answer(kb, question, explain=explain):
            if isinstance(event, StepEvent):
                tell(f"{event.step.name}: {event.step.found:,}", draft)
            elif isinstance(event, TokenEvent):
                draft += event.text
                tell(f"writing: {len(draft):,} characters", draft)
            yield event

    async def run() -> Answer:
        return await final(events())

    return anyio.run(run)


def _researched(kb: KnowledgeBase, question: Question, tell: Callable[[str, str], None]) -> Answer:
    """The answer of a short research; one that is interrupted leaves nothing to go on with."""
    # A tenth of a second to load, and few questions need it.
    from wellread.research.research import begin, research  # noqa: PLC0415
    from wellread.serve.features.researching import short_limits  # noqa: PLC0415

    request = ResearchRequest(question=question, limits=short_limits(kb))

    async def run(run_id: str) -> Answer:
        async for event in research(kb, request, run_id=run_id):
            if isinstance(event, ProgressEvent):
                tell(event.text, "")
            elif isinstance(event, ReportEvent):
                answered = event.report.answer
        return answered

    run_id = anyio.run(begin, kb, request)
    try:
        return anyio.run(run, run_id)
    except KeyboardInterrupt:
        kb.catalogue.research.remove(run_id)
        raise


HOME = Path("wellread-demo")
COLLECTION = "halden-sound"
FOLDERS = ("commons", "news", "pages", "papers", "questions", "transcripts")
QUESTIONS = (
    "How many families make their living from lobster pots north of the dividing line?",
    "Are older appliances easier to mend than recent ones?",
    "How much could a family get back per year from the planned repair vouchers?",
    "How far away is the Andromeda galaxy?",  # not in the material: it has to be declined
)


@app.command()
def demo(context: typer.Context) -> None:
    """Try Wellread on the sample that comes with it.

    Adds the sample (news, papers, transcripts, commons entries about an invented group of islands)
    to a home of its own, ./wellread-demo unless --home names another, and answers questions (the
    last is not in the material).
    """
    # What reads sources takes a quarter of a second to load, for which no question is to wait.
    from wellread.learning.asking_again import add  # noqa: PLC0415
    from wellread.serve.cli.material_cli import print_report  # noqa: PLC0415
    from wellread.serve.features.home_and_jobs import report_body  # noqa: PLC0415

    terminal = terminal_of(context)
    home = terminal.home or HOME
    if not terminal.json:
        terminal.out.print(f"Adding the sample to {home} (delete the folder to be rid of it).")
    with terminal.open(home, overrides={"catalogue": {"url": ""}}) as kb:  # a file of its own
        with as_file(files("wellread.sample")) as folder, shown(terminal) as on_progress:
            inputs = [str(folder / name) for name in FOLDERS]
            report = add(kb, inputs, collection=COLLECTION, on_progress=on_progress)
        if terminal.json:
            answers = [answer_of(terminal, kb, Question(text=text)) for text in QUESTIONS]
            added = report_body(report, COLLECTION)
            bodies = [answer_body(answer) for answer in answers]
            terminal.write_json({"home": str(kb.home), "added": added, "answers": bodies})
            return
        print_report(terminal.out, report_body(report, COLLECTION))
        for question in QUESTIONS:
            terminal.out.print()
            terminal.out.print(Text(f"» {question}", style="bold cyan"))
            show_answer(terminal, kb, Question(text=question))
    _say_what_is_next(terminal, home)


def _say_what_is_next(terminal: Terminal, home: Path) -> None:
    named = shlex.quote(str(home))
    print_line(terminal.out, "\nNext", "bold")
    print_line(
        terminal.out,
        f"""  wellread --home {named} ask "Who runs the tool library?"
  wellread --home {named} show citation        (the first one, at its place in the source)
  wellread --home {named} search seagrass
  wellread --home {named} serve
  wellread add YOUR-FOLDER        (into your own home, ~/.wellread)""",
    )
