"""The vocabulary of a knowledge base: made from its catalogue, held until that changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import people, vocabulary_of
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.store.catalogue.documents.collection_records import stamps_of
from wellread.store.schema.database import Database
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, EntityFacts, Relation


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path, embedder=ReadableEmbedder()) as opened:
        yield opened


def put(kb: KnowledgeBase, name: str, **fields: Any) -> None:
    whole = {"collection": "main", "kind": "article", "title": name, "text": f"About {name}."}
    document = Document(uri=f"file:///{name}", **(whole | fields))
    record = SourceRecord(collection=document.collection, uri=document.uri)
    change = DocumentChange(document=document, passages=())
    kb.catalogue.commit([SourceChange(record=record, documents=[change])])


def test_a_question_is_read_with_what_the_catalogue_holds(kb: KnowledgeBase) -> None:
    moment = datetime(2024, 3, 1, tzinfo=UTC)
    put(
        kb,
        "mill",
        kind="entity",
        entity=EntityFacts(
            entity_id="mill",
            entity_type="place",
            aliases=("the old grinder",),
            relations=(Relation(type="owned_by", target="guild"),),
        ),
        taxonomy={"scales": ("municipal",)},
    )
    put(kb, "Merger", published_at=moment, authors=("Ada Moor",), source_type="bulletin")
    known = vocabulary_of(kb)
    assert known.collections == ("main",)
    assert known.entity_types == {"place"}
    assert "owned by" in known.relations
    found = analyse(
        Question(text="What do bulletins by Ada Moor say of the old grinder since the merger?"),
        known,
        date(2026, 1, 15),
    )
    assert [one.entity_id for one in found.entities] == ["mill"]
    assert {(one.kind, one.value) for one in found.constraints} == {
        ("source_type", "bulletin"),
        ("author", "Ada Moor"),
        ("time", "from 2024-03-01"),
    }


def test_it_is_held_until_something_changes(kb: KnowledgeBase) -> None:
    put(kb, "one", authors=("Ada Moor",))
    before = vocabulary_of(kb)
    assert "benhill" not in before.authors
    kb.catalogue.record_gap("what is missing?", "nothing is known")
    assert vocabulary_of(kb) is before
    put(kb, "two", authors=("Ben Hill",))
    after = vocabulary_of(kb)
    assert after is not before
    assert all(key in after.authors for key in ("benhill", "ben", "hill"))


def test_what_another_process_writes_is_seen(kb: KnowledgeBase) -> None:
    put(kb, "one", authors=("Ada Moor",))
    before = vocabulary_of(kb)
    with open_kb(kb.home, embedder=ReadableEmbedder()) as other:
        put(other, "two", authors=("Ben Hill",))
        after = vocabulary_of(kb)
        assert "benhill" in after.authors
        other.catalogue.collection_settings.set_settings("main", {"relations": {}})
        assert vocabulary_of(kb) is not after
        other.catalogue.remove_sources("main", ["file:///two"])
        assert "benhill" not in vocabulary_of(kb).authors
        assert vocabulary_of(kb).authors.get("moor", ()) == before.authors.get("moor", ())
        other.catalogue.remove_sources("main", ["file:///one"])
    assert vocabulary_of(kb).collections == ()


def test_what_is_unchanged_is_told_without_reading_its_documents(kb: KnowledgeBase) -> None:
    for number in range(200):
        put(kb, f"story {number}", authors=("Ada Moor",))
    steps = []
    database = Database(kb.home / CATALOGUE_FILE)
    with database.read() as connection:
        raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(lambda: steps.append(1), 1)
        stamps_of(connection)
        raw.set_progress_handler(None, 0)
    database.close()
    assert 0 < len(steps) < 200


def test_collections_are_read_apart(kb: KnowledgeBase) -> None:
    put(kb, "one", authors=("Ada Moor",))
    put(kb, "two", collection="other", authors=("Ben Hill",))
    assert "adamoor" not in vocabulary_of(kb, ["other"]).authors
    assert all(key in vocabulary_of(kb).authors for key in ("adamoor", "benhill"))
    assert vocabulary_of(kb, ["unknown"]).collections == ()


def test_part_of_a_name_is_a_name_when_one_person_has_it() -> None:
    found = people(["Ben Hill", "Ben Stone", "Cleo Ray", "Finance Committee of Oldwick", "Moth"])
    assert found["hill"] == ("Ben Hill",)
    assert found["cleo"] == ("Cleo Ray",)
    assert "ben" not in found
    assert found["moth"] == ("Moth",)
