"""The parts of one document that can be told or cited: its headings, its beginning, its front."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellread.text.english_questions import BACK_MATTER
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import tokens_of
from wellread.types import Document, HeadingMark, Span

FRONT = 8_000  # characters in which a fact of the front page stands
PROSE = 5  # words of a sentence, at least

_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+(?=\w)")


class Parts:
    """Where things stand in ``document``."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def headings(self) -> list[HeadingMark]:
        """The headings that say what the text is about."""
        return [
            mark
            for mark in self._document.marks
            if isinstance(mark, HeadingMark)
            and not BACK_MATTER.issuperset(one.plain for one in tokens_of(bare(mark.path[-1])))
            and bare(mark.path[-1]) != self._document.title
        ]

    def leaves(self) -> Iterator[HeadingMark]:
        """The headings under which no other stands."""
        marks = self.headings()
        for mark in marks:
            if not any(other.path[:-1] == mark.path for other in marks):
                yield mark

    def end(self, mark: HeadingMark) -> int:
        """Where the part under a heading ends."""
        later = [
            one.start
            for one in self._document.marks
            if isinstance(one, HeadingMark)
            and one.start > mark.start
            and len(one.path) <= len(mark.path)
        ]
        return min(later, default=len(self._document.text))

    def after(self, mark: HeadingMark) -> Span | None:
        """The first sentence under a heading."""
        text, end = self._document.text, self.end(mark)
        line = text.find("\n", mark.start)
        start = line if 0 <= line < end else mark.start
        part = text[start : min(end, start + FRONT)]
        spans = sentence_spans(part)
        first = next((one for one in spans if prose(one.of(part))), next(iter(spans), None))
        return Span(start=start + first.start, end=start + first.end) if first else None

    def opening(self, most: int) -> list[Span]:
        """The first sentences of prose."""
        text = self._document.text
        return [one for one in sentence_spans(text[:FRONT]) if prose(one.of(text))][:most]

    def front(self, needle: str) -> Span | None:
        """The sentence or line of the front in which ``needle`` stands."""
        front = self._document.text[:FRONT]
        at = front.find(needle) if needle else -1
        if at < 0:
            return None
        start = front.rfind("\n\n", 0, at) + 2 if "\n\n" in front[:at] else 0
        end = front.find("\n\n", at)
        part = front[start : end if end >= 0 else len(front)]
        spans = [one for one in sentence_spans(part) if needle in one.of(part)]
        found = spans[0] if spans else Span(start=0, end=len(part))
        return Span(start=start + found.start, end=start + found.end)


def prose(text: str) -> bool:
    """Whether it is a sentence, and no heading or label."""
    return len(text.split()) >= PROSE and text.rstrip("\"'”’)").endswith((".", "!", "…"))


def bare(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERED.sub("", heading)
