"""Finds and removes citation markers in a model's reply, in all forms that models write.

``[e1]``, ``[e1, e3]``, ``[e1][e2]``, ``[e1–e3]``, ``[E1, p. 5]``, ``[Source: e1]``, ``[[e1]]``,
``[^e1]``, ``[e1](#e1)``, ``(e1)``, ``(see e1 and e2)``, ``【e1†source】``, ``**[e1]**``,
``<sup>[e1]</sup>``. Numbers in brackets (``[12]``) belong to the source and are kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from wellread.values.answers import Evidence

LONGEST_RANGE = 50

_LEAD = (
    r"(?i:(?:see|also|sources?|evidence|refs?\.?|references?|cf\.?|from|citations?|cited|per|keys?)"
    r"\s*:?\s*#?\s*){0,2}"
)
_OPENER = r"[\[(【]"
# An unfinished marker at the end of a stream: "[", "(see e1", "[e1, e".
HALF_MARKER = re.compile(
    rf"\\?{_OPENER}{{1,2}}\^?[ \t]*(?:[A-Za-z.]{{0,12}}:?[ \t]*#?[ \t]*){{0,2}}"
    r"(?:(?<![A-Za-z.])[eE](?:\d{1,4}[^\[\]()【】\n]{0,100})?)?\\?\Z"
)
# At the end of a truncated reply, only text that cannot be anything else.
_CUT_MARKER = re.compile(
    rf"[ \t]*\\?(?:{_OPENER}{{1,2}}\^?[ \t]*{_LEAD}e\d{{1,4}}[^\[\]()【】\n]{{0,100}}"
    r"|\[{1,2}\^?e?)\Z"
)
_GAP = re.compile(r"[ \t]*(?:[,;/&]|and)?[ \t]*")
_LABEL_BEFORE = re.compile(r"(?:\b(?i:sources?|citations?|evidence)[ \t]*:)?[ \t]*\Z")
_LINE_HEAD = re.compile(r"[ \t]*(?:[-*+•>#]+|\d{1,3}[.)])?[ \t]*")
_REFERENCES = re.compile(
    r"(?i)[ \t]*(?:#{1,6}[ \t]*|\*{2})?(?:sources?|references?|citations?|bibliography|evidence)"
    r"(?:[ \t]+(?:used|cited|list))?[ \t]*:?(?:\*{2})?:?[ \t]*"
)
_CLOSES = frozenset(".,;:!?)]}»”\"'|*_%…")


# "[Title]", "[Title, p. 5]", "[Title @ 12:14]", "[Source: id]"
_NAMED = re.compile(
    r"\[(?:Source:\s*)?(?P<name>[^\[\]\n]{1,300}?)"
    r"(?:,\s*pp?\.\s*(?P<page>\d{1,5})[^\[\]]{0,10}|\s*@\s*(?P<time>\d{1,3}(?::\d{2}){1,2}))?\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The known keys cited at ``place``, an offset in the text without markers."""

    place: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrippedText:
    """A text without its markers, the markers in order, and how many keys were unknown."""

    text: str
    markers: tuple[Marker, ...]
    unknown_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """A replacement of ``[start, end)`` by ``filler``; the marker's place is before the filler."""

    start: int
    end: int
    filler: str
    keys: tuple[str, ...]


