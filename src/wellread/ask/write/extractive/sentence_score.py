"""How likely each sentence answers the question: a logistic sum of a few readings.

The weights were set by hand after a fit to sentences of ClapNQ, XQuAD and COVID-QA that hold a gold
answer (docs/decisions/018-extract.md). What tells passages of one document from each other is
weighed lower than fitted, because those sets have one right passage each.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import defines, expected_of, fits_of, holds
from wellread.ask.write.extractive.candidate_sentences import Option
from wellread.models.base import Embedder
from wellread.questions import Analysis
from wellread.text.parsed import parse

EMBEDDED = 8  # sentences that are embedded at question time; 24 choose hardly better
BIAS = -9.0
TERMS, ABOVE, PAIRS = 1.5, 1.4, 0.8
PASSAGE = 5.0
EXPECTED, LACKING, LEANING = 0.65, -0.25, -0.2
FITTING, MISFITTING = 0.6, -0.3
MEANING = 3.4

_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|these)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read off a sentence without a model, 0-1 each.

    Attributes:
        terms: share of the question's terms that it holds, rare ones counting more.
        above: share that only the title or heading holds.
        pairs: share of the question's neighbouring terms that stand together in it.
        passage: how its passage was ranked, relative to the best.
        expected: it holds the kind of thing that is asked for.
        lacking: a person, date, number or reason is asked for, and it holds none.
        fits: 1 where it gives the amount or the definition that is asked for, -1 where only
            other amounts, else 0.
    """

    terms: float
    above: float
    pairs: float
    passage: float
    expected: bool
    lacking: bool
    fits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A sentence, how likely it answers (0-1), and its cosine to the question."""

    option: Option
    score: float
    similarity: float
    reading: Reading


def score(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    readings: Sequence[Reading],
    places: Sequence[int],
    embedder: Embedder,
) -> list[Scored]:
    """The options at ``places`` with their scores, best first."""
    # The question is embedded by itself: a cache may hold it already.
    asked = embedder.embed([analysis.question], "query")[0]
    stems = analysis.parsed.stem_set
    texts = [_in_context(options[place], evidence, stems) for place in places]
    vectors = embedder.embed(texts, "passage")
    similarities = np.asarray(vectors @ asked, dtype=float).tolist()
    scored = [
        Scored(
            option=options[place],
            score=_likely(readings[place], options[place], similarity),
            similarity=similarity,
            reading=readings[place],
        )
        for place, similarity in zip(places, similarities, strict=True)
    ]
    return sorted(scored, key=lambda each: (-each.score, each.option.evidence, each.option.place))


def read(
    analysis: Analysis, evidence: Sequence[Evidence], options: Sequence[Option]
) -> list[Reading]:
    """The reading of each option."""
    in_order = analysis.parsed.stems
    asked = frozenset(in_order)
    pairs = frozenset(itertools.pairwise(in_order))
    seen = Counter(stem for option in options for stem in option.stems & asked)
    weights = {stem: math.log(1 + len(options) / (1 + seen[stem])) for stem in asked}
    total = sum(weights.values()) or 1.0
    titles = [piece.heading.stem_set for piece in evidence]
    best = max((piece.hit.score for piece in evidence), default=0.0) or 1.0
    kind = expected_of(analysis.question)
    fits = fits_of(analysis.question)
    readings = []
    for option in options:
        own = asked & option.stems
        above = (asked - own) & titles[option.evidence]
        held = holds(kind, option.text, analysis.question)
        readings.append(
            Reading(
                terms=sum(weights[stem] for stem in own) / total,
                above=sum(weights[stem] for stem in above) / total,
                pairs=_pairs(pairs, option.text),
                passage=max(0.0, evidence[option.evidence].hit.score / best),
                expected=held,
                lacking=not held and kind in ("person", "date", "number", "reason"),
                fits=fits(option.text) or defines(analysis.question, option.text),
            )
        )
    return readings


def promising(
    options: Sequence[Option],
    readings: Sequence[Reading],
    *,
    within: Sequence[int] = (),
    most: int = EMBEDDED,
) -> list[int]:
    """Numbers of the options worth a vector, at most ``most``: by terms and passage.

    Args:
        within: only these; all when empty. None is readable: all are taken for readable.
    """

    def rough(place: int) -> float:
        reading = readings[place]
        return (
            reading.terms
            + 0.5 * reading.above
            + 0.5 * reading.passage
            + 0.1 * (reading.expected - reading.lacking + reading.fits)
        )

    among = within or range(len(options))
    readable = [place for place in among if options[place].readable] or list(among)
    return sorted(readable, key=lambda place: (-rough(place), place))[:most]


def _in_context(option: Option, evidence: Sequence[Evidence], asked: frozenset[str]) -> str:
    """The sentence; one that says "it" or "they" with a title that says what is asked about."""
    title = evidence[option.evidence].hit.document.title
    if not _POINTING.search(option.text) or asked.isdisjoint(parse(title).stems):
        return option.text
    return f"{title}: {option.text}"


def _likely(reading: Reading, option: Option, similarity: float) -> float:
    logit = (
        BIAS
        + TERMS * reading.terms
        + ABOVE * reading.above
        + PAIRS * reading.pairs
        + PASSAGE * reading.passage
        + EXPECTED * reading.expected
        + LACKING * reading.lacking
        + FITTING * (reading.fits > 0)
        + MISFITTING * (reading.fits < 0)
        + LEANING * option.leaning
        + MEANING * max(0.0, similarity)
    )
    return 1 / (1 + math.exp(-logit))


def _pairs(wanted: frozenset[tuple[str, str]], text: str) -> float:
    if not wanted:
        return 0.0
    stems = parse(text).stems
    return len(wanted & frozenset(itertools.pairwise(stems))) / len(wanted)
