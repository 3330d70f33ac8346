"""What the material lacks for a question, in words, and the replies that say so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.ask.deliver.reply import would_help
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel, judging

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
    assert given.data_gaps == (
        "nothing found about “purple submarines”",
        "nothing found about “Admiral Zyx command”",
    )
    assert "What would help: reports, budgets or statistics about " in given.text
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
    (sentence,), (citation,) = given.sentences, given.citations
    assert given.text.startswith("The sources do not clearly answer this question. ")
    assert sentence.span.of(given.text) == sentence.text
    assert "rebuilt in 2020" in sentence.text
    assert citation.answer_span == sentence.span
    assert citation.quote in TEXT


async def test_the_part_of_a_question_that_nothing_answers_is_named(kb: KnowledgeBase) -> None:
    given = await ask(
        kb, "When was the heron boathouse rebuilt after the flood and who paid the carpenters?"
    )
    assert "2020" in given.text
    assert "no source answers the part “Who paid the carpenters?”" in given.data_gaps


async def test_a_question_answered_in_both_parts_has_no_gap(kb: KnowledgeBase) -> None:
    given = await ask(kb, "When was the boathouse rebuilt and how many rowing boats does it keep?")
    assert not given.data_gaps


async def test_a_false_premise_is_named_beside_the_answer(kb: KnowledgeBase) -> None:
    given = await ask(kb, "Why was the heron boathouse rebuilt in 2019 after the flood?")
    assert [said[:47] for said in given.premises] == [
        "The question says 2019; the source says 2020 [1"
    ]


async def test_a_draft_of_which_nothing_is_borne_out_is_shown_as_that(tmp_path: Path) -> None:
    (tmp_path / "boathouse.md").write_text(TEXT, encoding="utf-8")
    judge = judging({"number": 1, "verdict": "unsupported", "quote": "nine rowing boats"})
    model = ScriptedModel(["Elephants paint violins in Madrid [e1]."], judge=judge)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder(), model=model) as opened:
        add(opened, [str(tmp_path / "boathouse.md")])
        given = await ask(opened, "When was the heron boathouse rebuilt after the flood?")
    assert [one.verdict.name for one in given.sentences] == ["unsupported"]
    assert given.confidence.band == "low"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What did John say about tides?", "transcripts, interviews or minutes"),
        ("How do I mend a kettle?", "guides or documentation"),
        ("How many kettles broke?", "reports, budgets or statistics"),
        ("Why do kettles break?", "reports or papers"),
        ("When is the fair?", "news or announcements"),
        ("Who runs the fair?", "news, minutes or directories"),
        ("Kettle repair", "articles, papers or pages"),
    ],
)
def test_the_kind_of_source_fits_the_question(question: str, kind: str) -> None:
    assert would_help(analyse(Question(text=question), Vocabulary(), date(2026, 1, 1))) == kind
