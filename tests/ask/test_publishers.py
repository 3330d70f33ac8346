"""Who published it is a limit: "What did the Beacon report", a site called by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, ask, jsonl

from wellread.ask.understand.mentions import publisher_limits
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.values.answers import CATALOGUE

ENTRIES = [
    ("https://www.beacon.example/1", "The mill burns", "The mill burned for six hours.", "03-02"),
    ("https://www.beacon.example/2", "Trams are late", "The trams were late again.", "03-09"),
    ("https://hill-times.co.uk/1", "Fire at the mill", "The mill burned for two hours.", "03-03"),
    (
        "https://council.example/n/1",
        "Notice of works",
        "The bridge will be shut at night.",
        "03-04",
    ),
    ("https://council.example/n/2", "Bins", "Bins will be emptied on Friday nights.", "04-04"),
]


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    lines = [
        {"url": url, "title": title, "text": text, "published_at": f"2025-{day}T08:00:00Z"}
        | ({"source_type": "public_notice"} if "council" in url else {})
        for url, title, text, day in ENTRIES
    ]
    return make_home(default={"news.jsonl": jsonl(lines)})


def meant(kb: KnowledgeBase, question: str) -> list[str]:
    return [one.constraint.value for one in publisher_limits(question, vocabulary_of(kb), ())]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What did the Beacon report about the mill?", ["Beacon"]),
        ("What has the Daily Beacon written in March 2025?", ["Daily Beacon"]),
        ("What did the Hill Times say about the fire?", ["Hill Times"]),
        ("What did the council publish in March?", ["council"]),
        ("Are there council notices about bins?", ["council"]),
        ("Did the beacon on the hill burn?", []),
        ("Is the council stingy?", []),
    ],
)
def test_which_site_is_meant(kb: KnowledgeBase, question: str, names: list[str]) -> None:
    assert meant(kb, question) == names


async def test_only_what_it_published_is_cited(kb: KnowledgeBase) -> None:
    given = await ask(kb, "How long did the mill burn, according to the Hill Times?")
    assert {one.title for one in given.citations} == {"Fire at the mill"}
    assert "two hours" in given.text


async def test_what_it_reported_in_a_time_is_listed(kb: KnowledgeBase) -> None:
    given = await ask(kb, "What did the Beacon report in March 2025?")
    assert given.answered_by == CATALOGUE
    assert {one.title for one in given.citations} == {"The mill burns", "Trams are late"}
