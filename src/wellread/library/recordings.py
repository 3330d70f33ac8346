"""Recordings: a list of them, and a whole transcript cut into turns: what one speaker says without
a break by another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document, near
from wellread.store.catalogue.documents.listings import ListedDocument, Order
from wellread.text.names import key_of
from wellread.types import Document, Filters, Locator, Mark, Span, SpeakerMark, TimeMark
from wellread.values.locators import Marks


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A transcript, or another document with a recording.

    Attributes:
        duration: seconds to the end of what was said, as far as times are known.
        speakers: in order of appearance.
    """

    document: ListedDocument
    duration: float | None
    speakers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recordings:
    """Part of a list, and how many recordings the whole of it has."""

    total: int
    recordings: tuple[Recording, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A recording with its turns, all of them or those that were asked for.

    Attributes:
        total: how many turns the whole of it has.
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
    """The transcripts, and what else has a recording, that meet the limits."""
    page = kb.catalogue.listings.documents(
        known_values(kb, filters), limit, offset, order, media=True
    )
    ids = [one.facts.id for one in page.documents]
    marks = kb.catalogue.marks(ids)
    speakers = kb.catalogue.listings.speakers_of(ids)
    return Recordings(
        total=page.total,
        recordings=tuple(
            Recording(
                document=one,
                duration=_duration(marks.get(one.facts.id, ())),
                speakers=speakers.get(one.facts.id, ()),
            )
            for one in page.documents
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
    """The recording with this id or title, whole, or the turns of one speaker or some time.

    Args:
        since, until: seconds; a turn counts when any of it was said between them.
    """
    if since is not None and until is not None and until < since:
        raise RequestError("the part ends before it begins", hint="swap from and to")
    listed = named_document(kb, name, collections, media=True)
    document = kb.catalogue.document(listed.facts.id)
    if document is None:
        raise UnknownNameError(f"{listed.facts.title!r} was removed just now", hint="look again")
    speakers = tuple(dict.fromkeys(_spoken_by(document)))
    times = any(isinstance(mark, TimeMark) for mark in document.marks)
    if not (times or speakers or document.kind == "transcript"):
        raise RequestError(
            f"{document.title!r} is no transcript: it has neither times nor speakers",
            hint=f"read it as a document: {listed.facts.id}",
        )
    if not times and (since is not None or until is not None):
        raise RequestError(f"{document.title!r} has no times", hint="leave out from and to")
    turns = list(turns_of(kb, listed.facts.id, document))
    chosen = _within(turns, since, until)
    if speaker.strip():
        wanted = _called(speaker, speakers, document.title)
        chosen = [turn for turn in chosen if turn.speaker in wanted]
    recording = Recording(document=listed, duration=_duration(document.marks), speakers=speakers)
    return Transcript(recording=recording, turns=tuple(chosen), total=len(turns))


def _duration(marks: Sequence[Mark]) -> float | None:
    ends = [
        mark.begin if mark.finish is None else mark.finish
        for mark in marks
        if isinstance(mark, TimeMark)
    ]
    return max(ends, default=None)


def _spoken_by(document: Document) -> Iterator[str]:
    said = [mark for mark in document.marks if isinstance(mark, SpeakerMark)]
    yield from (mark.speaker for mark in sorted(said, key=lambda mark: mark.start))


def _called(name: str, speakers: Sequence[str], title: str) -> set[str]:
    """Every spelling of the speakers whose name this is, or begins or ends with it."""
    key = key_of(name)
    found = {one for one in speakers if key_of(one) == key} or {
        one for one in speakers if f" {key} " in f" {key_of(one)} "
    }
    if not found:
        like = near(name, speakers) or list(speakers)
        raise UnknownNameError(
            f"nobody called {name!r} speaks in {title!r}",
            hint=f"who does: {', '.join(like)}" if like else "it names no speakers",
        )
    return found


def _within(turns: Sequence[Turn], since: float | None, until: float | None) -> list[Turn]:
    """The turns of which something was said in that time.

    One without a time of its own was said when the one before it ended.
    """
    if since is None and until is None:
        return list(turns)
    found: list[Turn] = []
    reached = 0.0
    for turn in turns:
        begin = reached if turn.begin is None else turn.begin
        reached = begin if turn.finish is None else turn.finish
        if (since is None or begin >= since or reached > since) and (
            until is None or begin <= until
        ):
            found.append(turn)
    return found
