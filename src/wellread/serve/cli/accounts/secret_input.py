"""Passwords from a person or from standard input, never from the command line.

What stands on a command line is in the history of the shell and in the list of processes.
"""

from __future__ import annotations

import sys

import typer

from wellread.errors import RequestError
from wellread.serve.terminal import Terminal


def password_for(terminal: Terminal, name: str, *, from_stdin: bool) -> str:
    """A new password: asked for twice, or the first line of standard input.

    Raises:
        RequestError: there is neither a person nor a line.
    """
    if from_stdin:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise RequestError("standard input holds no password", hint="one line of it is read")
        return line
    if terminal.json or not sys.stdin.isatty():
        raise RequestError(
            "there is nobody to ask for a password",
            hint="give it on standard input, with --password-stdin",
        )
    return str(
        typer.prompt(f"New password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    )
