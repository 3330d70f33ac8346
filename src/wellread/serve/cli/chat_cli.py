"""Command ``chat``: a conversation in which each question is understood with earlier ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Annotated

import typer
from rich.text import Text

from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.cli.ask_cli import show_answer, show_sources
from wellread.serve.cli.options import limited
from wellread.serve.error_shapes import problem_of
from wellread.serve.terminal import Terminal, opened, print_line
from wellread.text.characters import harmless
from wellread.types import Filters, Mode
from wellread.values.answers import Question

app = typer.Typer(rich_markup_mode=None)

PROMPT = "› "
EXTRAS = ("--detailed", "--sources-only", "--coverage")
HELP = f"/ask QUESTION [{' | '.join(EXTRAS)}], /new starts a session, /quit (Ctrl-D) ends."


@app.command()
@limited()
def chat(
    context: typer.Context,
    *,
    filters: Filters,
    mode: Annotated[Mode, typer.Option(help="How thoroughly to search.")] = "auto",
    session: Annotated[
        str, typer.Option(metavar="ID", help="Continue this session. [default: a new one]")
    ] = "",
) -> None:
    """Ask a series of questions; each is understood with the earlier ones.

    From a pipe, each line is a question. With --json, each answer is one line.
    """
    base_question = Question(text="", filters=filters, mode=mode, session_id=session)
    with opened(context, Terminal.open_to_ask) as (terminal, kb):
        talk = Chat(terminal=terminal, kb=kb, base_question=base_question)
        talk.begin()
        for line in _lines(terminal):
            if not talk.take(line):
                break
    if talk.failed and not sys.stdin.isatty():
        raise typer.Exit(1)


@dataclass(slots=True, kw_only=True)
class Chat:
    """One conversation on a terminal.

    ``base_question`` holds what all questions share: filters, mode and session id.
    """

    terminal: Terminal
    kb: KnowledgeBase
    base_question: Question
    failed: bool = False

    def begin(self) -> None:
        """Print which session the conversation uses."""
        session_id = self.base_question.session_id
        session = self.kb.catalogue.sessions.session(session_id, self.kb.asker.owner)
        if session is not None:
            self._say(f"Continuing “{session.title}” ({session.turns} questions).")
        elif session_id:
            self._say(f"There is no session {session_id} yet; starting it now.")
        elif sys.stdin.isatty() and not self.terminal.json:
            self._say(f"New session. {HELP}")

    def take(self, line: str) -> bool:
        """Answer a line or run its command; return False when the conversation ends."""
        text = line.strip()
        if text in ("/quit", "/exit"):
            return False
        if text == "/new":
            self.base_question = replace(self.base_question, session_id="")
            self._say("New session.")
        elif text.startswith("/ask "):
            words = text.split()[1:]
            extras = {word for word in words if word.startswith("--")}
            if extras <= {*EXTRAS}:
                self._answer(" ".join(word for word in words if word not in extras), extras)
            else:
                self._say(HELP)
        elif text.startswith("/"):
            self._say(HELP)
        elif text:
            self._answer(text)
        return True

    def _answer(self, text: str, extras: Set[str] = frozenset()) -> None:
        """Answer ``text``, with those of ``EXTRAS`` that are asked for."""
        if not sys.stdin.isatty() and not self.terminal.json:
            self.terminal.out.print(Text(f"{PROMPT}{harmless(text)}", style="bold"))
        question = replace(self.base_question, text=text)
        try:
            if "--sources-only" in extras:
                show_sources(self.terminal, self.kb, question, indent=None)
                return
            answer = show_answer(
                self.terminal,
                self.kb,
                question,
                detailed="--detailed" in extras,
                coverage="--coverage" in extras,
                indent=None,
            )
        except KeyboardInterrupt:
            self._say("Cancelled. Press Ctrl-D to quit.")
            return
        except WellreadError as error:
            self.failed = True
            self.terminal.write_problem(problem_of(error))
            return
        self.base_question = replace(self.base_question, session_id=answer.session_id)
        if not self.terminal.json:
            self.terminal.out.print()

    def _say(self, text: str) -> None:
        # With ``--json``, standard output is for answers only.
        console = self.terminal.err if self.terminal.json else self.terminal.out
        print_line(console, text, "dim")


def _lines(terminal: Terminal) -> Iterator[str]:
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    with suppress(ImportError):  # missing on Windows
        import_module("readline")  # lets arrow keys recall earlier lines; nothing is stored
    while True:
        try:
            yield input(PROMPT)
        except KeyboardInterrupt:
            terminal.out.print()  # the unfinished line is dropped
        except EOFError:
            terminal.out.print()
            return
