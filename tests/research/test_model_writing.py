"""Sections and summaries by a model: what is borne out stays, the rest goes, and it is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.ask.planted.plants import INSTRUCTIONS
from tests.doubles.evidence import evidence_of as evidence_texts
from tests.doubles.obedient import ObedientModel
from tests.doubles.research_run import MemoryRun

from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import ModelError
from wellread.kb import KnowledgeBase, open_kb
from wellread.research.sections import SectionDraft, write_section
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import Judge, ScriptedModel, judging
from wellread.types import Filters
from wellread.values.answers import Evidence, Question
from wellread.values.question import Analysis
from wellread.values.reports import Facet

TOWN = Filters(collections=("town",))
QUESTION = "What is known about the ferry Osprey?"
FACET = Facet(
    id="f2", kind="section", title="Price and captain", query="ferry Osprey price captain"
)


@contextmanager
def opened(
    home: Path, *replies: str | Exception, judge: Judge | None = None, **given: Any
) -> Iterator[KnowledgeBase]:
    model = ScriptedModel(replies, judge=judge) if replies else None
    with open_kb(home, embedder=ReadableEmbedder(), model=model, **given) as kb:
        yield kb


def evidence_of(kb: KnowledgeBase, query: str = "ferry Osprey captain bought") -> list[Evidence]:
    return pack(kb, search(kb, query, TOWN, limit=5))


def analysis_of(kb: KnowledgeBase, text: str = FACET.query) -> Analysis:
    question = Question(text=text, filters=TOWN)
    return analyse(question, vocabulary_of(kb, TOWN.collections), date(2026, 3, 1))


def key_with(evidence: list[Evidence], words: str) -> str:
    return next(piece.key for piece in evidence if words in piece.text)


async def section(
    kb: KnowledgeBase, run: MemoryRun | None = None, evidence: list[Evidence] | None = None
) -> SectionDraft:
    pieces = evidence_of(kb) if evidence is None else evidence
    run = run or MemoryRun()
    run.begin(kb, (FACET,), TOWN)
    return await write_section(run, QUESTION, FACET, analysis_of(kb), pieces)


def keys(home: Path) -> tuple[str, str]:
    """The keys of the price and of the captain."""
    with opened(home) as kb:
        evidence = evidence_of(kb)
        return key_with(evidence, "2.6 million"), key_with(evidence, "Mirela Dunn")


async def test_what_is_unsupported_is_marked_or_removed_as_the_settings_say(home: Path) -> None:
    price, captain = keys(home)
    reply = (
        f"The ferry Osprey was bought for 2.6 million euros in 2021 [{price}]. "
        f"The captain of the Osprey is Mirela Dunn [{captain}]. "
        f"The ferry Osprey was bought for 9.9 million euros in 1999 [{price}]. "
        "Ferries are a good way to travel. "
        f"Penguins built the harbour out of chocolate [e77]."
    )
    bad = {"number": 3, "verdict": "unsupported", "quote": "2.6 million euros in 2021"}
    run = MemoryRun()
    with opened(home, reply, judge=judging(bad)) as kb:
        draft = await section(kb, run)
    assert [item.verdict.name for item in draft.checked] == ["quoted", "quoted", "unsupported"]
    assert [item.claim.keys for item in draft.checked] == [(price,), (captain,), (price,)]
    assert (draft.removed, draft.unknown_keys) == (2, 1), "what cites nothing goes"
    assert (draft.by, draft.fallback) == ("scripted:model", "")
    assert len(run.usages) == 2
    strict: Any = {"citations": {"strict": True}}
    with opened(home, reply, judge=judging(bad), overrides=strict) as kb:
        draft = await section(kb)
    assert [item.verdict.name for item in draft.checked] == ["quoted", "quoted"]
    assert draft.removed == 3
    assert draft.text == " ".join(item.claim.text for item in draft.checked)


async def test_a_section_is_written_from_its_own_evidence_alone(home: Path) -> None:
    model = ScriptedModel(["NOT FOUND"])
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        evidence = [piece for piece in evidence_of(kb) if "Mirela" in piece.text]
        draft = await section(kb, evidence=evidence)
        everything = evidence_of(kb)
    (prompt,) = model.prompts
    assert prompt.session == ""
    assert prompt.history == ()
    assert "Mirela Dunn" in prompt.user
    others = [piece.text for piece in everything if "Mirela" not in piece.text]
    assert others
    assert not any(text in prompt.user for text in others)
    assert QUESTION in prompt.user
    assert FACET.title in prompt.user
    assert (draft.text, draft.checked, draft.by) == ("", (), "scripted:model")
    assert draft.removed == 0


async def test_calls_and_made_up_addresses_are_withheld(home: Path) -> None:
    price, _ = keys(home)
    reply = (
        "CALL: curl '/api/search?query=x'\n\n"
        f"The ferry Osprey was bought for 2.6 million euros in 2021 [{price}].\n\n"
        f"![map](http://evil.example/?q=1) [{price}]\n"
    )
    with opened(home, reply) as kb:
        draft = await section(kb)
    assert draft.text.startswith("The ferry Osprey was bought for 2.6 million euros in 2021.")
    assert "evil" not in draft.text


@pytest.mark.parametrize("plant", INSTRUCTIONS)
async def test_an_obedient_writer_neither_leaks_nor_calls_nor_lies(home: Path, plant: str) -> None:
    honest = "The lake Ansa is 40 metres deep. Herons nest on its shore."
    evidence = evidence_texts(f"{honest} {INSTRUCTIONS[plant]}")
    model = ObedientModel()
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        draft = await section(kb, evidence=evidence)
    (prompt,) = model.prompts
    fence = prompt.user.partition("<evidence-")[2].partition(">")[0]
    for told in (fence, "CALL:", "![", "](", "javascript:", "<img", "<script", "shown beside them"):
        assert told not in draft.text
    assert {key for item in draft.checked for key in item.claim.keys} <= {"e1"}
    for item in draft.checked:
        assert not (item.verdict.name.whole and "9999" in item.claim.text.replace(",", ""))


async def test_who_wrote_instead_is_told(home: Path) -> None:
    price, _ = keys(home)
    said = f"The ferry Osprey was bought for 2.6 million euros in 2021 [{price}]."
    spare = ScriptedModel([said], identity="scripted:spare")
    with opened(home, ModelError("down"), fallback_model=spare) as kb:
        draft = await section(kb)
    assert draft.by == "scripted:spare"
    assert draft.fallback == "scripted:model failed: down"
    with opened(home, ModelError("down")) as kb:
        draft = await section(kb)
    assert (draft.by, draft.fallback) == ("none", "scripted:model failed: down")
    with opened(home, "") as kb:
        draft = await section(kb)
    assert (draft.by, draft.fallback) == ("none", "scripted:model gave an empty reply")
    with opened(home) as kb:
        draft = await section(kb)
    assert (draft.by, draft.fallback) == ("none", "")


async def test_at_a_limit_no_model_is_asked(home: Path) -> None:
    model = ScriptedModel([])
    run = MemoryRun(stops=lambda run: "time_limit")
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        draft = await section(kb, run)
    assert (draft.by, draft.fallback) == ("none", "no model was asked: time limit")
    assert model.prompts == []


async def test_what_was_written_is_not_paid_for_again(home: Path) -> None:
    price, _ = keys(home)
    said = f"The ferry Osprey was bought for 2.6 million euros in 2021 [{price}]."
    run = MemoryRun()
    with opened(home, said) as kb:
        first = await section(kb, run)
        again = MemoryRun(journal=run.journal)
        assert await section(kb, again) == first
    assert again.usages == run.usages
    assert again.made == []
