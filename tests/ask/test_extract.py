"""The extractive answerer: verbatim, about the question, without repeats."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.answers import Question
from wellread.ask.analysis.analyse import analyse
from wellread.ask.extract.run import extract
from wellread.ask.vocabulary import Vocabulary
from wellread.questions import Analysis
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.evidence import evidence_of

EMBEDDER = ReadableEmbedder()


def read(question: str) -> Analysis:
    return analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))


def chosen(question: str, *texts: str, most: int = 3) -> list[str]:
    found = extract(read(question), evidence_of(*texts), EMBEDDER, most=most)
    return [claim.text for claim in found.claims]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=400), min_size=1, max_size=5),
    st.text(min_size=1, max_size=80).filter(lambda text: text.strip() != ""),
)
def test_every_claim_is_verbatim_for_any_text(texts: list[str], question: str) -> None:
    evidence = evidence_of(*texts)
    found = extract(read(question), evidence, EMBEDDER, most=4)
    by_key = {piece.key: piece for piece in evidence}
    for claim in found.claims:
        assert claim.source is not None
        (key,) = claim.keys
        assert claim.text == claim.source.of(by_key[key].text)
        assert claim.text.strip() == claim.text != ""


def test_the_sentence_about_the_question_leads() -> None:
    answer = chosen(
        "How many homes lost power in Oldwick?",
        "The ferry runs every hour. The outage cut the power of 310 homes in Oldwick. Tea is free.",
        "A market is held in Oldwick every Friday afternoon.",
    )
    assert answer[0] == "The outage cut the power of 310 homes in Oldwick."


def test_the_same_thing_is_not_said_twice() -> None:
    answer = chosen(
        "When does the tool library open?",
        "The tool library opens at nine on Saturdays.",
        "The tool library opens at nine on Saturdays.",
        "On Saturdays the tool library opens at nine.",
    )
    assert len(answer) == 1


def test_a_sentence_that_leans_on_the_one_before_brings_it_along() -> None:
    answer = chosen(
        "What does the heat pump of the harbour bath cost per year?",
        "The harbour bath got a heat pump in May. It costs the harbour bath 900 euros per year.",
        most=1,
    )
    assert answer == [
        "The harbour bath got a heat pump in May.",
        "It costs the harbour bath 900 euros per year.",
    ]


def test_questions_and_headings_are_not_answers() -> None:
    answer = chosen(
        "Why was the turbine stopped?",
        "Why was the turbine stopped?\n\nThe turbine\n\n"
        "The turbine was stopped because a pump broke.",
    )
    assert answer == ["The turbine was stopped because a pump broke."]


def test_no_evidence_gives_no_claim() -> None:
    assert chosen("Anything?") == []
