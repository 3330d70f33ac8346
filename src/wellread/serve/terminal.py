"""What every command of the command line shares: the home, the form of the output, the consoles."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer
from rich.console import Console
from rich.text import Text

from wellread.serve.problems import Problem

if TYPE_CHECKING:
    from wellread.kb import KnowledgeBase

# Source text is shown as it is: nothing in it is markup, and nothing in it drives the terminal.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
}


def harmless(text: str) -> str:
    """``text`` with control characters and direction overrides replaced, one for one."""
    return text.translate(_CONTROLS)


def _stdout() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The global options of one run and where it writes.

    Attributes:
        home: the folder that was named, or None for the default.
        json: one JSON value on standard output and nothing else.
        verbose: log lines, and the traceback of an error.
    """

    home: Path | None = None
    json: bool = False
    verbose: bool = False
    out: Console = field(default_factory=_stdout)
    err: Console = field(default_factory=_stderr)

    def open(self, home: Path | None = None) -> KnowledgeBase:
        """Open the knowledge base of ``home``, of the home named, or of the default one."""
        # Loading the stores takes most of a second, which `--help` must not wait for.
        from wellread.kb import open_kb  # noqa: PLC0415

        return open_kb(home or self.home_folder())

    def home_folder(self) -> Path:
        """The home that was named, or the default one."""
        from wellread.config import default_home  # noqa: PLC0415 - as above

        return (self.home or default_home()).expanduser().absolute()

    def write_json(self, value: object) -> None:
        """Write one JSON value to standard output."""
        typer.echo(json.dumps(value, ensure_ascii=False, indent=2))

    def write_problem(self, problem: Problem) -> None:
        """Write an error to standard error: one red line with its hint, or a JSON object."""
        if self.json:
            typer.echo(json.dumps(problem.body(), ensure_ascii=False), err=True)
            return
        line = Text.assemble((f"Error: {harmless(problem.detail)}", "bold red"))
        if problem.hint:
            line.append(f" ({harmless(problem.hint)})")
        self.err.print(line, soft_wrap=True)


def terminal_of(context: typer.Context) -> Terminal:
    """The terminal that the root command put into the context."""
    return cast(Terminal, context.find_root().obj)
