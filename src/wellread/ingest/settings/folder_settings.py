"""Which settings hold in a run: the reader's own, and those that lie in an added folder.

What comes with a folder is not trusted like what the reader says. A settings file that lies in a
folder holds for the files of that folder alone, and is told in the report. The reader's own file
(``--settings``) holds for the whole collection and stands above all that lies in folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wellread.errors import SettingsError
from wellread.ingest.loaders.front_matter import NAMES_READERS, READERS
from wellread.ingest.settings.collection import SETTINGS_NAME, CollectionSettings
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase

FOLDERS = "folders"  # under which the settings of a collection keep those of its folders
NOT_OWN = (FOLDERS, READERS, "moved_from")  # that are kept beside what the reader said
Plain = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsInForce:
    """What holds for which files."""

    own: CollectionSettings | None = None
    folders: Mapping[str, CollectionSettings] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of(self, root: str) -> CollectionSettings | None:
        """The settings for files that were found under ``root``."""
        return self.own or self.folders.get(root)

    def __bool__(self) -> bool:
        return self.own is not None or bool(self.folders)


def own_settings(stored: Mapping[str, Any] | None) -> CollectionSettings | None:
    """What the reader said for the whole collection; None when that is nothing."""
    own = {name: value for name, value in (stored or {}).items() if name not in NOT_OWN}
    return CollectionSettings.from_plain(own) if own else None


def folder_settings(stored: Mapping[str, Any] | None) -> dict[str, CollectionSettings]:
    """What was taken of settings that lie in folders, by the folder's address."""
    kept: Mapping[str, Plain] = (stored or {}).get(FOLDERS, {})
    return {root: CollectionSettings.from_plain(plain) for root, plain in kept.items()}


def settings_in_force(
    kb: KnowledgeBase,
    collection: str,
    inputs: Sequence[str],
    given: Path | None,
) -> SettingsInForce:
    """The settings of a run; those that are new are kept.

    Args:
        given: a file of the reader's own; it takes the place of the one before.
    """
    stored = kb.catalogue.collection_settings.settings(collection)
    if READERS in (stored or {}) and not given:
        raise SettingsError(
            f"the settings that were given for {collection!r}: {NAMES_READERS}",
            hint="give a settings file without it: wellread add PATH --settings FILE",
        )
    own = CollectionSettings.read(given) if given else own_settings(stored)
    folders = folder_settings(stored)
    notes: list[str] = []
    lying = dict(_lying(inputs))
    for root in {uri_of(local_path(one)) for one in inputs if "://" not in one} - lying.keys():
        folders.pop(root, None)  # its file is there no more
    for root, path in lying.items():
        settings = CollectionSettings.read(path)
        if own is not None and own != CollectionSettings():
            if settings != own:
                notes.append(f"{path} is not taken: the collection has settings of your own")
            continue
        folders[root] = settings
        notes.append(f"{path} holds for its folder")
    plain = {root: one.to_plain() for root, one in folders.items()}
    new = {**(own.to_plain() if own else {}), **({FOLDERS: plain} if plain else {})}
    if new != (stored or {}) or (given and stored is None):
        kb.catalogue.collection_settings.set_settings(collection, new)
    own = None if own == CollectionSettings() else own
    return SettingsInForce(own=own, folders=folders, notes=tuple(notes))


def _lying(inputs: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Added folders with the settings file that lies in each; a link is none."""
    for given in inputs:
        folder = Path(local_path(given))
        path = folder / SETTINGS_NAME
        local = "://" not in given or given.startswith("file://")
        if local and path.is_file() and not path.is_symlink():
            yield uri_of(folder), path
