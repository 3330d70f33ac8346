"""Windows of whole sentences, and what a stretch needs around it to be read by itself.

A window is what is read and scored: about 120 words of one passage, each beginning in the middle
of the last. A stretch that is shown is completed from its document: a list has its lead-in and its
other items, a row of a table its header, a line that announces something what it announces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.retrieve.reported_speech import is_theirs, sentences_of
from wellread.ask.understand.planted_orders import planted_in
from wellread.text.sentences import sentence_spans
from wellread.types import Span

WINDOW = 120  # words; 80 lose .08 of the questions (measured on seven sets)
AROUND = 3_000  # characters on each side of a stretch in which its list or table is looked for
FOLLOWING = 50  # words at least that are shown behind the last sentence that answers
LONGEST_LIST = 260  # words of a list or a table that is shown whole
LONGEST_LEAD = 60  # words of a line before a list that is shown with it
LONGEST_HEADING = 12  # words of a line without a stop that is no sentence
BETWEEN_CELLS = " | "
_LINE = re.compile(r"[^\n]+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\(?\d{1,3}[.)])[ \t]+(?=\S)")
_STOPS = (".", "!", "?", "…", "。", "！", "？", "।", ":", ";")
_CLOSING = "\"'”’)]*_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Neighbouring sentences of one piece of evidence.

    Attributes:
        piece: the number of the piece.
        sentences: spans of the piece's text, in order.
        texts: the same, on one line each; the cells of a row with those of its header.
        above: the title and the headings over the piece, and who speaks.
        telling: which of them are sentences, items or rows, and no bare lines as headings are.
        speakers: who says them; empty where nobody speaks.
        apart: whether what others say between and behind them is left out.
    """

    piece: int
    sentences: tuple[Span, ...]
    texts: tuple[str, ...]
    telling: tuple[bool, ...]
    above: str = ""
    speakers: tuple[str, ...] = ()
    apart: bool = False

    @property
    def text(self) -> str:
        """All of it, on one line."""
        return " ".join(self.texts)

    @property
    def prose(self) -> float:
        """The share of its words that stand in sentences, items or rows, not in bare lines."""
        sizes = [len(text.split()) for text in self.texts]
        told = sum(size for size, telling in zip(sizes, self.telling, strict=True) if telling)
        return told / (sum(sizes) or 1)


