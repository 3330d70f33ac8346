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

# Each module with its commands and what the list of commands says of them.
COMMANDS: dict[str, dict[str, str]] = {
    "material_cli": {
        "add": "Read files, folders and web addresses into a collection.",
        "stats": "Show what the knowledge base holds.",
        "sync": "Like add, and remove what is gone from the source.",
        "watch": "Keep a collection in step with folders, feeds and pages.",
        "remove": "Remove documents so that nothing of them is left.",
        "jobs": "Every run with how its sources fared.",
    },
    "keeping.home_cli": {
        "verify": "Check that catalogue and index hold the same.",
        "restore": "Bring the catalogue back from a backup.",
        "export": "Write the whole knowledge base into one file.",
    },
    "keeping.import_cli": {
        "import": "Unpack an exported knowledge base into an empty --home.",
    },
    "ask_cli": {
        "ask": "Answer a question, with a verdict for every sentence.",
        "demo": "Try Wellread on the sample that comes with it.",
    },
    "research_cli": {"research": "Research a question in rounds; a report of many sources."},
    "chat_cli": {"chat": "Ask one question after the other, each read with those before."},
    "check_cli": {"check": "Verify a text that somebody else wrote, sentence by sentence."},
    "library_cli": {
        "query": "Work out a count, list, gap, trend or walk from everything there is.",
        "search": "Find passages by words, by meaning, or both.",
        "context": "Show a passage with those before and after it in its document.",
        "similar": "Show past questions like this one, with experts' feedback.",
        "documents": "List the documents that meet the limits, and how many there are.",
        "media": "List transcripts and recordings: date, length, who speaks.",
        "transcript": "Show a whole transcript turn by turn, with times and speakers.",
        "timeline": "Show how a topic went on, oldest first.",
    },
    "answers_cli": {
        "open": "Show a citation at its place in the source.",
        "answers": "Answers that were given: list, show, verify again, export.",
        "sessions": "Conversations: list, show, remove.",
    },
    "learning.feedback_cli": {"feedback": "Rate answers and their sentences; lists and files."},
    "learning.notices_cli": {
        "notices": "Show what you should know: corrections expired, questions answered since."
    },
    "graph_cli": {
        "entity": "Show an entity: facts, relations, and who names it.",
        "entities": "List entities by type.",
        "stories": "What the news is about, the latest first.",
    },
    "serve_cli": {
        "reindex": "Make the index anew, as the settings ask for it.",
        "serve": "Serve the HTTP interface and the pages, on this machine or for a team.",
        "settings": "Show every setting, its value in this home, and what it does.",
        "usage": "Show what calls of models took and cost, and the budget.",
    },
    "learning.coverage_cli": {
        "coverage": "Show what two dimensions cover, the share, and the gaps."
    },
    "learning.preferences_cli": {
        "preferences": "Show or change what you prefer: sources, length, persona."
    },
    "learning.metrics_cli": {
        "metrics": "Show how the base is asked and how it answers, for a period."
    },
    "mcp_cli": {"mcp": "Answer Claude, Cursor and other programs that speak MCP."},
    "learning.gaps_cli": {
        "gaps": "Questions that the material does not answer, and what to write."
    },
    "accounts.users_cli": {"users": "Accounts of people."},
    "accounts.groups_cli": {
        "groups": "Users that share grants.",
        "grants": "Which collections are open to whom.",
    },
    "accounts.keys_cli": {
        "keys": "Keys by which programs sign in.",
        "audit": "Who asked what and saw which documents, who changed what.",
    },
    "eval_cli": {"eval": "Measure retrieval, answers and citations over a set of cases."},
}
_MODULE_OF = {name: module for module, commands in COMMANDS.items() for name in commands}


class Commands(TyperGroup):
    """Loads commands when needed, takes global options also after them, shows errors as a line."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(_MODULE_OF)

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """The command of this name, from its module; None when there is none."""
        if cmd_name in _MODULE_OF and cmd_name not in self.commands:
            module = import_module(f"{__name__}.{_MODULE_OF[cmd_name]}")
            self.commands.update(get_group(module.app).commands)
            gc.freeze()
            gc.enable()
        return self.commands.get(cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([line for lines in COMMANDS.values() for line in lines.items()])

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
