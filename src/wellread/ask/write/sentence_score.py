"""How likely each sentence answers the question.

The score is a logistic sum of a few features. Its weights were set by hand after a fit to sentences
of ClapNQ, XQuAD and COVID-QA that hold a gold answer (docs/decisions/018-extract.md). What tells
passages of one document from each other is weighed lower than fitted, because those sets have one
right passage each.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import (
    defines,
    expected_of,
    fits_of,
    holds,
    subject_of,
)
from wellread.ask.write.asked_names import share_named, things_asked
from wellread.ask.write.candidate_sentences import Option, introduces
from wellread.models.reader import Ranking, excerpts
from wellread.questions import Analysis
from wellread.text.english import OF_ONESELF, SMALL_TALK
from wellread.text.english_questions import GOING_ON, POINTING_BACK
from wellread.text.parsed import parse

KIND = 0.15  # what the asked kind counts in the choice of sentences that are embedded
EMBEDDED = 8  # sentences that are embedded at question time; 24 choose hardly better
EXPLAINED = ("reason", "way")  # kinds of answer that stand on their own
BIAS = -9.0
TERMS, ABOVE, PAIRS = 1.5, 1.4, 0.8
PASSAGE = 5.0
EXPECTED, LACKING, LEANING = 0.65, -0.25, -0.2
FITTING, MISFITTING = 0.6, -0.3
UNNAMED = -0.6  # for a sentence that is not about the things that the question names
TOLD = -1.5  # for a sentence that the question before it was answered with
CHATTER = -1.2  # for a sentence of a talk that opens it, greets or hands over
MEANING = 3.4
HEADED = 3  # words of a name from which on its noun may be missing ("consent decision making")

_SMALL_TALK = re.compile(rf"\W*{SMALL_TALK}", re.IGNORECASE)
_NO_EXPLANATION = re.compile(rf"\W*(?:{SMALL_TALK}|{OF_ONESELF}|{GOING_ON})", re.IGNORECASE)
_POINTING = re.compile(rf"\b(?:{'|'.join(POINTING_BACK)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFeatures:
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
        chatter: it is of a talk and opens it, greets or hands over; where something is to be
            explained, also what tells of who speaks or goes on from what was said before.
        told: it was given to the question that this one follows.
        named: share of the things that the question names which it is about: they are named in it,
            in the sentence before it, or in the title or heading above.
    """

    terms: float
    above: float
    pairs: float
    passage: float
    expected: bool
    lacking: bool
    fits: int
    chatter: bool = False
    told: bool = False
    named: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A sentence and how likely it answers.

    Attributes:
        score: by everything known of it, 0-1.
        similarity: its cosine to the question.
    """

    option: Option
    score: float
    similarity: float
    features: SentenceFeatures


def score(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
    places: Sequence[int],
    lexical: Ranking,
) -> list[Scored]:
    """The options at ``places`` with their scores, best first."""
    stems = analysis.parsed.stem_set
    texts = [_in_context(options[place], evidence, stems) for place in places]
    similarities = lexical.answers(analysis.wanted, excerpts(*texts)).tolist()
    scored = [
        Scored(
            option=options[at],
            score=_likely(features[at], options[at], near),
            similarity=near,
            features=features[at],
        )
        for at, near in zip(places, similarities, strict=True)
    ]
    return sorted(scored, key=lambda each: (-each.score, each.option.evidence, each.option.place))


def names_of(subject: str, analysis: Analysis) -> tuple[str, ...]:
    """What ``subject``, a part of the question, may be called in the material."""
    words = subject.split()
    names = [subject, " ".join(words[:-1])] if len(words) >= HEADED else [subject]
    stems = {parse(name).stems for name in names}
    titles = [
        entity.title
        for entity in analysis.entities
        if parse(entity.span.of(analysis.question)).stems in stems
    ]
    return tuple(dict.fromkeys((*names, *titles))) if subject else ()


def features_of(
    analysis: Analysis, evidence: Sequence[Evidence], options: Sequence[Option]
) -> list[SentenceFeatures]:
    """The features of each option."""
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
    names = names_of(subject_of(analysis.question), analysis)
    explained = names or kind in EXPLAINED or analysis.type in ("comparative", "synthesis")
    chatter = _NO_EXPLANATION if explained and not analysis.voices else _SMALL_TALK
    things = things_asked(analysis)
    told = frozenset(analysis.told)
    features = []
    for number, option in enumerate(options):
        own = asked & option.stems
        above = (asked - own) & titles[option.evidence]
        held = holds(kind, option.text, analysis.question)
        features.append(
            SentenceFeatures(
                terms=sum(weights[stem] for stem in own) / total,
                above=sum(weights[stem] for stem in above) / total,
                pairs=_pairs(pairs, option.text),
                passage=max(0.0, evidence[option.evidence].hit.score / best),
                expected=held,
                lacking=not held and kind in ("person", "date", "number", "place", "reason"),
                fits=fits(option.text)
                or defines(analysis.question, option.text)
                or introduces(names, option, evidence),
                chatter=evidence[option.evidence].hit.document.kind == "transcript"
                and chatter.match(option.text) is not None,
                told=option.text in told,
                named=share_named(things, evidence[option.evidence], *_read_with(options, number)),
            )
        )
    return features


def _read_with(options: Sequence[Option], number: int) -> list[str]:
    """The sentence and the one before it in the same piece of evidence."""
    own = options[number].evidence
    return [one.text for one in options[max(0, number - 1) : number + 1] if one.evidence == own]


def promising(
    options: Sequence[Option],
    features: Sequence[SentenceFeatures],
    *,
    within: Sequence[int] = (),
    most: int = EMBEDDED,
) -> list[int]:
    """Numbers of the options worth a vector, at most ``most``: by terms and passage.

    Args:
        within: only these; all when empty. None is readable: all are taken for readable.
    """

    def rough(place: int) -> float:
        held = features[place]
        return (
            held.terms
            + 0.5 * held.above
            + 0.5 * held.passage
            + KIND * (held.expected - held.lacking + held.fits)
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


def _likely(features: SentenceFeatures, option: Option, similarity: float) -> float:
    logit = (
        BIAS
        + MEANING * max(0.0, similarity)
        + TERMS * features.terms
        + ABOVE * features.above
        + PAIRS * features.pairs
        + PASSAGE * features.passage
        + EXPECTED * features.expected
        + LACKING * features.lacking
        + FITTING * (features.fits > 0)
        + MISFITTING * (features.fits < 0)
        + LEANING * option.leaning
        + CHATTER * (features.chatter and features.fits <= 0)
        + UNNAMED * (1 - features.named)
        + TOLD * features.told
    )
    return 1 / (1 + math.exp(-logit))


def _pairs(wanted: frozenset[tuple[str, str]], text: str) -> float:
    if not wanted:
        return 0.0
    stems = parse(text).stems
    return len(wanted & frozenset(itertools.pairwise(stems))) / len(wanted)
