"""Determines which settings apply in a run: the user's own, and files found in added folders.

A settings file in a folder is trusted less than the user's own: it applies to the files of that
folder only, and the report mentions it. The user's own file (``--settings``) applies to the whole
collection and overrides all files in folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wellread.errors import SettingsError
from wellread.ingest.loaders.base import SETTINGS_NAME
from wellread.ingest.loaders.front_matter import READERS_FIELD, READERS_REFUSED
from wellread.ingest.settings.collection import CollectionSettings, Rule, TemplateValue
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase

FOLDERS = "folders"  # key of the folders' settings in the stored settings of a collection
DESCRIPTION = "description"  # key of what the collection holds, in the words of an editor
# stored keys that are not from the user's file
NOT_FROM_USER = (FOLDERS, DESCRIPTION, READERS_FIELD, "moved_from")
Plain = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSettings:
    """The settings of a run: for the whole collection, or per folder."""

    own: CollectionSettings | None = None
    folders: Mapping[str, CollectionSettings] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of(self, root: str) -> CollectionSettings | None:
        """Return the settings for files that were found under ``root``."""
        return self.own or self.folders.get(root)

    def __bool__(self) -> bool:
        return self.own is not None or bool(self.folders)


def own_settings(stored: Mapping[str, Any] | None) -> CollectionSettings | None:
    """Return the user's own settings for the whole collection, or None."""
    own = {name: value for name, value in (stored or {}).items() if name not in NOT_FROM_USER}
    return CollectionSettings.from_plain(own) if own else None


def folder_settings(stored: Mapping[str, Any] | None) -> dict[str, CollectionSettings]:
    """Return the stored settings of folders, by the folder's address."""
    plain_by_root: Mapping[str, Plain] = (stored or {}).get(FOLDERS, {})
    return {root: CollectionSettings.from_plain(plain) for root, plain in plain_by_root.items()}


def effective_settings(
    kb: KnowledgeBase,
    collection: str,
    inputs: Sequence[str],
    settings_file: Path | None,
    published_at: str = "",
) -> EffectiveSettings:
    """Return the settings of a run, and store them if they changed.

    Args:
        settings_file: the user's own settings file; it replaces an earlier one.
        published_at: the date of all that the inputs hold; kept for later runs on them.
    """
    stored = kb.catalogue.collection_settings.settings(collection)
    if READERS_FIELD in (stored or {}) and not settings_file:
        raise SettingsError(
            f"the stored settings of {collection!r}: {READERS_REFUSED}",
            hint="pass a settings file without it: wellread add PATH --settings FILE",
        )
    own = CollectionSettings.read(settings_file) if settings_file else own_settings(stored)
    folders = folder_settings(stored)
    notes: list[str] = []
    files = dict(_settings_files(inputs))
    roots = {uri_of(local_path(item)): item for item in inputs if "://" not in item}
    for root in roots.keys() - files.keys():
        if not Path(local_path(roots[root])).is_file():
            folders.pop(root, None)  # its settings file no longer exists
        if published_at and own:
            raise SettingsError(
                f"the collection {collection!r} has settings of your own, which go before --date",
                hint="name the field or text of the date there (published_at)",
            )
        if published_at:
            date = TemplateValue(text=published_at)
            folders[root] = CollectionSettings(rules=(Rule(match=("*",), published_at=(date,)),))
    for root, path in files.items():
        settings = CollectionSettings.read(path)
        if own is not None and own != CollectionSettings():
            if settings != own:
                notes.append(f"{path} is ignored: the collection has settings of your own")
            continue
        folders[root] = settings
        notes.append(f"{path} applies to its folder")
    plain = {root: item.to_plain() for root, item in folders.items()}
    kept = {name: value for name, value in (stored or {}).items() if name == DESCRIPTION}
    new = {**(own.to_plain() if own else {}), **({FOLDERS: plain} if plain else {}), **kept}
    if new != (stored or {}) or (settings_file and stored is None):
        kb.catalogue.collection_settings.set_settings(collection, new)
    own = None if own == CollectionSettings() else own
    return EffectiveSettings(own=own, folders=folders, notes=tuple(notes))


def _settings_files(inputs: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield added folders that contain a settings file, with the file; links are ignored."""
    for source_input in inputs:
        folder = Path(local_path(source_input))
        path = folder / SETTINGS_NAME
        local = "://" not in source_input or source_input.startswith("file://")
        if local and path.is_file() and not path.is_symlink():
            yield uri_of(folder), path
