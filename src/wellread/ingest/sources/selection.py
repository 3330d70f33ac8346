"""A choice of sources to look at, out of all that the inputs stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_FILE = "file://"


class Selection:
    """Sources by uri. A folder's uri stands for everything below it, there or not any more.

    Args:
        uris: ``file:`` uris of files and folders, and web addresses.
    """

    def __init__(self, uris: Iterable[str]) -> None:
        self._chosen = frozenset(uris)
        self._above = frozenset(above for uri in self._chosen for above in _above(uri))

    def covers(self, uri: str) -> bool:
        """Whether ``uri`` was chosen, or a folder that it lies in."""
        return uri in self._chosen or any(above in self._chosen for above in _above(uri))

    def leads_to(self, folder: str) -> bool:
        """Whether something chosen is the folder itself, or in it, or around it."""
        return folder in self._above or self.covers(folder)


def _above(uri: str) -> Iterator[str]:
    """The uris of the folders that a file lies in, innermost first."""
    if not uri.startswith(_FILE):
        return
    place = uri.rstrip("/").rfind("/")
    while place >= len(_FILE):
        yield uri[: max(place, len(_FILE) + 1)]
        place = uri.rfind("/", 0, place)
