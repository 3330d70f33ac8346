"""Counting and listing: exact, whole, within the limits; what texts say is left to the passages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, jsonl

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_catalogue, find
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

NEWS = [
    ("Osprey sails", "2025-01-05", "Ada Moss", "The ferry Osprey sails. The Osprey is quiet."),
    ("Bread prize", "2025-01-31", "Bo Reed", "The bakery of Ann won a prize for facilitating."),
    ("Ferries meet", "2025-02-01", "Ada Moss", "Two ferries met. A facilitator was there."),
    ("Night tram", "2025-02-28", "Bo Reed", "The night tram runs. The big boat rests."),
]
ENTITIES = {
    "osprey": "type: ship\ntitle: Ferry Osprey\naliases: [the big boat]\nsectors: [transport]\n"
    "scales: [large]\nrelations: [{type: run_by, target: council}]",
    "heron": "type: ship\ntitle: Ferry Heron\nsectors: [transport]\nscales: [small]\n"
    "relations: [{type: run_by, target: council}, {type: run_by, target: harbour-club}]",
    "council": "type: organisation\ntitle: Town Council\nsectors: [transport, food]\n"
    "scales: [large]",
}
TALK = """WEBVTT

00:00.000 --> 00:05.000
<v Ada Moss>Welcome to the meeting.

00:05.000 --> 00:09.000
<v Cem Dağ>Thank you for having me here.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    lines = [
        {"title": title, "published_at": day, "author": author, "text": text,
         "url": f"https://news.example/{number}", "source_type": "bulletin"}
        for number, (title, day, author, text) in enumerate(NEWS)
    ]  # fmt: skip
    entities = {
        f"{name}.md": f"---\nid: {name}\n{front}\n---\n\nAbout it.\n"
        for name, front in ENTITIES.items()
    }
    secret = {"title": "Secret Osprey", "text": "The Osprey, in secret.", "author": "Ada Moss"}
    return make_home(
        town={"news.jsonl": jsonl(lines), "talk.vtt": TALK, **entities},
        club={"secret.jsonl": jsonl([secret])},
    )


def read(kb: KnowledgeBase, text: str, filters: Filters) -> Analysis:
    known = vocabulary_of(kb, filters.collections)
    return analyse(Question(text=text, filters=filters), known, date(2025, 6, 1))


def ask(kb: KnowledgeBase, text: str, collections: tuple[str, ...] = ("town",)) -> AggregateResult:
    filters = Filters(collections=collections)
    found = find(kb, read(kb, text, filters))
    assert isinstance(found, AggregateResult)
    return found


def first(tally: AggregateResult) -> list[str]:
    return [row.cells[0] for row in tally.rows]


def test_every_document_of_a_kind_is_there_with_its_date_and_a_link(kb: KnowledgeBase) -> None:
    tally = ask(kb, "List all articles")
    assert tally.kind == "list"
    assert [row.cells[:2] for row in tally.rows] == [(title, day) for title, day, _, _ in NEWS]
    facts = kb.catalogue.facts([known for row in tally.rows for known in row.document_ids])
    assert [facts[row.document_ids[0]].title for row in tally.rows] == first(tally)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many articles are there?", 4),
        ("How many organizations are there?", 1),
        ("How many ships are there?", 2),
        ("How many entries are in the transport sector?", 3),
        ("How many small ships are there?", 1),
        ("How many authors are there?", 2),
        ("How many articles were written by Ada Moss?", 2),
        ("How many transcripts does Cem Dağ speak in?", 1),
        ("How many articles by Ada Moss were published in January 2025?", 1),
    ],
)
def test_counts_are_exact(kb: KnowledgeBase, question: str, number: int) -> None:
    tally = ask(kb, question)
    assert (tally.number, tally.kind) == (number, "count")
    assert f" {number} " in tally.sentence


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in the town?",
        "How many passengers does the Ferry Osprey carry?",
        "How many members does the Town Council have?",
        "How many articles did the Town Council ban?",
        "How many ships sank in the storm?",
        "List the ingredients of the bread",
    ],
)
def test_what_texts_say_is_not_counted(kb: KnowledgeBase, question: str) -> None:
    assert answer_from_catalogue(kb, read(kb, question, Filters(collections=("town",)))) is None


def test_a_count_can_be_divided(kb: KnowledgeBase) -> None:
    tally = ask(kb, "How many articles are there per month?")
    assert tally.number == 4
    assert [row.cells for row in tally.rows] == [
        ("2025-01", "2 articles"),
        ("2025-02", "2 articles"),
    ]
    assert [len(row.document_ids) for row in tally.rows] == [2, 2]
    assert "grouped by month, they form 2 groups" in tally.sentence
    by_author = ask(kb, "How many articles are there per author?")
    assert first(by_author) == ["Ada Moss", "Bo Reed"]


def test_an_entity_is_named_by_any_of_its_names_or_by_a_part_of_one(kb: KnowledgeBase) -> None:
    tally = ask(kb, "List all articles that mention the Ferry Osprey")
    assert first(tally) == ["Osprey sails", "Night tram"]
    part = ask(kb, "How many articles mention Osprey?")
    assert first(part) == ["Osprey sails", "Night tram"]
    assert part.rows[0].cells[-1] == "3 times"  # once in the title


def test_mentioned_is_literal_and_about_takes_any_form(kb: KnowledgeBase) -> None:
    assert first(ask(kb, 'How many articles mention "facilitators"?')) == ["Ferries meet"]
    about = ask(kb, "How many articles are about facilitators?")
    assert first(about) == ["Bread prize", "Ferries meet"]
    assert "any form" in about.method


def test_another_collection_is_never_counted(kb: KnowledgeBase) -> None:
    assert ask(kb, "How many articles mention Osprey?").number == 2
    everywhere = ask(kb, "How many articles mention Osprey?", collections=())
    assert everywhere.number == 3
    names = ask(kb, "How many collections are there?")
    assert first(names) == ["town"]


def test_the_askers_own_limits_are_kept(kb: KnowledgeBase) -> None:
    filters = Filters(
        collections=("town",),
        published_from=datetime(2025, 2, 1, tzinfo=UTC),
        published_to=datetime(2025, 2, 28, tzinfo=UTC),
        authors=("bo reed",),
    )
    found = find(kb, read(kb, "How many articles are there?", filters))
    assert isinstance(found, AggregateResult)
    assert first(found) == ["Night tram"]
    assert "from 2025-02-01 to 2025-02-28" in found.method


@pytest.mark.parametrize(
    "question",
    [
        "How many articles mention the Osprey?",
        "Which articles mention the Osprey?",
    ],
)
def test_one_query_has_one_set_of_rows_in_every_wording(kb: KnowledgeBase, question: str) -> None:
    tally = ask(kb, question)
    # The big boat is the Osprey, too: it is an alias of hers.
    assert first(tally) == ["Osprey sails", "Night tram"]
    assert tally.number == 2
    quoted = [place for row in tally.rows for place in row.places]
    texts = kb.catalogue.texts([(place.document_id, place.span) for place in quoted])
    assert texts == ["The ferry Osprey sails.", "The big boat rests."]
