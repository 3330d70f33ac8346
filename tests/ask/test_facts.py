"""What the catalogue knows of a document is an answer, in whatever words it is asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
from reportlab.pdfgen.canvas import Canvas
from tests.ask.conftest import ask

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import CATALOGUE

AUTHORS = ("Ida Lund", "Tor Vik", "Åse Dahl", "Per Moen")
ABSTRACT = [
    "Mussel beds are counted by divers, which is slow.",
    "Counts from the shore are cheap and poor.",
    "Few of them are ever repeated.",
    "We present MusselNet, a set of photographs of beds.",
    "Counting with it found twice as many beds as divers did.",
    "Nobody had to get wet for them.",
]
LETTERS = {
    7: ("2024-03-05", "Bigger nets", "Nets of two metres are sold again.", "Crab count"),
    8: ("2024-04-02", "Smaller boats", "Boats of five metres are common now.", "Eel count"),
}
TALK = """---
title: Harbour Voices 3
date: 2024-05-01
speakers: [Ada Moss, Bo Reed]
---

## Fees at the quay

Ada Moss: 00:00:05

Welcome to the evening. The fees at the quay were raised in spring.

Bo Reed: 00:02:10

They were low for years.

Ada Moss: 00:04:00

They were, and each year the harbour office told us that the sheds would be mended, that the ladders
would be painted, that the lamps on the eastern pier would be lit again before the herring came, and
that the children of the village would have their own small jetty. None of it was done in my time,
and so the reason for the rise was clear to every skipper.

## A new crane

Bo Reed: 00:12:30

Thank you for having me. The crane lifts four tonnes and is blue.
"""
NET = """---
id: drift-net
type: gear
title: Drift net
aliases: [DN, Ebb and Flow]
---

A drift net hangs in the water like a curtain. It moves with the tide.

