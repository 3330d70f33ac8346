"""Chooses the extracts that answer a question without a language model. Start reading here.

Evidence is split into windows of whole sentences, which are scored (``extract_score.py``). The best
windows of different pieces become extracts: extended until they can be read by themselves, with
the answering sentences marked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.ask.write.extract_score import (
    AROUND,
    MARKED,
    NEAREST,
    READ,
    RankedWindows,
    Readers,
    Window,
    add_context,
    extend_forward,
    fits_weights,
    rank_windows,
    sentences_in,
    windows_of,
)
from wellread.ask.write.stated_values import columns_at, is_row, named_numbers, told
from wellread.errors import ModelError
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.sentences import enumerator_of
from wellread.types import Span
from wellread.values.answers import Evidence, Verdict, VerdictName
from wellread.values.question import Analysis

T = TypeVar("T")
logger = logging.getLogger(__name__)

MAX_EXTRACTS = 3  # in an answer
ENOUGH = 0.9  # total share of the scores after which no more extracts are shown
NEAR_LIMITS = (12, 6)  # windows to read and to compare when extracts of many pieces are requested
# Of the questions that the material answers, 1 in 250 has a lower confidence; of those on unrelated
# material, 42 in 100 (benchmarks/train_extracts.py).
MIN_RELATED_CONFIDENCE = 0.05
# The lowest confidence when a requested speaker uses a word of the subject, when all sides of a
# comparison are named, or when several sources are about the topic: no single window could answer.
MIN_SPREAD_CONFIDENCE = 0.45
MIN_NUMBERED_CONFIDENCE = 0.7  # when a clause is found by its number, which needs no reading
MIN_TOPIC_SHARE = 0.5  # a source with a larger share of the topic's words is about the topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A part of one document that can be read by itself.

    The ``parts`` and ``sentences`` are spans of the document, in order; a lead-in or header that is
    not adjacent is a part of its own. ``text`` joins the parts by line breaks. The ``marked``
    sentences answer, the best first; they are in ``piece``. ``told``: what marked table rows say,
    in words of the row and its header.
    """

    piece: Evidence
    parts: tuple[Span, ...]
    text: str
    sentences: tuple[Span, ...]
    marked: tuple[Span, ...]
    told: tuple[tuple[str, Span], ...] = ()

    def place(self, span: Span) -> int:
        """The offset of a sentence in the extract's text."""
        before = 0
        for part in self.parts:
            if part.start <= span.start < part.end:
                return before + span.start - part.start
            before += part.end - part.start + 1
        raise ValueError(f"{span} is not in the extract")

    def of(self, span: Span) -> str:
        """The text of a sentence."""
        start = self.place(span)
        return self.text[start : start + span.end - span.start]

    def verdict(
        self, span: Span, name: VerdictName = VerdictName.QUOTED, method: str = "verbatim"
    ) -> Verdict:
        """The verdict of a sentence: quoted, unless ``name`` says otherwise."""
        return Verdict(name=name, method=method, score=1.0, key=self.piece.key, source=span)

    def without(self, sentences: Collection[Span]) -> Extract:
        """Remove sentences from the extract."""
        if not sentences:
            return self
        remaining = [span for span in self.sentences if span not in sentences]
        return replace(
            self,
            parts=tuple(remaining),
            text="\n".join(self.of(span) for span in remaining),
            sentences=tuple(remaining),
            marked=tuple(span for span in self.marked if span in remaining),
            told=tuple((line, span) for line, span in self.told if span in remaining),
        )

    def telling(self, question: str) -> Extract:
        """Add what the marked rows of tables say about ``question``."""
        lines = []
        for span in self.marked:
            columns = columns_at(self.piece, span.start)
            is_names = any(0 <= mark.start - span.end <= 1 for mark in self.piece.tables)
            is_told = columns or (is_row(self.of(span)) and not is_names)
            line = told(question, self.of(span), columns) if is_told else ""
            lines += [(line, span)] if line and not find_prompt_injection(line) else []
        return replace(self, told=tuple(lines))

    def only_marked(self) -> Extract:
        """Reduce the extract to its marked sentences."""
        return self.without([span for span in self.sentences if span not in self.marked])

    @property
    def cited(self) -> Span:
        """The span to open: the best marked sentence, with the other if adjacent on its line."""
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
    """The extracts chosen for a question, best first; for a comparison, from each side.

    ``confidence`` is the probability that they contain the answer; ``failure`` describes a failed
    model call.
    """

    shown: tuple[Extract, ...] = ()
    confidence: float = 0.0
    failure: str = ""

    @property
    def near(self) -> tuple[Extract, ...]:
        """The extracts that may be offered as near; empty when the material is unrelated."""
        return self.shown if self.confidence >= MIN_RELATED_CONFIDENCE else ()


