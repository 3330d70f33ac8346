"""Times that one document gives for the parts of another: which heading gets which minute.

The notes of a programme say at what time each item is talked about; its transcript has the items
as headings. The two are matched by title first and, where a title was changed, by order.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wellread.ingest.settings.collection import TimesRule
from wellread.types import Document, HeadingMark, TimeMark

LEAD_CHARACTERS = 240  # of an item: its title stands at its beginning
MOST_PARTS = 400  # headings or times of one document; matching takes their product
LEAST_ALIKE = 0.5  # share of equal words from which two titles may be the same
MOST_TITLES = 6  # that a time may belong to
FARTHER = 0.02  # a title further out counts that much less

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_TARGET = re.compile(r"\](?:\[[^\[\]]*\]|\([^()\s]*\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTitle:
    """A time (seconds), and the titles it may belong to: the innermost first, all normalised."""

    begin: float
    titles: tuple[str, ...]


def normal(title: str) -> str:
    """Words and numbers in lower case, without markup: what two spellings have in common."""
    plain = unicodedata.normalize("NFKC", _TARGET.sub("]", _COMMENT.sub("", title)))
    return " ".join(re.findall(r"[^\W_]+", plain.replace("'", "").replace("’", "").casefold()))


def marked_titles(text: str, rule: TimesRule) -> list[TimedTitle]:
    """Every time in ``text`` that the rule finds, with the titles it may belong to."""
    lines = text.split("\n")
    found: list[TimedTitle] = []
    line, place, before = 0, 0, -1
    for mark in re.finditer(rule.find, text, re.DOTALL):
        begin = _seconds(mark["time"])
        if begin is None:
            continue
        line += text.count("\n", place, mark.start())
        place = mark.start()
        title = mark.groupdict().get("title")
        titles = [title] if title else _titles_over(lines, line, before)
        before = line
        found.append(TimedTitle(begin=begin, titles=tuple(map(normal, titles))))
    return found


def timed(document: Document, titles: Sequence[TimedTitle]) -> Document:
    """The document with a time on each part whose heading has one.

    A part without a time goes on with the time of the one before, which ends where the next begins.
    """
    heads = [mark for mark in document.marks if isinstance(mark, HeadingMark)][:MOST_PARTS]
    found = match([(len(mark.path), mark.path[-1]) for mark in heads], titles)
    timed_heads = [
        (mark.start, begin) for mark, begin in zip(heads, found, strict=True) if begin is not None
    ]
    if not timed_heads:
        return document
    ends = [start for start, _ in timed_heads[1:]] + [len(document.text)]
    nexts = [begin for _, begin in timed_heads[1:]] + [None]
    times = [
        TimeMark(
            start=start,
            end=end,
            begin=begin,
            finish=after if after is not None and after >= begin else None,
        )
        for (start, begin), end, after in zip(timed_heads, ends, nexts, strict=True)
        if start < end
    ]
    marks = sorted([*document.marks, *times], key=lambda mark: (mark.start, -mark.end))
    return replace(document, marks=tuple(marks))


def match(heads: Sequence[tuple[int, str]], titles: Sequence[TimedTitle]) -> list[float | None]:
    """The time of each heading (its depth and title, in reading order), or None.

    Titles decide, in the order of the times; a heading and a time that are left alone between two
    matched ones belong together; equal titles out of order come last.
    """
    heads, titles = heads[:MOST_PARTS], sorted(titles[:MOST_PARTS], key=lambda one: one.begin)
    names = [normal(title) for _, title in heads]
    scores = [[_likeness(name, one.titles) for one in titles] for name in names]
    pairs = _in_order(scores)
    depths = Counter(heads[head][0] for head, _ in pairs)
    depth = depths.most_common(1)[0][0] if depths else 0
    level = [number for number, (deep, _) in enumerate(heads) if deep == depth]
    pairs += _between(pairs, level, len(titles))
    taken = {title for _, title in pairs}
    placed = dict(pairs)
    for head in range(len(names)):
        same = [one for one, score in enumerate(scores[head]) if score > 0.9 and one not in taken]
        if head not in placed and len(same) == 1:
            placed[head] = same[0]
            taken.add(same[0])
    return [titles[placed[head]].begin if head in placed else None for head in range(len(names))]


def _likeness(name: str, titles: Sequence[str]) -> float:
    """How well a heading fits one of the titles: about 1 when a title begins with it, 0 not."""
    best = 0.0
    words = name.split()
    for distance, title in enumerate(titles):
        if not words:
            break
        if f"{title} ".startswith(f"{name} ") or (title and f"{name} ".startswith(f"{title} ")):
            score = 1.0
        else:
            lead = title.split()[: len(words)]
            common = sum((Counter(words) & Counter(lead)).values())
            score = 0.8 * common / len(words) if common >= LEAST_ALIKE * len(words) else 0.0
        best = max(best, score - FARTHER * distance)
    return best


def _in_order(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs of rising rows and columns with the largest sum of scores."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            score = scores[row][column]
            pair = score + best[row + 1][column + 1] if score > 0 else 0.0
            best[row][column] = max(pair, best[row + 1][column], best[row][column + 1])
    pairs, row, column = [], 0, 0
    while row < rows and column < columns:
        score = scores[row][column]
        if score > 0 and best[row][column] == score + best[row + 1][column + 1]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def _between(
    pairs: Sequence[tuple[int, int]], level: Sequence[int], columns: int
) -> list[tuple[int, int]]:
    """What is left between two pairs, in order, where as many headings as times are left."""
    found: list[tuple[int, int]] = []
    edges = [(-1, -1), *pairs, (level[-1] + 1 if level else 0, columns)]
    for (head, title), (next_head, next_title) in pairwise(edges):
        heads = level[bisect_left(level, head + 1) : bisect_left(level, next_head)]
        left = range(title + 1, next_title)
        if pairs and len(heads) == len(left):
            found += zip(heads, left, strict=True)
    return found


def _titles_over(lines: Sequence[str], number: int, before: int) -> list[str]:
    """Beginnings of the list items, paragraphs and sections around a line, the likeliest first.

    That is the innermost; but of nested list items the outermost to which no earlier time (on
    line ``before``) belongs: a time at the end of its last part is the time of the whole.
    """
    items: list[tuple[int, str]] = []
    paragraphs: list[str] = []
    headings: list[str] = []
    indent, level = len(lines[number]) + 1, 7
    for place in range(number, -1, -1):
        line = lines[place]
        item, heading = _ITEM.match(line), _HEADING.match(line)
        if heading and len(heading[1]) < level:
            level, indent = len(heading[1]), 0
            headings.append(heading[2])
        elif item and len(item[1]) < indent:
            indent = len(item[1])
            items.append((place, _lead(lines, place, item[2])))
        elif level == 7 and line.strip() and not (place and lines[place - 1].strip()):
            paragraphs.append(_lead(lines, place, line))
        if level == 1 or len(items) + len(headings) == MOST_TITLES:
            break
    whole = [lead for place, lead in items if place > before][-1:]
    return [*whole, *(lead for _, lead in items), *paragraphs[:MOST_TITLES], *headings]


def _lead(lines: Sequence[str], place: int, first: str) -> str:
    """The beginning of a list item, over as many lines as its title may take."""
    words = first
    for line in lines[place + 1 :]:
        if not line.strip() or _ITEM.match(line) or len(words) >= LEAD_CHARACTERS:
            break
        words += " " + line.strip()
    return words[: 2 * LEAD_CHARACTERS]


def _seconds(stamp: str) -> float | None:
    parts = stamp.strip().split(":")
    if not 2 <= len(parts) <= 3 or not all(
        re.fullmatch(r"\d{1,3}(?:\.\d+)?", one) for one in parts
    ):
        return None
    total = 0.0
    for part in parts:
        total = total * 60 + float(part)
    return total
