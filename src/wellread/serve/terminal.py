"""What every command shares: the home, the form of its output, the consoles, safe text."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wellread.errors import DamageError, ModelError, RequestError, SettingsError
from wellread.serve.error_shapes import Problem
from wellread.text.words import escaped_json, harmless

if TYPE_CHECKING:  # the stores and models, which `--help` must not load
    from wellread.config import Settings
    from wellread.kb import Given, KnowledgeBase
    from wellread.store.base import Fingerprint

ShownT = TypeVar("ShownT")
logger = logging.getLogger(__name__)

SHORT_ID = 12  # characters of an id that are enough to name a thing
INDENT = 4
LOOKS = 2
EMPTY = "This home is empty: add something first"
ADD = "wellread add PATH"

Overrides = Mapping[str, Mapping[str, object]]


def shortened(text: str, limit: int) -> str:
    """``text``, made harmless, on one line of at most ``limit`` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def linked(link: str) -> str:
    """A style that makes the text a link, where the terminal knows how."""
    clean = harmless(link)
    return f"bold link {clean}" if clean and not any(map(str.isspace, clean)) else "bold"


def print_link(console: Console, link: str) -> None:
    """The link on a line of its own, never broken, so that it can be copied or clicked."""
    if link:
        console.print(Text(" " * INDENT + harmless(link), style="dim"), soft_wrap=True)


def day_words(moment: datetime | None) -> str:
    """The day, or that there is none."""
    return f"{moment:%Y-%m-%d}" if moment else "no date"


def right(name: str) -> Column:
    """A column of numbers."""
    return Column(name, justify="right")


def fold(name: str, style: str = "") -> Column:
    """A column whose cells may go over several lines; nothing of them is left out."""
    return Column(name, overflow="fold", style=style)


def whole(name: str, style: str = "") -> Column:
    """A column that is as wide as its cells."""
    return Column(name, no_wrap=True, style=style)


def table(
    columns: Iterable[str | Column], rows: Iterable[Iterable[str | Text]], **options: Any
) -> Table:
    """A table without lines, its cells made harmless; ``options`` as of Rich's ``Table``."""
    made = Table(*columns, box=None, pad_edge=False, **options)
    for row in rows:
        made.add_row(*(one if isinstance(one, Text) else Text(harmless(one)) for one in row))
    return made


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
        self,
        home: Path | None = None,
        *,
        overrides: Overrides | None = None,
        **given: Unpack[Given],
    ) -> KnowledgeBase:
        """Open the knowledge base of ``home``, of the home named, or of the default one."""
        # Loading the stores takes most of a second, which `--help` must not wait for.
        from wellread import kb  # noqa: PLC0415

        return kb.open_kb(home or self.home_folder(), overrides=overrides, **given)

    def open_current(self, *, overrides: Overrides | None = None) -> KnowledgeBase:
        """Open it, and say so when the index is damaged, or another than the settings ask for."""
        return self._looked_at(self.open(overrides=overrides), warn_if_damaged)

    def open_to_ask(self, *, overrides: Overrides | None = None) -> KnowledgeBase:
        """Open it for questions, which need something to answer from.

        Raises:
            RequestError: nothing was ever added; nothing is made then.
            DamageError: the catalogue or the index is damaged.
        """
        from wellread.config import load_settings  # noqa: PLC0415 - loads pydantic
        from wellread.kb.home_catalogue import is_unused  # noqa: PLC0415 - as above

        home = self.home_folder()
        if is_unused(home, load_settings(home, overrides).catalogue.url):
            raise RequestError(EMPTY, hint=ADD)
        opened = self.open(overrides=overrides)
        opened.prepare()
        self._looked_at(opened, warn_if_lacking)
        if opened.catalogue.reindexing.live() is None:
            opened.close()
            raise RequestError(EMPTY, hint=ADD)
        return opened

    def _looked_at(
        self, kb: KnowledgeBase, look: Callable[[KnowledgeBase], object]
    ) -> KnowledgeBase:
        try:
            warn_if_outdated(kb)
            if kb.place.upgraded:
                from wellread.ingest.pipeline.commit import bring_in_step  # noqa: PLC0415 - rare

                bring_in_step(kb)
            look(kb)
        except BaseException:
            kb.close()
            raise
        return kb

    def home_folder(self) -> Path:
        """The home that was named, or the default one."""
        from wellread.config import default_home  # noqa: PLC0415 - loads pydantic

        return (self.home or default_home()).expanduser().absolute()

    def show(self, value: ShownT, printed: Callable[[Console, ShownT], None]) -> None:
        """Write ``value`` as JSON where that was asked for, else as ``printed`` prints it."""
        if self.json:
            self.write_json(value)
        else:
            printed(self.out, value)

    def show_list(
        self,
        items: Sequence[object],
        printed: Callable[[Console], None],
        total: int | None = None,
    ) -> None:
        """Write a list, part of ``total`` things, in the one shape that lists have as JSON."""
        if self.json:
            self.write_list(items, total)
        else:
            printed(self.out)

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


def warn_if_damaged(kb: KnowledgeBase) -> None:
    """``warn_if_lacking``, and say so when the index cannot be opened: not all needs it."""
    try:
        warn_if_lacking(kb)
    except DamageError as error:
        logger.warning("%s", error)


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
