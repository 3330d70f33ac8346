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
from wellread.serve.cli.ask_cli import told_answer
from wellread.serve.cli.options import Kinds, Since, Speakers, Topics, Until, filters_of
from wellread.serve.error_shapes import problem_of
from wellread.serve.features.answering import answer_body, print_answer
from wellread.serve.features.kept_answers import (
    SessionsBody,
    print_sessions,
    print_sources,
)
from wellread.serve.terminal import Terminal, terminal_of
from wellread.serve.views import json_of
from wellread.text.words import harmless
from wellread.types import Mode
from wellread.values.answer_text import as_rendered
from wellread.values.answers import Answer, Question

app = typer.Typer(rich_markup_mode=None)

PROMPT = "› "
LONGEST_DRAFT = 1_200  # characters of a draft that are shown, its end
HELP = (
    ("/new", "start a new session"),
    ("/sources", "show what the last answer quotes, in full"),
    ("/sessions", "list the sessions; /sessions ID goes on with one"),
    ("/help", "show this"),
    ("/quit", "end (also Ctrl-D)"),
)


@app.command()
def chat(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    kind: Kinds = None,
    speaker: Speakers = None,
    since: Since = None,
    until: Until = None,
    mode: Annotated[Mode, typer.Option(help="How thoroughly.")] = "auto",
    session: Annotated[
        str, typer.Option(metavar="ID", help="Go on with this session; else a new one begins.")
    ] = "",
) -> None:
    """Ask one question after the other; each is read with those before it.

    From a pipe each line is a question. With --json each answer is one line.
    """
    terminal = terminal_of(context)
    asked = Question(
        text="",
        filters=filters_of(topic, kind, speaker, since, until),
        mode=mode,
        session_id=session,
    )
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

    Attributes:
        asked: what every question has in common: limits, mode, and the session's id.
        last: the last answer.
        failed: whether a question ended with an error.
    """

    terminal: Terminal
    kb: KnowledgeBase
    asked: Question
    last: Answer | None = None
    failed: bool = False

    def begin(self) -> None:
        """Say where the conversation goes on."""
        if self.asked.session_id:
            self._resume(self.asked.session_id)
        elif sys.stdin.isatty() and not self.terminal.json:
            self._say("A new session. /help shows what else there is.")

    def take(self, line: str) -> bool:
        """Answer a line, or do what it commands; False when the conversation ends."""
        text = line.strip()
        if text.startswith("/"):
            name, _, rest = text.partition(" ")
            return self._command(name, rest.strip())
        if text:
            self._answer(text)
        return True

    def _command(self, name: str, rest: str) -> bool:
        if name in ("/quit", "/exit"):
            return False
        commands: dict[str, Callable[[], None]] = {
            "/new": self._new,
            "/sources": self._sources,
            "/sessions": lambda: self._resume(rest) if rest else self._sessions(),
            "/help": self._help,
        }
        commands.get(name, lambda: self._say(f"There is no command {name}; see /help."))()
        return True

    def _answer(self, text: str) -> None:
        if not sys.stdin.isatty() and not self.terminal.json:
            self.terminal.out.print(Text(f"{PROMPT}{harmless(text)}", style="bold"))
        started = time.perf_counter()
        try:
            answer = _answered(self.terminal, self.kb, replace(self.asked, text=text))
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
        print_answer(self.terminal.out, shown, seconds=seconds, detailed=False)
        self.terminal.out.print()

    def _new(self) -> None:
        self.asked = replace(self.asked, session_id="")
        self.last = None
        self._say("A new session.")

    def _sources(self) -> None:
        if self.last is None:
            self._say("There is no answer yet.")
        else:
            print_sources(self._where(), as_rendered(self.last, self.kb.settings.citations))

    def _sessions(self) -> None:
        sessions = self.kb.catalogue.sessions.of(self.kb.asker.owner, 20)
        print_sessions(
            self._where(), SessionsBody.of(sessions=sessions), current=self.asked.session_id
        )

    def _resume(self, session_id: str) -> None:
        known = self.kb.catalogue.sessions.session(session_id, self.kb.asker.owner)
        self.asked = replace(self.asked, session_id=session_id)
        self.last = None
        if known is None:
            self._say(f"There is no session {harmless(session_id)}; it begins now.")
        else:
            self._say(f"Going on with “{harmless(known.title)}” ({known.turns} questions).")

    def _help(self) -> None:
        for name, what in HELP:
            self._say(f"{name:<11}{what}")

    def _say(self, text: str) -> None:
        self._where().print(Text(text, style="dim"))

    def _where(self) -> Console:
        """Standard output; with ``--json`` that is for answers alone."""
        return self.terminal.err if self.terminal.json else self.terminal.out


def _answered(terminal: Terminal, kb: KnowledgeBase, question: Question) -> Answer:
    """The answer; on a terminal the steps, and the draft as it is written, show meanwhile."""
    with _draft(terminal) as show:
        return told_answer(kb, question, lambda step, draft: show(draft or f"{step} …"))


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
