"""The lists of a text: bullets and numbers, tables, numbered headings, parallel paragraphs.

What introduces a list (its lead) stands before its items; the header of a table is its lead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wellread.text.english_questions import POINTING_WORDS
from wellread.text.sentences import sentence_spans
from wellread.types import Span

FEWEST = 2  # items of bullets and rows
FEWEST_PARALLEL = 3  # of paragraphs that only begin alike
LONGEST_CELL = 12  # words of a line of a table or a figure that stands between two paragraphs
LONGEST_LEAD = 60  # words
LONGEST_TITLE = 16  # words of a numbered line that stand for the item

_BLOCK = re.compile(r"[^\n]+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•‣▪–]|\(?\d{1,2}[.)])[ \t]+(?=\S)")
_ROW = re.compile(r"[^|\n]*\S[^|\n]* \| ")
_NUMBERED = re.compile(
    r"(?P<word>(?!(?:Table|Figure|Fig)\b)[A-Z][a-z]+)\s+#?(?P<number>\d{1,2})\s*[.:–—-]\s+\S"
)
_TITLED = re.compile(
    r"(?P<word>[A-Z][\w’'-]*)[^.:\n]{0,48}?(?P<mark>\s\[[^\]\n]{1,20}\])?[.:](?:\s|$)"
)
# "Rye (a grain that ...) is the", "The long oven is a": what the paragraph is about, by its name.
_NAMED = re.compile(
    rf"(?!(?:{'|'.join(POINTING_WORDS)})\b)"
    r"(?:The\s)?(?P<word>[A-Z][\w’'-]*)(?:\s[A-Z][\w’'-]*){0,4}"
    r"\s(?:\([A-Z][^()\n]{1,80}\)\s|(?:is|are)\s(?:an?|the)\s)"
)
_CAPTION = re.compile(r"(?:Table|Figure|Fig\.?)\s+\d+\s*[.:]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One list of a text.

    Attributes:
        span: from the lead, or the mark of the first item, to the end of the last item.
        lead: the line that introduces the items, or the header of a table; None without one.
        items: in order; of a long one under a number its title.
        spread: other text stands between the items.
        table: the items are rows.
    """

    span: Span
    items: tuple[Span, ...]
    lead: Span | None = None
    spread: bool = False
    table: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that says something: where it begins, and where its words begin and end."""

    begin: int
    start: int
    end: int
    text: str
    bullet: int  # how far a bullet's words are indented; -1 without a bullet
    after_gap: bool


@lru_cache(maxsize=200)
def listings_of(text: str) -> tuple[Listing, ...]:
    """The lists of ``text`` in order of their beginnings."""
    lines = list(_lines(text))
    found = [*_bullets(lines), *_tables(lines), *_numbered(lines), *_parallel(lines)]
    found += _named(lines)
    return tuple(sorted(found, key=lambda one: one.span.start))


def _lines(text: str) -> Iterator[_Line]:
    last = 0
    for match in _BLOCK.finditer(text):
        line = match.group()
        if not any(char.isalnum() for char in line):
            continue
        bullet = _BULLET.match(line)
        lead = bullet.end() if bullet else len(line) - len(line.lstrip())
        start = match.start() + lead
        end = match.start() + len(line.rstrip())
        gap = text.count("\n", last, match.start()) > 1
        last = end
        yield _Line(match.start(), start, end, text[start:end], lead if bullet else -1, gap)


def _bullets(lines: Sequence[_Line]) -> Iterator[Listing]:
    place = 0
    while place < len(lines):
        if lines[place].bullet < 0:
            place += 1
            continue
        first, run = place, [[lines[place]]]
        depth, nested = lines[place].bullet, False
        place += 1
        while place < len(lines):
            line = lines[place]
            if 0 <= line.bullet <= depth:
                run.append([line])
                nested = False
            elif line.bullet < 0 and not line.after_gap and not nested:
                run[-1].append(line)  # it goes on with the item
            elif line.bullet < 0 and line.after_gap:
                break
            else:
                nested = True
            place += 1
        if len(run) >= FEWEST:
            items = tuple(Span(start=item[0].start, end=item[-1].end) for item in run)
            yield _listing(lines[first], items, _lead(lines, first))


def _lead(lines: Sequence[_Line], first: int) -> Span | None:
    """What stands right before the items and does not end as a finished sentence does."""
    if not first:
        return None
    before = lines[first - 1]
    opens = before.text.endswith(":") or not before.text.endswith((".", "!", "?", "”", '"'))
    if not opens:
        return None
    last = sentence_spans(before.text)[-1]
    if len(last.of(before.text).split()) > LONGEST_LEAD:
        return None
    return Span(start=before.start + last.start, end=before.start + last.end)


def _tables(lines: Sequence[_Line]) -> Iterator[Listing]:
    run: list[_Line] = []
    for line in [*lines, None]:
        if line is not None and _ROW.match(line.text) and not (run and line.after_gap):
            run.append(line)
            continue
        if len(run) > FEWEST:
            header, *rows = (Span(start=one.start, end=one.end) for one in run)
            whole = Span(start=run[0].start, end=run[-1].end)
            yield Listing(span=whole, items=tuple(rows), lead=header, table=True)
        run = [line] if line is not None and _ROW.match(line.text) else []


def _numbered(lines: Sequence[_Line]) -> Iterator[Listing]:
    """ "Step 1: ...", "Phase 2 – ...": what counts up under one word, whatever lies between."""
    runs: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        match = _NUMBERED.match(line.text)
        if match is None:
            continue
        run = runs.setdefault(match["word"], [])
        if int(match["number"]) == len(run) + 1:
            run.append(place)
    for run in runs.values():
        if len(run) >= FEWEST:
            opened = run[0] > 0 and lines[run[0] - 1].text.endswith(":")
            items = tuple(_title(lines[place]) for place in run)
            lead = _lead(lines, run[0]) if opened else None
            yield _listing(lines[run[0]], items, lead, spread=True)


def _title(line: _Line) -> Span:
    """A line, or the first sentence of one that is a paragraph."""
    if len(line.text.split()) <= LONGEST_TITLE:
        return Span(start=line.start, end=line.end)
    first = sentence_spans(line.text)[0]
    return Span(start=line.start + first.start, end=line.start + first.end)


def _parallel(lines: Sequence[_Line]) -> Iterator[Listing]:
    """Paragraphs that begin with a title each, under a line with a colon or with the same word."""
    run: list[_Line] = []
    words: list[str] = []
    first, marked = 0, False
    for place, line in enumerate([*lines, None]):
        titled = _TITLED.match(line.text) if line and line.after_gap and line.bullet < 0 else None
        titled = titled if not run or not marked or (titled and titled["mark"]) else None
        if line and titled and not _NUMBERED.match(line.text) and not _CAPTION.match(line.text):
            first, marked = (first, marked) if run else (place, titled["mark"] is not None)
            run.append(line)
            words.append(titled["word"])
            continue
        if run and line and _aside(line):
            continue
        opened = first > 0 and lines[first - 1].text.endswith(":")
        if opened and len(run) >= FEWEST_PARALLEL:
            yield _listing(run[0], tuple(map(_title, run)), _lead(lines, first), spread=True)
        elif len(run) >= FEWEST_PARALLEL and len(set(words)) == 1:
            yield _listing(run[0], tuple(map(_title, run)), None, spread=True)
        run, words = [], []


def _aside(line: _Line) -> bool:
    """Whether a line does not end a list: the rest of a paragraph, or a table amid the page."""
    rest = line.text[0].islower() or _cell(line.text)
    return line.after_gap and (rest or _CAPTION.match(line.text) is not None)


def _cell(text: str) -> bool:
    return len(text.split()) <= LONGEST_CELL and not text.endswith((".", ":", "!", "?"))


def _named(lines: Sequence[_Line]) -> Iterator[Listing]:
    """Paragraphs that each say what another thing is, by its name."""
    run: list[_Line] = []
    names: set[str] = set()
    for line in [*lines, None]:
        named = _NAMED.match(line.text) if line and line.after_gap and line.bullet < 0 else None
        if line and named and named["word"] not in names and not _cell(line.text):
            run.append(line)
            names.add(named["word"])
        elif not (run and line and _aside(line) and len(line.text.split()) > 1):
            if len(run) >= FEWEST_PARALLEL:
                yield _listing(run[0], tuple(map(_opening, run)), None, spread=True)
            run, names = [], set()


def _opening(line: _Line) -> Span:
    """The first sentence of a paragraph."""
    first = sentence_spans(line.text)[0]
    return Span(start=line.start + first.start, end=line.start + first.end)


def _listing(
    first: _Line, items: tuple[Span, ...], lead: Span | None, *, spread: bool = False
) -> Listing:
    start = lead.start if lead else first.begin
    return Listing(span=Span(start=start, end=items[-1].end), items=items, lead=lead, spread=spread)
