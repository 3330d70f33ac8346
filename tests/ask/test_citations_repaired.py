"""Citations that a sentence deserves: given, replaced, removed; and who rules on doubtful ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Checked, Claim, Verdict, VerdictName
from wellread.ask.verify.check_claims import checked, verify
from wellread.errors import ModelError
from wellread.models.reader import Case, Entailment, Reader, RulingName, excerpts
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import RulingReader, ruling

LEXICAL = LexicalReader(ReadableEmbedder)
FERRY = "The ferry Osprey carries ninety passengers. It was painted green."
PRICE = "The ferry Osprey was bought for 2.6 million euros."
TEA = "Tea is served at the pier."
EVIDENCE = evidence_of(FERRY, PRICE, TEA)
DOUBTFUL = "The painted Osprey has seats for passengers."


def one(sentence: str, *keys: str) -> Checked:
    (found,) = checked([Claim(text=sentence, keys=keys)], EVIDENCE, LEXICAL)
    return found


@pytest.mark.parametrize(
    ("sentence", "cited", "deserved", "repaired"),
    [
        ("The ferry Osprey carries ninety passengers.", ("e1",), ("e1",), False),
        ("The ferry Osprey carries ninety passengers.", ("e3",), ("e1",), True),
        ("The ferry Osprey carries ninety passengers.", (), ("e1",), True),
        ("The ferry Osprey carries ninety passengers.", ("e1", "e3"), ("e1",), True),
        ("The ferry Osprey carries ninety passengers.", ("e3", "e1"), ("e1",), True),
        ("The mayor likes jazz.", ("e3",), ("e3",), False),
        ("The mayor likes jazz.", (), (), False),
    ],
)
def test_what_a_sentence_cites_afterwards(
    sentence: str, cited: tuple[str, ...], deserved: tuple[str, ...], repaired: bool
) -> None:
    found = one(sentence, *cited)
    assert (found.claim.keys, found.repaired) == (deserved, repaired)
    assert found.claim.text == sentence


def test_two_citations_that_bear_a_half_each_both_stay() -> None:
    sentence = "The ferry Osprey was bought for 2.6 million euros and carries ninety passengers."
    found = one(sentence, "e1", "e2", "e3")
    assert found.verdict.name == "supported"
    assert found.claim.keys == ("e1", "e2")
    assert found.repaired


def test_a_fact_that_the_cited_passage_lacks_is_found_elsewhere() -> None:
    evidence = evidence_of("The storm damaged 240 homes.", "The storm damaged 310 homes.")
    (found,) = checked(
        [Claim(text="The storm damaged 310 homes.", keys=("e1",))], evidence, LEXICAL
    )
    assert (found.claim.keys, found.verdict.name) == (("e2",), "quoted")


def test_markdown_in_a_sentence_does_not_hide_the_quotation() -> None:
    found = one("The *ferry* **Osprey** carries [ninety passengers](https://x.example).", "e1")
    assert (found.verdict.name, found.verdict.method) == ("quoted", "verbatim")


@pytest.mark.parametrize(
    "around",
    ["It is not true that {}", "Nobody believes that {}", "Unless {}", "Rumours say {}"],
)
def test_a_quotation_that_the_source_takes_back_is_no_support(around: str) -> None:
    quoted = "the old bridge is closed for good"
    source = f"{around.format(quoted)}, says the mayor."
    (verdict,) = verify([Claim(text=quoted, keys=("e1",))], evidence_of(source), LEXICAL)
    assert verdict.method not in ("verbatim", "fuzzy")


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The ferry cost 2,600,000 euros.", "The ferry cost 2.6 million euros."),
        ("The ferry cost 2.6 million euros.", "The ferry cost 2,600,000 euros."),
        ("The ferry cost 2.6m euros.", "The ferry cost 2.6 million euros."),
        ("About 300 people came to the pier.", "There were 310 people who came to the pier."),
    ],
)
def test_one_number_in_two_forms_is_no_disagreement(sentence: str, source: str) -> None:
    (verdict,) = verify([Claim(text=sentence, keys=("e1",))], evidence_of(source), LEXICAL)
    assert verdict.method != "facts"


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The ferry cost 2.6 billion euros.", "The ferry cost 2.6 million euros."),
        ("300 people came to the pier.", "There were 310 people who came to the pier."),
        ("About 200 people came to the pier.", "There were 310 people who came to the pier."),
    ],
)
def test_other_numbers_disagree(sentence: str, source: str) -> None:
    (verdict,) = verify([Claim(text=sentence, keys=("e1",))], evidence_of(source), LEXICAL)
    assert verdict.method == "facts"
    assert verdict.reason.startswith("number")


# --- the judge -------------------------------------------------------------------------------


def scripted(*names: RulingName) -> RulingReader:
    """A reader that gives its rulings in turn."""
    return RulingReader(lambda _: [ruling(name, f"the judge says {name}") for name in names])


def failing(cases: Sequence[Case]) -> list[Entailment]:
    """Of a reader that is never there."""
    raise ModelError(f"no judge for {len(cases)} cases")


def judged(reader: Reader | None, *sentences: str, most: int = 4) -> list[Verdict]:
    claims = [Claim(text=sentence, keys=("e1",)) for sentence in sentences]
    return verify(claims, EVIDENCE, LEXICAL, reader=reader, most=most)


def test_the_doubtful_sentence_is_in_doubt() -> None:
    (verdict,) = judged(None, DOUBTFUL)
    assert verdict.method == "support"
    assert verdict.name == VerdictName.PARTIAL


@pytest.mark.parametrize("name", ["supported", "partial", "unsupported"])
def test_a_judge_rules_on_what_is_in_doubt(name: RulingName) -> None:
    judge = scripted(name)
    (verdict,) = judged(judge, DOUBTFUL)
    assert (verdict.name, verdict.method) == (name, "reader")
    assert verdict.reason == f"the judge says {name}"
    assert judge.cases == [Case(claim=DOUBTFUL, passages=excerpts(FERRY))]


def test_a_judge_is_not_asked_about_what_is_clear() -> None:
    judge = scripted()
    verdicts = judged(judge, "It was painted green.", "Quarks carry colour charge.")
    assert [verdict.name for verdict in verdicts] == ["quoted", "unsupported"]
    assert judge.cases == []


def test_only_so_many_sentences_are_judged() -> None:
    judge = scripted("supported", "supported")
    verdicts = judged(judge, DOUBTFUL, DOUBTFUL, DOUBTFUL, most=2)
    assert [verdict.method for verdict in verdicts] == ["reader", "reader", "support"]
    assert len(judge.cases) == 2
    assert [verdict.method for verdict in judged(judge, DOUBTFUL, most=0)] == ["support"]


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (RulingReader(failing), "no judge for 1 cases"),
        (scripted("undecided"), "the judge says undecided"),
        (scripted("supported", "supported"), "the reader gave 2 rulings for 1 claims"),
    ],
)
def test_a_judge_that_fails_shows_and_leaves_the_verdict(judge: Reader, reason: str) -> None:
    (plain,) = judged(None, DOUBTFUL)
    (verdict,) = judged(judge, DOUBTFUL)
    assert verdict == replace(
        plain,
        method="support; reader failed",
        reason=f"{plain.reason}; the reader could not say: {reason}",
    )


def test_an_uncited_sentence_that_the_judge_supports_is_cited() -> None:
    claim = Claim(text=DOUBTFUL, keys=())
    (found,) = checked([claim], EVIDENCE, LEXICAL, reader=scripted("supported"), most=1)
    assert (found.verdict.name, found.claim.keys, found.repaired) == ("supported", ("e1",), True)
    (left,) = checked([claim], EVIDENCE, LEXICAL, reader=scripted("partial"), most=1)
    assert (left.verdict.name, left.verdict.key, left.claim.keys) == ("uncited", "", ())
