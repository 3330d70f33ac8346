"""Amounts that differ between documents, told by the reader to answer the same question.

Words cannot tell that "they were back six hours later" and "without electricity for nine hours"
answer one question; the reader can. But it also takes prices of other things for the price that is
asked for, so an amount is a rival only where it is of the same size: accounts of one thing differ
by less than a factor of two, amounts of other things mostly by more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import units_asked
from wellread.ask.verify.conflicts.compared_values import counts, other_years
from wellread.ask.write.candidate_sentences import Option
from wellread.ask.write.sentence_score import SentenceFeatures
from wellread.questions import Analysis
from wellread.text.parsed import parse

LEAST, BEHIND = -1.0, 4.0  # log odds that a rival answers, and by how much less than the lead's
APART, TOO_FAR = 1.02, 2.0  # the larger of two rival amounts in times of the smaller one
Amount = tuple[str, float]  # unit and value


def rival_amounts(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
    odds: Mapping[tuple[int, int], float],
) -> list[Option]:
    """The best sentence with the amount that is asked for, and those of others that give another.

    Empty where no document gives another amount of the same unit and size for the same time.

    Args:
        odds: by number of the piece of evidence and of its sentence, the reader's log odds.
    """
    question = analysis.question
    held: dict[str, list[tuple[float, int, Amount]]] = {}
    for at, option in enumerate(options):
        told = _told(option.text, question)
        read = odds.get((option.evidence, option.place))
        if read is not None and len(told) == 1 and features[at].named >= 1:
            document = evidence[option.evidence].hit.document.id
            held.setdefault(document, []).append((read, at, told[0]))
    if len(held) < 2:
        return []
    first, lead, amount = max(one for those in held.values() for one in those)
    found = [options[lead]]
    for document, those in held.items():
        read, at, other = max(those)
        agrees = any(_apart(amount, one) <= APART for _, _, one in those)
        likely = read >= max(LEAST, first - BEHIND)
        if document == _document(options[lead], evidence) or agrees or not likely:
            continue
        if _apart(amount, other) < TOO_FAR and _times(options[at], evidence, question) == _times(
            options[lead], evidence, question
        ):
            found.append(options[at])
    return found if len(found) > 1 else []


def _told(text: str, question: str) -> list[Amount]:
    """The amounts of ``text`` that are of the kind that the question asks for."""
    units = units_asked(question)
    if units:
        quantities = parse(text).quantities
        return list({(one.unit, one.value) for one in quantities if one.unit in units})
    counted = (one.rpartition(" ") for one in counts(text, question))
    return [(unit, float(number)) for number, _, unit in counted]


def _apart(one: Amount, other: Amount) -> float:
    """The larger amount in times of the smaller one; far where their units differ."""
    small, large = sorted((one[1], other[1]))
    return large / small if one[0] == other[0] and small > 0 else TOO_FAR


def _document(option: Option, evidence: Sequence[Evidence]) -> str:
    return evidence[option.evidence].hit.document.id


def _times(option: Option, evidence: Sequence[Evidence], question: str) -> frozenset[str]:
    published = evidence[option.evidence].hit.document.published_at
    return other_years(option.text, question, published)
