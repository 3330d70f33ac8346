"""The tools of a researching model: what they find, and that none widens the question's limits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from wellread.kb import KnowledgeBase
from wellread.models.base import ToolCall
from wellread.research.tools import (
    ARGUMENT_TYPES,
    Outcome,
    Toolbox,
    parse_tool_call,
    read_arguments,
    tool_definitions,
)
from wellread.types import Filters

TALK = "Roof"
TOWN = Filters(collections=("town",))


def run(kb: KnowledgeBase, tool: str, filters: Filters = TOWN, /, **arguments: Any) -> Outcome:
    call = ToolCall(id="1", name=tool, arguments=json.dumps(arguments))
    return Toolbox(kb, filters).run(read_arguments(parse_tool_call(call)))


def texts(outcome: Outcome) -> str:
    assert not outcome.refused, outcome.refused
    return "\n".join(item.text for item in outcome.items)


def document_id(kb: KnowledgeBase, collection: str, title: str) -> str:
    return next(one.id for one in kb.catalogue.documents(collection) if one.title == title)


def passage_id(kb: KnowledgeBase, document: str) -> str:
    return kb.catalogue.passages_of([document])[0].id


def test_every_tool_is_offered_with_a_schema() -> None:
    offered = {tool.name: tool for tool in tool_definitions()}
    assert set(offered) == set(ARGUMENT_TYPES)
    for tool in offered.values():
        assert tool.description
        assert tool.parameters["additionalProperties"] is False
        assert "collection" not in tool.parameters["properties"]
        json.dumps(tool.parameters)


def test_what_they_find(kb: KnowledgeBase) -> None:
    assert "2.6 million" in texts(run(kb, "search", query="ferry Osprey bought"))
    inside = run(kb, "search_document", document="The shipyard Calder", query="owner")
    assert "Tom Brack" in texts(inside)
    assert {item.document.title for item in inside.items} == {"The shipyard Calder"}
    assert "repaired in March" in texts(run(kb, "search_speaker", name="ben", query="roof"))
    assert "new engine" in texts(run(kb, "search_dates", start="2026-02", end="2026-02"))
    club = run(kb, "look_up_entity", name="Rowing Club")
    assert "uses: The Boathouse" in club.notes
    assert "trains on the river" in texts(club)
    said = run(kb, "read_transcript", document="roof", speaker="Ana", start="2:00")
    assert [item.text for item in said.items] == [
        "Ana: The ferry Osprey pays for half of the roof."
    ]
    assert said.hits
    yard = document_id(kb, "town", "The shipyard Calder")
    assert "eleven ferries" in texts(run(kb, "read_around", passage=passage_id(kb, yard)))
    assert [item.document.title for item in run(kb, "list_recordings").items] == [TALK]
    assert "broke down" in texts(run(kb, "read_timeline", name="town", end="2026-01"))


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("open_url", "{}", "there is no tool"),
        ("search", "{", "not JSON"),
        ("search", "[1]", "not a JSON object"),
        ("search", "{}", "query is missing"),
        ("search", '{"query": ""}', "query"),
        ("search", '{"query": "x", "collection": "secret"}', "collection is not known"),
        ("search", '{"query": "x", "limit": 1000}', "limit"),
        ("search", '{"query": {"a": 1}}', "query"),
        ("search", "[" * 100_000, "not JSON"),
    ],
)
def test_bad_arguments_are_told(name: str, arguments: str, says: str) -> None:
    asked = parse_tool_call(ToolCall(id="1", name=name, arguments=arguments))
    with pytest.raises(ValueError, match=says) as caught:
        read_arguments(asked)
    assert len(str(caught.value)) <= 300 + 200


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_document", {"document": "no such thing", "query": "x"}),
        ("search_speaker", {"name": "Nobody Atall"}),
        ("search_dates", {}),
        ("search_dates", {"start": "soonish"}),
        ("read_transcript", {"document": "roof", "start": "noon"}),
        ("look_up_entity", {"name": "Nobody Atall"}),
        ("read_transcript", {"document": "The shipyard Calder"}),
        ("read_around", {"passage": "p99"}),
        ("read_timeline", {"name": "Nobody Atall"}),
        ("read_timeline", {"name": "town", "start": "2026", "end": "2025"}),
    ],
)
def test_what_is_not_there_is_told(kb: KnowledgeBase, name: str, arguments: dict[str, str]) -> None:
    outcome = run(kb, name, **arguments)
    assert outcome.refused
    assert not outcome.hits


def test_no_collection_but_the_questions_is_reached(kb: KnowledgeBase) -> None:
    ledger = document_id(kb, "secret", "Secret ledger")
    passage = passage_id(kb, ledger)
    everything = Filters()
    assert "bribes" in texts(run(kb, "search", everything, query="secret ledger bribes"))
    for name, arguments in reaching(ledger, passage):
        outcome = run(kb, name, **arguments)
        shown = json.dumps([outcome.refused, outcome.notes, [item.text for item in outcome.items]])
        assert "bribes" not in shown, name
        assert all(item.document.collection == "town" for item in outcome.items)


def reaching(document: str, passage: str) -> list[tuple[str, dict[str, Any]]]:
    """Every tool, with arguments that point outside."""
    return [
        ("search", {"query": "secret ledger bribes"}),
        ("search_document", {"document": document, "query": "bribes"}),
        ("search_document", {"document": "Secret ledger", "query": "bribes"}),
        ("search_speaker", {"name": "Ana", "query": "bribes"}),
        ("search_dates", {"start": "1900", "query": "bribes"}),
        ("look_up_entity", {"name": "Secret ledger"}),
        ("read_transcript", {"document": document}),
        ("read_around", {"passage": passage}),
        ("list_recordings", {}),
        ("read_timeline", {"name": "secret"}),
        ("read_timeline", {"name": "Osprey"}),
    ]


@pytest.mark.parametrize(
    "filters",
    [
        Filters(kinds=("article",)),
        Filters(published_from=datetime(2026, 2, 1, tzinfo=UTC)),
        Filters(collections=("town",), kinds=("article",)),
    ],
    ids=["kind", "date", "both"],
)
def test_no_other_limit_is_widened(kb: KnowledgeBase, filters: Filters) -> None:
    yard = document_id(kb, "town", "The shipyard Calder")
    calls = [
        *reaching(yard, passage_id(kb, yard)),
        ("search", {"query": "ferry Osprey"}),
        ("look_up_entity", {"name": "Rowing Club"}),
        ("search_speaker", {"name": "Ben"}),
        ("read_transcript", {"document": "roof"}),
        ("search_dates", {"start": "2020", "end": "2030", "query": "ferry"}),
        ("read_timeline", {"name": "town"}),
    ]
    found = 0
    for name, arguments in calls:
        outcome = run(kb, name, filters, **arguments)
        found += len(outcome.items)
        assert {item.document.kind for item in outcome.items} <= {"article"}, name
        assert "Calder" not in outcome.refused.replace(str(arguments), ""), name
        if filters.published_from:
            assert all(
                item.document.published_at and item.document.published_at >= filters.published_from
                for item in outcome.items
            )
    assert found


def test_a_limit_to_a_speaker_holds_everywhere(kb: KnowledgeBase) -> None:
    only_ben = Filters(collections=("town",), speakers=("Ben",))
    talk = document_id(kb, "town", TALK)
    for name, arguments in (
        ("search", {"query": "boathouse roof"}),
        ("search_speaker", {"name": "Ben"}),
        ("read_transcript", {"document": talk}),
        ("search_document", {"document": talk, "query": "roof"}),
    ):
        outcome = run(kb, name, only_ben, **arguments)
        assert outcome.items, name
        assert "pays for half" not in texts(outcome), name
    assert "outside the limits" in run(kb, "search_speaker", only_ben, name="Ana").refused


def test_a_limit_to_documents_holds_everywhere(kb: KnowledgeBase) -> None:
    ferry = document_id(kb, "town", "The ferry Osprey")
    yard = document_id(kb, "town", "The shipyard Calder")
    only = Filters(document_ids=(ferry,))
    assert {item.document.id for item in run(kb, "search", only, query="ferry Calder").items} == {
        ferry
    }
    assert run(kb, "search_document", only, document=yard, query="owner").refused
    assert not run(kb, "read_around", only, passage=passage_id(kb, yard)).items
