"""What an expert put right is the answer from then on; it expires with the words it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.doubles import forked

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.past_questions import (
    SimilarityCriteria,
    similar_questions,
    verified_similar,
)
from wellread.identity import sentence_hash, tagged_hash, words_hash
from wellread.ingest.remove import remove_documents
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.research.research import last_report, research
from wellread.store.schema.stored_values import BetterCitation, Feedback, SentenceRating
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters, Span
from wellread.values.answers import BEFORE, Answer, Question
from wellread.values.reports import ResearchRequest

GUIDE = """# Boat house guide

The boat house opens at dawn. A kayak is 12 crowns a day for anybody. A kayak is brought back clean.

Paddles hang on the north wall. Life vests are by the door.
"""
NEWS = """# Harbour notice

Since May a kayak is 15 crowns a day. Lanterns are lent for nothing.
"""
ASKED = "What does a kayak cost?"
AGAIN = "What does a kayak cost, please?"
RIGHT = "A kayak is 15 crowns a day since May."
PROOF = "Since May a kayak is 15 crowns a day."
ASK = {"qa": {"confidence_threshold": 0}}
LATER = datetime(2026, 3, 4, tzinfo=UTC)


class Home:
    """Two collections of sources, what was asked, and what experts said of it."""

    def __init__(self, folder: Path) -> None:
        self.files, self.home = folder / "files", folder / "home"
        self.files.mkdir()
        self.put("guide.md", GUIDE)
        self.put("news.md", NEWS)
        self.model: ScriptedModel | None = None
        self.settings: dict[str, Any] = {}

    def put(self, name: str, text: str) -> None:
        (self.files / name).write_text(text, encoding="utf-8")

    def take_in(self) -> None:
        with self.opened() as kb:
            add(kb, [str(self.files)], collection="boats")

    def opened(self) -> KnowledgeBase:
        return open_kb(
            self.home,
            overrides=ASK | self.settings,
            embedder=ReadableEmbedder(),
            model=self.model,
        )

    async def ask(self, text: str = AGAIN, **given: Any) -> Answer:
        with self.opened() as kb:
            return await final(answer(kb, Question(text=text, **given)))

    async def asked(self, text: str = ASKED) -> Answer:
        self.take_in()
        return await self.ask(text)

    def place(self, words: str = PROOF, title: str = "Harbour notice") -> BetterCitation:
        with self.opened() as kb:
            document = next(one for one in kb.catalogue.documents("boats") if one.title == title)
            text = kb.catalogue.texts([(document.id, Span(start=0, end=document.characters))])[0]
            start = text.index(words)
        return BetterCitation(
            document_id=document.id,
            version=document.version,
            span=Span(start=start, end=start + len(words)),
            content=words_hash(words),
        )

    def give(self, told: Answer, author: str = "mara", **said: Any) -> Feedback:
        given = Feedback(
            id=tagged_hash("fbk", told.id, author),
            answer_id=told.id,
            author=author,
            question=told.standalone or told.question,
            created_at=LATER,
            updated_at=LATER,
        )
        given = replace(given, **said)
        with self.opened() as kb:
            kb.catalogue.feedback.put(given)
        return given

    async def correct(self, **said: Any) -> Feedback:
        """Ask, and put the answer right."""
        told = await self.asked()
        usual: dict[str, Any] = {"score": 20, "correction": RIGHT, "citations": (self.place(),)}
        return self.give(told, **usual | said)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Sources that are not taken in yet."""
    return Home(tmp_path)


def harmful(sentence: str) -> tuple[SentenceRating]:
    return (SentenceRating(sentence=0, content=sentence_hash(sentence), harmful=True),)


def flag(home: Home, told: Answer, place: int | None = None) -> str:
    """Flag a sentence of an answer, the first one that is marked unless one is named; it."""
    marked = [at for at, one in enumerate(told.sentences) if one.marked]
    place = marked[0] if place is None and marked else place or 0
    said = told.sentences[place].text
    rating = SentenceRating(sentence=place, content=sentence_hash(said), harmful=True)
    home.give(told, sentences=(rating,))
    return said


# --- a correction is shown first -------------------------------------------------------------


