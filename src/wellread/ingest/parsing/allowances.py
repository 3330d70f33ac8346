"""How much memory a file may take while it is parsed: by its kind and size, and all together.

A small file that asks for gigabytes is an attack (forms of a PDF that draw each other, a workbook
of nothing). So a parser may take what files of that kind need, several times over; and parsers
that work side by side share one sum, so that many files are no way around it.
``docs/decisions/057-memory-of-parsers.md`` has the measurements.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from wellread.ingest.loaders.base import ENTRIES

USUAL_MOST = 3072  # MiB, the default of sources.max_memory; a larger one enlarges every allowance
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Needs:
    """MiB that any file of a kind may take, and bytes more for each byte of it."""

    least: int
    each: int


_TEXT = _Needs(256, 80)
_PACKED = _Needs(384, 200)  # the text of office files is packed ten to one
_UNKNOWN = _Needs(1024, 200)  # loaders of other packages
_NEEDS: Mapping[str, _Needs] = {
    **dict.fromkeys(
        ("markdown markdown-transcript text captions speech feed records rst " + ENTRIES).split(),
        _TEXT,
    ),
    "html": _Needs(256, 120),
    "pdf": _Needs(640, 120),  # pages with white letters are drawn, large pictures with them
    **dict.fromkeys(("docx", "pptx", "xlsx", "odt", "epub", "office-binary"), _PACKED),
}


def allowance(loader: str, size: int, most: int) -> int:
    """MiB that a file may take.

    Args:
        loader: the name of what reads it.
        size: its bytes.
        most: MiB that all parsers may take together.
    """
    needs = _NEEDS.get(loader, _UNKNOWN)
    wanted = needs.least + needs.each * size // _MEBIBYTE
    return min(most, wanted * max(most, USUAL_MOST) // USUAL_MOST)


class SharedMemory:
    """The memory that parsers hold at one time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0

    def take(self, amount: int, most: int) -> None:
        """Wait until ``amount`` more is not above ``most``, or nobody else holds anything."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + amount <= most)
            self._held += amount

    def give_back(self, amount: int) -> None:
        """Let others have it."""
        with self._changed:
            self._held -= amount
            self._changed.notify_all()
