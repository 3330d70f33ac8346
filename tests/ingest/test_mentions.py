"""Mentions: which places of a text name an entity, and that a pass does no more than it must."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.doubles import forked
from tests.store.made import put

from wellread.identity import document_id
from wellread.ingest.joining.mention_linking import NameFinder, fold, forms_of, link_mentions
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import EntityNode, FoundName, MentionScans
from wellread.types import Document, EntityFacts


def named(known: str, title: str = "", *aliases: str) -> EntityNode:
    return EntityNode(
        collection="main",
        id=known,
        type="",
        title=title or known,
        aliases=aliases,
        document_id="",
        documents=(),
        url="",
    )


def found_in(
    text: str, *entities: EntityNode, own: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """(Entity, words of the text) of each mention."""
    finder = NameFinder(forms_of(entities))
    return [(one.entity_id, one.span.of(text)) for one in finder.find(text, own)]


def words(text: str, *titles: str) -> list[str]:
    """What of ``text`` is taken for one of the names."""
    numbered = [named(f"#{number}", title) for number, title in enumerate(titles)]
    return [said for _, said in found_in(text, *numbered)]


# --- folding ---------------------------------------------------------------------------------

TEXTS = st.text(
    st.sampled_from([*"aB ßSs\n-\u2011\u00ad\u0130i\u0307e\u0301éﬁffi½ﬀ東京İΣς’'._\t\u2003가각"]),
    max_size=40,
)


@given(TEXTS, st.data())
@example("Die Straße", None)
def test_a_folded_stretch_leads_back_to_what_it_was_made_of(text: str, data: Any) -> None:
    folded = fold(text)
    length = len(folded.text)
    pairs = (
        [(a, b) for a in range(length) for b in range(a + 1, length + 1)]
        if data is None
        else [tuple(sorted(data.draw(st.tuples(*[st.integers(0, length)] * 2))))]
    )
    for start, end in pairs:
        span = folded.span(start, end) if start < end else None
        if span:
            assert fold(span.of(text)).text == folded.text[start:end]


# --- finding ---------------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from(["Tide Array", "Straße", "Café Nord", "İstanbul", "Merrow", "東京"]),
        min_size=1,
    ),
    st.lists(
        st.sampled_from([" ", "\n", "  ", ", ", "\n\n", " — ", "\u00a0"]), min_size=12, max_size=12
    ),
    st.sampled_from([str, str.upper, str.lower, str.casefold]),
)
def test_every_planted_name_is_found_at_its_place(
    planted: list[str], gaps: list[str], write: Any
) -> None:
    names = ["Tide Array", "Straße", "Café Nord", "İstanbul", "Merrow", "東京"]
    pieces = []
    for number, name in enumerate(planted):
        spread = gaps[number % 12]
        inside = spread if spread.isspace() and spread != "\n\n" else " "
        pieces += [write(name).replace(" ", inside), f" qq{number}{gaps[(number + 5) % 12]}"]
    text = "".join(pieces)
    entities = [named(f"#{number}", name) for number, name in enumerate(names)]
    found = NameFinder(forms_of(entities)).find(text)
    assert [names[int(one.entity_id[1:])] for one in found] == planted
    for one in found:
        assert fold(one.span.of(text)).text == fold(one.name).text
    assert all(a.span.end <= b.span.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Anchor outputs", "An anchor-output, ANCHOR\n  OUTPUTS; anchor — outputs", 2),
        ("Anchor outputs", "anchor\n\noutputs", 0),  # a blank line parts
        ("Merrow", "Merrow's, (Merrow) “Merrow” Merrow-based non-Merrow Merrow.", 6),
        ("Merrow", "Merrowing Merrow_key xMerrow merrow2 Merrów Merro\u0301w", 0),
        ("Merrow", "https://x.example/merrow/a www.merrow.example merrow@x.example ~/merrow", 0),
        ("Merrow", "see merrow.py, merrow.toml and x.merrow", 0),
        ("Merrow", "HTLC/Merrow or Merrow/LN, Merrow: yes. Merrow.Next", 4),
        ("Brien", "O'Brien O’Brien 'Brien'", 1),
        ("Anchor\u00adage", "anchor\u00adage, anchorage", 2),
        ("Tidal box", "two tidal boxes", 1),
        ("Remedies", "a remedy", 1),
        ("Chess", "ches chess", 1),
        ("C++ parser", "a c++ parser", 1),
        ("東京", "東京都に行く", 1),
        ("Café", "Cafe\u0301 CAFÉ cafe", 2),
    ],
)
def test_whole_words_count(name: str, text: str, said: int) -> None:
    assert len(words(text, name)) == said


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("RBF", "RBF, RBFs, rbf, Rbf", ["RBF", "RBFs"]),
        ("IT", "it is IT", ["IT"]),
        ("LN", "ln LN", ["LN"]),
        ("Tor", "tor Tor TOR", ["Tor"]),
        ("Signal", "Signal is lost. A signal. He uses Signal.", ["Signal"]),
        ("Signal", "- Signal\n- “Signal\nHe said: Signal! Use Signal", ["Signal"]),
        ("Values", "values the Values", ["Values"]),
        ("harbour", "Harbour, HARBOUR, harbours", ["Harbour", "HARBOUR", "harbours"]),
        ("market", "Market, the market", ["market"]),
        ("Check in", "check in the Check in", ["Check in"]),
        ("Replace by fee", "replace by fee", ["replace by fee"]),
        ("The", "The the THE", []),
        ("2024", "in 2024", []),
        ("ab", "ab AB", []),
    ],
)
def test_everyday_words_acronyms_and_short_words_count_as_they_are_written(
    name: str, text: str, said: list[str]
) -> None:
    assert words(text, name) == said


def test_the_longest_name_has_the_place() -> None:
    array, narrows = named("a", "Gannet Narrows array"), named("n", "Gannet Narrows")
    text = "The Gannet Narrows array stands in the Gannet Narrows."
    assert found_in(text, array, narrows) == [
        ("a", "Gannet Narrows array"),
        ("n", "Gannet Narrows"),
    ]
    late = named("l", "array stands in")
    assert found_in(text, late, narrows)[0] == ("n", "Gannet Narrows")
    assert found_in(text, late, array)[0] == ("a", "Gannet Narrows array")


def test_an_entity_is_not_found_in_its_own_text_nor_is_what_its_name_holds() -> None:
    array, narrows = named("a", "Gannet Narrows array"), named("n", "Gannet Narrows")
    text = "The Gannet Narrows array stands in the Gannet Narrows."
    assert found_in(text, array, narrows, own=frozenset({"a"})) == [("n", "Gannet Narrows")]


def test_ids_aliases_and_brackets_are_names() -> None:
    rule = named("fee-bump-rule", "Rule 7", "Bump regulation (BR)", "Gossip (LN)")
    text = "fee bump rule, bump regulation, BR, gossip, LN"
    assert [said for _, said in found_in(text, rule)] == [
        "fee bump rule",
        "bump regulation",
        "BR",
        "gossip",
    ]
    assert found_in("cpfp CPFP", named("cpfp", "Child pays for parent")) == [("cpfp", "CPFP")]
    assert found_in("see the history", named("history", "Bygone times")) == []
    assert found_in("/a/b a-b", named("/a/b", "Some page")) == []


def test_a_name_that_two_claim_belongs_to_the_better_claim_or_to_nobody() -> None:
    assert found_in("Osprey", named("b", "Osprey"), named("a", "Bird", "Osprey")) == [
        ("b", "Osprey")
    ]
    assert found_in("Osprey", named("ferry", "Osprey"), named("bird", "Osprey")) == []
    assert found_in("the osprey", named("term/osprey", "Osprey"), named("osprey", "Osprey")) == [
        ("osprey", "osprey")
    ]
    # An acronym and a word that fold to the same are told apart by how they are written.
    both = (named("m", "MATT"), named("p", "Matt", "Matthew"))
    assert found_in("Matt on MATT", *both) == [("p", "Matt"), ("m", "MATT")]


# --- the pass --------------------------------------------------------------------------------


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path / "catalogue.db")
    yield opened
    opened.close()


def article(name: str, text: str, collection: str = "main") -> Document:
    uri = f"file:///{name}"
    return Document(collection=collection, uri=uri, kind="article", title=name, text=text)


def entity(known: str, text: str = "", *aliases: str) -> Document:
    facts = EntityFacts(entity_id=known, aliases=aliases)
    return Document(
        collection="main",
        uri=f"file:///{known}.md",
        kind="entity",
        title=known.title(),
        text=text or f"About the {known}.",
        entity=facts,
    )


def mentioned(catalogue: Catalogue, known: str) -> list[tuple[str, int]]:
    found = catalogue.graph.documents_mentioning(["main"], known)
    return sorted((one.document.title, one.mentions) for one in found)


def places_of(catalogue: Catalogue, name: str, entity_id: str) -> list[FoundName]:
    """Where the document names the entity."""
    inside = catalogue.graph.entities_in(document_id("main", f"file:///{name}"))
    return [place for one in inside if one.node.id == entity_id for place in one.places]


def test_documents_are_linked_to_the_entities_they_name(catalogue: Catalogue) -> None:
    put(
        catalogue,
        entity("kittiwake", "The kittiwake sails to Merrow."),
        entity("merrow", "", "Merrow Sound"),
        article("log", "Kittiwake left Merrow Sound. The Kittiwake came back."),
        article("elsewhere", "Kittiwake", collection="other"),
    )
    assert link_mentions(catalogue, "main") == 3
    assert mentioned(catalogue, "kittiwake") == [("log", 2)]
    assert mentioned(catalogue, "merrow") == [("Kittiwake", 1), ("log", 1)]
    (place,) = places_of(catalogue, "kittiwake.md", "merrow")
    assert place.name == "Merrow"
    (log,) = places_of(catalogue, "log", "merrow")
    assert (log.name, log.span.start, log.span.end) == ("Merrow Sound", 15, 27)
    assert catalogue.graph.documents_mentioning(["other"], "kittiwake") == []


def test_only_what_changed_is_searched_again(catalogue: Catalogue) -> None:
    put(catalogue, entity("kittiwake"), article("a", "Kittiwake"), article("b", "Osprey"))
    assert link_mentions(catalogue, "main") == 3
    assert link_mentions(catalogue, "main") == 0
    put(catalogue, article("b", "Kittiwake, Osprey"), article("c", "Osprey"))
    assert link_mentions(catalogue, "main") == 2
    assert mentioned(catalogue, "kittiwake") == [("a", 1), ("b", 1)]
    put(catalogue, entity("kittiwake", "Another text about it."))
    assert link_mentions(catalogue, "main") == 1
    put(catalogue, entity("osprey"))  # another name: all documents again
    assert link_mentions(catalogue, "main") == 5
    assert mentioned(catalogue, "osprey") == [("b", 1), ("c", 1)]
    assert link_mentions(catalogue, "main") == 0


def test_with_the_last_entity_all_mentions_go(catalogue: Catalogue) -> None:
    put(catalogue, entity("kittiwake"), entity("osprey"), article("a", "Kittiwake and Osprey"))
    link_mentions(catalogue, "main")
    catalogue.remove_documents([document_id("main", "file:///osprey.md")])
    link_mentions(catalogue, "main")
    assert mentioned(catalogue, "osprey") == []
    assert mentioned(catalogue, "kittiwake") == [("a", 1)]
    catalogue.remove_documents([document_id("main", "file:///kittiwake.md")])
    assert link_mentions(catalogue, "main") == 0
    assert mentioned(catalogue, "kittiwake") == []
    assert not catalogue.graph.scans.forget("main")


def test_a_document_that_changes_meanwhile_is_left_to_the_next_pass(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(catalogue, entity("kittiwake"), article("a", "Kittiwake"), article("b", "Kittiwake"))
    texts = MentionScans.texts

    def changing(self: MentionScans, ids: Sequence[str]) -> dict[str, str]:
        found = texts(self, ids)
        put(catalogue, article("a", "It was the Kittiwake"))
        catalogue.remove_documents([document_id("main", "file:///b")])
        return found

    with monkeypatch.context() as busy:
        busy.setattr(MentionScans, "texts", changing)
        link_mentions(catalogue, "main")
    assert mentioned(catalogue, "kittiwake") == []
    assert link_mentions(catalogue, "main") == 1
    assert mentioned(catalogue, "kittiwake") == [("a", 1)]
    (place,) = places_of(catalogue, "a", "kittiwake")
    assert place.span.start == 11


KILLED = """
import os, signal, sys
from wellread.ingest.joining import mention_linking as mentions
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import MentionScans
mentions.MAX_BATCH_DOCUMENTS = 3
keep, count = MentionScans.keep, [0]
def keep_two(self, names, found):
    if count[0] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    count[0] += 1
    return keep(self, names, found)
MentionScans.keep = keep_two
mentions.link_mentions(Catalogue.open(sys.argv[1]), "main")
"""


def test_a_killed_pass_leaves_whole_batches(
    catalogue: Catalogue, tmp_path: Path, place_of: Callable[[Path], str]
) -> None:
    put(catalogue, entity("kittiwake"), *(article(f"{n}", "Kittiwake " * n) for n in range(1, 12)))
    path = place_of(tmp_path / "catalogue.db")
    done = forked.run(KILLED, path)
    assert done.returncode == -signal.SIGKILL, done
    assert link_mentions(catalogue, "main") == 6
    assert mentioned(catalogue, "kittiwake") == sorted((f"{n}", n) for n in range(1, 12))
