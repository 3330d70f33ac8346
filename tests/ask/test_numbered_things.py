"""What is numbered, and what recurs, is no conflict; another value for the same thing is one."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from tests.doubles.evidence import evidence_of

from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts import find_dispute
from wellread.values.answers import Question

# By line: a question, and pairs of sentences on it: on two things of one kind, or at odds.
CASES = [
    (one["kind"], one["question"], pair)
    for line in (Path(__file__).parent / "two_sentences.jsonl").read_text("utf-8").splitlines()
    for one in [json.loads(line)]
    for pair in one["pairs"]
]


def differ(question: str, *said: str) -> bool:
    """Whether the two sentences, each of a document of its own, are told as differing."""
    asked = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    return bool(find_dispute(asked, evidence_of(*said)))


def test_two_numbered_things_do_not_differ_and_two_values_of_one_do() -> None:
    told: dict[bool, list[str]] = {True: [], False: []}
    for kind, question, pair in CASES:
        told[kind == "at odds"] += [question] * differ(question, *pair)
    assert [kind for kind, *_ in CASES].count("at odds") == 8
    assert len(CASES) == 54 + 8
    assert len(told[False]) <= 1, told[False]
    assert len(told[True]) >= 7
