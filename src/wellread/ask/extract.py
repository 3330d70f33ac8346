"""The built-in answerer: chooses sentences of the evidence, verbatim. No model, no network.

Every sentence is scored by three signals: how many of the question's terms it holds (rare ones
count more), how near its vector is to the question's, and how well its passage was ranked. What
kind of answer the question expects (a person, a date, a number) adds a little. The best sentence
leads; others join while they are nearly as good and say something new.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wellread.answers import Claim
from wellread.ask import words
from wellread.ask.rank import overlap
from wellread.models.base import Embedder
from wellread.questions import Analysis
from wellread.sentences import sentence_spans
from wellread.types import Evidence, Span

PASSAGES = 8  # of the evidence, best first, whose sentences are looked at
EMBEDDED = 8  # sentences that are embedded at question time; 20 choose no better (decision 006)
WEIGHT_TERMS, WEIGHT_MEANING, WEIGHT_PASSAGE, WEIGHT_EXPECTED = 0.40, 0.35, 0.25, 0.10
KEEP = 0.80  # of the best score: a further sentence must reach it
SAME = 0.55  # share of words in common from which a sentence repeats another
SHORTEST_WORDS = 4

_LEANING = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|his|her|such|both|the (?:former|latter)"
    r"|however|but|also|moreover|in addition|therefore|thus|so|then|instead|yes|no|and)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d{4}|\d{1,2}[:.]\d{2})\b",
    re.IGNORECASE,
)
_EXPECTS = (
    (re.compile(r"\b(?:who|whom|whose)\b", re.I), "person"),
    (
        re.compile(r"\b(?:when|what (?:year|day|date|month|time)|which (?:year|day))\b", re.I),
        "date",
    ),
    (re.compile(r"\bhow (?:many|much|long|far|often|old|large|big|high|fast)\b", re.I), "number"),
    (
        re.compile(r"\b(?:what|which) (?:percentage|share|number|amount|price|cost)\b", re.I),
        "number",
    ),
    (re.compile(r"\bwhy\b|\breasons?\b", re.I), "reason"),
)
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order|reason|caused?|therefore)\b", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """One sentence that could be part of the answer."""

    evidence: int
    place: int  # among the sentences of its evidence
    span: Span  # in the document
    text: str
    stems: frozenset[str]
    readable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """The chosen sentences, and how near the best one came to the question (0-1)."""

    claims: tuple[Claim, ...]
    best_score: float
    best_similarity: float


def extract(
    analysis: Analysis, evidence: Sequence[Evidence], embedder: Embedder, *, most: int
) -> Extract:
    """Choose up to ``most`` sentences that answer; none when the evidence has no sentence."""
    options = _options(evidence[:PASSAGES])
    if not options:
        return Extract(claims=(), best_score=0.0, best_similarity=0.0)
    term_scores = _term_scores(analysis, evidence, options)
    chosen_for_embedding = _promising(options, term_scores, evidence)
    similarity = _similarities(analysis.question, options, chosen_for_embedding, embedder)
    scored = []
    for place in chosen_for_embedding:
        option = options[place]
        score = (
            WEIGHT_TERMS * term_scores[place]
            + WEIGHT_MEANING * max(0.0, similarity[place])
            + WEIGHT_PASSAGE * _passage_score(evidence, option.evidence)
            + WEIGHT_EXPECTED * _expected(analysis, option.text)
        )
        scored.append((score, place))
    scored.sort(key=lambda item: (-item[0], item[1]))
    best_score, best = scored[0]
    picked = _pick([(score, options[place]) for score, place in scored], most)
    with_lead = _with_lead_ins(picked, options, most)
    return Extract(
        claims=tuple(
            Claim(text=option.text, keys=(evidence[option.evidence].key,), source=option.span)
            for option in with_lead
        ),
        best_score=best_score,
        best_similarity=similarity[best],
    )


def _options(evidence: Sequence[Evidence]) -> list[_Option]:
    options = []
    for number, piece in enumerate(evidence):
        for place, span in enumerate(sentence_spans(piece.text)):
            text = span.of(piece.text)
            options.append(
                _Option(
                    evidence=number,
                    place=place,
                    span=Span(start=piece.span.start + span.start, end=piece.span.start + span.end),
                    text=text,
                    stems=frozenset(words.stems(text)),
                    readable=_readable(text, piece.text[: span.start], piece.text[span.end :]),
                )
            )
    return options


def _readable(text: str, before: str, after: str) -> bool:
    """Whether the sentence can stand in an answer: not a heading, a question or a fragment."""
    bare = text.rstrip("\"'”’)")
    if len(text.split()) < SHORTEST_WORDS or bare.endswith(("?", ":")):
        return False
    alone = (not before or before.endswith("\n\n")) and (not after or after.startswith("\n\n"))
    return not alone or bare.endswith((".", "!", "…", ";"))


def _term_scores(
    analysis: Analysis, evidence: Sequence[Evidence], options: Sequence[_Option]
) -> list[float]:
    """Share of the question's terms that each sentence holds, rare ones counting more.

    A term that only the title or heading holds counts half: the sentence stands under it.
    """
    asked = frozenset(words.stems(analysis.question))
    seen = Counter(stem for option in options for stem in option.stems & asked)
    weights = {stem: math.log(1 + len(options) / (1 + seen[stem])) for stem in asked}
    total = sum(weights.values()) or 1.0
    around = [
        frozenset(words.stems(f"{piece.hit.document.title} {' '.join(piece.locator.heading)}"))
        for piece in evidence
    ]
    scores = []
    for option in options:
        inside = sum(weights[stem] for stem in asked & option.stems)
        above = sum(weights[stem] for stem in (asked - option.stems) & around[option.evidence])
        scores.append((inside + 0.5 * above) / total)
    return scores


def _promising(
    options: Sequence[_Option], term_scores: Sequence[float], evidence: Sequence[Evidence]
) -> list[int]:
    """The sentences worth a vector: by terms and passage, at most ``EMBEDDED``."""
    readable = [place for place, option in enumerate(options) if option.readable]
    readable = readable or list(range(len(options)))
    order = sorted(
        readable,
        key=lambda place: (
            -(term_scores[place] + 0.5 * _passage_score(evidence, options[place].evidence)),
            place,
        ),
    )
    return order[:EMBEDDED]


def _similarities(
    question: str, options: Sequence[_Option], places: Sequence[int], embedder: Embedder
) -> dict[int, float]:
    asked = embedder.embed([question], "query")[0]
    vectors = embedder.embed([options[place].text for place in places], "passage")
    return dict(zip(places, np.asarray(vectors @ asked, dtype=float).tolist(), strict=True))


def _passage_score(evidence: Sequence[Evidence], number: int) -> float:
    best = max(piece.hit.score for piece in evidence) or 1.0
    return evidence[number].hit.score / best


def _expected(analysis: Analysis, text: str) -> float:
    """1 when the sentence holds the kind of thing that the question asks for."""
    for pattern, kind in _EXPECTS:
        if not pattern.search(analysis.question):
            continue
        if kind == "person":
            return float(any(name not in analysis.question for name in words.names(text)))
        if kind == "date":
            return float(bool(_DATE.search(text)))
        if kind == "number":
            return float(bool(words.numbers(text) - words.numbers(analysis.question)))
        return float(bool(_REASON.search(text)))
    return 0.0


def _pick(scored: Sequence[tuple[float, _Option]], most: int) -> list[_Option]:
    """The best sentence and those nearly as good that say something else."""
    best_score = scored[0][0]
    picked: list[_Option] = []
    for score, option in scored:
        if len(picked) == most or score < KEEP * best_score:
            break
        if all(overlap(option.stems, other.stems) < SAME for other in picked):
            picked.append(option)
    return picked


def _with_lead_ins(
    picked: Sequence[_Option], options: Sequence[_Option], most: int
) -> list[_Option]:
    """Reading order: the best sentence leads, the others follow source by source, as they stand
    there. A sentence that leans on the one before ("It ...", "However ...") brings it along.
    """
    by_place = {(option.evidence, option.place): option for option in options}
    first_seen: dict[int, int] = {}
    for rank, option in enumerate(picked):
        first_seen.setdefault(option.evidence, rank)
    rest = sorted(picked[1:], key=lambda option: (first_seen[option.evidence], option.place))
    ordered: list[_Option] = []
    for option in [picked[0], *rest]:
        before = by_place.get((option.evidence, option.place - 1))
        leans = before is not None and _LEANING.match(option.text) is not None
        if before is not None and leans and before.readable and len(ordered) < most:
            ordered.append(before)
        ordered.append(option)
    return list({(option.evidence, option.place): option for option in ordered}.values())
