"""Shared by all commands: prints tables, facts, JSON and errors, and opens the knowledge base.

Lists and facts are printed by a specification, a line of text that names the fields to show::

    JOBS = "job=id:id what=action collection state started=started_at"

Each word is a field of the value's view (``views``) or ``heading=path``, and after a colon its
format (``FORMATS``). ``--json`` prints the whole value, whatever the specification names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from wellread.errors import DamageError, ModelError, RequestError, SettingsError
from wellread.serve.error_shapes import Problem
from wellread.text.characters import escape_json, harmless
from wellread.values.locators import format_time

if TYPE_CHECKING:  # `--help` must not load the stores and models
    from wellread.config import Settings
    from wellread.kb import KnowledgeBase
    from wellread.store.base import Fingerprint

logger = logging.getLogger(__name__)

SHORT_ID = 12  # characters of an id in tables, enough to be unique
MAX_CELL_CHARS = 160  # characters of a text in a table cell
BAR_WIDTH = 30
MAX_COUNTS = 2  # attempts to count passages and index rows
EMPTY_HOME = "This home is empty: add something first"
ADD_COMMAND = "wellread add PATH"

Overrides = Mapping[str, Mapping[str, object]]


def shortened(text: str, limit: int) -> str:
    """Return ``text`` without control characters, on one line of at most ``limit`` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def table(
    columns: Iterable[str | Column], rows: Iterable[Iterable[str | Text]], **options: Any
) -> Table:
    """Build a table without borders or control characters; ``options`` go to Rich's ``Table``."""
    result = Table(*columns, box=None, pad_edge=False, **options)
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(harmless(cell)) for cell in row))
    return result


# --- values printed by a specification of fields ---------------------------------------------

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
FORMATS: dict[str, Callable[[Any], str]] = {
    "id": lambda value: str(value)[:SHORT_ID],
    "begin": lambda value: str(value)[:16].replace("T", " "),
    "day": lambda value: f"{value:%Y-%m-%d}",
    "clock": format_time,
    "percent": lambda value: f"{value:.0%}",
    "seconds": lambda value: f"{value:.3f}",
    "line": lambda value: shortened(str(value), MAX_CELL_CHARS),
    "one_line": lambda value: " ".join(str(value).split()),
    "words": lambda value: str(value).replace("_", " "),
    "count": lambda value: f"{len(value):,}",
    "plain": lambda value: ", ".join(map(str, value)) if isinstance(value, tuple) else str(value),
    "from_one": lambda value: f"{value + 1:,}",
}
_NARROW = ("id", "begin", "day", "clock")
UNCUT = {"id": "plain", "line": "one_line"}  # formats for programs, which get the whole text
MIN_WIDTH, MAX_TITLE_WIDTH = 16, 48  # columns of texts, the widest text; else there is no table
UNLIMITED = 100_000  # characters of a line for programs


def format_value(value: object, format_name: str = "") -> str:
    """Format a value for people, by one of ``FORMATS`` or by its type."""
    if format_name and value is not None:
        return FORMATS[format_name](value)
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else ""
        case float():
            text = f"{value:.2f}"
        case int():
            text = f"{value:,}"
        case datetime():
            text = f"{value.astimezone():%Y-%m-%d %H:%M}"
        case Mapping():
            text = ", ".join(f"{format_value(n)} {name}" for name, n in value.items() if n)
        case list() | tuple():
            text = ", ".join(map(format_value, value))
        case _:
            text = str(value)
    return text


def fields_of(spec: str) -> list[tuple[str, str, str]]:
    """Return the heading, path and format of each field that ``spec`` names."""
    fields = []
    for word in spec.split():
        heading_path, _, format_name = word.partition(":")
        heading, _, path = heading_path.partition("=")
        fields.append((heading.replace("_", " "), path or heading, format_name))
    return fields


