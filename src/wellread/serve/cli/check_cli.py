"""The command that verifies a text: ``check``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from wellread.config import load_settings
from wellread.errors import RequestError, SourceError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.library.check_text import check as run
from wellread.models.embedders.open_embedder import open_embedder
from wellread.serve.cli.options import Topics
from wellread.serve.features.answer_forms import check_body, print_check
from wellread.serve.progress import shown
from wellread.serve.terminal import Terminal, terminal_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)

MOST_CHARACTERS = 1_000_000
TEMPORARY = "checked"  # the collection that given sources are read into


@app.command()
def check(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The text; - for standard input.")],
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            "-a",
            metavar="SOURCE",
            help="A file, folder or web address, read for this check alone, or the name of a "
            "collection; repeatable. Without any: all that is stored.",
        ),
    ] = None,
    topic: Topics = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail unless every sentence is quoted or supported.")
    ] = False,
) -> None:
    """Verify a text that somebody else wrote, sentence by sentence.

    ❞ quoted  ✓ supported  ~ partly supported  ✗ unsupported  · not checked

    Without a model it says what is quoted and which number stands nowhere.
    Exit status: 1 when a sentence is unsupported or has such a number.
    """
    terminal = terminal_of(context)
    text = _read(file)
    given = list(dict.fromkeys((*(against or ()), *(topic or ()))))
    outside = [each for each in given if each not in (topic or ()) and _is_outside(each)]
    if outside and len(outside) < len(given):
        inside = ", ".join(source for source in given if source not in outside)
        raise RequestError(
            f"{inside} is no file, folder or web address, and other sources are",
            hint="name either sources to read or collections",
        )
    if outside:
        with _reading(terminal, outside) as kb:
            body = check_body(run(kb, text), strict=strict, stored=False)
    else:
        with terminal.open_to_ask() as kb:
            found = run(kb, text, filters=Filters(collections=tuple(given)))
            body = check_body(found, strict=strict, stored=True)
    terminal.show(body, print_check)
    if not body.found.borne_out(strict=strict):
        raise typer.Exit(1)


@contextmanager
def _reading(terminal: Terminal, sources: Sequence[str]) -> Iterator[KnowledgeBase]:
    """A knowledge base of ``sources`` alone, with the settings of the home; deleted afterwards."""
    home = terminal.home_folder()
    settings = load_settings(home)
    with tempfile.TemporaryDirectory(prefix="wellread-check-") as folder:
        # What the embedder derives is kept in the home, where there is one, for the next time.
        kept = home if home.is_dir() else Path(folder)
        embedder = open_embedder(settings.embedding, kept)
        overrides = settings.model_dump(exclude={"embedding"})
        with terminal.open(Path(folder), overrides=overrides, embedder=embedder) as kb:
            with shown(terminal) as on_progress:
                report = add(kb, sources, collection=TEMPORARY, on_progress=on_progress)
            failed = [row for row in report.rows if row.status == "failed"]
            if not any(row.documents for row in report.rows):
                failed += [row for row in report.rows if row.reason]
                if not failed:
                    raise RequestError(
                        f"nothing to read in {', '.join(sources)}", hint="name files with text"
                    )
            if failed:
                raise SourceError(failed[0].uri, failed[0].reason)
            yield kb


def _is_outside(source: str) -> bool:
    """Whether ``source`` is something to read, not the name of a collection."""
    web = source.startswith(("http://", "https://"))
    return web or any(sign in source for sign in "*?[") or Path(source).expanduser().exists()


def _read(file: str) -> str:
    """The text of ``file``.

    Raises:
        SourceError: it is not there, not UTF-8, empty, or too long.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise SourceError(file, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise SourceError(file, "not UTF-8 text", hint="give plain text or Markdown") from error
    if not text.strip():
        raise SourceError(file, "there is no text in it")
    if len(text) > MOST_CHARACTERS:
        raise SourceError(file, f"longer than {MOST_CHARACTERS:,} characters")
    return text
