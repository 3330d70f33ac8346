"""A sentence that reports somebody's words is checked against that person's words alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Claim, Evidence, Verdict
from wellread.ask.retrieve.reported_speech import reports
from wellread.ask.verify.check_claims import checked
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Span, Turn

ANA = "The harbour tests are too slow for us."
BEN = "We should buy a second ferry next year."
TALK = f"{ANA}\n{BEN}"
KNOWN = ("Ana Ruiz", "Ben Holt")


def talk(*turns: tuple[str, str], others: Sequence[str] = ()) -> list[Evidence]:
    """One piece of evidence in which people speak in turn, then ``others`` without speakers."""
    pieces = evidence_of("\n".join(text for _, text in turns), *others)
    said: list[Turn] = []
    at = 0
    for speaker, text in turns:
        said.append(Turn(speaker=speaker, span=Span(start=at, end=at + len(text))))
        at += len(text) + 1
    return [replace(pieces[0], turns=tuple(said)), *pieces[1:]]


def check(
    sentence: str,
    *turns: tuple[str, str],
    others: Sequence[str] = (),
    key: str = "e1",
    voices: Sequence[str] = (),
) -> Verdict:
    evidence = talk(*(turns or (("Ana Ruiz", ANA), ("Ben Holt", BEN))), others=others)
    claim = Claim(text=sentence, keys=(key,))
    lexical = LexicalReader(ReadableEmbedder)
    (found,) = checked([claim], evidence, lexical, voices=voices)
    return found.verdict


@pytest.mark.parametrize(
    "sentence",
    [
        "Ana Ruiz said that the harbour tests are too slow for us.",
        "Ana argued the harbour tests are too slow for us.",
        "According to Ana, the harbour tests are too slow for us.",
        "The harbour tests are too slow for us, said Ruiz.",
        "Ana: The harbour tests are too slow for us.",
    ],
)
def test_a_person_s_own_words_bear_it_out(sentence: str) -> None:
    verdict = check(sentence)
    assert (verdict.name, verdict.method) == ("supported", "verbatim")
    assert verdict.source is not None
    assert verdict.source.of(TALK).startswith("The harbour tests are too slow")


@pytest.mark.parametrize(
    "sentence",
    [
        "Ben Holt said that the harbour tests are too slow for us.",
        "Holt argued that the harbour tests are too slow for us.",
        "According to Ben, the harbour tests are too slow for us.",
        "Ana wants us to buy a second ferry next year.",
    ],
)
def test_somebody_else_s_words_do_not(sentence: str) -> None:
    verdict = check(sentence)
    assert verdict.name == "unsupported"
    assert verdict.method == "speaker"
    assert "not in the words of" in verdict.reason


def test_without_a_report_anybody_s_words_count() -> None:
    assert check("We should buy a second ferry next year.").name == "quoted"


def test_each_clause_has_its_own_speaker() -> None:
    right = f"Ana said {ANA[:-1].lower()}, but Ben said {BEN[:-1].lower()}."
    wrong = f"Ben said {ANA[:-1].lower()}, but Ana said {BEN[:-1].lower()}."
    assert check(right).name == "supported"
    assert check(wrong).name == "unsupported"


def test_words_that_another_reports_count() -> None:
    turns = (("Ana Ruiz", ANA), ("Cleo", "Ben Holt said that we should sell the old pier."))
    verdict = check("Ben Holt said that we should sell the old pier.", *turns, ("Ben Holt", BEN))
    assert verdict.name == "quoted"


def test_an_article_may_tell_what_a_speaker_said() -> None:
    article = "Ben Holt said that the harbour tests are too slow for us."
    verdict = check("Ben said the harbour tests are too slow for us.", others=[article], key="e2")
    assert (verdict.name, verdict.key) == ("supported", "e2")


def test_the_passage_in_which_the_person_says_so_is_cited_instead() -> None:
    evidence = [talk(("Ben Holt", BEN), others=[ANA])[0], replace(talk(("Ana", ANA))[0], key="e2")]
    claim = Claim(text="Ana said the harbour tests are too slow for us.", keys=("e1",))
    (found,) = checked([claim], evidence, LexicalReader(ReadableEmbedder))
    assert (found.verdict.name, found.claim.keys, found.repaired) == ("supported", ("e2",), True)


def test_where_one_person_s_words_are_asked_for_only_theirs_bear_out() -> None:
    assert check(ANA, voices=["ana ruiz"]).name == "quoted"
    other = check(ANA, voices=["Ben Holt"])
    assert (other.name, other.method) == ("unsupported", "speaker")


@pytest.mark.parametrize(
    ("claim", "speakers", "text"),
    [
        ("Ana said that heavy rain falls.", {"Ana Ruiz"}, "heavy rain falls."),
        ("Ana Ruiz, the mayor, also warned that ice melts.", {"Ana Ruiz"}, "ice melts."),
        (
            "Ana and Ben agreed that heavy rain falls.",
            {"Ana Ruiz", "Ben Holt"},
            "heavy rain falls.",
        ),
        ("In Ben's view, the rain stops soon.", {"Ben Holt"}, "the rain stops soon."),
        ("The rain stops soon, according to Holt.", {"Ben Holt"}, "The rain stops soon ."),
        ("Ana crossed the harbour.", set(), "Ana crossed the harbour."),
        ("Anatoly said that it rains.", set(), "Anatoly said that it rains."),
        ("Ana said so.", {"Ana Ruiz"}, "Ana said so."),
        ("Ana said that it rains.", {"Ana Ruiz"}, "Ana said that it rains."),
    ],
)
def test_whose_words_are_reported(claim: str, speakers: set[str], text: str) -> None:
    (report,) = reports(claim, KNOWN)
    assert (set(report.speakers), report.text) == (speakers, text)


def test_a_name_that_two_people_share_means_either() -> None:
    (report,) = reports("John said that it rains.", ("John Hill", "John Dale"))
    assert report.speakers == {"John Hill", "John Dale"}
    (exact,) = reports("John Dale said that it rains.", ("John Hill", "John Dale"))
    assert exact.speakers == {"John Dale"}
