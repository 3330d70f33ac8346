"""Claims in which one thing was swapped: the words stand in the source, what they say does not."""

from __future__ import annotations

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Claim, Verdict, VerdictName
from wellread.ask.verify.check_claims import verify
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder

PASSAGE = (
    "Marlow Rovers beat Tarn United in the cup final of 1998. "
    "The ferry Alba carried 1,200 passengers and 310 bicycles in July. "
    "The mill was built by Edda Lowe and restored by Ivo Brandt. "
    "The tunnel does not reach the quarry. "
    "The museum opens every Sunday."
)


def checked(claim: str, passage: str = PASSAGE) -> Verdict:
    evidence = evidence_of(passage)
    reader = LexicalReader(ReadableEmbedder)
    return verify([Claim(text=claim, keys=("e1",))], evidence, reader)[0]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("Tarn United beat Marlow Rovers in the cup final of 1998.", "Marlow Rovers, not Tarn"),
        ("The ferry Alba carried 310 passengers and 1,200 bicycles in July.", "1,200, not 310"),
        ("The mill was built by Ivo Brandt and restored by Edda Lowe.", "Edda Lowe, not Ivo"),
        ("The mill was built by Marlow Rovers and restored by Ivo Brandt.", "Edda Lowe, not"),
        ("The ferry Alba carried 1,200 passengers and 310 bicycles in June.", "July, not June"),
        ("The tunnel does reach the quarry.", "the opposite"),
        ("The museum never opens every Sunday.", "the opposite"),
        ("The museum no longer opens every Sunday.", "the opposite"),
        ("The ferry Alba fails to carry 1,200 passengers and 310 bicycles.", "the opposite"),
    ],
)
def test_a_swapped_claim_is_not_supported_and_the_reason_says_what_stands_there(
    claim: str, reason: str
) -> None:
    verdict = checked(claim)
    assert verdict.name == VerdictName.UNSUPPORTED
    assert reason in verdict.reason


@pytest.mark.parametrize(
    "claim",
    [
        "In July, the ferry Alba carried 1,200 passengers and 310 bicycles.",
        "Edda Lowe built the mill and Ivo Brandt restored it.",
        "The tunnel doesn't reach the quarry.",
        "Tarn United was beaten by Marlow Rovers in the cup final of 1998.",
    ],
)
def test_the_same_said_in_another_order_is_not_objected_to(claim: str) -> None:
    assert checked(claim).method != "facts", checked(claim).reason


@pytest.mark.parametrize("fragment", ["Marlow Rovers", "Edda Lowe", "the cup final", "Tarn"])
def test_a_bare_name_is_no_supported_claim(fragment: str) -> None:
    assert not checked(fragment).name.whole


@pytest.mark.parametrize(
    "claim",
    [
        "COVID-19 closed the school in Halden for weeks.",
        "Vitamin B12 was given to the pupils of Halden.",
        "The server of Halden uses 3DES for its files.",
    ],
)
def test_a_number_inside_a_name_is_not_looked_for_as_a_number(claim: str) -> None:
    assert "number" not in checked(claim, "The school in Halden was closed for weeks.").reason


def test_spellings_of_one_name_are_one_name() -> None:
    passage = "We trained BERTLARGE on the corpus for three days."
    for claim in ("BERT-large was trained on the corpus.", "BERT large was trained on the corpus."):
        assert "not named" not in checked(claim, passage).reason


TOWN = (
    "The Fennimore mill was built beside the river in 1780. "
    "Philip of Averly ordered the captain to hold the bridge through the winter. "
    "France sent no ships that year. "
    "Former Model C schools are run by the state of Narrow. "
    "Lake Orrin in Narrow belongs to former South Dale. "
    "Seven years later, the granary beside the old gate was sold to a baker. "
    "We asked whether the new bridge raises the rents in the old town. "
    "The new bridge was not linked with raised rents in the old town."
)


@pytest.mark.parametrize(
    ("claim", "instead"),
    [
        ("The granary was built beside the river in 1780.", "Fennimore mill, not of granary"),
        (
            "France ordered the captain to hold the bridge through the winter.",
            "Philip Averly, not of France",
        ),
        ("Former South Dale schools are run by the state of Narrow.", "not of Former South"),
    ],
)
def test_what_other_sentences_tell_of_is_not_said_of_something_else(
    claim: str, instead: str
) -> None:
    verdict = checked(claim, TOWN)
    assert not verdict.name.whole
    assert instead in verdict.reason


def test_what_a_sentence_has_in_its_own_words_may_be_put_otherwise() -> None:
    said = "The watermill of Fennimore was built next to the river in 1780."
    assert checked(said, TOWN).method != "facts", checked(said, TOWN).reason


def test_a_question_left_open_does_not_outweigh_a_denial() -> None:
    verdict = checked("The new bridge raises the rents in the old town.", TOWN)
    assert verdict.name == VerdictName.UNSUPPORTED
    assert "opposite" in verdict.reason


@pytest.mark.parametrize("turned", [True, False])
def test_a_denial_beside_another_one_turns_a_sentence_over(turned: bool) -> None:
    """Each denial alone stands near one of the other sentence; only their number tells."""
    plain = "The ferry does not sail when the steady wind is above 22 metres per second."
    twice = plain.replace("is above", "is not above")
    claim, source = (twice, plain) if turned else (plain, twice)
    verdict = checked(claim, source)
    assert verdict.name == VerdictName.UNSUPPORTED
    assert "opposite" in verdict.reason
    assert checked(source, source).name.whole
