"""What every command shares: the home, the consoles, and how values are shown as text or JSON.

A list and the facts of a thing are shown by a line that names what of it is worth a reader's look::

    JOBS = "job=id:id what=action collection state started=started_at"

Each word is a field of the value as it goes out (``views``), or ``heading=path``, and after a colon
how it is written (``FORMS``). ``--json`` gives all of the value, whatever the line names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wellread.errors import DamageError, ModelError, RequestError, SettingsError
from wellread.serve.error_shapes import Problem
from wellread.text.words import escaped_json, harmless
from wellread.values.locators import format_time

if TYPE_CHECKING:  # the stores and models, which `--help` must not load
    from wellread.config import Settings
    from wellread.kb import KnowledgeBase
    from wellread.store.base import Fingerprint

logger = logging.getLogger(__name__)

SHORT_ID = 12  # characters of an id that are enough to name a thing
LONGEST_LINE = 160  # characters of a text in a table
BAR_WIDTH = 30
LOOKS = 2
EMPTY = "This home is empty: add something first"
ADD = "wellread add PATH"

Overrides = Mapping[str, Mapping[str, object]]


def shortened(text: str, limit: int) -> str:
    """``text``, made harmless, on one line of at most ``limit`` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def right(name: str) -> Column:
    """A column of numbers."""
    return Column(name, justify="right")


def table(
    columns: Iterable[str | Column], rows: Iterable[Iterable[str | Text]], **options: Any
) -> Table:
    """A table without lines, its cells made harmless; ``options`` as of Rich's ``Table``."""
    made = Table(*columns, box=None, pad_edge=False, **options)
    for row in rows:
        made.add_row(*(one if isinstance(one, Text) else Text(harmless(one)) for one in row))
    return made


# --- values by a line that names their fields ------------------------------------------------

STYLES = {
    "added": "green",
    "updated": "cyan",
    "skipped": "yellow",
    "failed": "bold red",
    "removed": "magenta",
    "running": "cyan",
    "done": "green",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "open": "yellow",
    "planned": "cyan",
    "closed": "green",
    "damaged": "bold red",
    "stale": "yellow",
}
FORMS: dict[str, Callable[[Any], str]] = {
    "id": lambda value: str(value)[:SHORT_ID],
    "begin": lambda value: str(value)[:16].replace("T", " "),
    "day": lambda value: f"{value:%Y-%m-%d}",
    "clock": format_time,
    "percent": lambda value: f"{value:.0%}",
    "seconds": lambda value: f"{value:.3f}",
    "line": lambda value: shortened(str(value), LONGEST_LINE),
    "words": lambda value: str(value).replace("_", " "),
    "count": lambda value: f"{len(value):,}",
    "plain": lambda value: ", ".join(map(str, value)) if isinstance(value, tuple) else str(value),
    "one": lambda value: f"{value + 1:,}",  # counted from 1
}
_NARROW = ("id", "begin", "day", "clock")


def in_words(value: object, form: str = "") -> str:
    """A value as a person reads it, by one of ``FORMS`` or as its type asks for."""
    if form and value is not None:
        return FORMS[form](value)
    match value:
        case None:
            told = ""
        case bool():
            told = "yes" if value else ""
        case float():
            told = f"{value:.2f}"
        case int():
            told = f"{value:,}"
        case datetime():
            told = f"{value.astimezone():%Y-%m-%d %H:%M}"
        case Mapping():
            told = ", ".join(f"{in_words(held)} {name}" for name, held in value.items() if held)
        case list() | tuple():
            told = ", ".join(map(in_words, value))
        case _:
            told = str(value)
    return told


def fields_of(line: str) -> list[tuple[str, str, str]]:
    """Heading, path and form of each word of ``line``."""
    found = []
    for word in line.split():
        named, _, form = word.partition(":")
        heading, _, path = named.partition("=")
        found.append((heading.replace("_", " "), path or heading, form))
    return found


def _look_at(value: object) -> Any:
    from wellread.serve.views import look_at  # noqa: PLC0415 - loads pydantic

    return look_at(value)


def _at(looked: Any, path: str) -> Any:
    """What stands at ``path``; None where something on the way is None."""

    def inside(held: Any, name: str) -> Any:
        if held is None:
            return None
        return held[name] if isinstance(held, Mapping) else getattr(held, name)

    return reduce(inside, path.split("."), looked)


