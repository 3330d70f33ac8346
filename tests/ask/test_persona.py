"""What somebody would say is drawn from what they said, and the answer says that it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import persona
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

TOWN = Filters(collections=("town",))
TALK = """WEBVTT

NOTE
title: Harbour meeting
date: 2025-03-01

00:00:01.000 --> 00:00:05.000
<v Ana Holm>A night tram is too loud for the old town.

00:10:06.000 --> 00:10:09.500
<v Ben Reed>The night tram, the night tram, the night tram is what this town needs.
"""
OTHERS = {
    "trams.md": "---\ndate: 2024-05-01\n---\n\n# Night trams\n\n"
    "The night tram runs. Night tram, night tram: Holm opposed it.\n",
    "holmes.md": "# Night trams of Holmestead\n\nThe night tram of Holmestead runs at two.\n",
}
SECRET = "# Night tram\n\nAna Holm likes a night tram, in secret.\n"


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    town = {"talk.vtt": TALK, **OTHERS}
    return make_home(town=town, club={"secret.md": SECRET})


def asking(*names: str, filters: Filters = TOWN) -> Analysis:
    return Analysis(
        question=f"What would {' '.join(names)} say about the night tram?",
        type="persona",
        terms=("night", "tram"),
        names=names,
        filters=filters,
        subject="night tram",
    )


def titles(kb: KnowledgeBase, analysis: Analysis) -> list[str]:
    found = persona(kb, analysis)
    return [hit.document.title for hit in found.hits] if found else []


def test_their_own_words_come_first_then_what_names_them(kb: KnowledgeBase) -> None:
    found = persona(kb, asking("Ana Holm"))
    assert found is not None
    first = found.hits[0].passage
    assert "too loud" in first.text
    assert "Ana Holm" in first.speakers
    assert "Night trams" in [hit.document.title for hit in found.hits]
    assert found.strategy == "stated views of Ana Holm"
    assert "Ana Holm was not asked this" in found.notes[-1]


def test_other_collections_are_not_asked(kb: KnowledgeBase) -> None:
    found = persona(kb, asking("Ana Holm"))
    assert found is not None
    assert {hit.document.collection for hit in found.hits} == {"town"}
    assert titles(kb, asking("Ana Holm", filters=Filters(collections=("club",)))) == ["Night tram"]


def test_of_somebody_nobody_names_nothing_is_said(kb: KnowledgeBase) -> None:
    assert persona(kb, asking("Zoe Quill")) is None


async def test_the_answer_says_that_it_is_drawn_from_their_views(kb: KnowledgeBase) -> None:
    asked = Question(text="What would Ana Holm say about the night tram?", filters=TOWN)
    given = await final(answer(kb, asked))
    assert any("Ana Holm was not asked this" in note for note in given.notes)
