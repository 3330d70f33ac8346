"""Removes rejected sentences from a draft, with headings and lead-ins that only led to them."""

from __future__ import annotations

import re
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

    A claim that introduces a list ("Two things changed:") goes when no item of the list is left.
    """
    if len(kept) == len(checked):
        return text, list(kept)
    lines, owners = _without_dropped(text, checked, kept)
    emptied = [bool(old) and not new for old, new in lines]
    new_lines = [new for _, new in lines]
    gone: list[int] = []
    for place, (old, _) in enumerate(lines):
        if emptied[place]:
            new_lines[place] = ""
        elif _leads_in(old) and _lost_its_list(lines, place):
            new_lines[place] = ""
            gone += owners[place]
    _drop_headings(lines, new_lines)
    remaining = [
        line
        for line, (old, _) in zip(new_lines, lines, strict=True)
        if line or not old.strip()  # keep the draft's own blank lines
    ]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()
    lost = {id(checked[number]) for number in gone}
    return body, [item for item in kept if id(item) not in lost]


def _without_dropped(
    text: str, checked: Sequence[Checked], kept: Sequence[Checked]
) -> tuple[list[tuple[str, str]], list[list[int]]]:
    """Each line before and after removal (empty: nothing left), and the claims kept in it."""
    keeping = {id(item) for item in kept}
    cuts: list[tuple[int, int]] = []
    places: dict[int, int] = {}
    end = 0
    for number, item in enumerate(checked):
        start = text.find(item.claim.text, end)
        if start < 0:
            continue
        end = start + len(item.claim.text)
        if id(item) in keeping:
            places[number] = start
        else:
            cuts.append((start, end))
    lines: list[tuple[str, str]] = []
    owners: list[list[int]] = []
    begin = 0
    for line in text.split("\n"):
        finish = begin + len(line)
        inside = [(a - begin, b - begin) for a, b in cuts if begin <= a and b <= finish]
        lines.append((line, _cut_line(line, inside)))
        owners.append([number for number, at in places.items() if begin <= at < max(finish, 1)])
        begin = finish + 1
    return lines, owners


def _cut_line(line: str, cuts: Sequence[tuple[int, int]]) -> str:
    if not cuts:
        return line
    remaining, place = "", 0
    for start, end in cuts:
        remaining += line[place:start]
        place = end + (len(line) - end - len(line[end:].lstrip(" ")))
    remaining = (remaining + line[place:]).rstrip()
    return "" if _MARKS.fullmatch(remaining) else remaining


def _leads_in(line: str) -> bool:
    return line.rstrip().endswith(":") and not _HEADING.match(line)


def _lost_its_list(lines: Sequence[tuple[str, str]], place: int) -> bool:
    """Whether list items follow the line at ``place`` and all of them were removed."""
    items: list[str] = []
    for old, new in lines[place + 1 :]:
        if not old.strip():
            if items:
                break
            continue
        if not _ITEM.match(old) and not (items and old.startswith((" ", "\t"))):
            break
        items.append(new)
    return bool(items) and not any(items)


def _drop_headings(lines: Sequence[tuple[str, str]], new_lines: list[str]) -> None:
    """Empty each heading whose whole section was removed."""
    for place in range(len(lines) - 1, -1, -1):
        level = _level(new_lines[place])
        if level is None:
            continue
        under = []
        for other in range(place + 1, len(lines)):
            below = _level(new_lines[other])
            if below is not None and below <= level:
                break
            under.append(other)
        lost = any(lines[other][0].strip() and not new_lines[other] for other in under)
        if lost and not any(new_lines[other].strip() for other in under):
            new_lines[place] = ""


def _level(line: str) -> int | None:
    """The level of a heading, 1-7 (a bold line is 7); None when the line is not a heading."""
    heading = _HEADING.match(line)
    if heading is None:
        return None
    return len(heading.group(1)) if heading.group(1) else 7
