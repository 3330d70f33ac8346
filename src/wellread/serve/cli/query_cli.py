"""The command that asks the catalogue by fields: ``query``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from wellread.errors import RequestError
from wellread.serve.features.catalogue_queries import (
    CatalogueRequest,
    catalogue_body,
    print_catalogue,
)
from wellread.serve.terminal import terminal_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def query(
    context: typer.Context,
    fields: Annotated[
        str,
        typer.Argument(metavar="JSON", help='The fields, a file with them, or "-" to read them.'),
    ],
) -> None:
    """Work out a count, list, gap, trend or walk from everything there is.

    wellread query '{"form": "count", "of": "articles", "where": {"authors": ["Ada Moss"]}}'

    The fields are those of POST /api/catalogue (docs/api.md).
    """
    terminal = terminal_of(context)
    asked = _read(fields)
    with terminal.open_to_ask() as kb:
        terminal.show(catalogue_body(kb, asked), print_catalogue)


def _read(fields: str) -> CatalogueRequest:
    """The fields, from the argument, a file or standard input.

    Raises:
        RequestError: names the first field that is wrong.
    """
    text = fields
    if fields == "-":
        text = sys.stdin.read()
    elif not fields.lstrip().startswith("{"):
        try:
            text = Path(fields).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            hint = 'give {"form": "count", "of": "documents"}, or a file with it'
            raise RequestError(f"{fields!r} is neither JSON nor a file", hint=hint) from error
    try:
        return CatalogueRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        detail = f"{where}: {first['msg']}" if where else first["msg"]
        raise RequestError(detail, hint="the fields are described in docs/api.md") from error