def _json_of(value: object) -> Any:
    from wellread.serve.views import json_of  # noqa: PLC0415 - loads pydantic

    return json_of(value)


def _view_of(value: object) -> Any:
    from wellread.serve.views import template_view  # noqa: PLC0415 - loads pydantic

    return template_view(value)


def _value_at(view: Any, path: str) -> Any:
    """Return the value at the dotted ``path``; None when a part of the path is None."""

    def child(parent: Any, name: str) -> Any:
        if parent is None:
            return None
        return parent[name] if isinstance(parent, Mapping) else getattr(parent, name)

    return reduce(child, path.split("."), view)


class Field(NamedTuple):
    """A column of a list: its heading, its cells, and how they are laid out."""

    heading: str
    cells: Sequence[str]
    right: bool
    whole: bool  # never on two lines


def _columns_of(items: Iterable[object], spec: str, *, cut: bool) -> list[Field]:
    """Return the columns that ``spec`` names and that are not empty; ``:bar`` draws bars."""
    views = [_view_of(item) for item in items]
    columns = []
    for heading, path, format_name in fields_of(spec):
        values = [_value_at(view, path) for view in views]
        is_bar = format_name == "bar"
        name = format_name if cut else UNCUT.get(format_name, format_name)
        cells = _bars(values) if is_bar else [format_value(value, name) for value in values]
        right = all(isinstance(value, int | float | None) for value in values) and not is_bar
        whole = right or format_name in _NARROW or all(isinstance(value, date) for value in values)
        if any(cells):
            columns.append(Field(heading, list(map(harmless, cells)), right, whole))
    return columns


def print_table(console: Console, items: Iterable[object], spec: str) -> None:
    """Print a table with a row per item; where it is too wide, each item as a few lines."""
    columns = _columns_of(items, spec, cut=console.is_terminal)
    widths = [max(map(len, (column.heading, *column.cells))) for column in columns]
    least = [
        width
        if column.whole
        else min(width, MAX_TITLE_WIDTH if width == max(widths) else MIN_WIDTH)
        for column, width in zip(columns, widths, strict=True)
    ]
    if sum(least) + 2 * len(columns) > console.width:
        _print_stacked(console, columns)
        return
    heads = (
        Column(
            column.heading,
            justify="right" if column.right else "left",
            no_wrap=column.whole,
            min_width=width,
            overflow="fold",
        )
        for column, width in zip(columns, least, strict=True)
    )
    rows = zip(*(column.cells for column in columns), strict=True)
    console.print(
        table(heads, ([Text(cell, STYLES.get(cell, "")) for cell in row] for row in rows))
    )


def _print_stacked(console: Console, columns: Sequence[Field]) -> None:
    """Print each item as its longest text, such as the title, and below it the other fields."""
    texts = [column for column in columns if not column.whole] or columns
    main = max(texts, key=lambda column: max(map(len, column.cells)))
    others = [column for column in columns if column is not main]
    for index, title in enumerate(main.cells):
        facts = (f"{other.heading} {other.cells[index]}" for other in others if other.cells[index])
        console.print(Text(title, style="bold"))
        console.print(Padding(Text(" · ".join(facts), style="dim"), (0, 0, 0, 2), expand=False))


def _bars(values: Sequence[Any]) -> list[str]:
    largest = max(values, default=0) or 1
    return ["█" * max(1, round(value / largest * BAR_WIDTH)) if value else "" for value in values]


def print_rows(console: Console, items: Sequence[object], spec: str, title: str = "") -> None:
    """Print a table of the items under its title, or nothing when there are none."""
    if items:
        if title:
            console.print(Text(f"\n{title}", style="bold"))
        print_table(console, items, spec)


def print_facts(console: Console, value: object, spec: str) -> None:
    """Print ``name: value`` for each named field of ``value`` that is not empty."""
    view = _view_of(value)
    for heading, path, format_name in fields_of(spec):
        text = " ".join(format_value(_value_at(view, path), format_name).split())
        if text:
            fact = Text.assemble((f"{heading}: ", "bold"), (harmless(text), STYLES.get(text, "")))
            console.print(fact, soft_wrap=True)


