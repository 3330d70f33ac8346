"""A real small model, end to end: llama.cpp serves it, ``answer()`` asks it.

Runs where the package ``xllamacpp`` is installed and ``WELLREAD_TEST_GGUF`` names a model's file
(made with SmolLM2-135M-Instruct). Such a model is not clever, so only the plumbing is checked: that
its words arrive, are counted, checked and cited, and that nothing it makes up is called supported.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.doubles.research_run import MemoryRun
from tests.doubles.small_model import serving

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.config import GenerationSettings
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.models.base import ModelUsage, Prompt
from wellread.models.open_language_model import open_model
from wellread.research.model_rounds import investigate
from wellread.research.sections import write_section
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import collect
from wellread.types import Filters
from wellread.values.answers import Answer, Event, Question, TokenEvent
from wellread.values.reports import Facet

logger = logging.getLogger(__name__)

FERRY = (
    "# The ferry\n\nThe ferry Osprey was bought for 2.6 million euros in 2021. "
    "It carries 120 passengers and 14 cars.\n"
)
QUESTION = "How much was paid for the ferry Osprey?"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of a running model; the test is skipped where there is none to run."""
    path = Path(os.environ.get("WELLREAD_TEST_GGUF", ""))
    if not path.is_file() or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no xllamacpp, or no file named by WELLREAD_TEST_GGUF")
    with serving(path) as running:
        yield running


def test_its_words_arrive_in_pieces_and_are_counted(url: str) -> None:
    settings = GenerationSettings(model="small", base_url=url, max_tokens=40, temperature=0)
    model = open_model(settings, {})
    assert model is not None
    prompt = Prompt(system="Answer in one short sentence.", user="What is the capital of France?")
    text, pieces = asyncio.run(collect(model, prompt))
    assert len(pieces) > 2
    usage = pieces[-1]
    assert isinstance(usage, ModelUsage)
    assert usage.input_tokens > 10
    assert 0 < usage.output_tokens <= 40
    assert len(text.split()) <= 40


async def test_an_answer_is_written_checked_and_recorded(url: str, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text(FERRY, encoding="utf-8")
    overrides: dict[str, dict[str, object]] = {
        "qa": {"confidence_threshold": 0.05},
        "generation": {
            "model": "small",
            "base_url": url,
            "max_tokens": 80,
            "temperature": 0,
            "timeout": 300,
        },
    }
    shown = []
    with open_kb(tmp_path / "home", overrides=overrides, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "ferry.md")])

        async def listened() -> AsyncIterator[Event]:
            async for event in answer(kb, Question(text=QUESTION)):
                if isinstance(event, TokenEvent):
                    shown.append(event.text)
                yield event

        given: Answer = await final(listened())
    logger.info("wrote %r; answer %r by %s", "".join(shown), given.text, given.answered_by)
    logger.info("%s, %d cited", [s.verdict.name for s in given.sentences], len(given.citations))
    assert given.answered_by == f"small@{url.split('/')[2]}"
    assert "".join(shown).strip()
    assert given.usage.input_tokens > 50
    assert given.usage.output_tokens > 0
    assert given.text.strip()
    assert given.sentences
    assert all(given.text[s.span.start : s.span.end] == s.text for s in given.sentences)
    assert all(citation.quote in FERRY for citation in given.citations)


async def test_a_section_of_a_report_is_written_and_checked(url: str, tmp_path: Path) -> None:
    """Whatever so small a model writes: nothing stays that its evidence does not bear out."""
    (tmp_path / "ferry.md").write_text(FERRY, encoding="utf-8")
    overrides: dict[str, dict[str, object]] = {
        "generation": {
            "model": "small",
            "base_url": url,
            "max_tokens": 120,
            "temperature": 0,
            "timeout": 300,
        },
    }
    run = MemoryRun()
    facet = Facet(id="f1", kind="term", title="The ferry Osprey", query=QUESTION)
    with open_kb(tmp_path / "home", overrides=overrides, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "ferry.md")])
        evidence = pack(kb, search(kb, QUESTION, Filters()))
        analysis = analyse(Question(text=QUESTION), vocabulary_of(kb, ()), date(2026, 3, 1))
        run.begin(kb, (facet,), Filters())
        draft = await write_section(run, QUESTION, facet, analysis, evidence)
        events = [event async for event in investigate(run, QUESTION)]
    logger.info("wrote %r, removed %d, %s", draft.text, draft.removed, draft.fallback)
    logger.info("looked: %s; ended %s", [event.text for event in events], run.ended)
    assert draft.by == f"small@{url.split('/')[2]}"
    assert {key for item in draft.checked for key in item.claim.keys} <= {
        one.key for one in evidence
    }
    assert bool(draft.text) == bool(draft.checked)
    assert run.usages[0].input_tokens > 200
    assert run.ended is not None
    assert run.ended[0] in ("complete", "no_new_evidence", "round_limit")
