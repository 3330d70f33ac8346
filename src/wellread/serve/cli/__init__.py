"""The command line: ``wellread COMMAND``. The modules of this folder define the commands.

A command's module, with the stores and models that it needs, is imported only when the command is
used, so that ``wellread --help`` is fast.
"""

from __future__ import annotations

# isort: off
from wellread.serve import stopping  # first: it handles Ctrl-C while the others are loaded

# isort: on
import atexit
import gc
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from wellread.errors import WellreadError, did_you_mean, is_panic
from wellread.serve.error_shapes import Problem, problem_of
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.characters import harmless

stopping.restore_handler()  # loading is done; ``main`` starts again

LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
MAX_ERROR_CHARS = 200  # characters shown of an unexpected error
# Includes the base class of argument errors, which Typer does not export.
_TYPER_ERRORS: tuple[type[BaseException], ...] = (
    typer.Exit,
    typer.Abort,
    *(
        kind
        for kind in typer.BadParameter.__mro__
        if kind.__name__ == "ClickException" and issubclass(kind, Exception)
    ),
)
# Loading a command creates half a million permanent objects. Excluding them from garbage collection
# saves a fifth of a short command's time.
_GC_THRESHOLDS = (50_000, 10, 10)
_FLAGS = ("--json", "--verbose", "-v")
_HOME_FLAG = "--home"
EPILOG = "--home DIR, --json and -v can be given before or after the command."

# Each command with its module and help line, in the groups shown by --help.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Every day": {
        "ask": ("ask_cli", "Answer a question, with a verdict for every sentence."),
        "chat": ("chat_cli", "Ask a series of questions; follow-ups refer to earlier ones."),
        "search": ("library_cli", "Find passages by keywords, by meaning, or both."),
        "research": ("research_cli", "Research a question in rounds and report on many sources."),
        "answers": ("answers_cli", "List, show, verify and export stored answers."),
        "demo": ("ask_cli", "Try Wellread on its sample material."),
    },
    "Material": {
        "add": ("material_cli", "Read files, folders and web addresses into a collection."),
        "sync": ("material_cli", "Like add, but also remove documents whose source is gone."),
        "watch": ("material_cli", "Keep a collection up to date with folders, feeds and pages."),
        "remove": ("material_cli", "Remove documents and everything derived from them."),
        "collections": ("material_cli", "List the collections; rename, merge or describe one."),
        "jobs": ("material_cli", "List ingest jobs, or show, cancel or resume one."),
    },
    "Look up": {
        "show": ("library_cli", "Show or list documents, recordings, entities and stories."),
    },
    "Upkeep": {
        "verify": ("home_cli", "Check that catalogue and index match."),
        "backup": ("home_cli", "Export or import the knowledge base, or restore a backup."),
        "reindex": ("home_cli", "Rebuild the index according to the settings."),
        "settings": ("home_cli", "Show all settings, or show or change one."),
    },
    "Team": {
        "serve": ("team_cli", "Serve the HTTP interface and pages, for yourself or a team."),
        "mcp": ("team_cli", "Serve Claude, Cursor and other MCP clients."),
        "users": ("team_cli", "Manage accounts, groups, grants and keys; audit log."),
        "preferences": ("quality_cli", "Show or change your preferences: sources, length, …"),
    },
    "Quality": {
        "feedback": ("answers_cli", "Rate answers; list, export and import ratings."),
        "gaps": ("quality_cli", "List questions that the material does not answer."),
        "coverage": ("quality_cli", "Show how documents cover two dimensions, and the gaps."),
        "metrics": ("quality_cli", "Show usage, answer quality and cost."),
        "eval": ("eval_cli", "Measure retrieval, answers and citations on test cases."),
    },
}
_MODULES = {name: entry for group in COMMANDS.values() for name, entry in group.items()}


# Said before the command's module is loaded, because that takes seconds on a slow machine.
SLOW = {"serve": "Starting: loading the program"}


