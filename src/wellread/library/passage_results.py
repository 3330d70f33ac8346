"""Passages found or listed, each with what is quoted of it and where that stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.text.parsed import parse
from wellread.types import Hit, Locator, Mark, Passage, Span, SpeakerMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A passage with the part of it that is shown.

    Attributes:
        hit: its ``ranks`` are empty, and its score says nothing, when it was listed, not searched.
        span, text: the whole passage, or what a speaker says in it.
    """

    hit: Hit
    span: Span
    text: str
    locator: Locator


def whole(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Result]:
    """The hits, each passage shown whole."""
    return [
        _result(hit, hit.passage.span, marks)
        for hit, marks in zip(hits, _marks(kb, hits), strict=True)
    ]


def spoken(
    kb: KnowledgeBase, hits: Sequence[Hit], speakers: Sequence[str], query: str
) -> list[Result]:
    """The hits, of each passage only the turn of the speakers that says most about ``query``.

    A passage may hold several turns. Those where the query's words are another's come last, in
    the same order among themselves.
    """
    names = {name.casefold() for name in speakers}
    wanted = set(parse(query).stems)
    found: list[tuple[bool, Result]] = []
    for hit, marks in zip(hits, _marks(kb, hits), strict=True):
        turns = _turns(hit.passage, marks, names) or [hit.passage.span]
        shares = [len(wanted & _stems(hit.passage, turn)) for turn in turns]
        best = max(range(len(turns)), key=lambda place: (shares[place], len(turns[place])))
        another = not shares[best] and bool(wanted & _stems(hit.passage, hit.passage.span))
        found.append((another, _result(hit, turns[best], marks)))
    return [result for _, result in sorted(found, key=lambda pair: pair[0])]


def _result(hit: Hit, span: Span, marks: Sequence[Mark]) -> Result:
    return Result(
        hit=hit, span=span, text=_text(hit.passage, span), locator=Marks(marks).locate(span)
    )


def _turns(passage: Passage, marks: Sequence[Mark], names: set[str]) -> list[Span]:
    """The parts of the passage that one of the speakers says without a break by another."""
    said = sorted(
        (mark for mark in marks if isinstance(mark, SpeakerMark)), key=lambda mark: mark.start
    )
    turns: list[Span] = []
    before = ""
    for mark in said:
        name = mark.speaker.casefold()
        start, end = max(mark.start, passage.span.start), min(mark.end, passage.span.end)
        if name in names and start < end:
            if turns and before == name:
                turns[-1] = Span(start=turns[-1].start, end=end)
            else:
                turns.append(Span(start=start, end=end))
        before = name
    return [_trimmed(passage, turn) for turn in turns if _text(passage, turn).strip()]


def _trimmed(passage: Passage, span: Span) -> Span:
    text = _text(passage, span)
    start = span.start + len(text) - len(text.lstrip())
    return Span(start=start, end=start + len(text.strip()))


def _stems(passage: Passage, span: Span) -> set[str]:
    return set(parse(_text(passage, span)).stems)


def _text(passage: Passage, span: Span) -> str:
    offset = passage.span.start
    return passage.text[span.start - offset : span.end - offset]


def _marks(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[tuple[Mark, ...]]:
    return kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
