"""A question within its session: whose it is, what it is read as, by rules and by a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.made import answer_of, citation_of

from wellread.ask.understand.conversation import SessionQuestion, resolve_follow_up, turn_of
from wellread.ask.understand.rewrite import Turn
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import EarlierTurn, Kind, Span
from wellread.values.answers import Answer, Citation, Question, Sentence, VerdictName
from wellread.values.answers import Verdict as VerdictValue

NOTHING_KNOWN = Vocabulary()
ROSA = "Who is Rosa Vale?"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as made:
        yield made


def cited(title: str, kind: Kind = "page") -> Citation:
    return citation_of(title=title, kind=kind)


def given(question: str, text: str) -> Answer:
    told = {"question": question, "text": text, "session_id": "ses_1", "owner": "ann"}
    return answer_of(id=f"ans {question}", **told)


async def ask(
    kb: KnowledgeBase, text: str, session: str = "ses_1", owner: str = "ann"
) -> SessionQuestion:
    return await resolve_follow_up(
        kb, Question(text=text, session_id=session, owner=owner), NOTHING_KNOWN
    )


async def test_an_unknown_session_starts_a_new_one(kb: KnowledgeBase) -> None:
    first = await ask(kb, "Who is she?", session="ses_of_my_own")
    assert first.question.session_id == "ses_of_my_own"
    for no_name in ("..", "a/b", "x" * 201, " s1", "a\nb"):
        odd = (await ask(kb, "Who is she?", session=no_name)).question.session_id
        assert odd.startswith("ses_")
    again = await ask(kb, "Who is she?", session="")
    assert again.question.session_id != first.question.session_id
    assert first.question.text == "Who is she?"


async def test_somebody_elses_session_is_like_an_unknown_one(kb: KnowledgeBase) -> None:
    kb.catalogue.record_answer(given(ROSA, "Rosa Vale is the pilot of the harbour."))
    mine = await ask(kb, "Where does she live?")
    assert mine.question.session_id == "ses_1"
    assert mine.question.text == "Where does Rosa Vale live?"
    theirs = await ask(kb, "Where does she live?", owner="bob")
    unknown = await ask(kb, "Where does she live?", session="ses_9", owner="bob")
    assert [one.question.session_id for one in (theirs, unknown)] == ["ses_1", "ses_9"]
    for one in (theirs, unknown):
        assert one.question.text == "Where does she live?"
        assert (one.notes, one.context) == ((), "")


async def test_a_question_that_names_little_is_searched_with_the_one_before(
    kb: KnowledgeBase,
) -> None:
    kb.catalogue.record_answer(given("Which grants pay for batteries?", "The fund pays."))
    one = await ask(kb, "Which rules apply?")
    assert (one.question.text, one.notes) == ("Which rules apply?", ())
    assert one.context == "Which grants pay for batteries?"
    named = await ask(kb, "Which rules apply to the Kittiwake ferry?")
    assert named.context == ""


async def with_turns(
    kb: KnowledgeBase, text: str, *turns: EarlierTurn, session: str = ""
) -> SessionQuestion:
    asked = Question(text=text, session_id=session, owner="ann", history=turns)
    return await resolve_follow_up(kb, asked, NOTHING_KNOWN)


async def test_turns_that_come_with_a_question_are_its_conversation(kb: KnowledgeBase) -> None:
    turn = EarlierTurn(question=ROSA, answer="Rosa Vale is the pilot of the harbour.")
    one = await with_turns(kb, "Where does she live?", turn)
    assert one.question.text == "Where does Rosa Vale live?"
    assert one.question.session_id.startswith("ses_")


async def test_a_stored_answer_counts_in_place_of_the_text_that_is_said_to_be_it(
    kb: KnowledgeBase,
) -> None:
    stored = replace(given("Who is she?", "A pilot."), standalone=ROSA, id="ans_rosa")
    kb.catalogue.record_answer(stored)
    turn = EarlierTurn(question="Who is Ada Holm?", answer="A baker.", answer_id="ans_rosa")
    one = await with_turns(kb, "Where does she live?", turn)
    assert one.question.text == "Where does Rosa Vale live?"
    for unknown in ("ans_ros", "ans_", "ans_other"):
        turn = replace(turn, answer_id=unknown)
        one = await with_turns(kb, "Where does she live?", turn)
        assert one.question.text == "Where does Ada Holm live?"


async def test_somebody_elses_answer_is_not_read_by_its_id(kb: KnowledgeBase) -> None:
    kb.catalogue.record_answer(replace(given(ROSA, "A pilot."), id="ans_rosa", owner="bob"))
    turn = EarlierTurn(question="Who is Ada Holm?", answer="A baker.", answer_id="ans_rosa")
    one = await with_turns(kb, "Where does she live?", turn)
    assert one.question.text == "Where does Ada Holm live?"


def test_a_turn_is_what_was_understood_and_said() -> None:
    text = "Based on limited information: The boat is old. [A boat, p. 3]"
    said = "The boat is old."
    start = text.index(said)
    sentence = Sentence(
        text=said,
        span=Span(start=start, end=start + len(said)),
        verdict=VerdictValue(name=VerdictName.SUPPORTED, method="verbatim", score=1),
        citations=(1,),
    )
    answer = replace(
        given("How old is it?", text),
        standalone="How old is the boat?",
        sentences=(sentence,),
        citations=(cited("A boat", "paper"), cited("News of the day", "article")),
    )
    assert turn_of(answer) == Turn(
        question="How old is the boat?", answer="The boat is old.", names=("A boat",)
    )
