"""The answer without a language model: the places that answer, word for word. Read this first.

evidence → windows of whole sentences → their scores (``extract_score.py``) → the best of different
places, each completed so that it can be read by itself (``extract_windows.py``), with the part that
answers marked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from wellread.ask.understand.planted_orders import planted_in
from wellread.ask.write.extract_score import (
    AROUND,
    MARKED,
    NEAREST,
    READ,
    Judged,
    Readers,
    Window,
    carried_on,
    comparable,
    completed,
    judged,
    sentences_in,
    windows_of,
)
from wellread.errors import ModelError
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.types import Span
from wellread.values.answers import Evidence, Verdict, VerdictName
from wellread.values.question import Analysis

T = TypeVar("T")
logger = logging.getLogger(__name__)

SHOWN = 3  # extracts of an answer
ENOUGH = 0.9  # of the score's shares, from which further extracts are not shown
NEAR = (12, 6)  # windows that are read and compared where several places are wanted
# Less sure than this, one in 250 questions finds its answer here; it is so of 42 of 100 questions
# that were asked of other material (benchmarks/train_extracts.py).
POSSIBLE = 0.05
# How sure it is at least where somebody's words with one of the subject's are asked for, or where
# each side of a comparison, or what several sources are asked about, is named: no window of one
# answers for all.
SAID = 0.45
NAMED = 0.5  # of the words, more than which a source has that is about what they name


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A stretch of one document that can be read by itself.

    Attributes:
        piece: the evidence in which the answering sentences stand.
        parts: spans of the document, in order; two where a lead-in or a header stands apart.
        text: what stands there, a line break between parts.
        sentences: spans of the document, in order.
        marked: those of them that answer, best first.
    """

    piece: Evidence
    parts: tuple[Span, ...]
    text: str
    sentences: tuple[Span, ...]
    marked: tuple[Span, ...]

    def place(self, span: Span) -> int:
        """Where one of its sentences begins in its text."""
        before = 0
        for part in self.parts:
            if part.start <= span.start < part.end:
                return before + span.start - part.start
            before += part.end - part.start + 1
        raise ValueError(f"{span} is no part of the extract")

    def of(self, span: Span) -> str:
        """The text of one of its sentences."""
        start = self.place(span)
        return self.text[start : start + span.end - span.start]

    def verdict(self, span: Span) -> Verdict:
        """The verdict of one of its sentences: it is quoted."""
        name = VerdictName.QUOTED
        return Verdict(name=name, method="verbatim", score=1.0, key=self.piece.key, source=span)

    def without(self, sentences: Collection[Span]) -> Extract:
        """The extract without some of its sentences; itself without any."""
        if not sentences:
            return self
        left = [span for span in self.sentences if span not in sentences]
        return replace(
            self,
            parts=tuple(left),
            text="\n".join(self.of(span) for span in left),
            sentences=tuple(left),
            marked=tuple(span for span in self.marked if span in left),
        )

    def marked_alone(self) -> Extract:
        """The extract with its marked sentences alone, where room is short."""
        return self.without([span for span in self.sentences if span not in self.marked])

    @property
    def cited(self) -> Span:
        """The place to open: the best marked sentence, with the other one beside it on its line."""
        first, *others = self.marked
        for span in others:
            low, high = (first, span) if first.start < span.start else (span, first)
            part = next(part for part in self.parts if part.start <= low.start < part.end)
            between = self.text[self.place(low) + low.end - low.start :]
            between = between[: high.start - low.end]
            if high.end <= part.end and not between.strip() and "\n" not in between:
                return Span(start=low.start, end=high.end)
        return first


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracts:
    """What was chosen for a question.

    Attributes:
        shown: best first; for a comparison those of each side.
        confidence: how likely they hold the answer, 0-1.
        failure: what could not be run and was done without, in words; may be empty.
    """

    shown: tuple[Extract, ...] = ()
    confidence: float = 0.0
    failure: str = ""

    @property
    def near(self) -> tuple[Extract, ...]:
        """What may be called near to the question; none where it is about something else."""
        return self.shown if self.confidence >= POSSIBLE else ()


def extracts_of(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    stated: Sequence[tuple[int, Span]] = (),
) -> Extracts:
    """The extracts of ``evidence`` that answer the question; none where it has no sentence."""
    windows = _windows(evidence, analysis.voices)
    if not windows:
        return Extracts()
    (best, confidence), failure = _read(kb, lambda by: _chosen(analysis, windows, evidence, by))
    best = [*best, *_holding(stated, windows, evidence, best)]
    most = analysis.liking.sentences(kb.settings.qa.max_sentences)
    marks = _marks([marks for _, marks in best], most)
    shown = [
        extract_of(kb, evidence[window.piece], window, chosen)
        for (window, _), chosen in zip(best, marks, strict=True)
    ]
    if analysis.liking.length == "short":
        shown = [extract.marked_alone() for extract in shown]
    return Extracts(shown=tuple(_apart(shown)), confidence=confidence, failure=failure)


