"""False premises: what a question takes for granted and a cited sentence contradicts."""

from __future__ import annotations

import pytest

from wellread.answers import Citation, VerdictName
from wellread.ask.deliver.false_presuppositions import premises
from wellread.types import Locator, Span

TITLE = "Heron Boathouse"


def cited(quote: str, number: int = 1, title: str = TITLE) -> Citation:
    return Citation(
        id=number,
        document_id="doc_1",
        version="v",
        title=title,
        url="",
        link="",
        kind="page",
        source_type="",
        published_at=None,
        relevance=1.0,
        locator=Locator(label=""),
        quote=quote,
        answer_span=Span(start=0, end=1),
        source_span=Span(start=0, end=len(quote)),
        verdict=VerdictName.SUPPORTED,
    )


@pytest.mark.parametrize(
    ("question", "quote", "said"),
    [
        (
            "Why was the Heron Boathouse rebuilt in 2019?",
            "The boathouse was rebuilt in 2020 after the flood.",
            "The question says 2019; the source says 2020 [1].",
        ),
        (
            "Who was at the boathouse when it opened in May for rowers?",
            "",
            "",
        ),
        (
            "Where is the regatta of the boathouse held each June?",
            "The boathouse holds its regatta on the lake each August.",
            "The question says June; the source says August [1].",
        ),
        (
            "What are the twelve rowing boats of the boathouse made of?",
            "The boathouse keeps nine rowing boats of cedar.",
            "The question says twelve rowing boats; the source says nine rowing boats [1].",
        ),
        (
            "Why did treasurer Nils Aker close the boathouse?",
            "The boathouse was closed by treasurer Maud Lind.",
            "The question says treasurer Nils Aker; the source says treasurer Maud Lind [1].",
        ),
        (
            "Why did the boathouse ban paddling?",
            "The boathouse did not ban paddling.",
            "The question takes for granted what the source denies: "
            "“The boathouse did not ban paddling.” [1].",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_source(question: str, quote: str, said: str) -> None:
    assert premises(question, [cited(quote)] if quote else []) == ((said,) if said else ())


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        # the source agrees
        (
            "Why was the boathouse rebuilt in 2020?",
            "The boathouse was rebuilt in 2020 after the flood.",
        ),
        # the time is what is asked for
        ("When in 2019 was the boathouse rebuilt?", "The boathouse was rebuilt in 2020."),
        ("What was rebuilt at the boathouse before 2019?", "The boathouse was rebuilt in 2020."),
        # a year that is part of a name
        ("Who rebuilt the boathouse cup 2019?", "The boathouse cup was rebuilt in 2020."),
        # another thing happened in that year
        ("Why was the boathouse painted in 2019?", "Nils Aker moved to Oslo in 2020."),
        # a choice out of a number, a bound, a number that is asked for
        ("Which of the two rowing boats is new?", "The boathouse keeps nine rowing boats."),
        ("Are there more than two rowing boats?", "The boathouse keeps nine rowing boats."),
        ("How many people fit two rowing boats?", "The boathouse keeps nine rowing boats."),
        # the same in figures
        ("Where are the nine rowing boats?", "The boathouse keeps 9 rowing boats."),
        # the question denies it itself
        ("Why did the boathouse not ban paddling?", "The boathouse did not ban paddling."),
        # a name that the sentence does not have
        ("Why did Oslo rebuild the boathouse in 2019?", "The boathouse was rebuilt in 2020."),
    ],
)
def test_nothing_is_named_where_the_source_may_agree(question: str, quote: str) -> None:
    assert premises(question, [cited(quote)]) == ()


def test_what_another_citation_says_is_no_false_premise() -> None:
    first = cited("The boathouse was rebuilt in 2020 after the flood.")
    second = cited("The roof of the boathouse was rebuilt in 2019.", 2)
    assert premises("Why was the boathouse rebuilt in 2019?", [first, second]) == ()
