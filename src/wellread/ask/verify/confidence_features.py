"""What confidence is computed from: how the question lies to the evidence, each feature 0-1.

No feature depends on who wrote the answer or on how it was checked.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.write.passage_reading import MOST_ODDS, PassageReadings
from wellread.models.reader import Excerpt, Ranking, excerpts
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

LOOKED = 6  # pieces of evidence, best first, that are read word by word
EMBEDDED = 6  # sentences, the best by words and passage, whose vectors are compared
ABOVE = 0.5  # of its worth counts a word that only the title or heading holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of one answer.

    Attributes:
        sentence: cosine of the question and the nearest sentence.
        passage: cosine of the question and the nearest passage.
        together: share of the question's words, rare ones counting more, that two neighbouring
            sentences hold.
        words: share of the question's words that one passage holds with its title.
        names: share of the question's names and numbers that this passage holds; 1 without any.
        closeness: how closely the words of the nearest passage stand to those of the question.
        answers: log odds by the reader that a passage answers, -8 to 8; None where none was asked.
        chosen: log odds by the reader that the best sentence given answers, -8 to 8; None alike.
    """

    sentence: float
    passage: float
    together: float
    words: float
    names: float
    closeness: float
    answers: float | None = None
    chosen: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A sentence of the evidence: in which piece, and which of the question's stems it holds."""

    piece: int
    text: str
    held: frozenset[str]


def features_of(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    lexical: Ranking,
    nearest: float | None = None,
    readings: PassageReadings | None = None,
) -> Features:
    """Take the features of one answer.

    Args:
        nearest: cosine of the question and the best sentence; None has it worked out, which
            embeds the question and ``EMBEDDED`` sentences, unless there are ``readings``.
        readings: what the reader said of the evidence, where one reads passages.

    Raises:
        ModelError: the embedder could not be run or reached.
    """
    pieces = list(evidence[:LOOKED])
    asked = frozenset(parse(analysis.subject or analysis.question).topic_stems)
    titles = [_title(piece) & asked for piece in pieces]
    lines = [
        _Line(piece=number, text=text, held=asked.intersection(parse(text).stems))
        for number, piece in enumerate(pieces)
        for text in (span.of(piece.text) for span in sentence_spans(piece.text))
    ]
    worth = worth_of(sorted(asked), [line.held for line in lines])
    fullest = _fullest(pieces, titles, lines, worth)
    close = lexical.relevance(
        analysis.subject or analysis.question,
        [Excerpt(text=piece.text, title=piece.hit.passage.context) for piece in pieces],
    )
    if nearest is None:
        nearest = 0.0 if readings else _nearest(analysis.wanted, lines, worth, lexical)
    return Features(
        sentence=_unit(nearest),
        passage=_unit(max((piece.hit.similarity or 0.0 for piece in pieces), default=0.0)),
        together=_together(lines, titles, worth),
        words=len(fullest) / len(asked) if asked else 0.0,
        names=_names(analysis, fullest),
        closeness=float(max(close, default=0.0)),
        answers=min(MOST_ODDS, max(-MOST_ODDS, readings.best)) if readings else None,
        chosen=readings.nearest if readings else None,
    )


def worth_of(stems: Iterable[str], lines: Sequence[frozenset[str]]) -> dict[str, float]:
    """Each stem's share of the whole, more the fewer of ``lines`` hold it, as BM25 weighs words."""
    count = Counter(one for held in lines for one in held)
    worth = {
        one: math.log(1 + (len(lines) + 0.5) / (count[one] + 0.5)) for one in dict.fromkeys(stems)
    }
    total = math.fsum(worth.values())
    return {one: value / total for one, value in worth.items()}


def _title(piece: Evidence) -> frozenset[str]:
    above = f"{piece.hit.document.title} {' '.join(piece.locator.heading)}"
    return parse(above).stem_set


def _share(worth: Mapping[str, float], held: frozenset[str]) -> float:
    return math.fsum(worth[stem] for stem in sorted(held))


def _fullest(
    pieces: Sequence[Evidence],
    titles: Sequence[frozenset[str]],
    lines: Sequence[_Line],
    worth: Mapping[str, float],
) -> frozenset[str]:
    """The question's stems in the piece that holds most of them."""
    found = [
        titles[number].union(*(line.held for line in lines if line.piece == number))
        for number in range(len(pieces))
    ]
    return max(found, key=lambda held: _share(worth, held), default=frozenset())


def _together(
    lines: Sequence[_Line], titles: Sequence[frozenset[str]], worth: Mapping[str, float]
) -> float:
    """The most that one sentence, or two that follow each other, hold of the question."""
    pairs = [
        (one.piece, one.held | two.held)
        for one, two in itertools.pairwise(lines)
        if one.piece == two.piece
    ]
    shares = [
        _share(worth, held) + ABOVE * _share(worth, titles[piece] - held)
        for piece, held in [*((line.piece, line.held) for line in lines), *pairs]
    ]
    return _unit(max(shares, default=0.0))


def _names(analysis: Analysis, held: frozenset[str]) -> float:
    named = [stem for name in analysis.names for stem in parse(name).stems]
    return sum(stem in held for stem in named) / len(named) if named else 1.0


def _nearest(
    question: str, lines: Sequence[_Line], worth: Mapping[str, float], lexical: Ranking
) -> float:
    """The cosine of the question and the nearest of its most promising sentences."""
    order = sorted(lines, key=lambda line: (-_share(worth, line.held), line.piece))
    texts = list(dict.fromkeys(line.text for line in order[:EMBEDDED]))
    if not texts:
        return 0.0
    return float(lexical.answers(question, excerpts(*texts)).max())


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