class MarkerReader:
    """Finds and removes the markers for one set of evidence keys."""

    def __init__(self, known_keys: Collection[str]) -> None:
        self._known = {key.casefold(): key for key in known_keys if key}
        others = sorted(
            (key for key in self._known if not re.fullmatch(r"e\d{1,4}", key)),
            key=len,
            reverse=True,
        )
        key = "|".join([r"e\d{1,4}", *map(re.escape, others)])
        any_case = rf"(?i:{key})(?!\w)"
        exact = rf"(?:{key})(?!\w)"
        item_gap = r"\s*(?:[,;/&+–—-]|and|to)?\s*"
        self._key = re.compile(rf"(?<!\w){any_case}")
        self._range = re.compile(
            r"(?<!\w)e(\d{1,4})(?:\s*(?:[–—-]|to)\s*e|[–—-])(\d{1,4})(?!\w)", re.IGNORECASE
        )
        square = rf"\\?\[{{1,2}}\^?\s*{_LEAD}{any_case}[^\[\]\n\\]{{0,100}}\\?\]{{1,2}}"
        link = r"(?:\((?:#|https?://)[^()\s]{0,300}\))?"
        corner = rf"【\s*{_LEAD}{any_case}[^【】\n]{{0,100}}】"
        # In round brackets only bare keys in their exact case count: "(E2)" may be a hormone.
        round_ = (
            rf"\(\s*{_LEAD}{exact}(?:{item_gap}{_LEAD}{exact})*(?:,\s*pp?\.?\s*\d{{1,5}})?\s*\)"
        )
        body = rf"(?:{square}{link}|{corner}|{round_})"
        self._marker = re.compile(rf"(?:<sup>\s*)?{body}(?:\s*</sup>)?")

    def strip(self, text: str) -> StrippedText:
        """Remove all markers, including those that only removing another one joins."""
        markers: list[Marker] = []
        unknown = 0
        half = _CUT_MARKER.search(text)
        if half:
            text = text[: half.start()]
        while True:
            cuts, unknown_here = self._cuts(text)
            if not cuts:
                break
            unknown += unknown_here
            text, markers = _apply(text, cuts, markers)
        return StrippedText(
            text=text,
            markers=tuple(sorted(markers, key=lambda marker: marker.place)),
            unknown_keys=unknown,
        )

    def without_references(self, text: str) -> tuple[str, str]:
        """Split off the list of sources that some models append."""
        lines = text.split("\n")
        first = len(lines)
        while first > 0 and (not lines[first - 1].strip() or self._lists_source(lines[first - 1])):
            first -= 1
        listed = [line for line in lines[first:] if line.strip()]
        if not listed:
            return text, ""
        if first > 0 and _REFERENCES.fullmatch(lines[first - 1]):
            first -= 1
        elif not all(re.match(r"\s*\[\^?e\d{1,4}\]:", line) for line in listed):
            return text, ""
        return "\n".join(lines[:first]).rstrip(), "\n".join(lines[first:])

    def _lists_source(self, line: str) -> bool:
        head = _LINE_HEAD.match(line)
        return self._marker.match(line, head.end() if head else 0) is not None

    def _cuts(self, text: str) -> tuple[list[_Cut], int]:
        """The cuts, with neighbouring markers merged, and the number of unknown keys."""
        groups: list[tuple[int, int, list[str]]] = []
        unknown = 0
        for match in self._marker.finditer(text):
            keys, strange = self._keys(match.group())
            unknown += strange
            begin, end = _with_emphasis(text, match.start(), match.end())
            if groups and _GAP.fullmatch(text, groups[-1][1], begin):
                begin, _, before = groups.pop()
                begin, end = _with_emphasis(text, begin, end)
                keys = before + keys
            groups.append((begin, end, keys))
        cuts: list[_Cut] = []
        for start, end, keys in groups:
            cut = _cut(text, start, end, tuple(dict.fromkeys(keys)))
            if cuts and cut.start < cuts[-1].end:
                cut = _Cut(
                    start=cuts[-1].end, end=max(cut.end, cuts[-1].end), filler="", keys=cut.keys
                )
            cuts.append(cut)
        return cuts, unknown

    def _keys(self, marker: str) -> tuple[list[str], int]:
        """The known keys of a marker, and the number of unknown ones."""
        key_names = [found.group().casefold() for found in self._key.finditer(marker)]
        for span in self._range.finditer(marker):
            first, last = int(span.group(1)), int(span.group(2))
            # The ends with a letter are in ``named`` already.
            between = range(first + 1, min(last, first + LONGEST_RANGE) + 1)
            key_names += [f"e{number}" for number in between if f"e{number}" in self._known]
        known_keys = [self._known[name] for name in key_names if name in self._known]
        return known_keys, len(key_names) - len(known_keys)