def nearest_of(
    kb: KnowledgeBase, question: str, evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> Extracts:
    """An extract of each piece that comes near to ``question``, the nearest first."""
    windows = _windows(evidence, voices)
    if not windows:
        return Extracts()
    found, failure = _read(kb, lambda by: judged(question, windows, evidence, by, most=NEAR))
    shown = tuple(
        extract_of(kb, evidence[window.piece], window, marks)
        for window, marks in _first(found, len(evidence), enough=math.inf)
    )
    return Extracts(shown=shown, confidence=found.confidence, failure=failure)


def places_of(
    kb: KnowledgeBase, question: str, evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> Iterator[Extract]:
    """Of each piece, in order, the sentence alone that is nearest to ``question`` by its words."""
    windows, by_words = _windows(evidence, voices), Readers(network=None, embedder=None)
    found = judged(question, windows, evidence, by_words, most=(len(windows), 0))
    best = _first(found, len(evidence), enough=math.inf)
    for window, marks in sorted(best, key=lambda each: each[0].piece):
        extract = extract_of(kb, evidence[window.piece], window, marks[:1]).marked_alone()
        if extract.marked:
            yield extract


def _windows(evidence: Sequence[Evidence], voices: Sequence[str]) -> list[Window]:
    return [
        window
        for number, piece in enumerate(evidence)
        for window in windows_of(number, piece, voices)
    ]


def _read(kb: KnowledgeBase, choose: Callable[[Readers], T]) -> tuple[T, str]:
    """What is chosen by the readers of ``kb``, without its network where that fails; why it did."""
    readers = Readers(
        network=kb.passage_reader, embedder=kb.embedder if comparable(kb.embedder) else None
    )
    try:
        return choose(readers), ""
    except ModelError as error:
        if readers.network is None:
            raise
        logger.warning("the reader failed, extracts are chosen without it: %s", error)
        failure = f"the reader failed, extracts were chosen without it: {error}"
        return choose(replace(readers, network=None)), failure


Choice = tuple[list[tuple[Window, tuple[int, ...]]], float]


def _chosen(
    analysis: Analysis, windows: Sequence[Window], evidence: Sequence[Evidence], readers: Readers
) -> Choice:
    """The windows that are shown, each with its sentences, best first, and how sure that is."""
    sides = [_of_side(side, windows, evidence) for side in analysis.sides]
    if analysis.type == "synthesis" and not sides:
        sides = _of_sources(analysis.wanted, windows, evidence)
    if sum(map(bool, sides)) < 2:
        found = judged(analysis.wanted, windows, evidence, readers)
        theirs = SAID if analysis.voices and found.readings["most_cover"] else 0.0
        return _first(found, SHOWN), max(theirs, found.confidence)
    share = max(1, READ // len(sides)), max(1, NEAREST // len(sides))
    told: list[tuple[Window, tuple[int, ...]]] = []
    sure: list[float] = []
    for held in sides:
        if held:
            found = judged(analysis.wanted, held, evidence, readers, most=share)
            told += [each for each in _first(found, 1) if each not in told]
            sure.append(found.confidence)
    return told, max(SAID, sum(sure) / len(sure))


def _of_side(side: str, windows: Sequence[Window], evidence: Sequence[Evidence]) -> list[Window]:
    """The windows that name a side, in their text or in what stands above it."""
    name = parse(side).stem_set
    return [
        window
        for window in windows
        if name and name <= parse(window.text).stem_set | evidence[window.piece].heading.stem_set
    ]


def _of_sources(
    question: str, windows: Sequence[Window], evidence: Sequence[Evidence]
) -> list[list[Window]]:
    """The windows of each document that is about what the question names last: "themes of X".

    What many sources say is told by no window alone.
    """
    text = parse(question)
    topic = parse(text.phrases[-1].bare.of(question)).stem_set if text.phrases else frozenset()
    held: dict[str, list[Window]] = {}
    about: set[str] = set()
    for window in windows:
        piece = evidence[window.piece]
        held.setdefault(piece.hit.document.id, []).append(window)
        named = topic & (parse(window.text).stem_set | piece.heading.stem_set)
        if len(named) > len(topic) * NAMED:
            about.add(piece.hit.document.id)
    return [own for document, own in held.items() if document in about]


def _first(
    found: Judged, most: int, enough: float = ENOUGH
) -> list[tuple[Window, tuple[int, ...]]]:
    """The best windows of different pieces, as many as are needed to be sure enough."""
    told: list[tuple[Window, tuple[int, ...]]] = []
    covered = 0.0
    for window, share, best in zip(found.windows, found.shares, found.best, strict=True):
        if any(window.piece == other.piece for other, _ in told):
            continue
        if len(told) == most or covered >= enough:
            break
        told.append((window, _telling(window, best)[:MARKED]))
        covered += share
    return told


def _telling(window: Window, best: Sequence[int]) -> tuple[int, ...]:
    """The sentences, best first, that are no bare lines; all where there are no others."""
    return tuple(at for at in best if window.telling[at]) or tuple(best)


def _holding(
    stated: Sequence[tuple[int, Span]],
    windows: Sequence[Window],
    evidence: Sequence[Evidence],
    shown: Sequence[tuple[Window, tuple[int, ...]]],
) -> list[tuple[Window, tuple[int, ...]]]:
    """A window around each of the sentences ``stated`` that none of ``shown`` marks."""
    added: list[tuple[Window, tuple[int, ...]]] = []
    for number, span in stated:
        start = evidence[number].span.start
        place = Span(start=span.start - start, end=span.end - start)
        for window in windows:
            at = [n for n, one in enumerate(window.sentences) if one.overlaps(place)]
            if window.piece == number and at:
                if not any(window.piece == w.piece and at[0] in marks for w, marks in shown):
                    added.append((window, (at[0],)))
                break
    return added


def _marks(best: Sequence[Sequence[int]], most: int) -> list[tuple[int, ...]]:
    """Which sentences of each extract are marked: the best of each, then the second best."""
    marks = [tuple(places[:1]) for places in best]
    for at, places in enumerate(best):
        if sum(map(len, marks)) >= most:
            break
        marks[at] = tuple(places[:MARKED])
    return marks


def extract_of(kb: KnowledgeBase, piece: Evidence, window: Window, marks: Sequence[int]) -> Extract:
    """A window as an extract, with what it needs around it in its document."""
    first = piece.span.start
    sentences = [Span(start=first + s.start, end=first + s.end) for s in window.sentences]
    marked = tuple(sentences[at] for at in marks)
    runs = _runs(piece, sentences)
    planted: list[Span] = []
    if len(runs) == 1 and not window.apart:
        begin = max(0, runs[0].start - AROUND)
        around = Span(start=begin, end=min(piece.hit.document.characters, runs[0].end + AROUND))
        (text,) = kb.catalogue.texts([(piece.hit.document.id, around)])
        stretch, *local = [
            Span(start=one.start - begin, end=one.end - begin) for one in (*runs, *marked)
        ]
        parts = [stretch] if piece.turns else completed(text, stretch, local)
        parts[-1] = carried_on(text, parts[-1], local)
        sentences = [one.moved(begin) for one in sentences_in(text, parts)]
        planted = [one.moved(begin) for one in planted_in(text)]
        texts = [part.of(text) for part in parts]
        runs = [part.moved(begin) for part in parts]
    else:
        texts = [piece.text[run.start - first : run.end - first] for run in runs]
    extract = Extract(
        piece=piece,
        parts=tuple(runs),
        text="\n".join(texts),
        sentences=tuple(sentences),
        marked=tuple(_in(sentences, marked)),
    )
    return extract.without([one for one in sentences if any(map(one.overlaps, planted))])


def _runs(piece: Evidence, sentences: Sequence[Span]) -> list[Span]:
    """Neighbouring sentences as one span; of one speaker alone they may stand apart."""
    runs: list[Span] = []
    for span in sentences:
        between = (
            piece.text[runs[-1].end - piece.span.start : span.start - piece.span.start]
            if runs
            else ""
        )
        if runs and not any(char.isalnum() for char in between):
            runs[-1] = Span(start=runs[-1].start, end=span.end)
        else:
            runs.append(span)
    return runs


def _in(sentences: Sequence[Span], marked: Sequence[Span]) -> list[Span]:
    """The sentences that hold ``marked``, in their order and none twice."""
    held = [one for span in marked for one in sentences if one.overlaps(span)]
    return list(dict.fromkeys(held))


def _apart(extracts: Sequence[Extract]) -> list[Extract]:
    """The extracts without those that an earlier one of the same document holds already."""
    kept: list[Extract] = []
    for extract in extracts:
        twin = next((at for at, one in enumerate(kept) if _covers(one, extract)), None)
        if twin is None:
            kept.append(extract)
        else:
            marked = dict.fromkeys((*kept[twin].marked, *_in(kept[twin].sentences, extract.marked)))
            kept[twin] = replace(kept[twin], marked=tuple(marked))
    return kept


def _covers(extract: Extract, other: Extract) -> bool:
    """Whether the other's marked sentences stand in the extract too."""
    same = extract.piece.hit.document.id == other.piece.hit.document.id
    return same and all(
        any(one.overlaps(span) for one in extract.sentences) for span in other.marked
    )
