"""Names that people give, what a speaker says, and timelines, on a small knowledge base."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import UnknownNameError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.named_things import known_values, list_documents, load_document, topics
from wellread.library.recordings import recordings, transcript, turn_spans
from wellread.library.searches import around, find, newest
from wellread.library.timelines import Timeline, Window, timeline
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Filters, Span, SpeakerMark

VTT = """WEBVTT

NOTE
title: {title}
date: {date}

{cues}
"""
Said = tuple[tuple[str, str], ...]
TALKS: dict[str, dict[str, tuple[str, Said]]] = {
    "north": {
        "Pier talk": (
            "2026-01-10",
            (
                ("José Lima", "The crane is red."),
                ("Eva Lund", "Who paints the crane? The crane rusts."),
                ("José Lima", "The painter comes in May."),
            ),
        ),
        "Crane talk": ("2026-02-10", (("JOSÉ LIMA", "Yes, the crane is painted now."),)),
    },
    "south": {"Mill talk": ("2026-03-10", (("Eva Stein", "The mill has a crane as well."),))},
}
NEWS = {
    "north": (
        ("Crane painted red", "2026-02-01", "The big Crane was painted red by volunteers."),
        ("Crane painted red again", "2026-02-20", "The big Crane was painted red once more."),
        ("Cheese fair opens", "2026-03-05", "Forty dairies show their cheese at the fair."),
        ("Cheese fair opens", "2026-03-06", "Forty dairies show their cheese at the fair."),
        ("Weekly notes", "2026-01-03", "Nets were mended, and the tide was high."),
        ("Weekly notes", "2026-01-17", "Buoys were counted, and the wind was low."),
    ),
    "south": (("Crane by the mill", "2026-02-02", "The mill now has a big Crane of its own."),),
}
NETS = """---
id: nets
type: tool
title: Nets
---
They catch herring.
"""
LADDER = """---
title: Ladder hour
kind: transcript
---
**Ute Gramm**: The ladder is short.

**Ute Gramm**: It was longer once.

**Kai Moll**: I sawed it.

**Ute Gramm**: Why?
"""
CRANE = """---
id: machines/big
type: machine
title: Big Crane
aliases: [South, Cheese fair opens]
---
It lifts things.
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("lookups")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as opened:
        for collection in ("north", "south"):
            folder = root / collection
            folder.mkdir()
            write(folder, collection)
            add(opened, [str(folder)], collection=collection)
        yield opened


