"""Ids: the same on every machine, different for everything that differs."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.identity import document_id, facts_of, passage_id, tagged_hash, version_of
from wellread.types import (
    Box,
    Document,
    EntityFacts,
    HeadingMark,
    LineMark,
    Mark,
    PageMark,
    PastQuestion,
    Relation,
    SentenceFeedback,
    Span,
    SpeakerMark,
    TimeMark,
)

PARTS = st.lists(st.text(max_size=6), max_size=4)
DOCUMENT = Document(
    collection="main",
    uri="file:///ferry.md",
    kind="page",
    title="Ferry",
    text="The ferry.",
    published_at=datetime(2025, 9, 23, tzinfo=UTC),
    taxonomy={"sectors": ("energy", "sea"), "scales": ("town",)},
    entity=EntityFacts(entity_id="ferry", relations=(Relation(type="part_of", target="sound"),)),
    past_question=PastQuestion(
        question="When?", sentences=(SentenceFeedback(score=3, explanation="late"),)
    ),
)


@given(PARTS, PARTS)
def test_different_parts_give_different_hashes(one: list[str], other: list[str]) -> None:
    assert (tagged_hash("t", *one) == tagged_hash("t", *other)) == (one == other)


def test_the_tag_counts_and_stands_in_front() -> None:
    one, other = tagged_hash("doc", "x"), tagged_hash("ver", "x")
    assert one.startswith("doc_")
    assert len(one) == len("doc_") + 24
    assert one.removeprefix("doc_") != other.removeprefix("ver_")
    assert tagged_hash("doc") != tagged_hash("doc", "") != tagged_hash("doc", "", "")


def test_ids_are_what_they_always_were() -> None:
    """A change here makes every stored id, every link and every citation point nowhere."""
    assert tagged_hash("doc", "a", 1) == "doc_8eec565d15d70f929ff26cab"
    assert document_id("main", "file:///ferry.md") == "doc_d723ebbad849ce3ff525ca26"
    assert (
        version_of("The ferry.", (LineMark(start=0, end=10, line=1),))
        == "ver_4e793e006c142de7ea0b2b33"
    )
    assert passage_id("doc_1", "ver_1", Span(start=0, end=10)) == "psg_04da958b57c7daa88aa2bba6"
    assert facts_of(DOCUMENT) == "fct_28b45e6aa76360b8cf05cfbb"


MARKS: list[Mark] = [
    PageMark(start=0, end=5, page=1),
    PageMark(start=0, end=5, page=2),
    PageMark(start=0, end=5, page=1, box=Box(left=0, top=0, right=1, bottom=0.5)),
    PageMark(start=0, end=6, page=1),
    PageMark(start=1, end=5, page=1),
    TimeMark(start=0, end=5, begin=1.0),
    TimeMark(start=0, end=5, begin=1.0, finish=2.0),
    SpeakerMark(start=0, end=5, speaker="Ana"),
    SpeakerMark(start=0, end=5, speaker="Ben"),
    HeadingMark(start=0, end=5, path=("Ana",)),
    HeadingMark(start=0, end=5, path=("Ana", "Ben")),
    LineMark(start=0, end=5, line=1),
]


def test_a_version_knows_the_text_and_every_mark() -> None:
    versions = [version_of("words", (mark,)) for mark in MARKS]
    versions += [version_of("words", ()), version_of("wordS", ()), version_of("words", (*MARKS,))]
    assert len(set(versions)) == len(versions)
    assert version_of("words", (*MARKS,)) == version_of("words", (*MARKS,))


CHANGES: dict[str, list[Any]] = {
    "kind": ["article"],
    "title": ["Ferries"],
    "url": ["https://x.example"],
    "source_type": ["rss"],
    "language": ["en"],
    "authors": [("Ana",), ("Ana", "Ben"), ("Ben", "Ana")],
    "published_at": [None, datetime(2025, 9, 23, 1, tzinfo=UTC)],
    "summary": ["Short."],
    "media_url": ["https://x.example/a.mp3"],
    "taxonomy": [{}, {"sectors": ("energy",), "scales": ("town",)}, {"sectors": ("sea", "energy")}],
    "entity": [
        None,
        EntityFacts(entity_id="ferry"),
        EntityFacts(entity_id="ferry", relations=(Relation(type="near", target="sound"),)),
        EntityFacts(entity_id="ferry", aliases=("Osprey",)),
        EntityFacts(entity_id="ferry", entity_type="ship"),
    ],
    "past_question": [
        None,
        PastQuestion(question="When?"),
        PastQuestion(question="When?", score=3),
        PastQuestion(question="When?", sentences=(SentenceFeedback(score=4, explanation="late"),)),
    ],
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_facts_know_every_field(name: str) -> None:
    hashes = [facts_of(replace(DOCUMENT, **{name: value})) for value in CHANGES[name]]
    assert len({facts_of(DOCUMENT), *hashes}) == len(hashes) + 1


def test_no_field_of_a_document_is_forgotten() -> None:
    """A new field belongs to the identity, the version, or the facts."""
    elsewhere = {"collection", "uri", "text", "marks", "transcript_url"}
    assert {field.name for field in fields(Document)} == elsewhere | set(CHANGES)
    for change in ({"text": "Other."}, {"marks": (MARKS[0],)}, {"uri": "file:///other"}):
        changed: Any = change
        assert facts_of(replace(DOCUMENT, **changed)) == facts_of(DOCUMENT)
