"""Answers written out as Markdown with sources and verdicts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.answer_export import answer_markdown
from wellread.library.recheck import stored_answer
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question

NEWS = (
    {
        "title": "Ferry *Osprey* [new]",
        "url": "https://herald.example/a (1)",
        "published_at": "2026-01-05",
        "authors": ["Ilse Marrane"],
        "text": "The ferry Osprey was bought for 2.6 million euros in 2021. A tug towed it home.",
    },
    {
        "title": "The pier",
        "url": "https://herald.example/b",
        "published_at": "2026-01-06",
        "text": "The pier_head was painted <green> in May. Nobody was hurt on the pier.",
    },
)
LENIENT: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.05}}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home that each test gets a copy of."""
    root = tmp_path_factory.mktemp("bibliography")
    path = root / "news.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in NEWS), encoding="utf-8")
    with open_kb(root / "home", overrides=LENIENT, embedder=ReadableEmbedder()) as made:
        add(made, [str(path)], collection="town")
    return root / "home"


@pytest.fixture
def kb(prepared: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    home = Path(shutil.copytree(prepared, tmp_path / "home"))
    with open_kb(home, overrides=LENIENT, embedder=ReadableEmbedder()) as made:
        yield made


async def written(kb: KnowledgeBase, text: str) -> str:
    given = await final(answer(kb, Question(text=text)))
    return answer_markdown(kb, *stored_answer(kb, given.id, ""))


async def test_markdown_links_each_citation_and_lists_the_sources(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?")
    assert text.startswith("# What was the ferry Osprey bought for?\n")
    said = "The ferry Osprey was bought for 2.6 million euros in 2021."
    assert f"{said} [\\[1\\]](https://herald.example/a%20%281%29#:~:text=" in text
    sources = text.partition("## Sources\n")[2]
    listed = r"1. [Ferry \*Osprey\* \[new\]](https://herald.example/a%20%281%29) – article"
    assert listed in sources
    assert re.search(r"\*Answered by extractive on \d{4}-\d\d-\d\d, confidence 0\.\d\d", text)


async def test_verdicts_are_footnotes_and_every_footnote_is_there(kb: KnowledgeBase) -> None:
    text = await written(kb, "What was the ferry Osprey bought for?")
    body, _, notes = text.partition("## Sources")
    used = re.findall(r"\[\^(\d+)\]", body)
    assert used
    assert re.findall(r"^\[\^(\d+)\]: quoted \(verbatim\)", notes, re.MULTILINE) == used


async def test_source_text_is_no_markup(kb: KnowledgeBase) -> None:
    text = await written(kb, "When was the pier painted?")
    assert r"The pier_head was painted \<green\> in May." in text


async def test_what_was_removed_is_not_written_out(kb: KnowledgeBase) -> None:
    given = await final(answer(kb, Question(text="When was the pier painted?")))
    kb.catalogue.remove_sources("town", list(kb.catalogue.sources("town")))
    stored, whole = stored_answer(kb, given.id, "")
    text = answer_markdown(kb, stored, whole)
    assert "> **Stale.**" in text
    assert "painted <" not in text
    assert "herald.example" not in text
