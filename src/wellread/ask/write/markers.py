"""Finds and removes citation markers in a model's reply, in all forms that models write.

``[e1]``, ``[e1, e3]``, ``[e1][e2]``, ``[e1–e3]``, ``[E1, p. 5]``, ``[Source: e1]``, ``[[e1]]``,
``[^e1]``, ``[e1](#e1)``, ``(e1)``, ``(see e1 and e2)``, ``【e1†source】``, ``**[e1]**``,
``<sup>[e1]</sup>``. Numbers in brackets (``[12]``) belong to the source and are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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


Marker = tuple[int, tuple[str, ...]]
"""An offset in the text without markers, and the known keys that are cited there."""


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

    def strip(self, text: str) -> tuple[str, list[Marker], int]:
        """Remove all markers, including those that only removing another one joins.

        Returns:
            The text without markers, the markers in order, and how many keys were unknown.
        """
        markers: list[Marker] = []
        unknown = 0
        half = _CUT_MARKER.search(text)
        if half:
            text = text[: half.start()]
        while groups := self._groups(text):
            for begin, finish, names in reversed(groups):
                start, end, filler = _cut(text, begin, finish)
                text = f"{text[:start]}{filler}{text[end:]}"
                shift = len(filler) - (end - start)
                markers = [
                    (place if place <= start else max(place + shift, start), keys)
                    for place, keys in markers
                ]
                keys = tuple(dict.fromkeys(self._known[one] for one in names if one in self._known))
                unknown += sum(one not in self._known for one in names)
                markers.insert(0, (start, keys))
        return text, sorted(markers, key=lambda marker: marker[0]), unknown

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

    def _groups(self, text: str) -> list[tuple[int, int, list[str]]]:
        """The spans of markers with their keys in lower case; neighbouring markers are merged."""
        groups: list[tuple[int, int, list[str]]] = []
        for match in self._marker.finditer(text):
            keys = self._keys(match.group())
            begin, end = _with_emphasis(text, match.start(), match.end())
            if groups and _GAP.fullmatch(text, groups[-1][1], begin):
                begin, _, before = groups.pop()
                begin, end = _with_emphasis(text, begin, end)
                keys = before + keys
            groups.append((begin, end, keys))
        return groups

    def _keys(self, marker: str) -> list[str]:
        keys = [match.group().casefold() for match in self._key.finditer(marker)]
        for span in self._range.finditer(marker):
            first, last = int(span.group(1)), int(span.group(2))
            # The ends with a letter are among the keys already.
            between = range(first + 1, min(last, first + LONGEST_RANGE) + 1)
            keys += [f"e{number}" for number in between if f"e{number}" in self._known]
        return keys


def _with_emphasis(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen the range by emphasis or code marks directly around it."""
    for mark in ("**", "*", "`"):
        width = len(mark)
        if text[max(start - width, 0) : start] == mark == text[end : end + width]:
            return start - width, end + width
    return start, end


def _cut(text: str, start: int, end: int) -> tuple[int, int, str]:
    """Widen the marker ``[start, end)`` by its label, brackets and redundant space.

    Also return the text to put in its place: nothing, or a space.
    """
    line = text.rfind("\n", 0, start) + 1
    label = _LABEL_BEFORE.search(text, line, start)
    begin = label.start() if label else start
    if begin > line and text[begin - 1] == "(" and text[end : end + 1] == ")":
        begin, end = begin - 1, end + 1
    while begin > line and text[begin - 1] in " \t":
        begin -= 1
    if _LINE_HEAD.fullmatch(text, line, begin) is None:
        before, after = text[begin - 1], text[end : end + 1]
        if after and after == before and after in ".,;:!?":
            return begin, end + 1, ""
        glued = after != "" and not after.isspace() and after not in _CLOSES
        return begin, end, " " if glued else ""
    # At the start of a line, which keeps its bullet and indentation.
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    if text[end : end + 1] in ("", "\n"):  # remove a line that has nothing else
        return max(line - 1, 0), end, ""
    if text[line:begin].strip() and not text[begin:start].strip(" \t"):
        begin = start  # keep the space after the bullet
    return begin, end, ""


def resolve_titles(text: str, evidence: Sequence[Evidence]) -> str:
    """Replace markers by title, page, time or id with markers by evidence key."""
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

    return _NAMED.sub(keyed, text)


def _distance(piece: Evidence, match: re.Match[str]) -> float:
    if match["page"]:
        return abs(int(match["page"]) - (piece.locator.page or 0))
    if match["time"]:
        seconds = 0
        for part in match["time"].split(":"):
            seconds = 60 * seconds + int(part)
        return abs(seconds - (piece.locator.begin or 0))
    return 0
