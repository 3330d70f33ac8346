"""A source as another package would bring it: notes of a service that is asked over HTTP.

``notes://host/team`` is the list ``http://host/team``, whose items name an id, a title and a number
that grows with every change.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx

from wellread.ingest.sources.stores import Entry, StoreAddress


class Notes:
    """The notes of a team; a ``Store``."""

    def __init__(self, address: StoreAddress) -> None:
        self._base = f"http://{address.host}/{address.path}"
        self._client = httpx.Client(auth=address.login(), timeout=20)

    def entries(self, folder: str) -> Iterator[Entry]:
        """Every note is a file; there are no folders."""
        reply = self._client.get(self._base).raise_for_status()
        for note in reply.json():
            yield Entry(path=note["id"], name=f"{note['title']}.md", fingerprint=str(note["edit"]))

    def fetch(self, entry: Entry, path: Path, limit: int) -> None:
        """Write one note."""
        path.write_bytes(self._client.get(f"{self._base}/{entry.path}").raise_for_status().content)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
