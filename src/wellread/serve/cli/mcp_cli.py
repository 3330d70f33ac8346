"""The command for programs that speak the Model Context Protocol: ``mcp``."""

from __future__ import annotations

import signal
import sys
from functools import partial

import anyio
import typer

from wellread.errors import RequestError
from wellread.serve.cli.options import Topics
from wellread.serve.terminal import terminal_of

ALONE = "This waits for an MCP client, which starts it: see docs/programs.md (Ctrl-C stops it)."

app = typer.Typer(rich_markup_mode=None)


@app.command()
def mcp(context: typer.Context, topic: Topics = None) -> None:
    """Answer a program over standard input and output by the Model Context Protocol.

    A client (Claude, Cursor, VS Code …) starts this command itself; docs/programs.md says how it is
    told to. Nothing but the protocol is written to standard output. 'wellread serve' answers the
    same over HTTP, at /mcp.
    """
    try:
        # The SDK takes a third of a second to load, and is an extra.
        from wellread.serve.mcp.mcp_server import serve_stdio  # noqa: PLC0415
        from wellread.serve.mcp.tool_calls import Served  # noqa: PLC0415
    except ImportError as error:
        raise RequestError(
            f"the Model Context Protocol needs the extra 'mcp', which cannot be imported: {error}",
            hint="pip install 'wellread[mcp]'",
        ) from error
    terminal = terminal_of(context)
    with terminal.open_current() as kb:
        served = Served(kb=kb, collections=tuple(topic or ()))
        if sys.stdin.isatty():
            terminal.err.print(ALONE, soft_wrap=True)
        # The thread that waits for input cannot be told to stop: Ctrl-C ends the process, which
        # loses nothing, as no kill does.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(partial(serve_stdio, served))
