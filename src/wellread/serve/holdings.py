"""What a home holds: documents and passages, the index, the size on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wellread.kb import KnowledgeBase
from wellread.store.base import Fingerprint
from wellread.store.schema.catalogue_values import KindCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What a home holds.

    Attributes:
        rows: one for each collection and kind.
        fingerprint: what shaped the index; None when nothing was ever added.
        waiting: passages that are found by their words and not by their meaning yet.
        size: bytes on disk of everything in the home.
    """

    home: Path
    rows: tuple[KindCount, ...]
    fingerprint: Fingerprint | None
    waiting: int
    size: int

    @property
    def documents(self) -> int:
        """Documents of all collections."""
        return sum(row.documents for row in self.rows)

    @property
    def passages(self) -> int:
        """Passages of all collections."""
        return sum(row.passages for row in self.rows)


def holdings_of(kb: KnowledgeBase) -> Holdings:
    """Count what ``kb`` holds."""
    return Holdings(
        home=kb.home,
        rows=tuple(kb.catalogue.stats()),
        fingerprint=kb.catalogue.fingerprint(),
        waiting=kb.catalogue.vectors.passages_owed(),
        size=sum(_sizes(kb.home)),
    )


def _sizes(folder: Path) -> Iterator[int]:
    """Bytes of each file; one that another process removes meanwhile counts nothing."""
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path.stat().st_size
        except FileNotFoundError:
            continue
