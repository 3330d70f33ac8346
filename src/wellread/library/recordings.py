"""Lists recordings and splits transcripts into speaker turns.

A turn is a stretch of speech by one speaker, without interruption by another.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document, similar_names
from wellread.store.catalogue.documents.listings import ListedDocument, Order
from wellread.text.tokens import strict_key
from wellread.types import Document, Filters, Locator, Mark, Span, SpeakerMark, TimeMark
from wellread.values.locators import Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A part of a turn that has its own time, in seconds."""

    span: Span
    begin: float
    finish: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stretch of speech by one speaker without interruption; times in seconds.

    Attributes:
        speaker: empty if unknown; text without speakers is split at its passages.
        passage_id: the passage in which the turn begins.
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
    """The turns in order. A turn inside a longer timed stretch gets the times of that stretch."""
    rows = kb.catalogue.passages_of([document_id])
    spans = list(turn_spans(document, [row.span for row in rows]))
    passage_ids = kb.catalogue.listings.covering([(document_id, span.start) for _, span in spans])
    marks = Marks(document.marks)
    times = sorted(
        (mark for mark in document.marks if isinstance(mark, TimeMark)),
        key=lambda mark: mark.start,
    )
    starts = [mark.start for mark in times]
    for (speaker, span), passage_id in zip(spans, passage_ids, strict=True):
        index = bisect_left(starts, span.start)
        times_inside = times[index : bisect_left(starts, span.end)]
        earlier = [mark for mark in times[max(0, index - 1) : index] if mark.end > span.start]
        begins = [mark.begin for mark in (*earlier, *times_inside)]
        timed = times_inside or earlier
        yield Turn(
            speaker=speaker,
            span=span,
            text=span.of(document.text),
            begin=min(begins, default=None),
            finish=_duration(timed),
            locator=marks.locate(span),
            passage_id=passage_id,
            cues=tuple(_cue(mark, span.end) for mark in times_inside),
        )


def _cue(mark: TimeMark, end: int) -> Cue:
    span = Span(start=mark.start, end=max(mark.start, min(mark.end, end)))
    return Cue(span=span, begin=mark.begin, finish=mark.finish)


def turn_spans(document: Document, passages: Sequence[Span]) -> Iterator[tuple[str, Span]]:
    """Speaker and span of each turn; text without a speaker is split at its passages."""
    marks = sorted(
        (mark for mark in document.marks if isinstance(mark, SpeakerMark)),
        key=lambda mark: mark.start,
    )
    # Speaker, start and end of each turn. Adjoining marks of the same speaker are joined.
    joined: list[tuple[str, int, int]] = []
    for mark in marks:
        gap = document.text[joined[-1][2] : mark.start].strip() if joined else ""
        if joined and joined[-1][0] == mark.speaker and not gap:
            joined[-1] = (mark.speaker, joined[-1][1], max(joined[-1][2], mark.end))
        else:
            start = max(mark.start, joined[-1][2]) if joined else mark.start
            joined.append((mark.speaker, start, max(start, mark.end)))
    ends = [passage.end for passage in passages]
    reached = 0
    for speaker, start, end in (*joined, ("", len(document.text), len(document.text))):
        for passage in passages[bisect_right(ends, reached) :]:
            if passage.start >= start:
                break
            span = _trimmed(document.text, max(reached, passage.start), min(start, passage.end))
            if span:
                yield "", span
        turn = _trimmed(document.text, start, end)
        if turn:
            yield speaker, turn
        reached = max(reached, end)


def _trimmed(text: str, start: int, end: int) -> Span | None:
    part = text[start : max(start, end)]
    stripped = part.strip()
    if not stripped:
        return None
    begin = start + part.index(stripped)
    return Span(start=begin, end=begin + len(stripped))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A transcript, or another document with a recording.

    Attributes:
        duration: seconds to the last known time.
        speakers: in order of appearance.
    """

    document: ListedDocument
    duration: float | None
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """A page of recordings, with the total number."""

    total: int
    recordings: tuple[Recording, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A recording with all of its turns or a selection.

    Attributes:
        total: number of turns in the whole transcript.
    """

    recording: Recording
    turns: tuple[Turn, ...]
    total: int