async def test_the_experts_words_come_first_on_the_experts_place(home: Home) -> None:
    await home.correct()
    told = await home.ask()
    assert told.answered_by == BEFORE
    assert told.sentences[0].text == RIGHT
    assert told.sentences[0].verdict.name.supports
    cited = told.citations[told.sentences[0].citations[0] - 1]
    assert (cited.title, cited.quote) == ("Harbour notice", PROOF)
    [note] = [note for note in told.notes if "corrected" in note]
    assert "mara" in note
    assert ASKED in note
    assert "rated 20 of 100" in note
    assert "2026-03-04" in note
    assert told.confidence.band in ("high", "medium")


async def test_another_question_is_not_answered_with_it(home: Home) -> None:
    await home.correct()
    for asked in (
        "What does a kayak not cost?",
        "What did a kayak cost in 2019?",
        "What does a canoe cost?",
    ):
        assert RIGHT not in (await home.ask(asked)).text


async def test_a_sentence_put_right_stands_before_those_that_were_fine(home: Home) -> None:
    told = await home.asked()
    first = told.sentences[0]
    rating = SentenceRating(
        sentence=0,
        content=sentence_hash(first.text),
        score=0,
        correction=RIGHT,
        citation=home.place(),
    )
    home.give(told, sentences=(rating,))
    again = await home.ask()
    assert again.sentences[0].text == RIGHT
    assert first.text not in [one.text for one in again.sentences]
    assert [one.text for one in again.sentences[1:]] == [
        one.text for one in told.sentences[1:] if one.verdict.name.supports
    ]


async def test_the_prompt_for_a_question_like_it_holds_the_correction(home: Home) -> None:
    await home.correct()
    with home.opened() as kb:
        shown = verified_similar(kb, "What does a kayak cost a day?", ("boats",))
    assert f"Q: {ASKED}\n" in shown
    assert f"Correction: {RIGHT}\n" in shown
    assert "Score: 20/100" in shown


async def test_the_limits_of_the_question_are_a_border(home: Home) -> None:
    await home.correct()
    with home.opened() as kb:
        guide = next(one for one in kb.catalogue.documents("boats") if "guide" in one.title)
        add(kb, [str(home.files / "guide.md")], collection="else")
    inside = await home.ask(filters=Filters(collections=("boats",)))
    assert inside.answered_by == BEFORE
    for limits in (
        Filters(collections=("else",)),
        Filters(document_ids=(guide.id,)),
        Filters(published_from=LATER),
        Filters(kinds=("paper",)),
    ):
        told = await home.ask(filters=limits)
        assert "15 crowns" not in told.text
        assert told.answered_by != BEFORE
    with home.opened() as kb:
        assert not similar_questions(kb, ASKED, SimilarityCriteria(collections=("else",)))


# --- what is flagged never comes back --------------------------------------------------------


async def test_a_flagged_sentence_is_not_given_again(home: Home) -> None:
    told = await home.asked()
    said = flag(home, told)
    again = await home.ask(ASKED)
    assert not again.cached
    assert said not in again.text
    assert "1 sentence was left out: an expert flagged it as harmful" in again.notes


async def test_nor_by_a_model_nor_in_its_stream(home: Home) -> None:
    said = flag(home, await home.asked())
    home.model = ScriptedModel([f"{said} [e1] The boat house opens at dawn [e1]."])
    streamed, told = "", None
    with home.opened() as kb:
        async for event in answer(kb, Question(text=ASKED)):
            streamed += getattr(event, "text", "")
            told = getattr(event, "answer", told)
    assert isinstance(told, Answer)
    assert said not in streamed
    assert said not in told.text
    assert "opens at dawn" in told.text
    assert any("flagged" in note for note in told.notes)


async def test_nor_in_a_report_nor_in_a_prompt(home: Home) -> None:
    told = await home.asked()
    said = flag(home, told)
    home.give(told, sentences=harmful(said), author="ida", score=50)
    with home.opened() as kb:
        report = await last_report(
            research(
                kb, ResearchRequest(question=Question(text="Tell me everything about a kayak"))
            )
        )
        shown = verified_similar(kb, ASKED, ())
    assert report.answer.sentences
    assert said not in report.answer.text
    assert said not in shown
    assert "flagged it as harmful" in shown


# --- it expires with the words that it rests on ----------------------------------------------


CHANGES: list[tuple[str, Callable[[Home], None]]] = [
    ("changed", lambda home: home.put("news.md", NEWS.replace("15 crowns", "18 crowns"))),
    ("emptied", lambda home: home.put("news.md", "# Harbour notice\n\nClosed for winter.\n")),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[n for n, _ in CHANGES])
