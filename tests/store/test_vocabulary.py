"""The words of a collection: what its documents are described with, read again when they change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.store.made import kept, passages_of

from wellread.store.catalogue import Catalogue
from wellread.types import Document, EntityFacts, Relation, Span


def put(catalogue: Catalogue, document: Document, *speakers: tuple[str, ...]) -> None:
    passages = [
        *(
            passage
            for place, names in enumerate(speakers)
            for passage in passages_of(document, [Span(start=place, end=place + 1)], speakers=names)
        )
    ]
    catalogue.commit([kept(document, passages)])


def note(name: str, **fields: Any) -> Document:
    whole = {"collection": "main", "kind": "article", "title": name, "text": f"About {name}."}
    return Document(uri=f"file:///{name}", **(whole | fields))


def test_all_that_documents_are_described_with_is_known(catalogue: Catalogue) -> None:
    put(
        catalogue,
        note(
            "walk",
            kind="transcript",
            source_type="podcast",
            language="en",
            authors=("Ada Moor",),
            taxonomy={"scales": ("local", "regional")},
        ),
        ("Ben Hill", "Cleo Ray"),
        ("Ben Hill",),
    )
    put(
        catalogue,
        note(
            "mill",
            kind="entity",
            authors=("Ada Moor", "Dev Lane"),
            taxonomy={"scales": ("local",)},
            entity=EntityFacts(entity_id="mill", entity_type="place"),
        ),
    )
    (words,) = catalogue.vocabulary.of(["main"])
    assert words.kinds == {"entity", "transcript"}
    assert words.source_types == {"podcast"}
    assert words.languages == {"en"}
    assert words.authors == {"Ada Moor", "Dev Lane"}
    assert words.speakers == {"Ben Hill", "Cleo Ray"}
    assert words.taxonomy == {"scales": ("local", "regional")}


def test_the_first_and_the_last_day_are_known(catalogue: Catalogue) -> None:
    put(catalogue, note("a", published_at=(first := datetime(2024, 3, 1, tzinfo=UTC))))
    put(catalogue, note("b", published_at=(last := datetime(2024, 5, 2, 23, 30, tzinfo=UTC))))
    put(catalogue, note("undated"))
    assert catalogue.listings.published(["main"]) == (first, last)


def test_a_collection_knows_its_own_words_only(catalogue: Catalogue) -> None:
    put(catalogue, note("here", authors=("Ada Moor",)))
    put(catalogue, note("there", collection="other", authors=("Dev Lane",)))
    (main,) = catalogue.vocabulary.of(["main", "unknown"])
    assert list(main.authors) == ["Ada Moor"]
    assert [one.collection for one in catalogue.vocabulary.of()] == ["main", "other"]


def test_the_words_are_held_until_a_document_changes(catalogue: Catalogue) -> None:
    put(catalogue, note("here", authors=("Ada Moor",)))
    put(catalogue, note("there", collection="other"))
    (before,) = catalogue.vocabulary.of(["main"])
    catalogue.record_gap("what is missing?", "nothing is known")
    (same,) = catalogue.vocabulary.of(["main"])
    assert same is before

    put(catalogue, note("here", authors=("Dev Lane",)))
    (after,) = catalogue.vocabulary.of(["main"])
    assert list(after.authors) == ["Dev Lane"]

    (other,) = catalogue.vocabulary.of(["other"])
    catalogue.remove_sources("main", ["file:///here"])
    assert catalogue.vocabulary.of(["main"]) == []
    assert catalogue.vocabulary.of(["other"]) == [other]


def test_names_go_with_their_document(catalogue: Catalogue) -> None:
    entity = EntityFacts(
        entity_id="guild/mill",
        aliases=("the grinder (TG)",),
        relations=(Relation(type="owned_by", target="../town.md#hall"),),
    )
    facts: dict[str, Any] = {
        "authors": ("Ada Moor",),
        "taxonomy": {"scales": ("local trade",)},
        "url": "https://www.mills.example/old mill.html",
        "entity": entity,
    }
    put(catalogue, note("mill", title="Old Mill: Notes #4", **facts))
    (known,) = catalogue.names.documents(["main"], ("title",), ["oldmillnotes4"])
    for sort, key in (
        ("main", "oldmill"),
        ("author part", "moor"),
        ("site", "mill"),
        ("numbered", "note 4"),
        ("spelling", "grinder"),
        ("value", "localtrade"),
    ):
        found = catalogue.names.documents(["main"], (sort,), [key])
        assert (sort, found) == (sort, [known])
    assert catalogue.names.with_words(["main"], ["mill", "old"]) == [known]
    assert catalogue.names.with_words(["main"], ["mill", "new"]) == []
    assert catalogue.names.with_wrong_keys() == []

    put(catalogue, note("mill", title="New Mill"))
    assert (
        catalogue.names.documents(["main"], ("title", "main"), ["oldmillnotes4", "oldmill"]) == []
    )
    assert catalogue.names.with_words(["main"], ["mill", "new"]) == [known]

    catalogue.remove_documents([known])
    assert catalogue.integrity.row_counts()["document_names"] == 0
