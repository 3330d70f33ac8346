"""Items pointed at by their place: "the second one", "the last two", "the former", "both"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellread.ask.understand.followups.turns import Edit, Turn, means
from wellread.text.english_followups import LIST_COUNTS, ORDINALS, POINTING
from wellread.text.parsed import parse
from wellread.types import Span

_LINE = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.{2,120}?)\s*$", re.MULTILINE)
_LINE_HEAD = re.compile(r"^[*_“\"]*(.+?)[*_”\"]*(?:\s*[:–—(]\s*.*|\s+-\s+.*)?$")
_BETWEEN = re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+")
MOST_TEXT = 600  # characters that a list is looked for in
_EITHER = re.compile(
    r"\b((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?),?\s+or\s+((?:the\s+)?[\w’'-]+(?:\s+[\w’'-]+)?)"
)


def list_edits(text: str, earlier: Sequence[Turn]) -> list[Edit]:
    """What is pointed at by its place in what was shown last; none when nothing was."""
    found: list[Edit] = []
    items: tuple[str, ...] | None = None
    for match in POINTING.finditer(text):
        if items is None:
            items = shown(earlier)
        meant = _meant(match, items, earlier)
        if meant:
            joined = f"{', '.join(meant[:-1])} and {meant[-1]}" if len(meant) > 1 else meant[0]
            said = match.group().strip()
            span = Span(start=match.start(), end=match.start() + len(said))
            found.append(Edit(span=span, text=joined, reason=means(said, joined)))
    return found


def shown(earlier: Sequence[Turn]) -> tuple[str, ...]:
    """The items of the last turn that showed at least two; of its words where it has no list."""
    for turn in reversed(earlier[-3:]):
        if len(turn.items) > 1:
            return turn.items
        lines = tuple(
            head.group(1) for line in _LINE.findall(turn.answer) if (head := _LINE_HEAD.match(line))
        )
        if len(lines) > 1:
            return lines
        for text in (turn.answer, turn.question):
            enumerated = _enumerated(text)
            if enumerated:
                return enumerated
    return ()


def _enumerated(text: str) -> tuple[str, ...]:
    """The names that one sentence lists ("A, B and C"), or its two sides ("A or B")."""
    for sentence in re.split(r"(?<=[.!?;:])\s+", text[:MOST_TEXT]):
        parts = _BETWEEN.split(sentence)
        listed = [parse(f"· {part}").names for part in parts]
        if len(parts) > 1 and all(listed):
            return (listed[0][-1], *(found[0] for found in listed[1:]))
    either = _EITHER.search(text)
    if either is None:
        return ()
    one, other = either.group(1), either.group(2).split()
    return one, " ".join(other[: len(one.split())])


def _meant(match: re.Match[str], items: Sequence[str], earlier: Sequence[Turn]) -> Sequence[str]:
    parts = {name: value.lower() for name, value in match.groupdict().items() if value}
    two = len(items) == 2
    if len(items) < 2:
        return ()
    if "edge" in parts:
        count = min(LIST_COUNTS[parts["count"]], len(items) + 1)
        several = items[:count] if parts["edge"] == "first" else items[-count:]
        return several if len(several) == count else ()
    if "both" in parts:
        return items if parts["both"] == "all" or two else ()
    if "other" in parts:
        asked = earlier[-1].question.lower()
        rest = [item for item in items if item.lower() not in asked]
        return rest if two and len(rest) == 1 else ()
    if "pair" in parts:
        place = ("former", "latter").index(parts["pair"]) if two else -1
    elif "number" in parts:
        place = int(parts["number"]) - 1
    else:
        place = len(items) - 1 if parts["ordinal"] == "last" else ORDINALS[parts["ordinal"]]
    return (items[place],) if 0 <= place < len(items) else ()