def choose_extracts(
    kb: KnowledgeBase,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    stated: Sequence[tuple[int, Span]] = (),
) -> Extracts:
    """Choose the extracts that answer the question, and those with the ``stated`` sentences.

    The extracts of stated sentences follow the order of ``stated``.
    """
    windows = _windows(evidence, analysis.voices)
    if not windows:
        return Extracts()
    (best, confidence), failure = _with_fallback(
        kb, lambda readers: _choose_windows(analysis, windows, evidence, readers)
    )
    best = [*best, *_windows_around(stated, windows, evidence, best)]
    place = {piece: number for number, (piece, _) in enumerate(stated)}
    in_order = iter(
        sorted((c for c in best if c[0].piece in place), key=lambda c: place[c[0].piece])
    )
    best = [next(in_order) if choice[0].piece in place else choice for choice in best]
    limit = analysis.liking.sentences(kb.settings.qa.max_sentences)
    all_marks = _choose_marks([marks for _, marks in best], limit)
    extracts = [
        extract_of(kb, evidence[window.piece], window, marks).telling(analysis.question)
        for (window, _), marks in zip(best, all_marks, strict=True)
    ]
    if analysis.liking.length == "short":
        extracts = [extract.only_marked() for extract in extracts]
    return Extracts(shown=tuple(_merge_contained(extracts)), confidence=confidence, failure=failure)


