"""What a collection's settings say about each found source, worked out before the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from wellread.ingest.settings.collection import SETTINGS_NAME, CollectionSettings
from wellread.ingest.settings.mapping import Reading
from wellread.ingest.settings.prepared import prepare
from wellread.ingest.sources.discover import Found, FoundFile
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import SourceRecord


def settings_for(
    kb: KnowledgeBase, collection: str, inputs: Sequence[str], given: Path | None
) -> CollectionSettings | None:
    """The settings of the collection: the file given, one lying in an added folder, or the stored.

    The first two are stored, so that later runs need not name them again.

    Raises:
        SettingsError: a file says something that cannot be understood.
    """
    found = given or _lying_in(inputs)
    if found is None:
        stored = kb.catalogue.collection_settings.settings(collection)
        return CollectionSettings.from_plain(stored) if stored is not None else None
    settings = CollectionSettings.read(found)
    if kb.catalogue.collection_settings.settings(collection) != settings.to_plain():
        kb.catalogue.collection_settings.set_settings(collection, settings.to_plain())
    return settings


def readings_of(
    settings: CollectionSettings | None,
    found: Sequence[Found],
    whole: Sequence[Found],
    known: Mapping[str, SourceRecord],
) -> dict[str, Reading]:
    """Uri to how the source is read; sources that no rule speaks of are left out.

    Args:
        whole: everything under the inputs, also when only some of it is ``found``: files say
            things about each other.
        known: the source records of the collection; a file that is added by itself keeps its
            place in the folder that it was found in before.
    """
    if settings is None:
        return {}
    files = {item.uri: item for item in [*whole, *found] if isinstance(item, FoundFile)}
    places = {uri: _place(item, known.get(uri)) for uri, item in files.items()}
    prepared = {
        root: prepare(
            settings,
            [(below, files[uri].path) for uri, (other, below) in places.items() if other == root],
        )
        for root in dict.fromkeys(root for root, _ in places.values())
    }
    readings = {}
    for item in found:
        if item.uri in places:
            root, below = places[item.uri]
            reading = Reading(settings=settings, relative=below, share=prepared[root].share(below))
            if reading.rule is not None:
                readings[item.uri] = reading
    return readings


def _place(item: FoundFile, known: SourceRecord | None) -> tuple[str, str]:
    """The root of a file, and its path below it; the name of a file that was added itself."""
    root = item.root
    if root == item.uri and known and item.uri.startswith(_inside(known.root)):
        root = known.root
    below = item.uri.removeprefix(_inside(root))
    return root, unquote(below if below != item.uri else item.uri.rpartition("/")[2])


def _inside(root: str) -> str:
    return root.rstrip("/") + "/"


def _lying_in(inputs: Sequence[str]) -> Path | None:
    for given in inputs:
        path = Path(given) / SETTINGS_NAME
        if "://" not in given and path.is_file():
            return path
    return None
