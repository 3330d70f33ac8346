"""Questions for a way to do something are answered from the guide to it, section by section."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import direct, guides
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.answer_kind import asks_how, is_guide
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.parsed import parse

FILLER = " ".join(f"Sentence {n} tells of another thing that the village did." for n in range(30))
GUIDE = f"""# Running a swap shop

This guide is for people who want to open a swap shop.

## Rooms

A good room has

- a dry floor,
- two doors.

{FILLER}

## People

Swaps are fun. Ask the choir for help. You need three helpers at least. Never work alone.

{FILLER}

## History

The first one opened long ago. It was small.

{FILLER}

## Money

Plan with 90 euros.
"""
OTHERS = {
    "news.md": "# Market\n\nThe market next to the swap shop opened. Bring the key.\n",
    "talk.md": "# Ferry\n\nThe ferry runs every hour.\n",
    "mill.md": "# Notes\n\nA tide mill is a wheel that the sea turns, wherever it may stand.\n",
    "mills.md": "# Notes\n\nWe like our tide mill. See the tide mill.\n",
}
TALK = "WEBVTT - Running a choir\n\n" + "\n".join(
    f"00:{minute:02}:01.000 --> 00:{minute:02}:09.000\n"
    f"<v Ines>In part {minute} you need a choir. Ask the mayor for a choir. {FILLER[:600]}\n"
    for minute in range(1, 8)
)
FEW: dict[str, dict[str, object]] = {"retrieval": {"top_k": 2}}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("village")
    for name, text in {"guide.md": GUIDE, **OTHERS}.items():
        (folder / name).write_text(text)
    (folder / "choir.vtt").write_text(TALK)
    home = tmp_path_factory.mktemp("home")
    with open_kb(home, overrides=FEW, embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)], collection="village")
        yield opened


def asked(kb: KnowledgeBase, question: str) -> Answer:
    return asyncio.run(final(answer(kb, Question(text=question))))


def test_each_section_tells_what_to_do(kb: KnowledgeBase) -> None:
    told = asked(kb, "How do I open a swap shop?")
    assert told.text.split("\n\n") == [
        "**Rooms:** A good room has [1]\n- a dry floor, [2]\n- two doors. [3]",
        "**People:** Ask the choir for help. [4] You need three helpers at least. [5]",
        "**Money:** Plan with 90 euros. [6]",
    ]
    assert {sentence.verdict.name for sentence in told.sentences} == {"quoted"}
    assert {citation.title for citation in told.citations} == {"Running a swap shop"}


def test_other_questions_about_it_are_answered_as_ever(kb: KnowledgeBase) -> None:
    assert "**" not in asked(kb, "How many helpers does a swap shop need?").text
    assert "**" not in asked(kb, "How do I board the ferry?").text


def test_a_talk_is_no_guide(kb: KnowledgeBase) -> None:
    question = "How do I start a choir?"
    assert "**" not in asked(kb, question).text
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    assert {hit.document.kind for hit in direct(kb, analysis).hits} >= {"transcript"}
    assert guides(kb, analysis) is None


def test_what_something_is_stands_where_it_is_said(kb: KnowledgeBase) -> None:
    analysis = analyse(Question(text="What is a tide mill?"), Vocabulary(), date(2026, 1, 15))
    first, second = direct(kb, analysis).hits
    assert first.passage.text.splitlines()[-1].startswith("A tide mill is a wheel that")
    assert second.passage.text.endswith("See the tide mill.")


@pytest.mark.parametrize(
    "question",
    [
        "How do I start a café?",
        "how to run a swap shop",
        "How can we find a room?",
        "What are the steps to open a shop?",
        "Please explain how to mend a lamp.",
    ],
)
def test_questions_for_a_way(question: str) -> None:
    assert asks_how(question)


@pytest.mark.parametrize(
    "question", ["How does the array work?", "How many are there?", "Who knows how to sail?"]
)
def test_questions_for_something_else(question: str) -> None:
    assert not asks_how(question)


def test_what_is_a_guide() -> None:
    assert is_guide("Running a repair café", parse("start repair cafe").stems)
    assert not is_guide("Café afloat", parse("start repair cafe").stems)
    assert not is_guide("How to start", parse("start").stems)
