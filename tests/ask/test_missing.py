"""What the material lacks for a question, in words, and the replies that say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel, judging
from wellread.values.answers import Answer, Question

TEXT = """# Heron boathouse

The heron boathouse was rebuilt in 2020 after the flood. The boathouse keeps nine rowing boats.
"""


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "boathouse.md").write_text(TEXT, encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(tmp_path / "boathouse.md")])
        yield opened


async def ask(kb: KnowledgeBase, text: str) -> Answer:
    return await final(answer(kb, Question(text=text)))


async def test_a_refusal_names_what_is_missing_in_the_words_of_the_question(
    kb: KnowledgeBase,
) -> None:
    given = await ask(kb, "How many purple submarines did Admiral Zyx command?")
    assert given.answered_by == "none"
    assert given.data_gaps == ("nothing found about “Admiral Zyx”",)
    assert given.text.startswith("I don't have enough information in these sources to answer this")
    assert "This might be a gap worth filling" in given.text
    assert not given.citations


async def test_a_refusal_that_was_near_quotes_the_nearest_sentence_and_opens_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "boathouse.md").write_text(TEXT, encoding="utf-8")
    wary = {"qa": {"confidence_threshold": 0.99}}
    with open_kb(tmp_path / "home", overrides=wary, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "boathouse.md")])
        given = await ask(kb, "When was the heron boathouse rebuilt?")
    assert given.answered_by == "none"
    assert given.text.startswith("I don't have enough information in these sources to answer this")
    assert "The nearest passages, which may not answer it:" in given.text
    for sentence in given.sentences:
        assert sentence.span.of(given.text) == sentence.text
    assert any("rebuilt in 2020" in one.text for one in given.sentences if one.marked)
    assert all(citation.quote in TEXT for citation in given.citations)


async def test_the_part_of_a_question_that_nothing_answers_is_named(kb: KnowledgeBase) -> None:
    given = await ask(
        kb, "When was the heron boathouse rebuilt after the flood and who paid the carpenters?"
    )
    assert "2020" in given.text
    assert "no source answers the part “Who paid the carpenters?”" in given.data_gaps


async def test_a_draft_of_which_nothing_is_borne_out_is_shown_as_that(tmp_path: Path) -> None:
    (tmp_path / "boathouse.md").write_text(TEXT, encoding="utf-8")
    judge = judging({"number": 1, "verdict": "unsupported", "quote": "nine rowing boats"})
    model = ScriptedModel(["Elephants paint violins in Madrid [e1]."], judge=judge)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder(), model=model) as opened:
        add(opened, [str(tmp_path / "boathouse.md")])
        given = await ask(opened, "When was the heron boathouse rebuilt after the flood?")
    assert [one.verdict.name for one in given.sentences] == ["unsupported"]
    assert given.confidence.band == "low"
