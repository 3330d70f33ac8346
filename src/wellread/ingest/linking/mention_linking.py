"""Links documents to the entities they name; called at the end of every run.

Only documents that are new, that changed or that were searched for other names are searched, so a
run that changed nothing costs one query. Each batch is one transaction: a killed pass goes on
where it was.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.identity import tagged_hash
from wellread.ingest.linking.name_finder import NameFinder
from wellread.ingest.linking.name_forms import Form, claimed, forms_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.graph.mention_scans import (
    FoundName,
    MentionScans,
    NamedEntity,
    Unscanned,
)

logger = logging.getLogger(__name__)

RULES = 1  # raise it when names are found by other rules
MOST_PER_ENTITY = 200  # mentions of one entity that are kept of one document
BATCH_DOCUMENTS = 500
BATCH_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionReport:
    """What a pass did.

    Attributes:
        entities: of the collection, with a name or without.
        scanned: documents that were searched; the others were up to date.
        mentions: places found in those.
        claimed: spellings that lead to nobody, because several entities are called so.
    """

    entities: int = 0
    scanned: int = 0
    mentions: int = 0
    claimed: tuple[str, ...] = ()
    seconds: float = 0.0


def link_mentions(catalogue: Catalogue, collection: str) -> MentionReport:
    """Find the names of the collection's entities in its documents.

    Raises:
        StoreError: the catalogue refused; batches that were written stay.
    """
    started = time.perf_counter()
    scans = catalogue.graph.scans
    entities = scans.named_entities(collection)
    if not entities:
        scans.forget(collection)
        return MentionReport(seconds=time.perf_counter() - started)
    names = names_digest(entities)
    scanned = mentions = 0
    forms: dict[str, tuple[Form, ...]] = {}
    finder: NameFinder | None = None
    own: dict[str, set[str]] = {}
    for batch in _batches(scans, collection, names):
        if finder is None:
            forms = forms_of(entities)
            finder = NameFinder(forms)
            own = _described(entities)
        texts = scans.texts(one.document_id for one in batch)
        found = {
            (one.document_id, one.version): _kept(
                finder.find(texts.get(one.document_id, ""), own.get(one.document_id, set()))
            )
            for one in batch
        }
        mentions += scans.keep(names, found)
        scanned += len(batch)
    if scanned:
        logger.info("searched %d documents of %s for names: %d", scanned, collection, mentions)
    return MentionReport(
        entities=len(entities),
        scanned=scanned,
        mentions=mentions,
        claimed=tuple(claimed(forms)),
        seconds=time.perf_counter() - started,
    )


def names_digest(entities: Sequence[NamedEntity]) -> str:
    """Changes with the names, with who describes them, and with the rules they are found by."""
    parts = [
        "\x1f".join((one.id, one.title, *one.aliases, "", *sorted(one.documents)))
        for one in entities
    ]
    return tagged_hash("nms", RULES, MOST_PER_ENTITY, "\x1e".join(parts))


def _batches(scans: MentionScans, collection: str, names: str) -> Iterator[list[Unscanned]]:
    """Documents that are still to be searched, each once, a few million characters at a time."""
    after = ""
    while True:
        waiting = scans.unscanned(collection, names, after, BATCH_DOCUMENTS)
        batch: list[Unscanned] = []
        characters = 0
        for one in waiting:
            if batch and characters + one.characters > BATCH_CHARACTERS:
                break
            batch.append(one)
            characters += one.characters
        if not batch:
            return
        yield batch
        after = batch[-1].document_id


def _described(entities: Sequence[NamedEntity]) -> dict[str, set[str]]:
    """Document id to the entities that it describes."""
    found: dict[str, set[str]] = {}
    for entity in entities:
        for document_id in entity.documents:
            found.setdefault(document_id, set()).add(entity.id)
    return found


def _kept(found: Sequence[FoundName]) -> list[FoundName]:
    """``found`` with the first mentions of each entity only."""
    counts: Counter[str] = Counter()
    kept = []
    for one in found:
        counts[one.entity_id] += 1
        if counts[one.entity_id] <= MOST_PER_ENTITY:
            kept.append(one)
    return kept
