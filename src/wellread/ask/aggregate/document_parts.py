"""Finds the parts of one document: headings, lists, opening, front matter and abstract."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from wellread.text.english import BACK_MATTER
from wellread.text.english_patterns import PRESENTING, RESULTING
from wellread.text.sentences import sentence_spans, short_title, shorten
from wellread.text.tokens import tokens_of
from wellread.types import Document, HeadingMark, Span

FRONT = 8_000  # characters in which a fact of the front page stands
LONGEST = 260  # characters of a line from a text
SHORTEST = 25  # characters of a sentence; "We release our code. 1" is cut at its note
PROSE = 5  # words of a sentence, at least

_ITEM = re.compile(r"^(?:[-*•] |\d{1,2}[.)] )(?P<text>\S.*)", re.MULTILINE)
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z])[.)]?\s+(?=\w)")


class Parts:
    """The positions of the parts of ``document``."""

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

    def sections(self) -> list[HeadingMark]:
        """The headings of the first level that has several: a title alone is no section."""
        depths = Counter(len(mark.path) for mark in self.headings())
        level = min((depth for depth, count in depths.items() if count > 1), default=0)
        return [mark for mark in self.headings() if len(mark.path) == level]

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

    def items(self, mark: HeadingMark) -> list[Span]:
        """The items of the list under a heading, those inside others left out."""
        text, end = self._document.text, self.end(mark)
        line = text.find("\n", mark.start, end)  # a numbered heading is no item
        return items_in(text, Span(start=line if line >= 0 else mark.start, end=end))

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

    def key(self, most: int) -> list[Span]:
        """The sentences of the abstract that say what the paper brings."""
        span = self.abstract()
        if span is None:
            return []
        text = self._document.text
        sentences = [
            Span(start=span.start + one.start, end=span.start + one.end)
            for one in sentence_spans(span.of(text))
            if len(one) >= SHORTEST
        ]
        chosen = [one for one in sentences if _presenting().search(one.of(text))][:most]
        results = [one for one in sentences if _resulting().search(one.of(text))]
        for others in (results if chosen else (), sentences[1:] if not chosen else ()):
            chosen += [one for one in others if one not in chosen][: most - len(chosen)]
        return sorted(chosen or sentences[:most], key=lambda one: one.start)

    def abstract(self) -> Span | None:
        """The span of the abstract; None when the text has no such part."""
        summary, text = self._document.summary.strip(), self._document.text
        start = text.find(summary) if summary else -1
        return Span(start=start, end=start + len(summary)) if start >= 0 else None

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


def items_in(text: str, body: Span | None = None) -> list[Span]:
    """The items of the lists in ``text``, or a part of it, those inside others left out."""
    start = body.start if body else 0
    return [
        Span(start=start + one.start("text"), end=start + one.end("text"))
        for one in _ITEM.finditer(body.of(text) if body else text)
    ]


def prose(text: str) -> bool:
    """Whether the text is a sentence rather than a heading or label."""
    return len(text.split()) >= PROSE and text.rstrip("\"'”’)").endswith((".", "!", "…"))


def bare(heading: str) -> str:
    """A heading without its number."""
    return _NUMBERED.sub("", heading)


def lead_of_item(item: str) -> str:
    """What an item is called."""
    lead = short_title(item)
    return f"{lead}?" if item[len(lead) : len(lead) + 1] == "?" else lead


def first_of(item: str) -> str:
    """The first sentence of an item."""
    spans = sentence_spans(item)
    whole = next((one.end for one in spans if len(item[: one.end].split()) >= PROSE), len(item))
    return one_line(item[:whole])


def one_line(text: str) -> str:
    """The text on one line, cut at the end of a word."""
    return shorten(" ".join(text.split()), LONGEST)


def joined(names: Sequence[str]) -> str:
    """The names as a list in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


@cache
def _resulting() -> re.Pattern[str]:
    return re.compile(RESULTING, re.IGNORECASE)


@cache
def _presenting() -> re.Pattern[str]:
    return re.compile(PRESENTING, re.IGNORECASE)
