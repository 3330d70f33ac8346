"""The command line: ``wellread COMMAND``. Commands stand in the modules of this folder.

A command's module, and with it the stores and models, is imported when the command is needed:
``wellread --help`` has to be quick.
"""

from __future__ import annotations

# isort: off
from wellread.serve import stopping  # first, so that it holds while the others are loaded

# isort: on
import atexit
import gc
import logging
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from wellread.errors import WellreadError, is_panic
from wellread.serve.error_shapes import Problem, problem_of
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.words import harmless

stopping.end()  # all is loaded; ``main`` begins again

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
MOST_SAID = 200  # characters of an error that nobody foresaw
# Wrong arguments among them, whose base class Typer does not name.
_OF_TYPER: tuple[type[BaseException], ...] = (
    typer.Exit,
    typer.Abort,
    *(
        kind
        for kind in typer.BadParameter.__mro__
        if kind.__name__ == "ClickException" and issubclass(kind, Exception)
    ),
)
# Loading a command makes half a million lasting objects. They are not looked through for garbage
# while that goes on, nor later, nor taken apart at the end: a fifth of a short command's time.
_GARBAGE = (50_000, 10, 10)
_FLAGS = ("--json", "--verbose", "-v")
_WITH_VALUE = "--home"
ANYWHERE = "--home DIR, --json and -v may stand before or after the command."

# Each command with its module, in the groups in which they are listed.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Every day": {
        "ask": ("ask_cli", "Answer a question, with a verdict for every sentence."),
        "chat": ("chat_cli", "Ask one question after the other, each read with those before."),
        "search": ("library_cli", "Find passages by words, by meaning, or both."),
        "research": ("research_cli", "Research a question in rounds; a report of many sources."),
        "answers": ("answers_cli", "Answers that were given, and conversations."),
        "demo": ("ask_cli", "Try Wellread on the sample that comes with it."),
    },
    "Material": {
        "add": ("material_cli", "Read files, folders and web addresses into a collection."),
        "sync": ("material_cli", "Like add, and remove what is gone from the source."),
        "watch": ("material_cli", "Keep a collection in step with folders, feeds and pages."),
        "remove": ("material_cli", "Remove documents so that nothing of them is left."),
        "collections": ("material_cli", "List the collections with what they hold."),
        "jobs": ("material_cli", "List the newest runs, or show, cancel, resume one."),
    },
    "Look up": {
        "show": ("library_cli", "Show a document, recording, entity, story, …, or list them."),
        "query": ("library_cli", "Work out a count, list, gap, trend or walk from everything."),
    },
    "Upkeep": {
        "verify": ("home_cli", "Check that catalogue and index hold the same."),
        "backup": ("home_cli", "Write the whole base into a file, unpack one, or go back."),
        "reindex": ("home_cli", "Make the index anew, as the settings ask for it."),
        "settings": ("home_cli", "Show every setting with its value; show one, or set it."),
    },
    "Team": {
        "serve": ("team_cli", "Serve the HTTP interface and the pages, here or for a team."),
        "mcp": ("team_cli", "Answer Claude, Cursor and other programs that speak MCP."),
        "users": ("team_cli", "Accounts of people, groups, grants, keys, and what they did."),
        "preferences": ("quality_cli", "Show or change what you prefer: sources, length, persona."),
    },
    "Quality": {
        "feedback": ("answers_cli", "Rate answers and their sentences; lists and files."),
        "gaps": ("quality_cli", "List what the material does not answer, and what to write."),
        "coverage": ("quality_cli", "Show what two dimensions cover, the share, and the gaps."),
        "metrics": ("quality_cli", "Show how the base is asked, how it answers, what it costs."),
        "eval": ("eval_cli", "Measure retrieval, answers and citations over a set of cases."),
    },
}
_LISTED = {name: told for group in COMMANDS.values() for name, told in group.items()}


class Commands(TyperGroup):
    """Loads commands when needed, takes global options also after them, shows errors as a line."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(_LISTED)

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """The command of this name, from its module; None when there is none."""
        if cmd_name in _LISTED and cmd_name not in self.commands:
            module = import_module(f"{__name__}.{_LISTED[cmd_name][0]}")
            self.commands.update(get_group(module.app).commands)
            gc.freeze()
            gc.enable()
        return self.commands.get(cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading them."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(name, told) for name, (_, told) in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; a wrong name is answered with those that are like it."""
        if args and args[0] not in _LISTED and not args[0].startswith("-"):
            near = " or ".join(map(repr, get_close_matches(args[0], _LISTED, cutoff=0.7)))
            like = f"Did you mean {near}?" if near else "'wellread --help' lists them."
            ctx.fail(f"No such command {args[0]!r}. {like}")
        return super().resolve_command(ctx, args)

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
            self._stop(ctx)
        except _OF_TYPER:
            raise
        except Exception as error:  # noqa: BLE001 - nobody is to read a traceback unasked
            self._report(ctx, _unexpected(error), error)
        except BaseException as error:
            if not is_panic(error):
                raise
            self._report(ctx, _unexpected(error), error)
        raise typer.Exit(1)

    def _stop(self, ctx: Any) -> NoReturn:
        terminal_of(ctx).err.print("Interrupted.")
        raise typer.Exit(stopping.INTERRUPTED) from None

    def _report(self, ctx: Any, problem: Problem, error: BaseException) -> None:
        if stopping.is_behind(error):
            self._stop(ctx)
        terminal = terminal_of(ctx)
        terminal.write_problem(problem)
        if terminal.verbose:
            logging.getLogger(__name__).error("traceback of the error above", exc_info=error)


def _unexpected(error: BaseException) -> Problem:
    """An error that nobody foresaw; damaged values of a home show so too."""
    told = " ".join(str(error).split())[:MOST_SAID]
    return Problem(
        error="internal",
        detail=f"something went wrong inside: {type(error).__name__}: {told}",
        hint="'wellread verify' says whether the home is damaged; -v shows the traceback",
    )


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
    logger = logging.getLogger("wellread")  # only the command line configures logging
    logger.handlers = [_Lines(context.obj)]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    stopping.end()


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


PRIVATE = 0o077  # rights that new files and folders do not get: none for others


def main() -> None:
    """The ``wellread`` program. What it writes is for its user alone.

    What libraries of other languages write to standard error by themselves (a panic of the index's
    engine names places in its sources) is shown with ``-v`` only; their errors arrive as ours.
    """
    stopping.begin()
    gc.set_threshold(*_GARBAGE)
    gc.disable()  # until the command is loaded
    atexit.register(gc.freeze)
    os.umask(PRIVATE)
    if not {"-v", "--verbose"} & set(sys.argv):
        ours = os.dup(sys.stderr.fileno())
        os.set_inheritable(ours, False)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stderr.fileno())
        os.close(null)
        sys.stderr = open(ours, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    try:
        app()
    except SystemExit as ended:
        if ended.code == stopping.INTERRUPTED:
            stopping.leave()
        raise
