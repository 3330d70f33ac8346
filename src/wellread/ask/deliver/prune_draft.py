"""Removes rejected sentences from a draft, with headings and lead-ins that only led to them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wellread.ask.retrieve.rated_questions import flagged_sentences
from wellread.kb import KnowledgeBase
from wellread.values.answers import Checked, Evidence, VerdictName

_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s|\Z)|\s*(?:\*\*[^*\n]+\*\*:?|__[^_\n]+__:?)\s*\Z")
_MARKS = re.compile(r"[\s>*+•‣▪\-_|:.)\]\[\d]*")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪]|\d{1,3}[.)])\s|\s*\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliverable:
    """Which sentences of a draft may be delivered; sentences that state nothing always may.

    Attributes:
        strict: reject unsupported sentences and sentences without a citation.
        required: reject sentences without a citation.
        voices: reject sentences that the requested speakers did not say.
    """

    strict: bool
    required: bool
    voices: bool

    def holds(self, item: Checked) -> bool:
        """Whether the sentence may be delivered."""
        verdict = item.verdict
        if verdict.states_nothing:
            return True
        if not (item.claim.keys or (verdict.key and verdict.source)):
            return not (self.strict or self.required)
        return verdict.name != VerdictName.UNSUPPORTED or not (self.strict or self.voices)


def drop_flagged(
    kb: KnowledgeBase,
    items: Sequence[Checked],
    evidence: Sequence[Evidence],
    own: Collection[str] = (),
) -> list[Checked]:
    """The sentences that repeat nothing an expert flagged as harmful, alone or with neighbours.

    Args:
        evidence: the cited pieces; a sentence without citations counts as citing all of them.
        own: sentences by which an expert corrects what they flagged themselves.
    """
    place = {piece.key: piece.hit.document.collection for piece in evidence}
    texts = [item.claim.text for item in items]
    within = [
        frozenset(place[key] for key in (*item.claim.keys, item.verdict.key) if key in place)
        or frozenset(place.values())
        for item in items
    ]
    harmful = {names: flagged_sentences(kb, names).places(texts) for names in dict.fromkeys(within)}
    return [
        item
        for at, item in enumerate(items)
        if at not in harmful[within[at]] or item.claim.text in own
    ]


def prune(
    text: str, checked: Sequence[Checked], kept: Sequence[Checked]
) -> tuple[str, list[Checked]]:
    """Reduce ``text`` to the claims ``kept``; also return the claims still in it.

    A heading goes when nothing of its section is left, and a claim that introduces a list ("Two
    things changed:") when no item of the list is left.
    """
    if len(kept) == len(checked):
        return text, list(kept)
    keeping = {id(item) for item in kept}
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    new_lines, owners = list(lines), list[list[int]]([] for _ in lines)
    places, end = [], 0
    for item in checked:
        start = text.find(item.claim.text, end)
        if start >= 0:
            end = start + len(item.claim.text)
            places.append((item, start, end))
    for item, start, end in reversed(places):
        number = bisect_right(starts, start) - 1
        if id(item) in keeping:
            owners[number].append(id(item))
        elif end < starts[number + 1]:
            new_lines[number] = _cut(new_lines[number], start - starts[number], end - start)
    for number in reversed(range(len(lines))):
        under = _governed(lines, new_lines, number)
        lost = any(lines[other].strip() and not new_lines[other] for other in under)
        if new_lines[number] and lost and not any(new_lines[other].strip() for other in under):
            new_lines[number] = ""
            keeping.difference_update(owners[number])
    remaining = [
        new
        for old, new in zip(lines, new_lines, strict=True)
        if new or not old.strip()  # keep the draft's own blank lines
    ]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()
    return body, [item for item in kept if id(item) in keeping]


def _cut(line: str, start: int, length: int) -> str:
    """Cut a claim out of a line; empty when only list marks and brackets are left."""
    rest = (line[:start] + line[start + length :].lstrip(" ")).rstrip()
    return "" if _MARKS.fullmatch(rest) else rest


def _governed(lines: Sequence[str], new_lines: Sequence[str], number: int) -> list[int]:
    """The lines below a heading up to the next one, or the list items below a lead-in."""
    level = _level(new_lines[number])
    following = range(number + 1, len(lines))
    if level is not None:
        higher = (at for at in following if (_level(new_lines[at]) or level + 1) <= level)
        return list(range(number + 1, next(higher, len(lines))))
    if not lines[number].rstrip().endswith(":"):
        return []
    items: list[int] = []
    for at in following:
        line = lines[at]
        if not line.strip() and not items:
            continue
        if not _ITEM.match(line) and not (items and line.startswith((" ", "\t"))):
            break
        items.append(at)
    return items


def _level(line: str) -> int | None:
    """The level of a heading, 1-7 (a bold line is 7); None when the line is not a heading."""
    heading = _HEADING.match(line)
    if heading is None:
        return None
    return len(heading.group(1)) if heading.group(1) else 7