async def test_it_expires_and_its_question_is_a_gap(
    home: Home, change: Callable[[Home], None]
) -> None:
    given = await home.correct()
    change(home)
    home.take_in()
    with home.opened() as kb:
        kept = kb.catalogue.feedback.named([given.id]).get(given.id)
        assert kept is not None
        assert "no longer in their source" in kept.expired
        [gap] = [gap for gap in kb.catalogue.gaps() if gap.question == ASKED]
        assert "expired" in gap.reason
        [shown] = similar_questions(kb, ASKED, SimilarityCriteria())
        assert shown.expired == kept.expired
        assert verified_similar(kb, ASKED, ()) == ""
    again = await home.ask()
    assert RIGHT not in again.text
    assert again.answered_by != BEFORE
    home.take_in()
    with home.opened() as kb:
        assert len([gap for gap in kb.catalogue.gaps() if gap.question == ASKED]) == 1


async def test_words_that_moved_take_it_along(home: Home) -> None:
    given = await home.correct()
    home.put(
        "news.md",
        "# Harbour notice\n\nThe crane is out of use.\n\nLanterns are lent for "
        "nothing. Since  May a kayak\nis 15 crowns a day.\n",
    )
    home.take_in()
    with home.opened() as kb:
        kept = kb.catalogue.feedback.named([given.id]).get(given.id)
        assert kept is not None
        assert not kept.expired
        assert kept.citations[0].span != given.citations[0].span
    told = await home.ask()
    assert told.sentences[0].text == RIGHT
    assert " ".join(told.citations[0].quote.split()) == PROOF


async def test_it_expires_when_its_source_is_removed(home: Home) -> None:
    given = await home.correct()
    with home.opened() as kb:
        remove_documents(kb, [given.citations[0].document_id])
        kept = kb.catalogue.feedback.named([given.id]).get(given.id)
    assert kept is not None
    assert "removed" in kept.expired
    assert RIGHT not in (await home.ask()).text


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.ingest.adding_process import parse_alone
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.store.catalogue.feedback_records import Expiry
from wellread.testing.embedding import ReadableEmbedder
import wellread.store.catalogue.feedback_records as expiry

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(expiry if sys.argv[3] == "record_gap" else Expiry, sys.argv[3], die)
parse_alone()
with open_kb(Path(sys.argv[1]), embedder=ReadableEmbedder()) as kb:
    add(kb, [sys.argv[2]], collection="boats")
"""


@pytest.mark.parametrize("at", ["sweep", "record_gap"])
async def test_a_kill_leaves_nothing_that_counts_wrongly(home: Home, at: str) -> None:
    given = await home.correct()
    home.put("news.md", NEWS.replace("15 crowns", "18 crowns"))
    done = forked.run(KILLED, str(home.home), str(home.files), at)
    assert done.returncode == -9
    with home.opened() as kb:
        kept = kb.catalogue.feedback.named([given.id]).get(given.id)
        assert kept is not None
        assert kept.expired == "", "killed before it was written"
    told = await home.ask()
    assert RIGHT not in told.text
    with home.opened() as kb:
        kept = kb.catalogue.feedback.named([given.id]).get(given.id)
        assert kept is not None
        assert kept.expired
        assert len([gap for gap in kb.catalogue.gaps() if gap.question == ASKED]) == 1


async def test_what_is_removed_leaves_corrections_and_vectors(home: Home) -> None:
    quoted = "Paddles hang on the north wall and life vests hang by the door."
    home.put("guide.md", f"# Boat house guide\n\nA kayak is 12 crowns a day.\n\n{quoted}\n")
    told = await home.asked()
    given = home.give(
        told,
        question=f"Is it so that {quoted}",
        correction=f"{RIGHT} {quoted}",
        citations=(home.place(),),
    )
    with home.opened() as kb:
        similar_questions(kb, given.question, SimilarityCriteria())
        assert kb.catalogue.feedback.questions()[0].vector
        guide = next(one for one in kb.catalogue.documents("boats") if "guide" in one.title)
        remove_documents(kb, [guide.id])
        [kept] = kb.catalogue.feedback.questions()
        assert kept.vector == b""
        stored = [
            kb.catalogue.feedback.named([given.id]).get(given.id),
        ]
    assert stored
    assert "north wall" not in repr(stored)