def _with_emphasis(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen the range by emphasis or code marks directly around it."""
    for mark in ("**", "*", "`"):
        width = len(mark)
        if text[max(start - width, 0) : start] == mark == text[end : end + width]:
            return start - width, end + width
    return start, end


def _cut(text: str, start: int, end: int, keys: tuple[str, ...]) -> _Cut:
    """Widen the marker ``[start, end)`` by its label, brackets and redundant space."""
    line = text.rfind("\n", 0, start) + 1
    label = _LABEL_BEFORE.search(text, line, start)
    begin = label.start() if label else start
    if begin > line and text[begin - 1] == "(" and text[end : end + 1] == ")":
        begin, end = begin - 1, end + 1
    while begin > line and text[begin - 1] in " \t":
        begin -= 1
    head = _LINE_HEAD.fullmatch(text, line, begin)
    if head is not None:
        return _cut_at_line_head(text, (line, max(begin, line)), (start, end), keys)
    before, after = text[begin - 1], text[end : end + 1]
    if after and after == before and after in ".,;:!?":
        return _Cut(start=begin, end=end + 1, filler="", keys=keys)
    glued = after != "" and not after.isspace() and after not in _CLOSES
    return _Cut(start=begin, end=end, filler=" " if glued else "", keys=keys)


def _cut_at_line_head(
    text: str, head: tuple[int, int], marker: tuple[int, int], keys: tuple[str, ...]
) -> _Cut:
    """Cut a marker at the start of a line, which keeps its bullet and indentation."""
    line, head_end = head
    start, end = marker
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    if text[end : end + 1] in ("", "\n"):  # remove a line that has nothing else
        return _Cut(start=max(line - 1, 0), end=end, filler="", keys=keys)
    if text[line:head_end].strip() and not text[head_end:start].strip(" \t"):
        head_end = start  # keep the space after the bullet
    return _Cut(start=head_end, end=end, filler="", keys=keys)


def _apply(text: str, cuts: list[_Cut], markers: list[Marker]) -> tuple[str, list[Marker]]:
    pieces: list[str] = []
    length = place = 0
    starts: list[int] = []
    moved: list[tuple[int, int]] = []  # a cut's new place, and that of the text after it
    added: list[Marker] = []
    for cut in cuts:
        pieces += [text[place : cut.start], cut.filler]
        length += cut.start - place
        added.append(Marker(place=length, keys=cut.keys))
        starts.append(cut.start)
        moved.append((length, length + len(cut.filler)))
        length += len(cut.filler)
        place = cut.end
    pieces.append(text[place:])

    def new_place(old: int) -> int:
        index = bisect_right(starts, old) - 1
        if index < 0:
            return old
        if old < cuts[index].end:
            return moved[index][0]
        return moved[index][1] + old - cuts[index].end

    moved_markers = [Marker(place=new_place(marker.place), keys=marker.keys) for marker in markers]
    return "".join(pieces), moved_markers + added


def title_resolver(evidence: Sequence[Evidence]) -> Callable[[str], str]:
    """Return a function that replaces markers by title, page, time or id with evidence keys."""
    by_name: dict[str, list[Evidence]] = {}
    for piece in evidence:
        document = piece.hit.document
        stem = PurePosixPath(document.uri).stem  # files of entries are named by their ids
        for name in {document.title, document.id, document.uri, stem} - {""}:
            by_name.setdefault(" ".join(name.split()).casefold(), []).append(piece)

    def keyed(match: re.Match[str]) -> str:
        pieces = by_name.get(" ".join(match["name"].split()).casefold())
        if not pieces:
            return match.group()
        return f"[{min(pieces, key=lambda piece: _distance(piece, match)).key}]"

    return lambda text: _NAMED.sub(keyed, text) if by_name else text


def _distance(piece: Evidence, match: re.Match[str]) -> float:
    if match["page"]:
        return abs(int(match["page"]) - (piece.locator.page or 0))
    if match["time"]:
        seconds = 0
        for part in match["time"].split(":"):
            seconds = 60 * seconds + int(part)
        return abs(seconds - (piece.locator.begin or 0))
    return 0
