"""A transcript cut into turns: what one speaker says without a break by another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.types import Document, Locator, Span, SpeakerMark, TimeMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A part of a turn with its own time, in seconds."""

    span: Span
    begin: float
    finish: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker says without a break by another; times in seconds.

    Attributes:
        speaker: empty where nobody is named; such a text is cut where its passages are.
        passage_id: the passage in which it begins.
    """

    speaker: str
    span: Span
    text: str
    begin: float | None
    finish: float | None
    locator: Locator
    passage_id: str
    cues: tuple[Cue, ...]


def turns_of(kb: KnowledgeBase, document_id: str, document: Document) -> Iterator[Turn]:
    """The turns in order. One inside a longer stretch that is timed has the stretch's times."""
    rows = kb.catalogue.passages_of([document_id])
    spans = list(turn_spans(document, [row.span for row in rows]))
    places = kb.catalogue.listings.covering([(document_id, span.start) for _, span in spans])
    marks = Marks(document.marks)
    times = sorted(
        (mark for mark in document.marks if isinstance(mark, TimeMark)),
        key=lambda mark: mark.start,
    )
    starts = [mark.start for mark in times]
    for (speaker, span), passage_id in zip(spans, places, strict=True):
        first = bisect_left(starts, span.start)
        own = times[first : bisect_left(starts, span.end)]
        around = [mark for mark in times[max(0, first - 1) : first] if mark.end > span.start]
        begins = [mark.begin for mark in (*around, *own)]
        ends = [mark.begin if mark.finish is None else mark.finish for mark in (own or around)]
        yield Turn(
            speaker=speaker,
            span=span,
            text=span.of(document.text),
            begin=min(begins, default=None),
            finish=max(ends, default=None),
            locator=marks.locate(span),
            passage_id=passage_id,
            cues=tuple(
                Cue(
                    span=Span(start=mark.start, end=max(mark.start, min(mark.end, span.end))),
                    begin=mark.begin,
                    finish=mark.finish,
                )
                for mark in own
            ),
        )


def turn_spans(document: Document, passages: Sequence[Span]) -> Iterator[tuple[str, Span]]:
    """Speaker and span of each turn; what nobody is named for is cut as the passages are."""
    marks = sorted(
        (mark for mark in document.marks if isinstance(mark, SpeakerMark)),
        key=lambda mark: mark.start,
    )
    joined: list[tuple[str, int, int]] = []
    for mark in marks:
        gap = document.text[joined[-1][2] : mark.start].strip() if joined else ""
        if joined and joined[-1][0] == mark.speaker and not gap:
            joined[-1] = (mark.speaker, joined[-1][1], max(joined[-1][2], mark.end))
        else:
            start = max(mark.start, joined[-1][2]) if joined else mark.start
            joined.append((mark.speaker, start, max(start, mark.end)))
    ends = [passage.end for passage in passages]
    at = 0
    for speaker, start, end in (*joined, ("", len(document.text), len(document.text))):
        for passage in passages[bisect_right(ends, at) :]:
            if passage.start >= start:
                break
            rest = _trimmed(document.text, max(at, passage.start), min(start, passage.end))
            if rest:
                yield "", rest
        turn = _trimmed(document.text, start, end)
        if turn:
            yield speaker, turn
        at = max(at, end)


def _trimmed(text: str, start: int, end: int) -> Span | None:
    part = text[start : max(start, end)]
    kept = part.strip()
    if not kept:
        return None
    begin = start + part.index(kept)
    return Span(start=begin, end=begin + len(kept))