def table_of(items: Iterable[object], line: str) -> Table:
    """A row for each item, without columns in which nothing stands; ``:bar``: bars of one scale."""
    looked = [_look_at(item) for item in items]
    columns, held = [], []
    for heading, path, form in fields_of(line):
        values = [_at(each, path) for each in looked]
        numbers = all(isinstance(value, int | float | None) for value in values)
        bars = form == "bar"
        cells = _bars(values) if bars else [in_words(value, form) for value in values]
        if not any(cells):
            continue  # nothing has it
        to_the_right = numbers and not bars
        columns.append(
            Column(
                heading,
                justify="right" if to_the_right else "left",
                no_wrap=to_the_right or form in _NARROW or all(map(_is_moment, values)),
                overflow="fold",
            )
        )
        held.append([Text(harmless(cell), style=STYLES.get(cell, "")) for cell in cells])
    return table(columns, zip(*held, strict=True))


def _is_moment(value: object) -> bool:
    return isinstance(value, date)


def _bars(values: Sequence[Any]) -> list[str]:
    most = max(values, default=0) or 1
    return ["█" * max(1, round(value / most * BAR_WIDTH)) if value else "" for value in values]


def print_rows(console: Console, items: Sequence[object], line: str, title: str = "") -> None:
    """A table of the items under its title; nothing where there is none."""
    if items:
        if title:
            console.print(Text(f"\n{title}", style="bold"))
        console.print(table_of(items, line))


def print_facts(console: Console, value: object, line: str) -> None:
    """A line for each fact of ``value`` that there is, under its name."""
    looked = _look_at(value)
    for heading, path, form in fields_of(line):
        told = " ".join(in_words(_at(looked, path), form).split())
        if told:
            shown = Text.assemble((f"{heading}: ", "bold"), (harmless(told), STYLES.get(told, "")))
            console.print(shown, soft_wrap=True)


def print_counts(console: Console, counts: Mapping[str, int]) -> None:
    """A table of what was counted."""
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
    console.print(table(("", right("")), rows, show_header=False))


def print_line(console: Console, text: str, style: str = "") -> None:
    """A text made harmless; the terminal breaks its lines."""
    console.print(Text(harmless(text), style=style), soft_wrap=True)


