"""Where reports of one event blame different things, and one of them says that accounts differ.

Two causes of one thing need not exclude each other (a storm felled a tree, a tree cut the line).
So nothing is claimed unless a report itself sets its account against another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.verify.conflicts.events import (
    Report,
    about,
    date_stems,
    named_stems,
    reports_of,
    same_event,
)
from wellread.ask.write.extractive.candidate_sentences import Option
from wellread.text.parsed import parse
from wellread.text.stems import stem

LEAST = 2  # of the weight of the words for causes in a sentence that gives a cause
MOST_SHARED = 0.4  # of the words of two sentences that give different causes

_BECAUSE = re.compile(
    r"\b(?:because|due to|owing to|as a result of|caused|blam(?:ed|es|ing)|so that|led to"
    r"|triggered|set off|brought (?:down|about)|traced (?:back )?to|the (?:reason|cause) (?:is|was)"
    r"|after an? (?:\w+ ){0,3}(?:fault|failure|fire|leak|crash|error|collapse|accident|mistake"
    r"|short circuit|explosion))\b",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"\b(?:failed|tripped|broke|broken|burst|collapsed|crashed|exploded|leaked|jammed|cracked"
    r"|faulty|defective)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:(?:different|another|other) (?:story|account|version|explanation|cause)"
    r"|(?:first|early|earlier|initial|previous|other) (?:reports?|accounts?|stories)"
    r"|contradict\w*|disput(?:ed|es|ing)|contrary to|den(?:y|ied|ies)|wrongly|mistakenly)\b",
    re.IGNORECASE,
)
# Words with which a cause is asked for, and verbs that say nothing of what happened.
_ASKING = frozenset(
    stem(word)
    for word in "cause causes caused reason reasons why lead led go went come came happen".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """The sentence by which a document gives the cause; ``aside``: against another account."""

    option: Option
    report: Report
    aside: bool


def causes(
    question: str, evidence: Sequence[Evidence], options: Sequence[Option]
) -> list[list[Option]]:
    """A sentence each of reports that give the event of ``question`` other causes; else none."""
    accounts = _accounts(evidence, options)
    for number, one in enumerate(accounts):
        for other in accounts[number + 1 :]:
            if (
                (one.aside or other.aside)
                and same_event(one.report, other.report)
                and about(question, one.report, other.report)
                and _asks_for_event(question, one.report, other.report)
                and _shared(one.option, other.option) <= MOST_SHARED
            ):
                return [[one.option], [other.option]]
    return []


def _accounts(evidence: Sequence[Evidence], options: Sequence[Option]) -> list[_Account]:
    """What each report gives as the cause, in the order of the evidence."""
    reports = reports_of(evidence)
    by_document: dict[str, list[Option]] = {}
    for option in options:
        by_document.setdefault(evidence[option.evidence].hit.document.id, []).append(option)
    found = []
    for held in by_document.values():
        report = reports[held[0].evidence]
        telling = [option for option in held if option.readable and _weight(option) >= LEAST]
        if report is None or not telling:
            continue
        best = max(telling, key=_weight)
        near = {(best.evidence, best.place + step) for step in (-1, 0, 1)}
        aside = any(
            _ASIDE.search(option.text) for option in held if (option.evidence, option.place) in near
        )
        found.append(_Account(option=best, report=report, aside=aside))
    return found


def _weight(option: Option) -> int:
    """How plainly a sentence gives a cause."""
    return 2 * len(_BECAUSE.findall(option.text)) + len(_FAILING.findall(option.text))


def _asks_for_event(question: str, one: Report, other: Report) -> bool:
    """Whether the question asks for the event itself, and not for something about it.

    What it says beside day and names has to be what a report begins with, or one word for it all
    ("the outage of 14 October").
    """
    known = named_stems(question) | date_stems(question) | _ASKING
    rest = parse(question).stem_set - known
    return len(rest) <= 1 or rest <= (one.lead | other.lead)


def _shared(one: Option, other: Option) -> float:
    return len(one.stems & other.stems) / (min(len(one.stems), len(other.stems)) or 1)