def windows_of(number: int, piece: Evidence, voices: Sequence[str]) -> list[Window]:
    """The windows of a piece of evidence; of what ``voices`` say alone, where there are any."""
    told = told_in(piece, voices)
    above = " › ".join(dict.fromkeys((piece.hit.document.title, *piece.locator.heading)))
    sizes = [len(text.split()) for _, _, text in told]
    windows: list[Window] = []
    start = 0
    while start < len(told):
        end, size = start, 0
        while end < len(told) and (end == start or size + sizes[end] <= WINDOW):
            size += sizes[end]
            end += 1
        run = told[start:end]
        speakers = tuple(dict.fromkeys(speaker for speaker, _, _ in run if speaker))
        windows.append(
            Window(
                piece=number,
                sentences=tuple(span for _, span, _ in run),
                texts=tuple(text for _, _, text in run),
                telling=tuple(tells(piece.text, span, text) for _, span, text in run),
                above=f"{above}: {', '.join(speakers)}" if speakers else above,
                speakers=speakers,
                apart=bool(voices),
            )
        )
        if end == len(told):
            break
        start += max(1, (end - start) // 2)
    return windows


def told_in(piece: Evidence, voices: Sequence[str] = ()) -> list[tuple[str, Span, str]]:
    """Who says each sentence, its span of the piece's text, and its text as it is read.

    Orders to whoever answers, planted in a source, are left out.

    Args:
        voices: whose sentences alone are wanted, where there are any.
    """
    planted = planted_in(piece.text)
    return [
        (speaker, span, text)
        for speaker, span, text in _read_in(piece)
        if not any(span.overlaps(order) for order in planted)
        and (not voices or is_theirs(piece, speaker, text, voices))
    ]


def _read_in(piece: Evidence) -> Iterator[tuple[str, Span, str]]:
    """Who says each sentence, its span, and its text as it is read."""
    header: list[str] = []
    for speaker, span in sentences_of(piece):
        text = " ".join(span.of(piece.text).split())
        cells = [cell.strip() for cell in text.split(BETWEEN_CELLS)] if is_row(text) else []
        if header and len(cells) == len(header):
            text = "; ".join(f"{name}: {cell}" for name, cell in zip(header, cells, strict=True))
        else:
            header = cells
        yield speaker, span, text


def tells(text: str, span: Span, line: str) -> bool:
    """Whether a sentence is more than a short line of its own without a stop."""
    before = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    bare = len(line.split()) <= LONGEST_HEADING and not line.rstrip(_CLOSING).endswith(_STOPS)
    return not bare or bool(before.strip()) or is_row(span.of(text))


def is_row(line: str) -> bool:
    """Whether a line is a row of a table, as the loaders write it."""
    return BETWEEN_CELLS in line.strip()


# --- what a stretch needs around it ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text: its span, and whether it is an item, a row, or neither."""

    span: Span
    kind: str  # "item", "row" or ""
    alone: bool  # a blank line stands before it
    text: str


def completed(text: str, stretch: Span, marked: Sequence[Span]) -> list[Span]:
    """The spans of ``text`` that show ``stretch`` so that it can be read by itself, in order.

    The stretch itself, or the whole list or table in which ``marked`` stands where that is short;
    before it the line that introduces the list, or the header of the table, which may stand apart.
    """
    lines = list(_lines(text))
    held = [at for at, line in enumerate(lines) if _meet(line.span, stretch)]
    if not held:
        return [stretch]
    start, end = stretch.start, stretch.end
    if lines[held[-1]].text.endswith(":") and held[-1] + 1 < len(lines):
        first, last = _run(lines, held[-1] + 1)
        shown = lines[first : last + 1]
        if lines[held[-1] + 1].kind and _words(shown) <= LONGEST_LIST:
            end = max(end, lines[last].span.end)
    listed = [at for at in held if lines[at].kind and _marked(lines[at].span, marked)]
    before: list[Span] = []
    if listed:
        first, last = _run(lines, listed[0])
        lead = _lead(lines, first)
        if _words(lines[first : last + 1]) <= LONGEST_LIST:
            start, end = min(start, lines[first].span.start), max(end, lines[last].span.end)
        elif lines[first].kind == "row" and lines[first].span.end <= start:
            before.append(lines[first].span)
        if lead is not None:
            if _adjoins(lines, lead, start):
                start = min(start, lines[lead].span.start)
            elif lines[lead].span.end <= start:
                before.insert(0, lines[lead].span)
    return [*before, Span(start=start, end=end)]


def carried_on(text: str, stretch: Span, marked: Sequence[Span]) -> Span:
    """``stretch`` with the sentences behind it, until enough follows the last of ``marked``.

    A window ends where its room does; what a sentence announces ("There are three ways.") follows.
    """
    last = max((span.end for span in marked), default=stretch.end)
    end = stretch.end
    for sentence in sentence_spans(text[end:]):
        if len(text[last:end].split()) >= FOLLOWING:
            break
        end = stretch.end + sentence.end
    return Span(start=stretch.start, end=end)


def _lines(text: str) -> Iterator[_Line]:
    last = 0
    for match in _LINE.finditer(text):
        line = match.group().strip()
        if not any(char.isalnum() for char in line):
            continue
        bullet = _BULLET.match(match.group())
        kind = "item" if bullet else "row" if is_row(line) else ""
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        alone = text.count("\n", last, match.start()) > 1
        last = match.end()
        yield _Line(Span(start=start, end=start + len(line)), kind, alone, line)


def _run(lines: Sequence[_Line], at: int) -> tuple[int, int]:
    """The first and the last line of the list or table around the line ``at``."""
    kind = lines[at].kind
    first = last = at
    while (
        first > 0 and lines[first - 1].kind == kind and not (kind == "row" and lines[first].alone)
    ):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].kind == kind:
        if kind == "row" and lines[last + 1].alone:
            break
        last += 1
    return first, last


def _lead(lines: Sequence[_Line], first: int) -> int | None:
    """The line that introduces the list that begins at ``first``; None without one."""
    if not first or lines[first - 1].kind:
        return None
    line = lines[first - 1]
    return first - 1 if len(line.text.split()) <= LONGEST_LEAD else None


def _adjoins(lines: Sequence[_Line], lead: int, start: int) -> bool:
    return start <= lines[lead + 1].span.start


def _words(lines: Sequence[_Line]) -> int:
    return sum(len(line.text.split()) for line in lines)


def _marked(line: Span, marked: Sequence[Span]) -> bool:
    return any(_meet(line, span) for span in marked)


def _meet(span: Span, other: Span) -> bool:
    return span.start < other.end and other.start < span.end


def sentences_in(text: str, spans: Sequence[Span]) -> list[Span]:
    """The sentences of ``text`` that stand in ``spans``, in order."""
    return [
        Span(start=span.start + part.start, end=span.start + part.end)
        for span in spans
        for part in sentence_spans(span.of(text))
    ]
