"""What goes with a document, or with one version of it, in tables that others fill."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.store.made import change, known

from wellread.identity import version_of
from wellread.store.base import Fingerprint
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import FoundName, MentionScans
from wellread.store.catalogue.documents.story_records import ItemRecord
from wellread.types import EntityFacts, Passage, Span

NEXT = Fingerprint(embedder="another", dimensions=4, chunking="c")


@pytest.fixture
def scans(catalogue: Catalogue) -> MentionScans:
    return catalogue.graph.scans


def keep(catalogue: Catalogue, name: str, text: str, title: str = "T") -> tuple[str, str]:
    """A document from a source of its own; a capital name is an entity's. Id and version."""
    entity = EntityFacts(entity_id=name) if name.istitle() else None
    day = datetime(2025, 1, 2, tzinfo=UTC)
    catalogue.commit(
        [change(name, text, title=title, kind="article", published_at=day, entity=entity)]
    )
    return known(name), version_of(text, ())


def counts(catalogue: Catalogue, *tables: str) -> list[int]:
    there = catalogue.integrity.row_counts()
    return [there[table] for table in tables]


def test_an_entity_takes_its_mentions_in_other_documents_along(
    catalogue: Catalogue, scans: MentionScans
) -> None:
    keep(catalogue, "Osprey", "A ferry.")
    keep(catalogue, "Gannet", "A bird.")
    key = keep(catalogue, "note", "Osprey and Gannet.")
    places = [
        FoundName(entity_id="Osprey", span=Span(start=0, end=6), name="Osprey"),
        FoundName(entity_id="Gannet", span=Span(start=11, end=17), name="Gannet"),
    ]
    scans.keep("names", {key: places})
    catalogue.remove_sources("main", ["Osprey"])
    assert counts(catalogue, "mentions", "mention_scans") == [1, 1]
    catalogue.remove_sources("main", ["note"])
    assert counts(catalogue, "mentions", "mention_scans") == [0, 0]


def test_another_version_has_other_mentions_and_the_same_one_keeps_them(
    catalogue: Catalogue, scans: MentionScans
) -> None:
    keep(catalogue, "Osprey", "A ferry.")
    key = keep(catalogue, "note", "Osprey.")
    place = FoundName(entity_id="Osprey", span=Span(start=0, end=6), name="Osprey")
    scans.keep("names", {key: [place]})
    keep(catalogue, "note", "Osprey.", title="Another title")
    assert counts(catalogue, "mentions", "mention_scans") == [1, 1]
    keep(catalogue, "note", "No name.")
    assert counts(catalogue, "mentions", "mention_scans") == [0, 0]


@pytest.mark.parametrize("how", ["removed", "replaced", "renamed", "the same"])
def test_stories_forget_what_changes(catalogue: Catalogue, how: str) -> None:
    known, version = keep(catalogue, "news", "Seals are back.")
    item = ItemRecord(
        document_id=known,
        version=version,
        span=Span(start=0, end=15),
        story_id="story_1",
        published_at=None,
        vector=b"",
        fingerprint=b"",
    )
    catalogue.stories.keep("main", [item])
    assert counts(catalogue, "story_items", "stories") == [1, 1]
    match how:
        case "removed":
            catalogue.remove_documents([known])
        case "replaced":
            keep(catalogue, "news", "Seals are gone.")
        case "renamed":
            keep(catalogue, "news", "Seals are back.", title="Another title")
        case _:
            keep(catalogue, "news", "Seals are back.")
    stays = [1, 1] if how == "the same" else [0, 0]
    assert counts(catalogue, "story_items", "stories") == stays


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "replaced"])
def test_what_is_staged_for_the_next_index_goes_with_its_document(
    catalogue: Catalogue, removed: bool
) -> None:
    known, version = keep(catalogue, "note", "Seals are back.")
    state = catalogue.reindexing
    state.begin(NEXT)
    passage = Passage(
        id="psg_1",
        document_id=known,
        version=version,
        span=Span(start=0, end=5),
        text="Seals",
        context="Secret title",
        speakers=("Secret speaker",),
    )
    state.intend([[passage]])
    assert len(list(state.passage_keys())) == 1
    if removed:
        catalogue.remove_documents([known])
    else:
        keep(catalogue, "note", "Seals are gone.")
    said = [str(value) for _, _, value in catalogue.integrity.cells()]
    assert not any("Secret" in value for value in said)
    assert list(state.passage_keys()) == []


def test_a_source_is_skipped_once_all_its_documents_were_removed(catalogue: Catalogue) -> None:
    first = keep(catalogue, "one", "Seals.")
    keep(catalogue, "two", "Gannets.")
    catalogue.remove_documents([first[0], "doc_unknown"])
    records = catalogue.sources("main")
    assert {uri: record.status for uri, record in records.items()} == {
        "one": "skipped",
        "two": "added",
    }
    assert catalogue.integrity.emptied_sources() == []
