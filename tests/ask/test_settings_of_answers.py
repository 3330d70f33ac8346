"""Settings that shape an answer: what is shown to a model, required, graph_aware, uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import LIMITED_PREFIX, Answer, Question, VerdictName

FERRY = "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021.\n"
ENTITIES = {
    "osprey": "type: vessel\ntitle: Osprey\nsectors: [transport]\nrelations:\n"
    "  - {type: moors_at, target: pier}\n  - {type: moors_at, target: quay}\n",
    "pier": "type: place\ntitle: North pier\nsectors: [transport, food]\nrelations:\n"
    "  - {type: owned_by, target: town}\n",
    "town": "type: owner\ntitle: Town of Hook\n",
}
TEXTS = {
    "osprey": "The Osprey is a white ferry with ninety seats.",
    "pier": "The north pier is built of oak.",
    "town": "The town of Hook lies behind the pier.",
}
ASKED = "How much was paid for the ferry Osprey?"

Opened = Callable[..., KnowledgeBase]


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    entities = {
        f"{known}.md": f"---\nid: {known}\n{matter}---\n\n{TEXTS[known]}\n"
        for known, matter in ENTITIES.items()
    }
    return make_home(news={"ferry.md": FERRY}, fleet=entities)


@pytest.fixture
def opened(home: Path) -> Opened:
    def open_it(*replies: str, cheap: str = "", **sections: dict[str, object]) -> KnowledgeBase:
        overrides: dict[str, dict[str, object]] = {
            "cache": {"answers": False},
            **sections,
            "qa": {"confidence_threshold": 0.01, **sections.get("qa", {})},
        }
        return open_kb(
            home,
            overrides=overrides,
            embedder=ReadableEmbedder(),
            model=ScriptedModel(list(replies), identity="one:model") if replies else None,
            cheap_model=ScriptedModel([cheap], identity="cheap:model") if cheap else None,
        )

    return open_it


async def ask(kb: KnowledgeBase, text: str = ASKED, collection: str = "news") -> Answer:
    filters = Filters(collections=(collection,))
    return await final(answer(kb, Question(text=text, filters=filters)))


TOLD = "The Osprey was bought for 2.6 million euros [e1].\n\nEveryone on the harbour was glad."


async def test_a_sentence_without_a_citation_is_marked_unless_citations_are_required(
    opened: Opened,
) -> None:
    with opened(TOLD) as kb:
        marked = await ask(kb)
    assert [one.verdict.name for one in marked.sentences][-1] == VerdictName.UNCITED
    with opened(TOLD, citations={"required": True}) as kb:
        kept = await ask(kb)
    assert "glad" not in kept.text
    assert [one.citations for one in kept.sentences] == [(1,)]
    assert kept.dropped_sentences == 1


async def test_without_the_graph_nothing_is_walked_and_no_entity_is_related(
    opened: Opened,
) -> None:
    asked = "What does the Osprey moor at?"
    with opened() as kb:
        walked = await ask(kb, asked, "fleet")
    assert walked.answered_by == "catalogue"
    assert "North pier" in walked.text
    assert "entity" in {one.kind for one in walked.related}
    with opened(features={"graph_aware": False}) as kb:
        read = await ask(kb, asked, "fleet")
    assert read.answered_by != "catalogue"
    assert "entity" not in {one.kind for one in read.related}


async def test_an_unsure_answer_opens_by_saying_so_unless_that_is_switched_off(
    opened: Opened,
) -> None:
    asked = "Why was the ferry bought?"
    with opened() as kb:
        said = await ask(kb, asked)
    with opened(features={"admit_uncertainty": False}) as kb:
        plain = await ask(kb, asked)
    assert said.confidence.band == plain.confidence.band == "low"
    assert said.text.startswith(LIMITED_PREFIX.rstrip())
    told = said.text.removeprefix(LIMITED_PREFIX.rstrip()).lstrip()
    assert plain.text == told.partition("\n\nConsider adding")[0]
    assert plain.data_gaps == said.data_gaps
    for one in plain.sentences:
        assert one.span.of(plain.text) == one.text