def recordings(
    kb: KnowledgeBase,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    order: Order = "newest",
) -> Recordings:
    """The transcripts and documents with a recording that match the filters."""
    page = kb.catalogue.listings.documents(
        known_values(kb, filters), limit, offset, order, media=True
    )
    ids = [listed.facts.id for listed in page.documents]
    marks = kb.catalogue.marks(ids)
    speakers = kb.catalogue.listings.speakers_of(ids)
    return Recordings(
        total=page.total,
        recordings=tuple(
            Recording(
                document=listed,
                duration=_duration(marks.get(listed.facts.id, ())),
                speakers=speakers.get(listed.facts.id, ()),
            )
            for listed in page.documents
        ),
    )


def transcript(
    kb: KnowledgeBase,
    name: str,
    *,
    collections: Sequence[str] = (),
    speaker: str = "",
    since: float | None = None,
    until: float | None = None,
) -> Transcript:
    """The recording with this id or title, with all turns or those of a speaker or time range.

    Args:
        since, until: seconds; a turn is included if any part of it is in this range.
    """
    if since is not None and until is not None and until < since:
        raise RequestError("the time range ends before it begins", hint="swap from and to")
    listed = named_document(kb, name, collections, media=True)
    document = kb.catalogue.document(listed.facts.id)
    if document is None:
        raise UnknownNameError(f"{listed.facts.title!r} has just been removed", hint="list again")
    spoken = [mark for mark in document.marks if isinstance(mark, SpeakerMark)]
    spoken.sort(key=lambda mark: mark.start)
    speakers = tuple(dict.fromkeys(mark.speaker for mark in spoken))
    times = any(isinstance(mark, TimeMark) for mark in document.marks)
    if not (times or speakers or document.kind == "transcript"):
        raise RequestError(
            f"{document.title!r} is not a transcript: it has neither times nor speakers",
            hint=f"read it as a document: {listed.facts.id}",
        )
    if not times and (since is not None or until is not None):
        raise RequestError(f"{document.title!r} has no times", hint="leave out from and to")
    turns = list(turns_of(kb, listed.facts.id, document))
    chosen = _turns_between(turns, since, until)
    if speaker.strip():
        spellings = _speaker_spellings(speaker, speakers, document.title)
        chosen = [turn for turn in chosen if turn.speaker in spellings]
    recording = Recording(document=listed, duration=_duration(document.marks), speakers=speakers)
    return Transcript(recording=recording, turns=tuple(chosen), total=len(turns))


def _duration(marks: Sequence[Mark]) -> float | None:
    ends = [
        mark.begin if mark.finish is None else mark.finish
        for mark in marks
        if isinstance(mark, TimeMark)
    ]
    return max(ends, default=None)


def _speaker_spellings(name: str, speakers: Sequence[str], title: str) -> set[str]:
    """All spellings of the speakers with this name or with this word in their name."""
    key = strict_key(name)
    matches = {speaker for speaker in speakers if strict_key(speaker) == key} or {
        speaker for speaker in speakers if f" {key} " in f" {strict_key(speaker)} "
    }
    if not matches:
        similar = similar_names(name, speakers) or list(speakers)
        raise UnknownNameError(
            f"{title!r} has no speaker named {name!r}",
            hint=f"its speakers: {', '.join(similar)}" if similar else "it names no speakers",
        )
    return matches


def _turns_between(turns: Sequence[Turn], since: float | None, until: float | None) -> list[Turn]:
    """The turns that overlap the time range.

    A turn without times is placed at the end of the turn before it.
    """
    if since is None and until is None:
        return list(turns)
    chosen: list[Turn] = []
    reached = 0.0
    for turn in turns:
        begin = reached if turn.begin is None else turn.begin
        reached = begin if turn.finish is None else turn.finish
        if (since is None or begin >= since or reached > since) and (
            until is None or begin <= until
        ):
            chosen.append(turn)
    return chosen
