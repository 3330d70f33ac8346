"""What is named beside an answer: related material and questions that can be answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Answer, Question

ENTITIES = {
    "heat-pump": (
        "Heat pump",
        "A heat pump warms a house with power. See: heat grid.",
        "heat-grid",
    ),
    "heat-grid": ("Heat grid", "A heat grid carries warm water to houses.", "warm-fund"),
    "warm-fund": ("Warm fund", "The warm fund pays half of each new boiler.", ""),
}
REST = "Whoever has an old boiler sells it before the new one comes. " * 16
GUIDE = f"""# Guide to warm houses

## How do I choose a heat pump?

Measure the house before you choose a heat pump, for its size decides. {REST}

## Noise

A heat pump hums at forty decibels, and a house next door may hear it. {REST}
"""
TALK = """WEBVTT

00:01.000 --> 00:05.000
<v Ana Roe>A heat pump needs a warm house with good walls, I always say.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    """Entities with links, a guide and a talk; the same fund in another collection."""
    files = {"guide.md": GUIDE, "talk.vtt": TALK}
    for known, (title, text, target) in ENTITIES.items():
        linked = f"relations:\n  - type: needs\n    target: {target}\n" if target else ""
        head = f"---\nid: {known}\ntype: device\ntitle: {title}\n{linked}---\n\n"
        files[f"{known}.md"] = head + text + "\n"
    secret = (
        "---\nid: secret-pump\ntype: device\ntitle: Secret pump\n---\n\nA heat pump for a house.\n"
    )
    return make_home(warm=files, secret={"secret.md": secret})


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    """The home, opened; every question is answered."""
    ask = {"qa": {"confidence_threshold": 0.01}}
    with open_kb(home, overrides=ask, embedder=ReadableEmbedder()) as opened:
        yield opened


async def asked(kb: KnowledgeBase, text: str, limits: Filters | None = None) -> Answer:
    question = Question(text=text, filters=limits or Filters(collections=("warm",)), fresh=True)
    return await final(answer(kb, question))


PUMP = "How does a heat pump warm a house?"


async def test_linked_entities_are_named_with_the_link(kb: KnowledgeBase) -> None:
    done = await asked(kb, PUMP)
    linked = {one.title: one for one in done.related if one.kind == "entity"}
    assert linked["Heat grid"].reason == "linked: Heat pump needs Heat grid"
    assert linked["Heat grid"].id == "heat-grid"
    assert "Warm fund" not in linked, "two steps away"


async def test_nothing_is_named_twice_or_cited_as_well(kb: KnowledgeBase) -> None:
    done = await asked(kb, PUMP)
    titles = [one.title for one in done.related]
    assert 1 < len(titles) <= 5
    assert len(set(titles)) == len(titles)
    assert not set(titles) & {citation.title for citation in done.citations}


async def test_a_collection_is_a_border(kb: KnowledgeBase) -> None:
    done = await asked(kb, PUMP)
    assert {one.collection for one in done.related} == {"warm"}
