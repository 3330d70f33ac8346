"""Whose words an answer gives: a limit to a speaker holds for each sentence, not for passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import Answer, Question

COUNCIL = """WEBVTT

NOTE
title: Council on the ferry

00:00:01.000 --> 00:00:06.000
<v Ana Holm>Ben, what should become of the ferry?

00:00:07.000 --> 00:00:15.000
<v Ben Reed>The ferry should run on batteries, and the ferry needs a second pier.

00:00:16.000 --> 00:00:24.000
<v Ana Holm>I think the ferry is too expensive for a town of our size.

00:01:25.000 --> 00:01:30.000
<v Cleo Dunn>The library opens on Sundays from May.
"""
REPORT = """# The ferry in the news

The ferry carried 310 people a day. "The ferry must stay," said Dora Finch, who runs the inn.
Ewan Park said that the ferry harms the seals. The ferry was built in 1974.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(default={"council.vtt": COUNCIL, "report.md": REPORT})


async def ask(kb: KnowledgeBase, text: str, *speakers: str) -> Answer:
    limits = Filters(speakers=speakers)
    return await final(answer(kb, Question(text=text, filters=limits, fresh=True)))


def speakers_in(given: Answer) -> set[str | None]:
    return {citation.locator.speaker for citation in given.citations}


@pytest.mark.parametrize(
    ("asked", "who", "said"),
    [
        ("What did Ana Holm say about the ferry?", "Ana Holm", "too expensive"),
        ("What does Ben Reed think about the ferry?", "Ben Reed", "batteries"),
        ("According to Ben, what does the ferry need?", "Ben Reed", "second pier"),
        ("What would Ana Holm say about the ferry?", "Ana Holm", "too expensive"),
        ("What did Mayor Holm say about the ferry?", "Ana Holm", "too expensive"),
        ("What did Dr. Reed say about the ferry?", "Ben Reed", "batteries"),
    ],
)
async def test_no_word_of_another_is_given(
    kb: KnowledgeBase, asked: str, who: str, said: str
) -> None:
    given = await ask(kb, asked)
    assert said in given.text
    assert speakers_in(given) == {who}


async def test_who_says_nothing_on_it_is_given_no_words_of_others(kb: KnowledgeBase) -> None:
    given = await ask(kb, "What did Cleo Dunn say about the ferry?")
    assert speakers_in(given) <= {"Cleo Dunn"}
    assert "batteries" not in given.text
    assert "expensive" not in given.text


async def test_a_citation_names_the_speaker_and_the_minute_of_its_sentence(
    kb: KnowledgeBase,
) -> None:
    given = await ask(kb, "When does the library open?")
    cited = given.citations[0]
    assert (cited.locator.speaker, cited.locator.begin) == ("Cleo Dunn", 85.0)


async def test_a_model_reads_each_turn_under_its_speaker_s_name(home: Path) -> None:
    model = ScriptedModel(["The ferry should run on batteries [e1]."])
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        await ask(kb, "What should become of the ferry?")
    lines = model.prompts[0].user.split("\n")
    assert "speakers: Ana Holm, Ben Reed, Cleo Dunn" in lines
    assert any(line.startswith("Ben Reed: The ferry should run on batteries") for line in lines)
    assert any(line.startswith("Ana Holm: I think the ferry is too expensive") for line in lines)


@pytest.mark.parametrize(
    ("asked", "said", "other"),
    [
        ("What did Dora Finch say about the ferry?", "must stay", "seals"),
        ("What does Ewan Park think about the ferry?", "harms the seals", "must stay"),
    ],
)
async def test_in_articles_what_is_reported_of_them_is_given(
    kb: KnowledgeBase, asked: str, said: str, other: str
) -> None:
    given = await ask(kb, asked)
    (first,) = (one for one in given.sentences if said in one.text)
    assert first.marked
    assert other not in first.text


async def test_what_somebody_said_is_their_turns_though_no_text_names_them(
    kb: KnowledgeBase,
) -> None:
    given = await ask(kb, "What did Ana Holm say?")
    quotes = [one.quote for one in given.citations]
    assert quotes == [
        "Ben, what should become of the ferry?",
        "I think the ferry is too expensive for a town of our size.",
    ]
    assert [one.locator.speaker for one in given.citations] == ["Ana Holm", "Ana Holm"]
    assert (await ask(kb, "What did Ana Holm say about seals?")).answered_by != "catalogue"
