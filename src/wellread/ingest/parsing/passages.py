"""Cuts a document into passages: structure first, then size, never inside a sentence.

Sections (heading paths) are borders unless a piece would be tiny; a passage prefers to end at a
paragraph or speaker turn; the sentence is the smallest unit, and only a sentence that is longer
than a whole passage (a table row, minified text) is cut at a space. Whoever changes where the
cuts fall raises ``kb.CHUNKING_VERSION``, so that an old index is not mixed with new passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wellread.identity import document_id, passage_id, version_of
from wellread.text.sentences import sentence_spans
from wellread.types import Document, Passage, Span
from wellread.values.locators import Marks

TINY = 0.25  # of the size: a section below this joins the next one
FULL_ENOUGH = 0.5  # of the size: a paragraph's end from here on is a good place to stop

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class _Unit:
    """One sentence with what decides whether a passage may end before it."""

    span: Span
    tokens: int
    section: tuple[str, ...]
    opens_paragraph: bool


def split(document: Document, size: int, count_tokens: CountTokens) -> list[Passage]:
    """The passages of ``document``, in order, each of about ``size`` word pieces at most.

    Spans do not overlap, and every sentence of the text is in exactly one of them.
    """
    marks = Marks(document.marks)
    doc = document_id(document.collection, document.uri)
    version = version_of(document.text, document.marks)
    units = list(_units(document.text, marks, size, count_tokens))
    return [
        Passage(
            id=passage_id(doc, version, span),
            document_id=doc,
            version=version,
            span=span,
            text=span.of(document.text),
            context=_context(document.title, marks, span),
            speakers=marks.speakers(span),
        )
        for span in _group(units, size)
    ]


def _units(text: str, marks: Marks, size: int, count_tokens: CountTokens) -> Iterator[_Unit]:
    end = 0
    for sentence in sentence_spans(text):
        opens = "\n\n" in text[end : sentence.start] or end == 0
        for piece in _pieces(text, sentence, size, count_tokens):
            yield _Unit(
                span=piece,
                tokens=count_tokens(piece.of(text)),
                section=marks.heading(piece),
                opens_paragraph=opens,
            )
            opens = False
        end = sentence.end


def _pieces(text: str, sentence: Span, size: int, count_tokens: CountTokens) -> Iterator[Span]:
    """The sentence itself, or pieces of it when it alone is larger than a passage."""
    # A word piece has at least one character, so a short sentence needs no counting here.
    if len(sentence) <= size or count_tokens(sentence.of(text)) <= size:
        yield sentence
        return
    start = sentence.start
    while start < sentence.end:
        cut = min(start + size * 3, sentence.end)
        while cut - start > 1 and count_tokens(text[start:cut]) > size:
            cut = start + (cut - start) // 2
        if cut < sentence.end:
            space = text.rfind(" ", start + (cut - start) // 2, cut)
            cut = space + 1 if space > start else cut
        yield Span(start=start, end=cut)
        start = cut


def _group(units: list[_Unit], size: int) -> list[Span]:
    groups: list[list[_Unit]] = []
    current: list[_Unit] = []
    tokens = 0
    for unit in units:
        new_section = bool(current) and unit.section != current[-1].section
        if current and (tokens + unit.tokens > size or (new_section and tokens >= size * TINY)):
            keep = [] if new_section else _overhang(current, tokens, size, unit)
            if keep:
                current = current[: -len(keep)]
            groups.append(current)
            current, tokens = keep, sum(kept.tokens for kept in keep)
        current.append(unit)
        tokens += unit.tokens
    if current:
        groups.append(current)
    return [Span(start=group[0].span.start, end=group[-1].span.end) for group in groups]


def _overhang(current: list[_Unit], tokens: int, size: int, following: _Unit) -> list[_Unit]:
    """The units at the end of ``current`` that should open the next passage instead.

    That is the last begun paragraph, when what stays is large enough by itself.
    """
    if following.opens_paragraph:
        return []
    moved = 0
    for place in range(len(current) - 1, 0, -1):
        moved += current[place].tokens
        if tokens - moved < size * FULL_ENOUGH:
            return []
        if current[place].opens_paragraph:
            # What moves must still leave room for the sentence that did not fit.
            return current[place:] if moved + following.tokens <= size else []
    return []


def _context(title: str, marks: Marks, span: Span) -> str:
    heading = " › ".join(part for part in marks.heading(span) if part != title)
    lines = [" — ".join(part for part in (title, heading) if part)]
    speakers = marks.speakers(span)
    if speakers:
        lines.append(", ".join(speakers))
    return "\n".join(line for line in lines if line)
