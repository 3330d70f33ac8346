"""The backups of a home as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.console import Console

from wellread.serve.features.bodies import PlainBody
from wellread.serve.features.home_reports import size_words
from wellread.serve.terminal import right, table
from wellread.store.recovery.copies import CatalogueCopy


class CopyBody(PlainBody):
    """One backup; ``sound``: its bytes are those that were written."""

    name: str
    made_at: datetime
    bytes: int
    sound: bool


class CopiesBody(PlainBody):
    """The backups of a home, newest first."""

    backups: tuple[CopyBody, ...]

    @classmethod
    def of_copies(cls, copies: Iterable[CatalogueCopy]) -> CopiesBody:
        """Those of a folder."""
        bodies = (
            CopyBody(name=one.name, made_at=one.made_at, bytes=one.size, sound=one.sound())
            for one in copies
        )
        return cls(backups=tuple(bodies))


def print_copies(console: Console, body: CopiesBody) -> None:
    """A line per backup."""
    if not body.backups:
        console.print("There is no backup yet: runs of add and sync make them.")
        return
    rows = (
        (f"{one.made_at:%Y-%m-%d %H:%M}", size_words(one.bytes), _state(one.sound), one.name)
        for one in body.backups
    )
    console.print(table(("made (UTC)", right("size"), "", "name"), rows))


def _state(sound: bool) -> str:
    return "" if sound else "damaged"
