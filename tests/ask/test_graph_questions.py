"""Questions about the graph, through the strategy: a small theatre with typed relations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_graph, clear_relation
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

TODAY = date(2026, 5, 1)
SETTINGS = """\
relations:
  needs: {inverse: needed_for, words: [cannot open without]}
  played_in: {inverse: shows}
  see_also: {inverse: see_also, words: [related to]}
  paid_by: {inverse: pays_for}
  owns: {inverse: owned_by}
  precedes: {inverse: comes_after}
rules:
"""
RULE = """\
  - match: "{sort}/*.md"
    kind: entity
    id: "{{file.stem}}"
    type: {sort}
    aliases: [aliases]
    taxonomy: {{season: season}}
    relations:
      - {{type: needs, from: needs}}
      - {{type: played_in, from: played_in}}
      - {{type: see_also, from: see_also}}
      - {{type: paid_by, from: paid_by}}
      - {{type: owns, from: owns}}
      - {{type: precedes, from: precedes}}
"""
SORTS = ("play", "device", "group", "stage")
# Name, front matter, text.
ENTRIES = (
    ("tempest-night", "sort: play\nseason: [winter]\nneeds: [wind-machine, fog-box, sea-cloth]\n"
     "played_in: [round-hall]\nprecedes: [paper-moon]\nsee_also: [paper-moon]\n"
     "aliases: [the storm play]", "A play about a storm. It needs the wind machine."),
    ("paper-moon", "sort: play\nseason: [winter]\nneeds: [fog-box]\nplayed_in: [barn-stage]\n"
     "precedes: [kite-song]", "A play about a moon made of paper."),
    ("kite-song", "sort: play\nseason: [summer]\nneeds: [wind-machine]\nplayed_in: [barn-stage]",
     "A play about a kite in the wind."),
    ("wind-machine", "sort: device\nneeds: [big-motor]\npaid_by: [lamp-club]",
     "The wind machine blows over the stage."),
    ("fog-box", "sort: device\npaid_by: [lamp-club]\nsee_also: [wind-machine]",
     "The fog box makes fog from water."),
    ("big-motor", "sort: device", "A motor that turns anything."),
    ("lamp-club", "sort: group\nowns: [barn-stage]\naliases: [friends of lamp light]",
     "A club of friends who give money."),
    ("round-hall", "sort: stage", "A round hall with old seats."),
    ("barn-stage", "sort: stage", "A stage in a barn."),
    ("moth", "sort: play", "A play about a moth."),
    ("moth-lamp", "sort: device\naliases: [Moth]\nneeds: [big-motor]", "A lamp like a moth."),
)  # fmt: skip


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("theatre")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as opened:
        write(root / "open", ENTRIES)
        add(opened, [str(root / "open")], collection="open")
        secret = (("secret-play", "sort: play\nneeds: [wind-machine]", "Nobody may know."),
                  ("wind-machine", "sort: device\npaid_by: [hidden-donor]", "Our own one."),
                  ("hidden-donor", "sort: group", "A donor."))  # fmt: skip
        write(root / "secret", secret)
        add(opened, [str(root / "secret")], collection="secret")
        plain = (("river-mill", "type: mill\nid: river-mill\nrelations:\n"
                  "  - {type: funded_by, target: mill-trust}\n"
                  "  - {type: depends_on, target: old-weir}\n"
                "  - {type: uses, target: mill-stone}", "A mill."),
                 ("mill-trust", "type: trust\nid: mill-trust", "A trust."),
            ("mill-stone", "type: tool\nid: mill-stone", "A heavy stone."))  # fmt: skip
        write(root / "plain", plain, settings=False)
        add(opened, [str(root / "plain")], collection="plain")
        yield opened


def write(
    folder: Path, entries: tuple[tuple[str, str, str], ...], *, settings: bool = True
) -> None:
    folder.mkdir()
    if settings:
        rules = SETTINGS + "".join(RULE.format(sort=sort) for sort in SORTS)
        (folder / "wellread-collection.yaml").write_text(rules, encoding="utf-8")
    for name, matter, text in entries:
        title = name.replace("-", " ").capitalize()
        body = f"---\ntitle: {title}\n{matter}\n---\n\n{text}\n"
        sort = matter.partition("\n")[0].removeprefix("sort: ") if settings else "all"
        (folder / sort).mkdir(exist_ok=True)
        (folder / sort / f"{name}.md").write_text(body, encoding="utf-8")


def read(kb: KnowledgeBase, text: str, *collections: str) -> Analysis:
    filters = Filters(collections=collections or ("open",))
    vocabulary = vocabulary_of(kb, filters.collections)
    return analyse(Question(text=text, filters=filters), vocabulary, TODAY)


def ask(kb: KnowledgeBase, text: str, *collections: str) -> Found:
    found = answer_from_graph(kb, read(kb, text, *collections))
    assert found is not None
    return found


def names(found: Found) -> list[str]:
    assert isinstance(found, AggregateResult)
    return [row.cells[0] for row in found.rows]


ONE_HOP = {
    "What does Tempest night need?": ["Fog box", "Wind machine", "sea-cloth"],
    "Which plays need the wind machine?": ["Kite song", "Tempest night"],
    "What is the wind machine needed for?": ["Kite song", "Tempest night"],
    "Which plays cannot open without the fog box?": ["Paper moon", "Tempest night"],
    "Who pays for the fog box?": ["Lamp club"],
    "What gets money from the lamp club?": ["Fog box", "Wind machine"],
    "What does the lamp club own?": ["Barn stage"],
    "Who owns the barn stage?": ["Lamp club"],
    "What comes after Tempest night?": ["Paper moon"],
    "Which play follows Paper moon?": ["Kite song"],
    "What is related to the wind machine?": ["Fog box"],
    "Where is Kite song played?": ["Barn stage"],
}
TWO_HOPS = {
    "What do the devices that Kite song needs depend on?": ["Big motor"],
    "Who pays for the devices that Paper moon needs?": ["Lamp club"],
    "Which plays need something that the lamp club pays for?": [
        "Kite song", "Paper moon", "Tempest night",
    ],
    "What do the plays played in the barn stage need?": ["Fog box", "Wind machine"],
    "Which plays need devices that need the big motor?": ["Kite song", "Tempest night"],
    "What comes after the play that comes after Tempest night?": ["Kite song"],
    "What do Tempest night and Paper moon both need?": ["Fog box"],
    "Which devices do Tempest night and Kite song have in common?": ["Wind machine"],
    "Which group does what Kite song needs get money from?": ["Lamp club"],
}  # fmt: skip


@pytest.mark.parametrize("text", ONE_HOP)
def test_one_hop_forwards_and_backwards_in_many_words(kb: KnowledgeBase, text: str) -> None:
    found = ask(kb, text)
    assert names(found) == ONE_HOP[text]
    assert {path.steps[-1].name for path in found.paths} == set(names(found))


@pytest.mark.parametrize("text", TWO_HOPS)
def test_two_hops_are_read_from_the_name_outwards(kb: KnowledgeBase, text: str) -> None:
    found = ask(kb, text)
    assert names(found) == TWO_HOPS[text]
    ends = {path.steps[-1].name for path in found.paths}
    assert ends == set(names(found))


def test_a_part_of_a_name_counts_where_one_entity_has_it(kb: KnowledgeBase) -> None:
    found = ask(kb, "What does the lamp light own?")
    assert names(found) == ["Barn stage"]
    assert found.notes == ("“lamp light” was read as “Lamp club”",)
    assert clear_relation(kb, read(kb, "What does the lamp moth own?")) is None


def test_rows_tell_the_way_and_rest_on_the_documents_of_the_answers(kb: KnowledgeBase) -> None:
    found = ask(kb, "What do the devices that Kite song needs depend on?")
    assert isinstance(found, AggregateResult)
    (row,) = found.rows
    assert row.cells[1] == "Kite song —needs→ Wind machine —needs→ Big motor"
    node = kb.catalogue.graph.entity("open", "big-motor")
    assert node is not None
    assert row.document_ids == node.documents
    assert found.kind == "relation"
    assert found.number == 1


def test_what_is_not_there_yet_is_named_with_a_note(kb: KnowledgeBase) -> None:
    found = ask(kb, "What does Tempest night need?")
    assert any("sea-cloth" in note and "without an entry" in note for note in found.notes)
    assert isinstance(found, AggregateResult)
    missing = next(row for row in found.rows if row.cells[0] == "sea-cloth")
    node = kb.catalogue.graph.entity("open", "tempest-night")
    assert node is not None
    assert missing.document_ids == node.documents  # who says so


def test_yes_with_the_edge_and_no_with_the_nearest_way(kb: KnowledgeBase) -> None:
    yes = ask(kb, "Does Kite song need the wind machine?")
    assert isinstance(yes, AggregateResult)
    assert yes.sentence == "Yes: Kite song —needs→ Wind machine."
    no = ask(kb, "Does the wind machine need Kite song?")
    assert isinstance(no, AggregateResult)
    assert no.sentence.startswith("No direct relation")
    assert "Wind machine —needed for→ Kite song" in no.sentence
    backwards = ask(kb, "Is the wind machine needed for Kite song?")
    assert isinstance(backwards, AggregateResult)
    assert backwards.sentence.startswith("Yes")


def test_a_walk_ends_at_the_border_of_its_collection(kb: KnowledgeBase) -> None:
    inside = ask(kb, "Which plays need the wind machine?", "open")
    assert "Secret play" not in names(inside)
    assert names(ask(kb, "Who pays for the wind machine?", "open")) == ["Lamp club"]
    allowed = {document.id for document in kb.catalogue.documents("open")}
    for found in (inside, ask(kb, "How are Kite song and the lamp club connected?", "open")):
        assert {hit.document.collection for hit in found.hits} == {"open"}
        assert isinstance(found, AggregateResult)
        assert {known for row in found.rows for known in row.document_ids} <= allowed
    both = ask(kb, "Which plays need the wind machine?", "open", "secret")
    assert names(both) == ["Kite song", "Secret play", "Tempest night"]


def test_the_askers_filters_hold_for_the_answers(kb: KnowledgeBase) -> None:
    analysis = read(kb, "Which plays need the wind machine?")
    filters = Filters(collections=("open",), taxonomy=(("season", "summer"),))
    found = answer_from_graph(kb, replace(analysis, filters=filters))
    assert found is not None
    assert names(found) == ["Kite song"]