def print_counts(console: Console, counts: Mapping[str, int]) -> None:
    """Print a table of counts."""
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items()]
    console.print(table(("", Column("", justify="right")), rows, show_header=False))


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a text without control characters; the terminal wraps its lines."""
    console.print(Text(harmless(text), style=style), soft_wrap=True)


def _console(*, stderr: bool = False) -> Console:
    """Return a console; what a program reads from it is neither wrapped nor cut."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = UNLIMITED
    return console


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The global options of a command and its two consoles.

    Attributes:
        home: the folder given with ``--home``, or None for the default.
        json: print one JSON value on standard output and nothing else.
        verbose: print log lines and tracebacks of errors.
    """

    home: Path | None = None
    json: bool = False
    verbose: bool = False
    out: Console = field(default_factory=_console)
    err: Console = field(default_factory=partial(_console, stderr=True))

    def open(
        self, home: Path | None = None, *, overrides: Overrides | None = None
    ) -> KnowledgeBase:
        """Open the knowledge base in ``home``, else in ``--home``, else in the default folder."""
        # Importing the stores takes most of a second; `--help` must not wait for it.
        from wellread import kb  # noqa: PLC0415

        return kb.open_kb(home or self.home_folder(), overrides=overrides)

    def open_current(self) -> KnowledgeBase:
        """Open the knowledge base; warn when its index is damaged or outdated."""
        return self._check_index(self.open(), to_ask=False)

    def open_to_ask(self) -> KnowledgeBase:
        """Open the knowledge base for questions; raises when it is empty or damaged."""
        from wellread.kb.home_catalogue import is_unused  # noqa: PLC0415 - as above
        from wellread.settings_file import load_settings  # noqa: PLC0415 - loads pydantic

        home = self.home_folder()
        if is_unused(home, load_settings(home).catalogue.url):
            raise RequestError(EMPTY_HOME, hint=ADD_COMMAND)
        kb = self.open()
        kb.prepare()
        self._check_index(kb, to_ask=True)
        if kb.catalogue.reindexing.live() is None:
            kb.close()
            raise RequestError(EMPTY_HOME, hint=ADD_COMMAND)
        return kb

    def _check_index(self, kb: KnowledgeBase, *, to_ask: bool) -> KnowledgeBase:
        """Check the index of ``kb``; damage is an error ``to_ask`` and otherwise a warning."""
        try:
            warn_if_outdated(kb)  # reads the catalogue; if that is damaged, every command ends here
            if kb.place.upgraded:
                from wellread.ingest.pipeline.commit import sync_index  # noqa: PLC0415 - rare

                sync_index(kb)
            try:
                warn_if_incomplete(kb)
            except DamageError as error:
                if to_ask:
                    raise
                logger.warning("%s", error)
        except BaseException:
            kb.close()
            raise
        return kb

    def home_folder(self) -> Path:
        """Return the folder given with ``--home``, or the default one."""
        from wellread.config import default_home  # noqa: PLC0415 - loads pydantic

        return (self.home or default_home()).expanduser().absolute()

    def show(self, value: Any, print_value: Callable[[Console, Any], object]) -> None:
        """Write ``value`` as JSON with ``--json``, else call ``print_value`` with the console."""
        if self.json:
            self.write_json(value)
        else:
            print_value(self.out, value)

    def show_facts(self, value: object, spec: str) -> None:
        """Write ``value`` as JSON, or the fields that ``spec`` names."""
        self.show(value, partial(print_facts, spec=spec))

    def show_rows(
        self, items: Sequence[object], spec: str, total: int | None = None, *, none: str
    ) -> None:
        """Write a list, of ``total`` items in all; prints ``none`` when the list is empty."""
        if self.json:
            shown = len(items) if total is None else total
            self.write_json({"items": list(items), "total": shown})
        elif items:
            print_table(self.out, items, spec)
            if total is not None and total > len(items):
                self.out.print(Text(f"{len(items):,} of {total:,} (--limit)", style="dim"))
        else:
            print_line(self.out, none, "yellow")

    def say(self, value: object, sentence: str) -> None:
        """Write ``value`` as JSON, or print ``sentence``."""
        self.show(value, lambda out, _: print_line(out, sentence))

    def write_listing(self, body: object, name: str) -> None:
        """Write a reply as JSON whose list ``name`` has the names that every list has."""
        facts = _json_of(body)
        items, total = facts.pop(name), facts.pop("total", None)
        self.write_json({"items": items, "total": len(items) if total is None else total, **facts})

    def write_json(self, value: object, *, indent: int | None = 2) -> None:
        """Write one JSON value to standard output; values with a view are converted.

        Args:
            indent: None writes it on one line.
        """
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=_json_of)
        typer.echo(escape_json(text))

    def write_problem(self, problem: Problem) -> None:
        """Write an error to standard error: one red line with its hint, or a JSON object."""
        if self.json:
            typer.echo(escape_json(json.dumps(problem.body(), ensure_ascii=False)), err=True)
            return
        line = Text.assemble((f"Error: {harmless(problem.detail)}", "bold red"))
        if problem.hint:
            line.append(f" ({harmless(problem.hint)})")
        self.err.print(line, soft_wrap=True)


def terminal_of(context: typer.Context) -> Terminal:
    """Return the terminal that the root command stored in the context."""
    return cast(Terminal, context.find_root().obj)


@contextmanager
def opened(
    context: typer.Context, open_home: Callable[[Terminal], KnowledgeBase] = Terminal.open
) -> Iterator[tuple[Terminal, KnowledgeBase]]:
    """Open the knowledge base of a command, with the terminal that the command writes to."""
    terminal = terminal_of(context)
    with open_home(terminal) as kb:
        yield terminal, kb


def warn_if_outdated(kb: KnowledgeBase) -> None:
    """Log a warning when the index in use does not match the settings."""
    try:
        if not kb.reindex_needed:
            return
        required = _required_index(kb.settings)
    except (ModelError, SettingsError) as error:
        required = f"an embedder that cannot be opened: {error}"
    live = kb.catalogue.reindexing.live()
    current = describe_index(live.fingerprint) if live else "nothing yet"
    logger.warning(
        "the index in use was built with %s; the settings ask for %s. Run 'wellread reindex'",
        current,
        required,
    )


def warn_if_incomplete(kb: KnowledgeBase) -> None:
    """Log a warning when texts or index rows are missing, because searches cannot find them."""
    if count := kb.catalogue.integrity.count_textless():
        logger.warning("the texts of %d documents are missing; 'wellread verify' lists them", count)
    live = kb.catalogue.reindexing.live()
    for _ in range(MAX_COUNTS):  # a removal may happen between the two counts
        passages = sum(counts.passages for counts in kb.catalogue.listings.kinds()) if live else 0
        missing = passages - kb.index.rows() if passages else 0
        if missing <= 0:
            return
    logger.warning(
        "the index lacks %d of %d passages; 'wellread verify --repair' restores them",
        missing,
        passages,
    )


def describe_index(fingerprint: Fingerprint) -> str:
    """Describe the embedder and passage size that an index was built with."""
    return f"{fingerprint.embedder}, passages of {fingerprint.chunking.rpartition('/')[2]}"


def _required_index(settings: Settings) -> str:
    chosen = settings.embedding
    embedder = (
        f"{chosen.backend} {chosen.model}".strip() if chosen.backend == "http" else chosen.backend
    )
    return f"embedder {embedder}, passages of {settings.chunking.tokens}"
