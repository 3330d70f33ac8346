"""The graph: names resolved, edges in both directions, ways between, and what is not there yet."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.store.made import put

from wellread.identity import document_id, version_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import FoundName, forget_described
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.text.tokens import loose_key, strict_key
from wellread.types import Document, EntityFacts, Relation, Span

RELATIONS = {
    "relations": {
        "uses": {"inverse": "used_by", "words": ["uses", "relies on"]},
        "see_also": {"inverse": "see_also"},
    }
}


def entity(
    known: str,
    *relations: tuple[str, str],
    title: str = "",
    aliases: Sequence[str] = (),
    sort: str = "tool",
    collection: str = "main",
    **fields: Any,
) -> Document:
    facts = EntityFacts(
        entity_id=known,
        entity_type=sort,
        aliases=tuple(aliases),
        relations=tuple(Relation(type=name, target=target) for name, target in relations),
    )
    fields = {"uri": f"file:///{collection}/{known}.md", "text": f"About {known}."} | fields
    return Document(
        collection=collection, kind="entity", title=title or known, entity=facts, **fields
    )


def article(name: str, text: str = "Nothing.", **fields: Any) -> Document:
    fields = {"collection": "main", "uri": f"file:///main/{name}"} | fields
    return Document(kind="article", title=name, text=text, **fields)


def ids(catalogue: Catalogue, name: str, *collections: str) -> list[str]:
    return [node.id for node in catalogue.graph.resolve(collections or ["main"], name)]


def read(found: Sequence[Neighbour]) -> list[tuple[str, str, bool]]:
    return [(one.relation, one.name, one.known) for one in found]


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "tide-array",
        "TIDE-ARRAY",
        "Gezeitenstraße  Nord",
        "gezeitenstrasse nord",
        "The Narrows",
        "narrows",
        "Cafe\u0301 scheme",  # decomposed
        "Tide arrays",  # plural of a spelling with a space
        "tidearray",
        "https://www.sound.example/tide/",
        "/tide",
        "/tide/#cost",
        "file:///main/tide-array.md",
        "Tidal Energy Scheme",
        "TES",
    ],
)
def test_an_entity_is_found_by_whatever_it_is_called(catalogue: Catalogue, name: str) -> None:
    tide = entity(
        "tide-array",
        title="Gezeitenstraße Nord",
        aliases=["the Narrows", "Café scheme", "Tidal Energy Scheme (TES)"],
        url="https://sound.example/tide",
    )
    put(catalogue, tide, entity("ferry"))
    assert ids(catalogue, name) == ["tide-array"]


def test_better_names_come_first_and_unlike_names_find_nothing(catalogue: Catalogue) -> None:
    put(
        catalogue,
        entity("z", aliases=["Harbour"]),
        entity("y", title="Harbour"),
        entity("harbour"),
    )
    assert ids(catalogue, "harbour") == ["harbour", "y", "z"]
    assert ids(catalogue, "Harbour") == ["harbour", "y", "z"]
    assert ids(catalogue, "harbour master") == []
    assert ids(catalogue, "") == []
    assert ids(catalogue, "harbour", "elsewhere") == []


def test_a_loose_spelling_that_fits_two_entities_finds_neither(catalogue: Catalogue) -> None:
    put(catalogue, entity("a", title="tool-box"))
    assert ids(catalogue, "Tool Boxes") == ["a"]
    put(catalogue, entity("b", title="toolbox"))
    assert ids(catalogue, "Tool Boxes") == []
    assert ids(catalogue, "tool-box") == ["a"]


def test_several_documents_describe_one_entity_with_all_their_names(catalogue: Catalogue) -> None:
    put(
        catalogue,
        entity("ferry", title="Ferry", uri="file:///main/1"),
        entity("ferry", title="Fähre", aliases=["Boot"], uri="file:///main/2"),
    )
    (node,) = catalogue.graph.resolve(["main"], "boot")
    assert (node.title, node.aliases, len(node.documents)) == ("Ferry", ("Fähre", "Boot"), 2)
    assert node.documents[0] == node.document_id == document_id("main", "file:///main/1")
    assert ids(catalogue, "fähre") == ["ferry"]


@given(st.text(min_size=1, max_size=20))
def test_keys_do_not_depend_on_case_or_spaces(name: str) -> None:
    assert strict_key(f"  {name} ") == strict_key(name)
    assert strict_key(strict_key(name)) == strict_key(name) or strict_key(name).startswith(
        ("the ", "a ", "an ")
    )
    assume(strict_key((name.split() or [""])[0]) not in ("the", "a", "an"))  # "A-levels" keeps it
    assert loose_key(name.replace(" ", "-")) == loose_key(name)


# --- edges -----------------------------------------------------------------------------------


def test_edges_are_read_from_both_ends_with_inverse_names(catalogue: Catalogue) -> None:
    catalogue.collection_settings.set_settings("main", RELATIONS)
    put(
        catalogue,
        entity("ferry", ("uses", "Battery"), ("moors_at", "pier"), title="Ferry"),
        entity("battery", ("see_also", "pier"), title="Battery"),
        entity("pier", title="Pier"),
    )
    graph = catalogue.graph
    assert read(graph.neighbours(["main"], "ferry")) == [
        ("moors_at", "Pier", True),
        ("uses", "Battery", True),
    ]
    assert read(graph.neighbours(["main"], "battery")) == [
        ("see_also", "Pier", True),
        ("used_by", "Ferry", True),
    ]
    assert read(graph.neighbours(["main"], "pier")) == [
        ("see_also", "Battery", True),
        ("← moors_at", "Ferry", True),
    ]
    assert {(edge.type, edge.source, edge.target) for edge in graph.edges([])} == {
        ("uses", "ferry", "battery"),
        ("moors_at", "ferry", "pier"),
        ("see_also", "battery", "pier"),
    }
    kinds = {kind.type: (kind.inverse, kind.words) for kind in graph.relation_types(["main"])}
    assert kinds["uses"] == ("used_by", ("uses", "relies on"))
    assert kinds["moors_at"] == ("← moors_at", ())


def test_types_and_direction_choose_edges_by_either_name(catalogue: Catalogue) -> None:
    catalogue.collection_settings.set_settings("main", RELATIONS)
    put(
        catalogue,
        entity("a", ("uses", "b"), ("see_also", "c"), ("near", "d")),
        entity("b", ("uses", "c")),
        entity("c"),
        entity("d"),
    )

    def names(known: str, *types: str, direction: Any = "both") -> list[str]:
        found = catalogue.graph.neighbours(["main"], known, types or None, direction)
        return [one.name for one in found]

    assert names("b") == ["c", "a"]
    assert names("b", "uses") == ["c", "a"]
    assert names("b", "uses", direction="out") == ["c"]
    assert names("b", "uses", direction="in") == ["a"]
    assert names("b", "used_by", direction="out") == ["a"]
    assert names("b", "used_by", direction="in") == ["c"]
    assert names("c", "see_also", direction="out") == ["a"]  # has no direction
    assert names("d", "near", direction="out") == []
    assert names("d", "near", direction="in") == ["a"]
    assert names("b", "near", "see_also") == []


def test_what_two_documents_say_of_one_edge_is_one_edge(catalogue: Catalogue) -> None:
    catalogue.collection_settings.set_settings("main", RELATIONS)
    put(
        catalogue,
        entity("a", ("uses", "b"), ("see_also", "b"), ("uses", "B"), ("uses", "a")),
        entity("b", ("used_by", "a"), ("see_also", "a")),
    )
    assert read(catalogue.graph.neighbours(["main"], "a")) == [
        ("see_also", "b", True),
        ("uses", "b", True),
    ]
    assert catalogue.graph.degrees(["main"]) == {("main", "a"): 2, ("main", "b"): 2}


def test_an_edge_to_what_is_not_there_becomes_whole_when_it_arrives(catalogue: Catalogue) -> None:
    put(catalogue, entity("ferry", ("moors_at", "The Old Pier"), ("moors_at", "old  pier")))
    (waiting,) = catalogue.graph.neighbours(["main"], "ferry")
    assert (waiting.name, waiting.node, waiting.edge.known) == ("The Old Pier", None, False)
    put(catalogue, entity("pier-7", aliases=["Old pier"]))
    (whole,) = catalogue.graph.neighbours(["main"], "ferry")
    assert (whole.name, whole.edge.target, whole.edge.known) == ("pier-7", "pier-7", True)
    assert read(catalogue.graph.neighbours(["main"], "pier-7")) == [("← moors_at", "ferry", True)]
    catalogue.remove_documents([document_id("main", "file:///main/pier-7.md")])
    assert read(catalogue.graph.neighbours(["main"], "ferry")) == [
        ("moors_at", "The Old Pier", False)
    ]
    assert catalogue.graph.neighbours(["main"], "pier-7") == []


@pytest.mark.parametrize(
    "target",
    [
        "/en/letters/2018/06/08/",
        "/en/letters/2018/06/08/#news",
        "https://sound.example/en/letters/2018/06/08",
        "../letters/8.md#news",
    ],
)
def test_an_edge_may_point_to_an_address(catalogue: Catalogue, target: str) -> None:
    letter = entity(
        "letter-8",
        uri="file:///main/letters/8.md",
        url="https://www.sound.example/en/letters/2018/06/08/",
    )
    put(catalogue, letter, entity("t", ("in", target), uri="file:///main/topics/t.md"))
    assert [one.edge.target for one in catalogue.graph.neighbours(["main"], "t")] == ["letter-8"]


def test_a_graph_ends_at_the_border_of_its_collection(catalogue: Catalogue) -> None:
    put(
        catalogue,
        entity("a", ("uses", "b"), collection="one"),
        entity("b", collection="two"),
        entity("a", sort="place", collection="two"),
    )
    assert read(catalogue.graph.neighbours([], "a")) == [("uses", "b", False)]
    assert catalogue.graph.paths([], "a", "b") == []
    assert [(node.collection, node.type) for node in catalogue.graph.resolve([], "a")] == [
        ("one", "tool"),
        ("two", "place"),
    ]
    assert [node.id for node in catalogue.graph.entities(["two"])] == ["a", "b"]
    assert [node.collection for node in catalogue.graph.entities([], ["tool"])] == ["one", "two"]
    found = catalogue.graph.entity("two", "b")
    assert found is not None
    assert found.collection == "two"
    assert catalogue.graph.entity("one", "b") is None


# --- ways ------------------------------------------------------------------------------------


def chain(catalogue: Catalogue) -> None:
    catalogue.collection_settings.set_settings("main", RELATIONS)
    put(
        catalogue,
        entity("a", ("uses", "b"), ("uses", "x")),
        entity("b", ("uses", "c")),
        entity("c", ("uses", "d")),
        entity("d", ("uses", "e")),
        entity("e", ("uses", "f")),
        entity("f"),
        entity("x", ("uses", "gone")),
        entity("y", ("uses", "gone"), ("see_also", "c")),
    )


def shown(catalogue: Catalogue, start: str, end: str, hops: int = 4) -> list[list[tuple[str, str]]]:
    paths = catalogue.graph.paths(["main"], start, end, hops)
    return [[(step.relation, step.name) for step in path.steps] for path in paths]


def test_ways_explain_themselves_and_the_shortest_come_first(catalogue: Catalogue) -> None:
    chain(catalogue)
    put(catalogue, entity("z", ("uses", "a"), ("see_also", "c")))
    assert shown(catalogue, "c", "a") == [
        [("used_by", "b"), ("used_by", "a")],
        [("see_also", "z"), ("uses", "a")],
    ]
    assert shown(catalogue, "a", "c", hops=1) == []
    paths = catalogue.graph.paths(["main"], "a", "c", limit=1)
    assert [path.start.id for path in paths] == ["a"]


def test_ways_are_bounded_simple_and_pass_through_known_entities_only(catalogue: Catalogue) -> None:
    chain(catalogue)
    assert [len(way) for way in shown(catalogue, "a", "e")] == [4]
    assert shown(catalogue, "a", "f", hops=9) == []  # five edges
    assert shown(catalogue, "x", "y") == [
        [("used_by", "a"), ("uses", "b"), ("uses", "c"), ("see_also", "y")]
    ]
    assert shown(catalogue, "a", "a") == []
    assert shown(catalogue, "a", "nobody") == []


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16), st.integers(1, 4))
def test_ways_are_those_that_a_plain_search_finds(
    tmp_path_factory: pytest.TempPathFactory, pairs: set[tuple[int, int]], hops: int
) -> None:
    from wellread.store.catalogue.documents.entity_nodes import EntityNode, NodeFinder
    from wellread.store.catalogue.documents.relation_network import (
        Network,
        RelationNames,
        RelationRow,
    )

    nodes = [
        EntityNode(
            collection="c",
            id=str(number),
            type="",
            title=str(number),
            aliases=(),
            document_id="d",
            documents=("d",),
            url="",
        )
        for number in range(8)
    ]
    rows = [RelationRow(str(a), "to", str(b), "") for a, b in sorted(pairs)]
    network = Network("c", NodeFinder(nodes), rows, RelationNames(None))
    expected: set[tuple[str, ...]] = set()
    around: dict[str, set[tuple[str, str]]] = {str(number): set() for number in range(8)}
    for a, b in pairs:
        if a != b:
            around[str(a)].add((str(b), "to"))
            around[str(b)].add((str(a), "← to"))

    def walk(way: tuple[str, ...]) -> None:
        if way[-1] == "1":
            expected.add(way)
        elif len(way) <= 2 * hops:
            for other, name in around[way[-1]]:
                if other not in way[::2]:
                    walk((*way, name, other))

    walk(("0",))
    found = network.paths("0", "1", hops, 10_000)
    said = [
        ("0", *(word for step in path.steps for word in (step.relation, step.name)))
        for path in found
    ]
    assert set(said) == expected
    assert len(said) == len(expected)
    assert [len(path.steps) for path in found] == sorted(len(path.steps) for path in found)


# --- what is held in memory ------------------------------------------------------------------


def test_changes_are_seen_at_once_also_those_of_another_process(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    other = Catalogue.open(tmp_path / "catalogue.db")
    try:
        put(other, entity("a", ("uses", "b"), title="First"))
        assert ids(catalogue, "first") == ["a"]
        put(other, entity("a", ("uses", "b"), title="Second"))
        assert ids(catalogue, "first") == []
        assert ids(catalogue, "second") == ["a"]
        put(catalogue, entity("b", title="Own"))
        assert ids(catalogue, "own") == ["b"]
        assert ids(other, "own") == ["b"]
        other.collection_settings.set_settings("main", RELATIONS)
        assert read(catalogue.graph.neighbours(["main"], "b")) == [("used_by", "Second", True)]
        other.remove_documents([document_id("main", "file:///main/a.md")])
        assert ids(catalogue, "second") == []
    finally:
        other.close()


def test_many_threads_read_while_one_writes(catalogue: Catalogue) -> None:
    put(catalogue, entity("hub"))
    stop = threading.Event()
    counts: list[list[int]] = [[], [], []]

    def look(mine: list[int]) -> None:
        while not (stop.is_set() and mine):
            mine.append(len(catalogue.graph.neighbours(["main"], "hub")))

    threads = [threading.Thread(target=look, args=(mine,)) for mine in counts]
    for thread in threads:
        thread.start()
    for number in range(20):
        put(catalogue, entity(f"e{number}", ("uses", "hub")))
    stop.set()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine) for mine in counts)
    assert len(catalogue.graph.neighbours(["main"], "hub")) == 20


# --- mentions --------------------------------------------------------------------------------


def name_places(catalogue: Catalogue, document: Document, *places: tuple[str, int, int]) -> None:
    known = document_id(document.collection, document.uri)
    version = version_of(document.text, document.marks)
    found = [
        FoundName(entity_id=one, span=Span(start=start, end=end), name=one)
        for one, start, end in places
    ]
    catalogue.graph.scans.keep("n1", {(known, version): found})


def test_mentions_are_read_by_entity_by_document_and_by_period(catalogue: Catalogue) -> None:
    old = article("old", "Osprey left.", published_at=datetime(2024, 11, 30, tzinfo=UTC))
    new = article("new", "Osprey, Osprey, pier", published_at=datetime(2025, 2, 3, tzinfo=UTC))
    undated = article("undated", "Osprey")
    put(catalogue, entity("osprey"), entity("pier"), old, new, undated)
    name_places(catalogue, old, ("osprey", 0, 6))
    name_places(catalogue, new, ("osprey", 0, 6), ("osprey", 8, 14), ("pier", 16, 20))
    name_places(catalogue, undated, ("osprey", 0, 6), ("ghost", 0, 6))
    graph = catalogue.graph
    documents = graph.documents_mentioning(["main"], "osprey")
    assert [(one.document.title, one.mentions, one.first.start) for one in documents] == [
        ("new", 2, 0),
        ("old", 1, 0),
        ("undated", 1, 0),
    ]
    total = graph.mention_total(["main"], "osprey")
    assert (total.documents, total.mentions) == (3, 4)
    assert graph.mention_totals([])["main", "osprey"] == total
    inside = graph.entities_in(document_id("main", "file:///main/new"))
    assert [(one.node.id, len(one.places)) for one in inside] == [("osprey", 2), ("pier", 1)]
    undated_id = document_id("main", undated.uri)
    assert [one.node.id for one in graph.entities_in(undated_id)] == ["osprey"]  # no ghosts


def test_mentions_of_a_text_that_changed_do_not_count(catalogue: Catalogue) -> None:
    note = article("note", "Osprey left.")
    put(catalogue, entity("osprey"), note)
    name_places(catalogue, note, ("osprey", 0, 6))
    put(catalogue, article("note", "She left. It was the Osprey."))
    assert catalogue.graph.mention_total(["main"], "osprey").documents == 0
    assert catalogue.graph.entities_in(document_id("main", note.uri)) == []
    # Nor is anything kept that was found in a version that is not live any more.
    name_places(catalogue, note, ("osprey", 0, 6))
    assert stored(catalogue) == set()


def stored(catalogue: Catalogue) -> set[tuple[str, str]]:
    from sqlalchemy import select

    from wellread.store.schema.tables import mentions

    with catalogue._database.read() as connection:
        rows = connection.execute(select(mentions.c.document_id, mentions.c.entity_id)).all()
    return {(row[0], row[1]) for row in rows}


def test_nothing_is_left_of_a_removed_document_or_a_forgotten_entity(catalogue: Catalogue) -> None:
    note, twin = article("note", "Osprey"), article("x", "Osprey", collection="other")
    put(catalogue, entity("osprey"), entity("pier"), note, twin)
    for one in (note, twin):
        name_places(catalogue, one, ("osprey", 0, 6), ("pier", 0, 6))
    catalogue.remove_documents([document_id("main", entity("osprey").uri)])
    here, there = document_id("main", note.uri), document_id("other", twin.uri)
    assert stored(catalogue) == {(here, "pier"), (there, "osprey"), (there, "pier")}
    catalogue.remove_documents([there])
    assert stored(catalogue) == {(here, "pier")}


def test_an_entity_is_forgotten_with_the_last_document_that_describes_it(
    catalogue: Catalogue,
) -> None:
    note = article("note", "Osprey")
    first, second = entity("osprey"), entity("osprey", uri="file:///main/second")
    put(catalogue, first, second, entity("pier"), note)
    name_places(catalogue, note, ("osprey", 0, 6), ("pier", 0, 6))
    known = [document_id("main", one.uri) for one in (first, second)]
    with catalogue._database.write() as connection:
        forget_described(connection, known[:1])
    assert len(stored(catalogue)) == 2
    with catalogue._database.write() as connection:
        forget_described(connection, known)
    assert {one for _, one in stored(catalogue)} == {"pier"}