_console = partial(Console, highlight=False, markup=False, emoji=False)


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
    out: Console = field(default_factory=_console)
    err: Console = field(default_factory=partial(_console, stderr=True))

    def open(
        self, home: Path | None = None, *, overrides: Overrides | None = None
    ) -> KnowledgeBase:
        """Open the knowledge base of ``home``, of the home named, or of the default one."""
        # Loading the stores takes most of a second, which `--help` must not wait for.
        from wellread import kb  # noqa: PLC0415

        return kb.open_kb(home or self.home_folder(), overrides=overrides)

    def open_current(self) -> KnowledgeBase:
        """Open it, and say so when the index is damaged, or another than the settings ask for."""
        return self._checked(self.open(), to_ask=False)

    def open_to_ask(self) -> KnowledgeBase:
        """Open it for questions, which need something to answer from."""
        from wellread.config import load_settings  # noqa: PLC0415 - loads pydantic
        from wellread.kb.home_catalogue import is_unused  # noqa: PLC0415 - as above

        home = self.home_folder()
        if is_unused(home, load_settings(home).catalogue.url):
            raise RequestError(EMPTY, hint=ADD)
        opened = self.open()
        opened.prepare()
        self._checked(opened, to_ask=True)
        if opened.catalogue.reindexing.live() is None:
            opened.close()
            raise RequestError(EMPTY, hint=ADD)
        return opened

    def _checked(self, kb: KnowledgeBase, *, to_ask: bool) -> KnowledgeBase:
        """``kb`` after a look at its index, without which not all can be done, but no question."""
        try:
            warn_if_outdated(kb)
            if kb.place.upgraded:
                from wellread.ingest.pipeline.commit import bring_in_step  # noqa: PLC0415 - rare

                bring_in_step(kb)
            warn_if_lacking(kb)
        except DamageError as error:
            if to_ask:
                kb.close()
                raise
            logger.warning("%s", error)
        except BaseException:
            kb.close()
            raise
        return kb

    def home_folder(self) -> Path:
        """The home that was named, or the default one."""
        from wellread.config import default_home  # noqa: PLC0415 - loads pydantic

        return (self.home or default_home()).expanduser().absolute()

    def show(self, value: Any, printed: Callable[[Console, Any], object]) -> None:
        """Write ``value`` as JSON where that was asked for, else as ``printed`` prints it."""
        if self.json:
            self.write_json(value)
        else:
            printed(self.out, value)

    def show_facts(self, value: object, line: str) -> None:
        """Write ``value`` as JSON, or what ``line`` names of it."""
        self.show(value, partial(print_facts, line=line))

    def show_rows(
        self, items: Sequence[object], line: str, total: int | None = None, *, none: str
    ) -> None:
        """Write a list, part of ``total`` things; ``none`` is said where it is empty."""
        if self.json:
            self.write_list(items, total)
        elif items:
            self.out.print(table_of(items, line))
            if total is not None and total > len(items):
                self.out.print(Text(f"{len(items):,} of {total:,} (--limit)", style="dim"))
        else:
            print_line(self.out, none, "yellow")

    def say(self, value: object, words: str) -> None:
        """Write ``value`` as JSON, or what it says in words."""
        self.show(value, lambda out, _: print_line(out, words))

    def write_list(self, items: Sequence[object], total: int | None = None) -> None:
        """Write a list as JSON; without a ``total`` it is all there is."""
        self.write_json({"items": list(items), "total": len(items) if total is None else total})

    def write_json(self, value: object) -> None:
        """Write one JSON value, which may hold values that faces show, to standard output."""
        from wellread.serve.views import json_of  # noqa: PLC0415 - loads pydantic

        told = json.dumps(value, ensure_ascii=False, indent=2, default=json_of)
        typer.echo(escaped_json(told))

    def write_problem(self, problem: Problem) -> None:
        """Write an error to standard error: one red line with its hint, or a JSON object."""
        if self.json:
            typer.echo(escaped_json(json.dumps(problem.body(), ensure_ascii=False)), err=True)
            return
        line = Text.assemble((f"Error: {harmless(problem.detail)}", "bold red"))
        if problem.hint:
            line.append(f" ({harmless(problem.hint)})")
        self.err.print(line, soft_wrap=True)


def terminal_of(context: typer.Context) -> Terminal:
    """The terminal that the root command put into the context."""
    return cast(Terminal, context.find_root().obj)


def warn_if_outdated(kb: KnowledgeBase) -> None:
    """Say so when the settings ask for another index than the one in use."""
    try:
        if not kb.reindex_needed:
            return
        asked = _asked_for(kb.settings)
    except (ModelError, SettingsError) as error:
        asked = f"an embedder that cannot be opened: {error}"
    live = kb.catalogue.reindexing.live()
    made = index_words(live.fingerprint) if live else "nothing yet"
    logger.warning(
        "the index in use was made with %s; the settings ask for %s. Run 'wellread reindex'",
        made,
        asked,
    )


def warn_if_lacking(kb: KnowledgeBase) -> None:
    """Say so when texts are gone, or rows of the index: searches miss some then."""
    if gone := kb.catalogue.integrity.textless():
        logger.warning("the texts of %d documents are gone; 'wellread verify' names them", gone)
    live = kb.catalogue.reindexing.live()
    for _ in range(LOOKS):  # a removal may come between the two counts
        passages = sum(each.passages for each in kb.catalogue.stats()) if live else 0
        lacking = passages - kb.index.rows() if passages else 0
        if lacking <= 0:
            return
    logger.warning(
        "the index lacks %d of %d passages; 'wellread verify --repair' makes it whole",
        lacking,
        passages,
    )


def index_words(fingerprint: Fingerprint) -> str:
    """What an index was made with, in words."""
    return f"{fingerprint.embedder}, passages of {fingerprint.chunking.rpartition('/')[2]}"


def _asked_for(settings: Settings) -> str:
    chosen = settings.embedding
    named = (
        f"{chosen.backend} {chosen.model}".strip() if chosen.backend == "http" else chosen.backend
    )
    return f"embedder {named}, passages of {settings.chunking.tokens}"
