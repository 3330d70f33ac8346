"""``wellread chat``: questions one after the other, each read with those before it."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.cli.answer_printing import print_answer, print_quotes
from wellread.serve.cli.ask_cli import told_answer
from wellread.serve.cli.options import limited
from wellread.serve.error_shapes import problem_of
from wellread.serve.features.answering import answer_body
from wellread.serve.terminal import Terminal, print_line, terminal_of
from wellread.serve.views import json_of
from wellread.text.words import harmless
from wellread.types import Filters, Mode
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer, Question

app = typer.Typer(rich_markup_mode=None)

PROMPT = "› "
LONGEST_DRAFT = 1_200  # characters of a draft that are shown, its end
HELP = "/new starts a new session, /sources shows what the last answer quotes, /quit ends (Ctrl-D)."


@app.command()
@limited()
def chat(
    context: typer.Context,
    *,
    filters: Filters,
    mode: Annotated[Mode, typer.Option(help="How thoroughly.")] = "auto",
    session: Annotated[
        str, typer.Option(metavar="ID", help="Go on with this session; else a new one begins.")
    ] = "",
) -> None:
    """Ask one question after the other; each is read with those before it.

    From a pipe each line is a question. With --json each answer is one line.
    """
    terminal = terminal_of(context)
    asked = Question(text="", filters=filters, mode=mode, session_id=session)
    with terminal.open_to_ask() as kb:
        talk = Chat(terminal=terminal, kb=kb, asked=asked)
        talk.begin()
        for line in _lines(terminal):
            if not talk.take(line):
                break
    if talk.failed and not sys.stdin.isatty():
        raise typer.Exit(1)


@dataclass(slots=True, kw_only=True)
class Chat:
    """One conversation on a terminal.

    ``asked`` is what every question has in common: limits, mode, and the session's id.
    """

    terminal: Terminal
    kb: KnowledgeBase
    asked: Question
    last: Answer | None = None
    failed: bool = False

    def begin(self) -> None:
        """Say where the conversation goes on."""
        session_id = self.asked.session_id
        known = self.kb.catalogue.sessions.session(session_id, self.kb.asker.owner)
        if known is not None:
            self._say(f"Going on with “{known.title}” ({known.turns} questions).")
        elif session_id:
            self._say(f"There is no session {session_id}; it begins now.")
        elif sys.stdin.isatty() and not self.terminal.json:
            self._say(f"A new session. {HELP}")

    def take(self, line: str) -> bool:
        """Answer a line, or do what it commands; False when the conversation ends."""
        text = line.strip()
        if text in ("/quit", "/exit"):
            return False
        if text == "/new":
            self.asked = replace(self.asked, session_id="")
            self.last = None
            self._say("A new session.")
        elif text == "/sources" and self.last is not None:
            print_quotes(self._where(), as_rendered(self.last, self.kb.settings.citations))
        elif text.startswith("/"):
            self._say(HELP if text != "/sources" else "There is no answer yet.")
        elif text:
            self._answer(text)
        return True

    def _answer(self, text: str) -> None:
        if not sys.stdin.isatty() and not self.terminal.json:
            self.terminal.out.print(Text(f"{PROMPT}{harmless(text)}", style="bold"))
        started = time.perf_counter()
        try:
            with _draft(self.terminal) as show:
                asked = replace(self.asked, text=text)
                answer = told_answer(self.kb, asked, lambda step, draft: show(draft or f"{step} …"))
        except KeyboardInterrupt:
            self._say("Cancelled. Ctrl-D ends.")
            return
        except WellreadError as error:
            self.failed = True
            self.terminal.write_problem(problem_of(error))
            return
        self.last = answer
        self.asked = replace(self.asked, session_id=answer.session_id)
        if self.terminal.json:
            body = json_of(answer_body(answer))
            typer.echo(json.dumps(body, ensure_ascii=False))
            return
        seconds = time.perf_counter() - started
        shown = as_rendered(answer, self.kb.settings.citations)
        print_answer(self.terminal.out, shown, seconds=seconds)
        self.terminal.out.print()

    def _say(self, text: str) -> None:
        print_line(self._where(), text, "dim")

    def _where(self) -> Console:
        """Standard output; with ``--json`` that is for answers alone."""
        return self.terminal.err if self.terminal.json else self.terminal.out


@contextmanager
def _draft(terminal: Terminal) -> Iterator[Callable[[str], None]]:
    """Shows a text that changes, until the checked answer takes its place."""
    if terminal.json or not terminal.err.is_terminal:
        yield lambda _text: None
        return
    with Live(console=terminal.err, transient=True, refresh_per_second=12) as live:
        yield lambda text: live.update(Text(harmless(text[-LONGEST_DRAFT:]), style="dim"))


def _lines(terminal: Terminal) -> Iterator[str]:
    """What is typed, or piped, until it ends."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    _with_history()
    while True:
        try:
            yield input(PROMPT)
        except KeyboardInterrupt:
            terminal.out.print()  # the line that was begun is given up
        except EOFError:
            terminal.out.print()
            return


def _with_history() -> None:
    """Arrow keys bring back earlier lines, where the system has readline. Nothing is kept."""
    if importlib.util.find_spec("readline"):  # not there on Windows
        importlib.import_module("readline")  # ``input`` uses it once it is loaded
