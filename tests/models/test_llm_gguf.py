"""A real small model, end to end: llama.cpp serves it, ``answer()`` asks it.

Runs where the package ``xllamacpp`` is installed and ``WELLREAD_TEST_GGUF`` names a model's file
(made with SmolLM2-135M-Instruct). Such a model is not clever, so only the plumbing is checked: that
its words arrive, are counted, checked and cited, and that nothing it makes up is called supported.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.doubles.small_model import serving

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer, Event, Question, TokenEvent

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
