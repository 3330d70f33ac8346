"""The command line: ``wellread COMMAND``. Commands stand in ``commands/``, one module per group.

Importing this module loads neither stores nor models: ``wellread --help`` has to be quick. A
command loads what it needs when it runs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from wellread.errors import WellreadError
from wellread.serve.commands import (
    answers,
    asking,
    chat,
    checking,
    evaluating,
    graph,
    indexing,
    library,
    material,
    opening,
    running,
    runs,
    searching,
    similar,
    stories,
    usage,
)
from wellread.serve.problems import Problem, problem_of
from wellread.serve.terminal import Terminal, harmless, terminal_of

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_FLAGS = ("--json", "--verbose", "-v")
_WITH_VALUE = "--home"
ANYWHERE = "--home DIR, --json and -v may stand before or after the command."


class Commands(TyperGroup):
    """Takes global options also after the command, and turns errors into one line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the global options moved to the front."""
        return super().parse_args(ctx, global_first(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors raised on purpose end it with one readable line."""
        try:
            return super().invoke(ctx)
        except WellreadError as error:
            self._report(ctx, problem_of(error), error)
        except BrokenPipeError:
            raise  # the reader went away (`| head`): Typer ends quietly
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            reason = error.strerror or str(error)
            self._report(ctx, Problem(error="system", detail=f"{place}{reason}"), error)
        except KeyboardInterrupt:
            terminal_of(ctx).err.print("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        raise typer.Exit(1)

    def _report(self, ctx: Any, problem: Problem, error: Exception) -> None:
        terminal = terminal_of(ctx)
        terminal.write_problem(problem)
        if terminal.verbose:
            logging.getLogger(__name__).error("traceback of the error above", exc_info=error)


def global_first(args: Sequence[str]) -> list[str]:
    """``args`` with the global options in front; everything after a bare ``--`` stays."""
    front: list[str] = []
    rest: list[str] = []
    waiting = list(args)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest += [word, *waiting]
            break
        if word in _FLAGS or word.startswith(f"{_WITH_VALUE}="):
            front.append(word)
        elif word == _WITH_VALUE:
            front += [word, *waiting[:1]]
            waiting = waiting[1:]
        else:
            rest.append(word)
    return front + rest


app = typer.Typer(
    name="wellread",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Answers from your own material, every sentence proved by the passage it cites.",
    epilog=ANYWHERE,
)
material.register(app)
runs.register(app)
asking.register(app)
chat.register(app)
answers.register(app)
checking.register(app)
searching.register(app)
similar.register(app)
opening.register(app)
graph.register(app)
library.register(app)
stories.register(app)
indexing.register(app)
running.register(app)
evaluating.register(app)
usage.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wellread {version('wellread')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(help="Folder of the knowledge base. [env: WELLREAD_HOME; else ~/.wellread]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON value on standard output, nothing else.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log lines, and tracebacks of errors.")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Set up what every command shares."""
    context.obj = Terminal(home=home, json=as_json, verbose=verbose)
    _log_to(context.obj)


class _Lines(logging.Handler):
    """Writes log lines to the terminal's standard error, above a progress bar if there is one."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal
        self.setFormatter(_Brief() if not terminal.verbose else logging.Formatter(LOG_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        self._terminal.err.print(harmless(self.format(record)), soft_wrap=True)


class _Brief(logging.Formatter):
    """The message alone: a traceback is shown only to those who ask for it with ``-v``."""

    def format(self, record: logging.LogRecord) -> str:
        """Level and message."""
        return f"{record.levelname.capitalize()}: {record.getMessage()}"


def _log_to(terminal: Terminal) -> None:
    """Send Wellread's log lines to standard error. Only the command line configures logging."""
    logger = logging.getLogger("wellread")
    logger.handlers = [_Lines(terminal)]
    logger.setLevel(logging.INFO if terminal.verbose else logging.WARNING)


def main() -> None:
    """The ``wellread`` program."""
    app()


if __name__ == "__main__":
    main()
