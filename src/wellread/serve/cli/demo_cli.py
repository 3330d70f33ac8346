"""``wellread demo``: the packaged sample, added to a home of its own and asked three questions."""

from __future__ import annotations

import shlex
from importlib.resources import as_file, files
from pathlib import Path

import typer
from rich.text import Text

from wellread.answers import Question
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.serve.cli.ask_cli import answer_of, show_answer
from wellread.serve.features.asking.answer_bodies import answer_body
from wellread.serve.features.home_reports import print_report, report_body
from wellread.serve.progress import shown
from wellread.serve.terminal import Terminal, terminal_of

app = typer.Typer(rich_markup_mode=None)

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
    terminal = terminal_of(context)
    home = terminal.home or HOME
    if not terminal.json:
        terminal.out.print(f"Adding the sample to {home} (delete the folder to be rid of it).")
    with terminal.open(home) as kb:
        report = _add_sample(terminal, kb)
        if terminal.json:
            terminal.write_json(_body(terminal, kb, report))
            return
        print_report(terminal.out, report_body(report, COLLECTION))
        for question in QUESTIONS:
            terminal.out.print()
            terminal.out.print(Text(f"» {question}", style="bold cyan"))
            show_answer(terminal, kb, Question(text=question))
    _say_what_is_next(terminal, home)


def _add_sample(terminal: Terminal, kb: KnowledgeBase) -> Report:
    with as_file(files("wellread.sample")) as folder, shown(terminal) as on_progress:
        inputs = [str(folder / name) for name in FOLDERS]
        return add(kb, inputs, collection=COLLECTION, on_progress=on_progress)


def _body(terminal: Terminal, kb: KnowledgeBase, report: Report) -> dict[str, object]:
    answers = [answer_of(terminal, kb, Question(text=question)) for question in QUESTIONS]
    return {
        "home": str(kb.home),
        "added": report_body(report, COLLECTION).model_dump(mode="json"),
        "answers": [answer_body(answer).model_dump(mode="json") for answer in answers],
    }


def _say_what_is_next(terminal: Terminal, home: Path) -> None:
    named = shlex.quote(str(home))
    lines = (
        f'wellread --home {named} ask "Who runs the tool library?"',
        f"wellread --home {named} open 1        (its first citation, at its place in the source)",
        f"wellread --home {named} search seagrass",
        f"wellread --home {named} serve",
        "wellread add YOUR-FOLDER        (into your own home, ~/.wellread)",
    )
    terminal.out.print()
    terminal.out.print(Text("Next", style="bold"))
    for line in lines:
        terminal.out.print(Text(f"  {line}"), soft_wrap=True)
