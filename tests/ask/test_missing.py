"""What the material lacks for a question, in words, and the replies that say so."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from tests.ask.conftest import MakeHome, ask

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel, judging
from wellread.types import Filters
from wellread.values.answers import Question

TEXT = """# Heron boathouse

The heron boathouse was rebuilt in 2020 after the flood. The boathouse keeps nine rowing boats.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(default={"boathouse.md": TEXT})


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
    home: Path,
) -> None:
    wary = {"qa": {"confidence_threshold": 0.99}}
    with open_kb(home, overrides=wary, embedder=ReadableEmbedder()) as strict:
        given = await ask(strict, "When was the heron boathouse rebuilt?")
    assert given.answered_by == "none"
    assert given.text.startswith("I don't have enough information in these sources to answer this")
    assert "The nearest passages, which may not answer it:" in given.text
    for sentence in given.sentences:
        assert sentence.span.of(given.text) == sentence.text
    assert any("rebuilt in 2020" in one.text for one in given.sentences if one.marked)
    assert all(citation.quote in TEXT for citation in given.citations)


def minutes_with_a_scan() -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    canvas.drawString(60, 700, "Minutes of the shed club in spring.")
    canvas.showPage()
    canvas.drawImage(ImageReader(Image.linear_gradient("L")), 0, 0, 590, 840)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


async def test_a_refusal_names_files_with_pages_that_have_no_text(make_home: MakeHome) -> None:
    home = make_home(club={"minutes.pdf": minutes_with_a_scan()}, other={"boathouse.md": TEXT})
    remark = "Minutes: 1 of 2 pages have no text (2): they look scanned"
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        touched = home.parent / "club" / "minutes.pdf"
        touched.touch()
        assert add(kb, [str(touched)], collection="club").counts()["unchanged"] == 1
        question = "How many purple submarines did Admiral Zyx command?"
        assert remark in (await ask(kb, question)).data_gaps
        within = Question(text=question, filters=Filters(collections=("other",)), fresh=True)
        assert remark not in (await final(answer(kb, within))).data_gaps


async def test_the_part_of_a_question_that_nothing_answers_is_named(kb: KnowledgeBase) -> None:
    given = await ask(
        kb, "When was the heron boathouse rebuilt after the flood and who paid the carpenters?"
    )
    assert "2020" in given.text
    assert "no source answers the part “Who paid the carpenters?”" in given.data_gaps


async def test_a_draft_of_which_nothing_is_borne_out_is_shown_as_that(home: Path) -> None:
    judge = judging({"number": 1, "verdict": "unsupported", "quote": "nine rowing boats"})
    model = ScriptedModel(["Elephants paint violins in Madrid [e1]."], judge=judge)
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as opened:
        given = await ask(opened, "When was the heron boathouse rebuilt after the flood?")
    assert [one.verdict.name for one in given.sentences] == ["unsupported"]
    assert given.confidence.band == "low"
