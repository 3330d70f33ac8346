"""What a collection's settings say about each found source, worked out before the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from wellread.ingest.parsing.parse import ParseRequest
from wellread.ingest.parsing.workers import WorkerPool
from wellread.ingest.settings.collection import SETTINGS_NAME, CollectionSettings
from wellread.ingest.settings.mapping import SourceRules
from wellread.ingest.settings.prepared import Ahead, AheadRequest, prepare
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRules:
    """What a collection's settings say about its sources.

    Attributes:
        by_uri: uri to how the source is read; sources that no rule speaks of are left out.
        failed: uri to why nothing can be read of that source for the others.
    """

    by_uri: Mapping[str, SourceRules] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def source_rules(
    settings: CollectionSettings | None,
    found: Sequence[Found],
    whole: Sequence[Found],
    known: Mapping[str, SourceRecord],
    pool: WorkerPool,
) -> CollectionRules:
    """How each source is read.

    Args:
        pool: reads ahead what files need of each other.
        whole: everything under the inputs, also when only some of it is ``found``: files say
            things about each other.
        known: the source records of the collection; a file that is added by itself keeps its
            place in the folder that it was found in before.
    """
    if settings is None:
        return CollectionRules()
    files = {item.uri: item for item in [*whole, *found] if isinstance(item, FoundFile)}
    places = {uri: _place(item, known.get(uri)) for uri, item in files.items()}
    prepared = {
        root: prepare(
            settings,
            [(below, files[uri].path) for uri, (other, below) in places.items() if other == root],
            partial(_read, pool),
        )
        for root in dict.fromkeys(root for root, _ in places.values())
    }
    by_uri = {}
    failed = {
        uri: reason
        for uri, (root, below) in places.items()
        if (reason := prepared[root].failed.get(below))
    }
    for item in found:
        if item.uri in places:
            root, below = places[item.uri]
            rules = SourceRules(
                settings=settings, relative=below, share=prepared[root].share(below)
            )
            if rules.rule is not None:
                by_uri[item.uri] = rules
    return CollectionRules(by_uri=by_uri, failed=failed)


def _read(pool: WorkerPool, requests: Sequence[AheadRequest]) -> list[Ahead]:
    """What the parser processes read ahead, under their limits."""
    parsing = [
        pool.submit(
            ParseRequest(
                uri=str(request.path),
                name=request.path.name,
                collection="",
                path=str(request.path),
                ahead=request.to_plain(),
            )
        )
        for request in requests
    ]
    parsed = [each.result() for each in parsing]
    return [{"failed": each.reason} if each.status == "failed" else each.ahead for each in parsed]


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
