"""The search indexes of one home, each opened by the back end that its fingerprint names."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from wellread import plugins
from wellread.errors import StoreError
from wellread.store.base import LANCEDB, Fingerprint, Index, IndexBackend

INDEX_FOLDER = "index"


class Indexes:
    """What is in the index folder of a home: the built-in back end's, and folders of others."""

    def __init__(self, home: Path) -> None:
        self._folder = home / INDEX_FOLDER

    def open(self, fingerprint: Fingerprint) -> Index:
        """The index of ``fingerprint``; made when it is not there.

        Raises:
            SettingsError: its back end is not installed.
            StoreError: the index cannot be opened or made.
        """
        return _backend(fingerprint.backend).open(self._of(fingerprint.backend), fingerprint)

    def others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """The names of the indexes that are of none of these fingerprints."""
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += _backend(backend).others(self._of(backend), *prints)
        return names + [folder.name for folder in self._left(kept)]

    def drop_others(self, kept: Sequence[Fingerprint]) -> list[str]:
        """Drop every index but those of ``kept``; the names of those that went.

        Raises:
            StoreError: one cannot be dropped, or is being written.
        """
        names: list[str] = []
        for backend, prints in self._backends(kept).items():
            names += _backend(backend).drop_others(self._of(backend), *prints)
        for folder in self._left(kept):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"the old index {folder} cannot be dropped: {error}") from error
            names.append(folder.name)
        return names

    def _of(self, backend: str) -> Path:
        return self._folder if backend == LANCEDB else self._folder / backend

    def _backends(self, kept: Sequence[Fingerprint]) -> dict[str, list[Fingerprint]]:
        names = dict.fromkeys([LANCEDB, *(made.backend for made in kept)])
        return {name: [made for made in kept if made.backend == name] for name in names}

    def _left(self, kept: Sequence[Fingerprint]) -> list[Path]:
        """Folders of back ends that are in use no more, and may not be installed any more."""
        used = {made.backend for made in kept}
        folders = (path for path in self._folder.glob("*") if path.is_dir())
        return sorted(path for path in folders if not path.suffix and path.name not in used)


def _backend(name: str) -> IndexBackend:
    return plugins.find(plugins.INDEXES, name, {LANCEDB: _lancedb}, "index.backend")


def _lancedb() -> IndexBackend:
    from wellread.store.index.lance import LanceIndex  # noqa: PLC0415 - heavy

    return LanceIndex
