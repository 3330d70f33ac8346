"""What a paper says that it found: sentences of its own, verbatim, with their places.

Only sentences of the abstract, the conclusion and the results that state a result are taken; a
paper that states none in words that are known has none here. Nothing is reworded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellread.ask.aggregate.document_parts import SHORTEST, Parts, bare, prose
from wellread.text.english_common import FINDING, OWN_VOICE, POINTING, STATING_PARTS
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Document, HeadingMark, Span

MOST = 5
ALIKE = 0.6  # share of the words that a sentence has in common with one that is taken already
LONGEST_PART = 20_000  # characters of a section that are read
_FINDING, _POINTING, _OWN_VOICE = (
    re.compile(pattern, re.IGNORECASE) for pattern in (FINDING, POINTING, OWN_VOICE)
)


def key_findings(document: Document) -> tuple[Span, ...]:
    """The sentences in which a paper states its results, at most five, in reading order."""
    if document.kind != "paper":
        return ()
    taken: list[Span] = []
    for part in _parts(document):
        for span in _stating(document.text, part):
            if len(taken) < MOST and not any(_alike(document.text, span, one) for one in taken):
                taken.append(span)
    return tuple(sorted(taken, key=lambda span: span.start))


def _parts(document: Document) -> Iterator[Span]:
    """Abstract, conclusion, results, as far as the paper has them."""
    parts = Parts(document)
    abstract = parts.abstract()
    if abstract is not None:
        yield _own(document.text, abstract)
    marks = [mark for mark in document.marks if isinstance(mark, HeadingMark)]
    for pattern in STATING_PARTS:
        for mark in marks:
            if re.match(pattern, bare(mark.path[-1]), re.IGNORECASE):
                start = document.text.find("\n", mark.start, parts.end(mark))
                if start >= 0:  # the heading itself is no sentence
                    yield Span(start=start, end=min(parts.end(mark), start + LONGEST_PART))


def _own(text: str, abstract: Span) -> Span:
    """The abstract from the sentence on in which the paper speaks of itself."""
    for one in sentence_spans(abstract.of(text)):
        if _OWN_VOICE.search(one.of(abstract.of(text))):
            return Span(start=abstract.start + one.start, end=abstract.end)
    return Span(start=abstract.end, end=abstract.end)


def _stating(text: str, part: Span) -> Iterator[Span]:
    """The sentences of ``part`` that state a result."""
    for one in sentence_spans(part.of(text)):
        span = Span(start=part.start + one.start, end=part.start + one.end)
        said = span.of(text)
        states = _FINDING.search(said) and not _POINTING.search(said)
        if states and len(span) >= SHORTEST and prose(said):
            yield span


def _alike(text: str, one: Span, other: Span) -> bool:
    """Whether the two sentences overlap or say nearly the same."""
    mine, theirs = parse(one.of(text)).stem_set, parse(other.of(text)).stem_set
    shared = len(mine & theirs) / (min(len(mine), len(theirs)) or 1)
    return one.overlaps(other) or shared >= ALIKE