def nearest_extracts(
    kb: KnowledgeBase, question: str, evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> Extracts:
    """The extracts that are nearest to ``question``, at most one of each piece, nearest first."""
    windows = _windows(evidence, voices)
    if not windows:
        return Extracts()
    ranked, failure = _with_fallback(
        kb,
        lambda readers: rank_windows(question, windows, evidence, readers, limits=NEAR_LIMITS),
    )
    extracts = tuple(
        extract_of(kb, evidence[window.piece], window, marks)
        for window, marks in _best_windows(ranked, len(evidence), enough=math.inf)
    )
    return Extracts(shown=extracts, confidence=ranked.confidence, failure=failure)


def nearest_sentences(
    kb: KnowledgeBase, question: str, evidence: Sequence[Evidence], voices: Sequence[str] = ()
) -> Iterator[Extract]:
    """Yield the sentence of each piece, in order, that shares most words with ``question``."""
    windows, by_words = _windows(evidence, voices), Readers(network=None, embedder=None)
    ranked = rank_windows(question, windows, evidence, by_words, limits=(len(windows), 0))
    best = _best_windows(ranked, len(evidence), enough=math.inf)
    for window, marks in sorted(best, key=lambda choice: choice[0].piece):
        extract = extract_of(kb, evidence[window.piece], window, marks[:1]).only_marked()
        if extract.marked:
            yield extract


def _windows(evidence: Sequence[Evidence], voices: Sequence[str]) -> list[Window]:
    return [
        window
        for number, piece in enumerate(evidence)
        for window in windows_of(number, piece, voices)
    ]


def _with_fallback(kb: KnowledgeBase, choose: Callable[[Readers], T]) -> tuple[T, str]:
    """Call ``choose``, again without the network if that fails; also return the failure."""
    readers = Readers(
        network=kb.passage_reader, embedder=kb.embedder if fits_weights(kb.embedder) else None
    )
    try:
        return choose(readers), ""
    except ModelError as error:
        if readers.network is None:
            raise
        logger.warning("the passage reader failed; choosing extracts without it: %s", error)
        failure = f"the passage reader failed; extracts were chosen without it: {error}"
        return choose(replace(readers, network=None)), failure


Choice = tuple[Window, tuple[int, ...]]
"""A window, and the indexes of its sentences that answer, best first."""


def _choose_windows(
    analysis: Analysis, windows: Sequence[Window], evidence: Sequence[Evidence], readers: Readers
) -> tuple[list[Choice], float]:
    if numbered := _numbered_choice(analysis.wanted, windows, evidence):
        ranked = rank_windows(analysis.wanted, [numbered[0]], evidence, readers)
        return [numbered], max(MIN_NUMBERED_CONFIDENCE, ranked.confidence)
    sides = [_windows_of_side(side, windows, evidence) for side in analysis.sides]
    if analysis.type == "synthesis" and not sides:
        sides = _windows_by_source(analysis.wanted, windows, evidence)
    if sum(map(bool, sides)) < 2:
        ranked = rank_windows(analysis.wanted, windows, evidence, readers, asked=analysis.question)
        uses_topic = analysis.voices and ranked.readings["most_cover"]
        least = MIN_SPREAD_CONFIDENCE if uses_topic else 0.0
        return _best_windows(ranked, MAX_EXTRACTS), max(least, ranked.confidence)
    share = max(1, READ // len(sides)), max(1, NEAREST // len(sides))
    chosen: list[Choice] = []
    confidences: list[float] = []
    for side_windows in filter(None, sides):
        ranked = rank_windows(
            analysis.wanted,
            side_windows,
            evidence,
            readers,
            limits=share,
            asked=analysis.question,
        )
        chosen += [choice for choice in _best_windows(ranked, 1) if choice not in chosen]
        confidences.append(ranked.confidence)
    return chosen, max(MIN_SPREAD_CONFIDENCE, sum(confidences) / len(confidences))


def _numbered_choice(
    question: str, windows: Sequence[Window], evidence: Sequence[Evidence]
) -> Choice | None:
    """The window with the clause or item whose number the question names, and its sentence.

    Of several the one whose document shares most words with the question.
    """
    numbers = named_numbers(question)
    stems = parse(question).stem_set
    choices = [
        (
            len(stems & (parse(window.text).stem_set | evidence[window.piece].heading.stem_set)),
            at,
            n,
        )
        for at, window in enumerate(windows)
        for n, span in enumerate(window.sentences)
        if numbers and enumerator_of(span.of(evidence[window.piece].text)) in numbers
    ]
    if not choices:
        return None
    _, at, number = max(choices, key=lambda choice: (choice[0], -choice[1]))
    return windows[at], (number,)


def _windows_of_side(
    side: str, windows: Sequence[Window], evidence: Sequence[Evidence]
) -> list[Window]:
    name = parse(side).stem_set
    return [
        window
        for window in windows
        if name and name <= parse(window.text).stem_set | evidence[window.piece].heading.stem_set
    ]


def _windows_by_source(
    question: str, windows: Sequence[Window], evidence: Sequence[Evidence]
) -> list[list[Window]]:
    """The windows of each document about the question's last phrase ("X" in "themes of X")."""
    text = parse(question)
    topic = parse(text.phrases[-1].bare.of(question)).stem_set if text.phrases else frozenset()
    by_document: dict[str, list[Window]] = {}
    topical_ids: set[str] = set()
    for window in windows:
        piece = evidence[window.piece]
        by_document.setdefault(piece.hit.document.id, []).append(window)
        shared_stems = topic & (parse(window.text).stem_set | piece.heading.stem_set)
        if len(shared_stems) > len(topic) * MIN_TOPIC_SHARE:
            topical_ids.add(piece.hit.document.id)
    return [group for key, group in by_document.items() if key in topical_ids]


def _best_windows(ranked: RankedWindows, limit: int, enough: float = ENOUGH) -> list[Choice]:
    """The best windows of different pieces, until their shares reach ``enough``.

    Headings are marked only if a window has nothing else.
    """
    chosen: list[Choice] = []
    covered = 0.0
    for window, share, best in zip(ranked.windows, ranked.shares, ranked.best, strict=True):
        if any(window.piece == other.piece for other, _ in chosen):
            continue
        if len(chosen) == limit or covered >= enough:
            break
        telling = tuple(at for at in best if window.telling[at])
        chosen.append((window, (telling or best)[:MARKED]))
        covered += share
    return chosen


def _windows_around(
    stated: Sequence[tuple[int, Span]],
    windows: Sequence[Window],
    evidence: Sequence[Evidence],
    shown: Sequence[Choice],
) -> list[Choice]:
    """A window for each of the ``stated`` sentences that no shown window marks."""
    added: list[Choice] = []
    for number, span in stated:
        local = span.moved(-evidence[number].span.start)
        for window in windows:
            at = [n for n, sentence in enumerate(window.sentences) if sentence.overlaps(local)]
            if window.piece == number and at:
                if not any(other.piece == number and at[0] in marks for other, marks in shown):
                    added.append((window, (at[0],)))
                break
    return added


def _choose_marks(best: Sequence[Sequence[int]], limit: int) -> list[tuple[int, ...]]:
    """Choose the marked sentences: the best of each extract, then second ones up to ``limit``."""
    marks = [tuple(indexes[:1]) for indexes in best]
    for at, indexes in enumerate(best):
        if sum(map(len, marks)) >= limit:
            break
        marks[at] = tuple(indexes[:MARKED])
    return marks


def extract_of(kb: KnowledgeBase, piece: Evidence, window: Window, marks: Sequence[int]) -> Extract:
    """Make an extract of a window, with the context that it needs from its document."""
    first = piece.span.start
    sentences = [span.moved(first) for span in window.sentences]
    marked = tuple(sentences[at] for at in marks)
    runs = _join_adjacent(piece, sentences)
    planted: list[Span] = []
    if len(runs) == 1 and not window.apart:
        begin = max(0, runs[0].start - AROUND)
        around = Span(start=begin, end=min(piece.hit.document.characters, runs[0].end + AROUND))
        (text,) = kb.catalogue.texts([(piece.hit.document.id, around)])
        stretch, *local = [span.moved(-begin) for span in (*runs, *marked)]
        parts = [stretch] if piece.turns else add_context(text, stretch, local)
        parts[-1] = extend_forward(text, parts[-1], local)
        sentences = [sentence.moved(begin) for sentence in sentences_in(text, parts)]
        planted = [span.moved(begin) for span in find_prompt_injection(text)]
        texts = [part.of(text) for part in parts]
        runs = [part.moved(begin) for part in parts]
    else:
        texts = [piece.text[run.start - first : run.end - first] for run in runs]
    extract = Extract(
        piece=piece,
        parts=tuple(runs),
        text="\n".join(texts),
        sentences=tuple(sentences),
        marked=tuple(_overlapping(sentences, marked)),
    )
    return extract.without(
        [sentence for sentence in sentences if any(map(sentence.overlaps, planted))]
    )


def _join_adjacent(piece: Evidence, sentences: Sequence[Span]) -> list[Span]:
    """Join adjacent sentences into spans; with chosen speakers there may be gaps."""
    first, runs = piece.span.start, list[Span]()
    for span in sentences:
        between = piece.text[runs[-1].end - first : span.start - first] if runs else ""
        if runs and not any(map(str.isalnum, between)):
            runs[-1] = Span(start=runs[-1].start, end=span.end)
        else:
            runs.append(span)
    return runs


def _overlapping(sentences: Sequence[Span], marked: Sequence[Span]) -> list[Span]:
    """The sentences that overlap ``marked``, in its order, without repeats."""
    overlapping = [sentence for span in marked for sentence in sentences if sentence.overlaps(span)]
    return list(dict.fromkeys(overlapping))


def _merge_contained(extracts: Sequence[Extract]) -> list[Extract]:
    """Merge each extract into an earlier one of the same document that contains its marks."""
    merged: list[Extract] = []
    for extract in extracts:
        for at, earlier in enumerate(merged):
            same = earlier.piece.hit.document.id == extract.piece.hit.document.id
            if same and all(any(map(span.overlaps, earlier.sentences)) for span in extract.marked):
                marked = (*earlier.marked, *_overlapping(earlier.sentences, extract.marked))
                merged[at] = replace(earlier, marked=tuple(dict.fromkeys(marked)))
                break
        else:
            merged.append(extract)
    return merged