def write(folder: Path, collection: str) -> None:
    for number, (title, (day, said)) in enumerate(TALKS[collection].items()):
        cues = "\n\n".join(
            f"00:00:{10 * place:02}.000 --> 00:00:{10 * place + 5:02}.000\n<v {name}>{text}"
            for place, (name, text) in enumerate(said, 1)
        )
        text = VTT.format(title=title, date=day, cues=cues)
        (folder / f"{number}.vtt").write_text(text, encoding="utf-8")
    lines = [
        {"title": title, "published_at": day, "text": text, "url": f"https://{collection}/{number}"}
        for number, (title, day, text) in enumerate(NEWS[collection])
    ]
    (folder / "news.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    if collection == "south":
        (folder / "ladder.md").write_text(LADDER, encoding="utf-8")
    else:
        (folder / "nets.md").write_text(NETS, encoding="utf-8")
    (folder / "crane.md").write_text(CRANE, encoding="utf-8")


def day(month: int, of: int) -> datetime:
    return datetime(2026, month, of, tzinfo=UTC)


@pytest.mark.parametrize("name", ["José Lima", "jose\u0301 lima", "LIMA", "josé"])
def test_a_person_is_found_in_every_spelling(kb: KnowledgeBase, name: str) -> None:
    known = known_values(kb, Filters(speakers=(name,)))
    assert {one.casefold() for one in known.speakers} == {"josé lima"}
    titles = {one.hit.document.title for one in newest(kb, known).results}
    assert titles == {"Pier talk", "Crane talk"}


def test_a_collection_is_a_hard_border(kb: KnowledgeBase) -> None:
    north = Filters(collections=("north",))
    for found in (
        [one.facts.collection for one in list_documents(kb, north, limit=99).documents],
        [one.document.facts.collection for one in recordings(kb, north).recordings],
        [one.hit.document.collection for one in find(kb, "crane mill", north, limit=50).results],
        [one.hit.document.collection for one in newest(kb, north, limit=50).results],
        [one.name for one in topics(kb, ("north",))],
    ):
        assert set(found) == {"north"}
    mill = find(kb, "mill", Filters(collections=("south",))).results[0].hit
    assert around(kb, mill.passage.id, collections=("south",)).passage_id == mill.passage.id
    for look in (
        lambda: around(kb, mill.passage.id, collections=("north",)),
        lambda: load_document(kb, mill.document.id, ("north",)),
        lambda: transcript(kb, "Mill talk", collections=("north",)),
        lambda: timeline(kb, "south", Window(), collections=("north",), taken="collection"),
        lambda: timeline(kb, "Crane by the mill", Window(), collections=("north",)),
    ):
        with pytest.raises(UnknownNameError):
            look()


@pytest.mark.parametrize(
    ("query", "quote", "begin"),
    [("painter", "The painter comes in May.", 30.0), ("red", "The crane is red.", 10.0)],
)
def test_the_turn_that_says_most_about_it_is_quoted(
    kb: KnowledgeBase, query: str, quote: str, begin: float
) -> None:
    found = find(kb, query, Filters(speakers=("josé lima",), collections=("north",)))
    pier = next(one for one in found.results if one.hit.document.title == "Pier talk")
    assert pier.text == quote
    assert (pier.locator.begin, pier.locator.speaker) == (begin, "José Lima")
    document = kb.catalogue.document(pier.hit.document.id)
    assert document is not None
    assert pier.text == pier.span.of(document.text)


def told(found: Timeline) -> list[tuple[str, str]]:
    return [(f"{one.at:%m-%d}", one.title) for one in found.entries]


def test_an_entity_of_two_collections_has_one_timeline(kb: KnowledgeBase) -> None:
    both = timeline(kb, "big crane", Window())
    assert (both.taken, both.collections) == ("entity", ("north", "south"))
    assert told(both) == [
        ("02-01", "Crane painted red"),
        ("02-02", "Crane by the mill"),
        ("02-20", "Crane painted red again"),
    ]
    assert [one.text for one in both.entries][1] == "The mill now has a big Crane of its own."
    assert all(one.passage_id.startswith("psg_") for one in both.entries)
    one = timeline(kb, "Big crane", Window(), collections=("south",))
    assert told(one) == [("02-02", "Crane by the mill")]


WORDS = st.text(alphabet="ab \n", max_size=40)


@st.composite
def talks(draw: st.DrawFn) -> tuple[Document, list[Span]]:
    """A document with speaker marks, also overlapping ones, and passages that cover its text."""
    text = draw(WORDS)
    place = st.integers(0, len(text))
    marks = [
        SpeakerMark(start=min(ends), end=max(ends), speaker=name)
        for *ends, name in draw(
            st.lists(st.tuples(place, place, st.sampled_from(["Ana", "Ben"])), max_size=6)
        )
    ]
    cuts = sorted({0, len(text), *draw(st.lists(place, max_size=4))})
    passages = [Span(start=start, end=end) for start, end in pairwise(cuts)]
    document = Document(
        collection="c", uri="u", kind="transcript", title="t", text=text, marks=tuple(marks)
    )
    return document, passages


@given(talks())
def test_every_word_is_in_one_turn_of_who_says_it(talk: tuple[Document, list[Span]]) -> None:
    document, passages = talk
    turns = list(turn_spans(document, passages))
    covered = [place for _, span in turns for place in range(span.start, span.end)]
    assert covered == sorted(set(covered))  # in order, nothing twice
    spoken = {place for place, letter in enumerate(document.text) if letter.strip()}
    assert spoken <= set(covered)
    for speaker, span in turns:
        assert span.of(document.text) == span.of(document.text).strip() != ""
        for place in {*range(span.start, span.end)} & spoken:
            names = {
                mark.speaker
                for mark in document.marks
                if isinstance(mark, SpeakerMark) and mark.start <= place < mark.end
            }
            assert speaker in (names or {""})
