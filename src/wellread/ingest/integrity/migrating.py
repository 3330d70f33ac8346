"""Moves the catalogue of a home to another database; the index stays where it is, and as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wellread.ask_settings import without_password
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.recovery.moving import MovedTable, OnRows, move_catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """A catalogue that was copied, and compared with its source.

    Attributes:
        target: where it is now, without a password.
        next_steps: what is to be done so that the home uses it.
    """

    source: str
    target: str
    tables: tuple[MovedTable, ...]
    next_steps: str

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(table.rows for table in self.tables)


def migrate(kb: KnowledgeBase, target: str, on_rows: OnRows = lambda *_: None) -> Migration:
    """Copy the catalogue to ``target``, a URL or a path; all or nothing, the source is only read.

    Additions wait meanwhile. What is asked meanwhile is kept in the source alone.

    Raises:
        StoreError: the target holds something, cannot be written, or the copy is not the same.
    """
    with writing(kb):
        drop_noted(kb, kb.index)
        tables = move_catalogue(kb.catalogue, target, on_rows)
    shown = without_password(target)
    return Migration(
        source=without_password(str(kb.place.where)),
        target=shown,
        tables=tuple(tables),
        next_steps=_on_server(kb, shown) if "://" in target else _in_file(kb, Path(target)),
    )


def _on_server(kb: KnowledgeBase, shown: str) -> str:
    steps = (
        "put this into wellread.yaml, or set WELLREAD_CATALOGUE_URL, and restart servers:\n"
        f"catalogue:\n  url: {shown}"
    )
    if kb.place.url:
        return steps
    old = kb.home / CATALOGUE_FILE
    return f"{steps}\nwhen all is well, delete {old} and backups/: they keep what is removed later"


def _in_file(kb: KnowledgeBase, path: Path) -> str:
    wanted = kb.home / CATALOGUE_FILE
    named = "" if path.expanduser().absolute() == wanted else f"move it to {wanted}, "
    return f"{named}take catalogue.url out of the settings, and restart servers"