class Commands(TyperGroup):
    """Loads commands on demand, accepts global options after them, prints errors on one line."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(_MODULES)

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """The command with this name, loaded from its module; None if there is none."""
        if cmd_name in _MODULES and cmd_name not in self.commands:
            module = import_module(f"{__name__}.{_MODULES[cmd_name][0]}")
            self.commands.update(get_group(module.app).commands)
            gc.freeze()
            gc.enable()
        return self.commands.get(cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading them."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(name, help_) for name, (_, help_) in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run; a wrong name is refused with similar names."""
        if args and args[0] not in _MODULES and not args[0].startswith("-"):
            hint = did_you_mean(args[0], _MODULES, "'wellread --help' lists them.")
            ctx.fail(f"No such command {args[0]!r}. {hint[0].upper()}{hint[1:]}")
        if args and args[0] in SLOW and not ctx.params.get("as_json") and "--help" not in args:
            typer.echo(f"{SLOW[args[0]]} …", err=True)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the global options moved to the front."""
        return super().parse_args(ctx, global_first(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an expected error ends it with one readable line."""
        try:
            return super().invoke(ctx)
        except WellreadError as error:
            self._report(ctx, problem_of(error), error)
        except BrokenPipeError:
            raise  # the reader closed the pipe (`| head`): Typer exits silently
        except OSError as error:
            file = f"{error.filename}: " if error.filename else ""
            reason = error.strerror or str(error)
            self._report(ctx, Problem(error="system", detail=f"{file}{reason}"), error)
        except KeyboardInterrupt:
            self._stop(ctx)
        except _TYPER_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - tracebacks only with -v
            self._report(ctx, _internal_problem(error), error)
        except BaseException as error:
            if not is_panic(error):
                raise
            self._report(ctx, _internal_problem(error), error)
        raise typer.Exit(1)

    def _stop(self, ctx: Any) -> NoReturn:
        terminal_of(ctx).err.print("Interrupted.")
        raise typer.Exit(stopping.INTERRUPTED) from None

    def _report(self, ctx: Any, problem: Problem, error: BaseException) -> None:
        if stopping.is_interrupt(error):
            self._stop(ctx)
        if ctx.find_root().obj is None:  # the program itself could not be loaded
            raise error
        terminal = terminal_of(ctx)
        terminal.write_problem(problem)
        if terminal.verbose:
            logging.getLogger(__name__).error("traceback of the error above", exc_info=error)


def _internal_problem(error: BaseException) -> Problem:
    """The problem for an unexpected error; damaged files of a knowledge base can cause one."""
    message = " ".join(str(error).split())[:MAX_ERROR_CHARS]
    return Problem(
        error="internal",
        detail=f"internal error: {type(error).__name__}: {message}",
        hint="'wellread verify' checks the knowledge base for damage; -v shows the traceback",
    )


def global_first(args: Sequence[str]) -> list[str]:
    """``args`` with the global options moved to the front, except after a bare ``--``."""
    front: list[str] = []
    rest: list[str] = []
    remaining = list(args)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            rest += [word, *remaining]
            break
        if word in _FLAGS or word.startswith(f"{_HOME_FLAG}="):
            front.append(word)
        elif word == _HOME_FLAG:
            front += [word, *remaining[:1]]
            remaining = remaining[1:]
        else:
            rest.append(word)
    return front + rest


app = typer.Typer(
    name="wellread",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Answers from your own material, with a cited passage behind every sentence.",
    epilog=EPILOG,
)


def _print_version(requested: bool) -> None:
    if requested:
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
        bool, typer.Option("--json", help="Write one JSON value to standard output.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show log messages and tracebacks.")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Set up the terminal and logging for all commands."""
    context.obj = Terminal(home=home, json=as_json, verbose=verbose)
    logger = logging.getLogger("wellread")  # only the command line configures logging
    logger.handlers = [_TerminalHandler(context.obj)]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    stopping.restore_handler()


class _TerminalHandler(logging.Handler):
    """Writes log messages to standard error, above a progress bar if there is one."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal
        self.setFormatter(_BriefFormat() if not terminal.verbose else logging.Formatter(LOG_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        self._terminal.err.print(harmless(self.format(record)), soft_wrap=True)


class _BriefFormat(logging.Formatter):
    """Formats a message without its traceback, which only ``-v`` shows."""

    def format(self, record: logging.LogRecord) -> str:
        """Level and message."""
        return f"{record.levelname.capitalize()}: {record.getMessage()}"


PRIVATE = 0o077  # umask: other users cannot access new files and folders


def main() -> None:
    """Run the ``wellread`` program. Its files are private to the user.

    What native libraries write to standard error themselves (such as a panic of the index engine)
    is shown only with ``-v``; their errors are raised as Python exceptions anyway.
    """
    stopping.install_handler()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.disable()  # enabled again when the command is loaded
    atexit.register(gc.freeze)
    os.umask(PRIVATE)
    if not {"-v", "--verbose"} & set(sys.argv):
        stderr_copy = os.dup(sys.stderr.fileno())
        os.set_inheritable(stderr_copy, False)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stderr.fileno())
        os.close(null)
        sys.stderr = open(stderr_copy, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    try:
        app()
    except SystemExit as ended:
        if ended.code == stopping.INTERRUPTED:
            stopping.exit_now()
        raise
