"""The evidence as the reader sees it: which passages answer the question, and which sentence does.

Sentences are read in their context: runs of neighbours of some 80 words, as the reader was trained.
The most promising runs, by words and by the passage's vector, are read, a few for each question,
since reading is what costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wellread.answers import Evidence
from wellread.ask.retrieve.further_passages import Stretch, promising, stretches_of
from wellread.ask.retrieve.reported_speech import sentences_of
from wellread.ask.understand.answer_kind import gives_of
from wellread.ask.understand.question_parts import parts_of
from wellread.models.reader import PassageReader, Ranking, Reading
from wellread.questions import Analysis
from wellread.text.parsed import parse

MOST_ODDS = 8.0
FIRST_READ = 6  # runs; the others are read where none of these surely answers
SURE_ODDS = 3.0  # log odds that a run answers, from which it surely does (docs/decisions/039)
MANY_SOURCES = (
    "comparative",
    "synthesis",
    "persona",
    "exploratory",
    "meta",
)  # many texts


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceReading:
    """Of one sentence: the log odds that its run answers, its log probability among the run's."""

    answers: float
    chosen: float

    @property
    def odds(self) -> float:
        """The log odds that the run answers and that this is the sentence that does."""
        log = self.chosen - math.log1p(math.exp(-min(50.0, max(-50.0, self.answers))))
        return min(MOST_ODDS, max(-MOST_ODDS, log - math.log(-math.expm1(min(log, -1e-9)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageReadings:
    """What the reader said of a question's evidence.

    Attributes:
        sentences: by number of the piece of evidence and of the sentence in it.
        best: the highest log odds that a run answers the question.
        given: the highest log odds of the sentences that the answer was made of; None where a
            model wrote it, or nobody did yet.
    """

    sentences: Mapping[tuple[int, int], SentenceReading]
    best: float
    given: float | None = None

    @property
    def nearest(self) -> float:
        """Those of the sentences that were given, else of all that were read."""
        if self.given is not None:
            return self.given
        return max((one.odds for one in self.sentences.values()), default=-MOST_ODDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Who says which sentences answer.

    Attributes:
        sentences: reads them one by one; asked where nobody read whole passages.
        meaning: says how near the best of those that were read in their passages are by meaning.
        readings: what was said of the passages, where somebody read them.
    """

    sentences: Ranking
    meaning: Ranking | None = None
    readings: PassageReadings | None = None

    @property
    def cosines(self) -> bool:
        """Whether sentences are chosen by the cosines of the embedder."""
        return self.readings is None and self.sentences.identity == "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Neighbouring sentences of one piece of evidence, and how much they promise."""

    piece: int
    first: int
    sentences: tuple[str, ...]
    speakers: tuple[str, ...]
    looks: Stretch


def for_reader(analysis: Analysis) -> bool:
    """Whether the question is one of those that the reader learned: one, about what a text says.

    Several questions in one, two sides of a comparison, and what one speaker said, are left to
    words. A type that was guessed by meaning is no reason not to read: the reader knows better.
    """
    limited = any(one.kind == "speaker" for one in analysis.constraints)
    single = len(analysis.sides) < 2 and len(parts_of(analysis.question)) == 1
    several = analysis.type in MANY_SOURCES and not analysis.guessed
    return not several and not limited and single


def read_evidence(
    analysis: Analysis, evidence: Sequence[Evidence], reader: PassageReader
) -> PassageReadings:
    """Read the most promising runs of ``evidence`` for the question.

    Raises:
        ModelError: the reader cannot be run.
    """
    asked, gives = analysis.parsed.stem_set, gives_of(analysis.wanted)
    best = max((piece.hit.score for piece in evidence), default=0.0) or 1.0
    found = [
        run for at, piece in enumerate(evidence) for run in _runs(at, piece, asked, best, gives)
    ]
    runs = [found[at] for at in promising(asked, [run.looks for run in found])]
    titles = [_above(run, evidence[run.piece], asked) for run in runs]
    texts = [
        (analysis.wanted_of(evidence[run.piece].hit.document), [*title, *run.sentences])
        for title, run in zip(titles, runs, strict=True)
    ]
    read = _read(reader, texts[:FIRST_READ])
    if all(reading.answers < SURE_ODDS for reading in read):
        read += _read(reader, texts[FIRST_READ:])
    runs, titles = runs[: len(read)], titles[: len(read)]
    sentences = {
        (run.piece, run.first + at): SentenceReading(
            answers=reading.answers, chosen=float(reading.sentences[len(title) + at])
        )
        for run, title, reading in zip(runs, titles, read, strict=True)
        for at in range(len(run.sentences))
    }
    likeliest = max((reading.answers for reading in read), default=-np.inf)
    return PassageReadings(sentences=sentences, best=float(likeliest))


def _read(reader: PassageReader, texts: Sequence[tuple[str, Sequence[str]]]) -> list[Reading]:
    """What the reader says of each text to the question beside it."""
    found: dict[int, Reading] = {}
    for question in dict.fromkeys(question for question, _ in texts):
        places = [at for at, one in enumerate(texts) if one[0] == question]
        read = reader.read(question, [texts[at][1] for at in places])
        found |= zip(places, read, strict=True)
    return [found[at] for at in range(len(texts))]


def _above(run: _Run, piece: Evidence, asked: frozenset[str]) -> list[str]:
    """The document's title and who speaks, before the sentences, where the question names them."""
    told = [piece.hit.document.title, *(f"{name} says:" for name in run.speakers)]
    return [one for one in told if asked & parse(one.removesuffix(" says:")).stem_set]


def _runs(
    at: int, piece: Evidence, asked: frozenset[str], best: float, gives: Callable[[str], bool]
) -> list[_Run]:
    told = list(sentences_of(piece))
    texts = [" ".join(span.of(piece.text).split()) for _, span in told]
    found: list[_Run] = []
    first = 0
    for run in stretches_of(texts):
        named = [name for name, _ in told[first : first + len(run)] if name]
        speakers = tuple(dict.fromkeys(named))
        looks = Stretch(
            held=asked & parse(" ".join([*speakers, *run])).stem_set,
            above=asked & piece.heading.stem_set,
            near=piece.hit.similarity or 0.0,
            found=piece.hit.score / best,
            gives=any(map(gives, run)),
        )
        found.append(
            _Run(piece=at, first=first, sentences=tuple(run), speakers=speakers, looks=looks)
        )
        first += len(run)
    return found