Many are forbidden.
"""


def paper(title: tuple[str, str], authors: tuple[str, ...], abstract: list[str], day: str) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595.0, 842.0), invariant=1)
    for number, line in enumerate(title):
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(60, 790 - 22 * number, line)
    canvas.setFont("Helvetica", 10)
    canvas.drawString(60, 735, ", ".join(authors))
    canvas.drawString(60, 710, day)
    canvas.setFont("Helvetica-Bold", 12)
    canvas.drawString(60, 680, "Abstract")
    for number, line in enumerate(abstract):
        canvas.setFont("Helvetica", 10)
        canvas.drawString(60, 660 - 14 * number, line)
    canvas.setFont("Helvetica-Bold", 12)
    canvas.drawString(60, 540, "1 Introduction")
    canvas.setFont("Helvetica", 10)
    canvas.drawString(60, 520, "Mussels hold the sand of the sound together.")
    canvas.showPage()
    canvas.setFont("Helvetica", 10)
    canvas.drawString(60, 760, "The end of it stands on another page.")
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("facts")
    folder = root / "material"
    folder.mkdir()
    title = ("MusselNet: Photographs for Counting", "the Beds of the Sound")
    (folder / "mn-final.pdf").write_bytes(paper(title, AUTHORS, ABSTRACT, "4 March 2021"))
    other = ("Eels by Night: a Survey with Lamps", "in Three Harbours")
    told = ["Eels move at night.", "This paper examines how many of them pass a lamp."]
    (folder / "eels.pdf").write_bytes(paper(other, ("Liv Strand",), told, "9 May 2019"))
    for number, (day, first, said, last) in LETTERS.items():
        text = (
            f"---\ntitle: 'Harbour Letter #{number}'\ndate: {day}\n---\n\n"
            f"This letter tells what is new.\n\n## News\n\n- **{first}:** {said}\n"
            f"- **A prize:** It went to the quay.\n\n## Counts\n\n- {last} is done.\n"
        )
        (folder / f"letter-{number}.md").write_text(text, encoding="utf-8")
    (folder / "voices.md").write_text(TALK, encoding="utf-8")
    (folder / "net.md").write_text(NET, encoding="utf-8")
    filler = {"title": "Quay notes", "text": "Who wrote the sign on the quay? Bo Reed wrote it."}
    (folder / "notes.jsonl").write_text(json.dumps(filler) + "\n", encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)], collection="harbour")
        yield opened


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the MusselNet paper?",
        "MusselNet: Photographs for Counting the Beds of the Sound - by whom was it written?",
        "who are the writers of mn-final",
    ],
)
async def test_the_authors_are_all_named_and_cited_on_the_front_page(
    kb: KnowledgeBase, question: str
) -> None:
    given = await ask(kb, question)
    assert given.answered_by == CATALOGUE
    assert all(name in given.text for name in AUTHORS)
    assert "Ida Lund" in given.citations[0].quote
    assert given.citations[0].locator.page == 1


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When was MusselNet published?", "4 March 2021"),
        ("When did the eels paper come out?", "9 May 2019"),
        ("When was letter 8 sent?", "2 April 2024"),
        ("Who speaks in Harbour Voices 3?", "Ada Moss and Bo Reed"),
        ("Who were the guests of episode 3 of Harbour Voices?", "Ada Moss and Bo Reed"),
        ("Who is the first author of MusselNet?", "Ida Lund"),
        ("Who wrote the paper on photographs?", "Ida Lund"),
        ("Which paper did Åse Dahl co-write?", "MusselNet"),
        ("What are Ebb and Flow?", "A drift net hangs in the water"),
        ("How many papers are in this collection?", "There are 2 papers."),
    ],
)
async def test_a_fact_of_a_document(kb: KnowledgeBase, question: str, told: str) -> None:
    given = await ask(kb, question)
    assert (given.answered_by, told in given.text) == (CATALOGUE, True), given.text


@pytest.mark.parametrize(
    "question",
    [
        "What is the main contribution of MusselNet?",
        "What does the MusselNet paper propose?",
    ],
)
async def test_a_paper_is_told_by_what_its_abstract_says_it_brings(
    kb: KnowledgeBase, question: str
) -> None:
    given = await ask(kb, question)
    assert "We present MusselNet, a set of photographs of beds." in given.text
    assert "Nobody had to get wet" not in given.text
    assert given.citations[0].locator.heading == ("Abstract",)


@pytest.mark.parametrize("question", ["Summarize letter 7", "What was in Harbour Letter #7?"])
async def test_a_letter_is_told_by_its_sections(kb: KnowledgeBase, question: str) -> None:
    given = await ask(kb, question)
    lines = given.text.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["- News", "- Counts"]
    assert "Nets of two metres" in lines[1]
    assert "Boats" not in given.text
    assert "what is new" not in given.text


@pytest.mark.parametrize(
    "question",
    [
        "What was discussed in Harbour Voices 3?",
        "Which topics did episode 3 of Harbour Voices cover?",
    ],
)
async def test_a_talk_is_told_by_its_parts_with_their_times(
    kb: KnowledgeBase, question: str
) -> None:
    given = await ask(kb, question)
    assert "Fees at the quay" in given.text
    assert [one.locator.begin for one in given.citations] == [5.0, 750.0]


async def test_what_a_person_said_is_told_in_whole_turns(kb: KnowledgeBase) -> None:
    assert "clear to every skipper" in (await ask(kb, "What did Ada Moss say?")).text


@pytest.mark.parametrize("question", ["Describe the gear drift net", "Give me an overview of DN"])
async def test_an_entity_is_told_by_how_it_begins(kb: KnowledgeBase, question: str) -> None:
    given = await ask(kb, question)
    assert given.text.startswith("A drift net hangs in the water like a curtain.")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is a drift net?", "A drift net hangs in the water like a curtain."),
        ("What are drift nets?", "A drift net hangs in the water like a curtain."),
        ("What does DN mean?", "A drift net hangs in the water like a curtain."),
        ("What is MusselNet?", "We present MusselNet, a set of photographs of beds."),
    ],
)
async def test_what_a_thing_is_is_told_by_what_is_called_so(
    kb: KnowledgeBase, question: str, told: str
) -> None:
    given = await ask(kb, question)
    assert given.text.startswith(told)
    assert given.answered_by == CATALOGUE


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the sign on the quay?",
        "Who wrote about mussels?",
        "When was the crane at the quay published?",
        "What is the length of a drift net?",
        "What did Bo Reed say about the crane?",
        "What do the papers say about photographs?",
        "What does the paper find about lamps?",
        "What does a drift net own?",
    ],
)
async def test_what_is_no_fact_of_a_document_is_left_to_the_passages(
    kb: KnowledgeBase, question: str
) -> None:
    assert (await ask(kb, question)).answered_by != CATALOGUE
