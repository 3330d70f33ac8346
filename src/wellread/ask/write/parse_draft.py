"""Parses a model's reply, whatever its shape, into text, claims and a machine-readable tail.

Nothing here raises: models may reply with anything. Citation markers are found in all forms that
models write: ``[e1, e3]``, ``[e1–e3]``, ``[E1, p. 5]``, ``[Source: e1]``, ``[^e1]``, ``(see e1)``,
``【e1†source】``. Numbers in brackets (``[12]``) belong to the source and are kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from pydantic_core import from_json

from wellread.ask.write.prompts import CALL_LINE, Guard, GuardedText
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import Claim, Conflict, Evidence, Usage

MAX_RANGE_KEYS = 50

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
_LIST_MARK = re.compile(r"[ \t]*(?:[-*+•>#]+|\d{1,3}[.)])?[ \t]*")
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
        """Remove all markers, including those that only appear when another one is removed.

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
                keys = tuple(dict.fromkeys(self._known[key] for key in names if key in self._known))
                unknown += sum(key not in self._known for key in names)
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
        head = _LIST_MARK.match(line)
        return self._marker.match(line, head.end() if head else 0) is not None

    def _groups(self, text: str) -> list[tuple[int, int, list[str]]]:
        """The spans of markers with their keys in lower case; neighbouring markers are merged."""
        groups: list[tuple[int, int, list[str]]] = []
        for match in self._marker.finditer(text):
            keys = self._keys(match.group())
            begin, end = _with_emphasis(text, match.start(), match.end())
            if groups and _GAP.fullmatch(text, groups[-1][1], begin):
                begin, _, earlier_keys = groups.pop()
                begin, end = _with_emphasis(text, begin, end)
                keys = earlier_keys + keys
            groups.append((begin, end, keys))
        return groups

    def _keys(self, marker: str) -> list[str]:
        keys = [match.group().casefold() for match in self._key.finditer(marker)]
        for span in self._range.finditer(marker):
            first, last = int(span.group(1)), int(span.group(2))
            # Ends that are written with an "e" are among the keys already.
            between = range(first + 1, min(last, first + MAX_RANGE_KEYS) + 1)
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
    if _LIST_MARK.fullmatch(text, line, begin) is None:
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
        stem = PurePosixPath(document.uri).stem  # the file of an entry is named by its id
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


_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")
_BOLD_HEADING = re.compile(r"\s*(?:\*\*[^*\n]+\*\*:?|__[^_\n]+__:?)\s*")
_NOT_PROSE = re.compile(r"\s*(?:`{3,}.*|~{3,}.*|(?:[-*_=]\s*){3,}|[|:\-\s]+)?", re.DOTALL)
_DIVIDER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_LINE_HEAD = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]")
_REACH = 1_000  # last shown characters, in which repeated prompt text may have begun
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_`]*\s|\n")


Answered = Literal["yes", "partly", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A model's parsed reply, before it is checked.

    Attributes:
        text: the Markdown before the tail, without citation markers.
        claims: the sentences with the keys cited for them, in the order in which they occur in
            ``text``. A table row is a claim; a heading is not.
        by: the model that wrote it; ``fallback``: why it was not the configured one, else empty.
        unknown_keys: how many cited evidence keys do not exist; already removed.
        withheld: how many sentences and lines must not be shown; already removed.
        answered: whether the evidence answers the question, if the model says so.
        model_claim: the model's own confidence, 0-1.
        relevance: why sources matter, by evidence key.
    """

    text: str
    claims: tuple[Claim, ...]
    by: str = ""
    fallback: str = ""
    unknown_keys: int = 0
    withheld: int = 0
    answered: Answered | None = None
    model_claim: float | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    relevance: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


def parse_draft(
    reply: str,
    known_keys: Collection[str],
    guard: Guard | None = None,
    *,
    evidence: Sequence[Evidence] = (),
) -> Draft:
    """Parse a model's reply. If all of it is a JSON object, its ``answer`` is the text."""
    reply = reply.replace("\r\n", "\n")
    place, state = find_tail(reply)
    tail = _read_tail(reply[place:]) if state == "tail" else {}
    reader = MarkerReader(known_keys)
    answer = tail.get("answer")
    body = reply[:place].strip() or (answer.strip() if isinstance(answer, str) else "")
    body, references = reader.without_references(body)
    guarded = guard.shown(body) if guard else GuardedText(text=body)
    text, markers, unknown = reader.strip(resolve_titles(guarded.text.strip(), evidence))
    claims = _claims(text, markers)
    tail_markers = "".join(f"[{citation}]" for citation in _strings(tail.get("citations")))
    if tail_markers and not any(claim.keys for claim in claims):
        _, cited, _ = reader.strip(resolve_titles(tail_markers, evidence))
        keys = tuple(dict.fromkeys(key for _, keys in cited for key in keys))
        claims = tuple(replace(claim, keys=keys) for claim in claims)

    def plain(value: object) -> tuple[str, ...]:
        """The strings of ``value`` without markers and withheld text."""
        lines = guard.lines(_strings(value)) if guard else _strings(value)
        return tuple(text for line in lines if (text := reader.strip(line)[0].strip()))

    stated = str(tail.get("answered", "")).strip().casefold()
    reasons = tail.get("relevance")
    reasons = reasons if isinstance(reasons, dict) else {}
    return Draft(
        text=text,
        claims=claims,
        unknown_keys=unknown + reader.strip(references)[2],
        withheld=guarded.withheld,
        answered=next((value for value in get_args(Answered) if value == stated), None),
        model_claim=_parse_share(tail.get("confidence")),
        data_gaps=plain(tail.get("data_gaps")),
        conflicts=tuple(Conflict(about=line) for line in plain(tail.get("conflicts"))),
        relevance={
            str(key).strip("[] "): line for key, why in reasons.items() for line in plain(why)[:1]
        },
    )


class VisibleStream:
    """Filters a streamed reply for display: the text before the tail, with its markers.

    A possible start of the tail, an unfinished marker and trailing white space are held back until
    they are certain, so the shown text does not depend on how the stream was cut. With a guard,
    text is shown in whole guarded sentences.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self._waiting = self._before = ""
        self._text = ""
        self._shown = 0
        self._ended = False

    def feed(self, delta: str) -> str:
        """Add ``delta`` and return the next text to show, which is often empty."""
        self._text += delta
        return self._guarded(self._advance(final=False), final=False)

    def finish(self) -> str:
        """Return the rest of the text at the end of the reply."""
        return self._guarded(self._advance(final=True), final=True)

    def _guarded(self, piece: str, *, final: bool) -> str:
        if self._guard is None:
            return piece
        self._waiting += piece
        ready: list[str] = []
        while self._waiting:
            border = _LINE_END if CALL_LINE.match(self._waiting) else _SENTENCE_END
            match = border.search(self._waiting)
            if match is None and not final:
                break
            end = match.end() if match else len(self._waiting)
            shown = self._guard.shown(self._waiting[:end], before=self._before)
            ready.append(shown.text)
            self._before = (self._before + shown.text)[-_REACH:]
            self._waiting = self._waiting[end:]
        return "".join(ready)

    def _advance(self, *, final: bool) -> str:
        if self._ended:
            return ""
        end, state = find_tail(self._text, self._shown, final=final)
        self._ended = final or state == "tail"
        if not self._ended:
            half = HALF_MARKER.search(self._text, self._shown, end)
            end = half.start() if half else end
        piece = self._text[self._shown : end].rstrip()
        self._shown += len(piece)
        return piece


def _claims(text: str, markers: Sequence[Marker]) -> tuple[Claim, ...]:
    """Build the claims of ``text``, each with the keys of its markers."""
    lines = text.split("\n")
    leads = list(_leads(lines))
    claims: list[tuple[Span, str, list[str]]] = []
    early: list[str] = []  # keys of markers before the first sentence, which they belong to
    begin = 0
    for number, line in enumerate(lines):
        here = [marker for marker in markers if begin <= marker[0] <= begin + len(line)]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        spans = _sentences(line, begin, [place for place, _ in here], following)
        line_claims = [(span, leads[number], list[str]()) for span in spans]
        # A line of markers alone cites the sentence above it.
        owners = line_claims or claims[-1:]
        if line_claims and not claims:
            line_claims[0][2].extend(early)
        first = owners[0][0].start if owners else 0
        prefixed = bool(here and owners) and (
            here[0][0] <= first and here[-1][0] < owners[-1][0].end
        )
        for place, keys in here:
            (_owner(owners, place, prefixed=prefixed) if owners else early).extend(keys)
        claims += line_claims
        begin += len(line) + 1
    return tuple(
        Claim(text=span.of(text), keys=tuple(dict.fromkeys(keys)), lead=lead)
        for span, lead, keys in claims
    )


def _owner(
    claims: Sequence[tuple[Span, str, list[str]]], place: int, *, prefixed: bool
) -> list[str]:
    """The keys of the claim that a marker is in or after, or before if ``prefixed``."""
    if prefixed:
        return next((keys for span, _, keys in claims if span.end > place), [])
    before = [keys for span, _, keys in claims if span.start < place]
    return before[-1] if before else next((keys for _, _, keys in claims), [])


def _leads(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lead of each line: the header of its table, or the line above its list."""
    head = above = ""
    for line, following in pairwise((*lines, "")):
        if line.lstrip().startswith("|"):
            opens = "-" in following and _DIVIDER.fullmatch(following)
            head = line.strip(" \t|") if opens else head
            yield "" if opens else head
            continue
        head = ""
        if _ITEM.match(line):
            yield above
            continue
        if line.strip():
            above = line.strip(" \t*_") if line.rstrip(" *_").endswith(":") else ""
        yield ""


def _sentences(line: str, offset: int, places: Sequence[int], following: str) -> list[Span]:
    """The spans of a line's claims, as offsets in the text; ``places`` are its markers."""
    if _HEADING.match(line) or _NOT_PROSE.fullmatch(line):
        return []
    if _BOLD_HEADING.fullmatch(line) and not places:
        return []
    if line.lstrip().startswith("|"):
        if "-" in following and _DIVIDER.fullmatch(following):
            return []  # the table's header
        begin = len(line) - len(line.lstrip(" \t|"))
        spans = [Span(start=begin, end=max(begin, len(line.rstrip(" \t|"))))]
    else:
        head = _LINE_HEAD.match(line)
        begin = head.end() if head else 0
        # A marker at a full stop ends a sentence even if the sentence breaker saw an abbreviation
        # or the text continues in lower case.
        here = [place - offset for place in places if begin < place - offset < len(line)]
        ends = {place for place in here if line[place - 1] in ".!?"}
        ends |= {place + 1 for place in here if line[place] in ".!?" and line[place - 1].isalnum()}
        borders = [begin, *sorted(ends - {len(line)}), len(line)]
        spans = [
            Span(start=start + span.start, end=start + span.end)
            for start, end in pairwise(borders)
            for span in sentence_spans(line[start:end])
        ]
    return [
        Span(start=offset + span.start, end=offset + span.end)
        for span in spans
        if any(character.isalnum() for character in span.of(line))
    ]


# --- the machine-readable tail: a line of dashes, then one JSON object ---------------------------
# Missing dashes, a code fence around the object and a truncated object are accepted. Dashes without
# an object are a rule between paragraphs.

FIELDS = ("answered", "confidence", "data_gaps", "conflicts", "relevance", "answer")
MAX_TAIL_CHARACTERS = 50_000

_CANDIDATE = re.compile(r"^[ \t]*[-`{]", re.MULTILINE)
_FENCE = r"`{3,}[ \t]*(?:json)?[ \t]*\r?\n\s*"
_BEGINNING = re.compile(
    rf"[ \t]*(?:-{{3,}}[ \t]*\r?\n\s*(?:{_FENCE})?\{{"
    rf'|(?:{_FENCE})?\{{\s*"(?:{"|".join(FIELDS)})")',
    re.IGNORECASE,
)
_RULE = re.compile(r"-{3,}[ \t]*\r?\n\s*")
_RULE_SO_FAR = re.compile(r"-+|-{3,}[ \t]*\r?")
_FENCE_LINE = re.compile(_FENCE, re.IGNORECASE)
_FENCE_SO_FAR = re.compile(r"`+|`{3,}[ \t]*(?:j|js|jso|json)?[ \t]*\r?", re.IGNORECASE)
_SURELY_MEANT = re.compile(r"[ \t]*-{3}|.*\{|.*json", re.IGNORECASE | re.DOTALL)


def find_tail(
    text: str, start: int = 0, *, final: bool = True
) -> tuple[int, Literal["tail", "maybe", "none"]]:
    """Find the offset of the tail from ``start`` on.

    ``maybe``: the text there may become a tail when more arrives; never returned when ``final``.
    With ``none`` the offset is the text's length.
    """
    for candidate in _CANDIDATE.finditer(text, start):
        place = candidate.start()
        if _BEGINNING.match(text, place):
            return place, "tail"
        if _may_become_tail(text[place:]):
            if not final:
                return place, "maybe"
            if _SURELY_MEANT.match(text, place):
                return place, "tail"
    return len(text), "none"


def _read_tail(section: str) -> dict[str, Any]:
    """The object in ``section``; if it is broken, the fields that can be read."""
    values, _ = load_object(section[: section.find("{") + MAX_TAIL_CHARACTERS])
    return values or {}


def _may_become_tail(rest: str) -> bool:
    """Whether ``rest``, the end of the text so far, may be the start of a tail."""
    rest = rest.lstrip(" \t")
    if rest.startswith("-"):
        if _RULE_SO_FAR.fullmatch(rest):
            return True
        rule = _RULE.match(rest)
        if rule is None:
            return False
        rest = rest[rule.end() :]
    if rest.startswith("`"):
        if _FENCE_SO_FAR.fullmatch(rest):
            return True
        fence = _FENCE_LINE.match(rest)
        if fence is None:
            return False
        rest = rest[fence.end() :]
    if not rest.startswith("{"):
        return not rest
    first = rest[1:].lstrip().lower()
    return any(f'"{name}"'.startswith(first) for name in FIELDS)


def load_object(text: str) -> tuple[dict[str, Any] | None, bool]:
    """Parse the first JSON object in ``text``; also return whether it is missing or incomplete."""
    start = text.find("{")
    if start < 0:
        return None, True
    try:
        values, _ = json.JSONDecoder().raw_decode(text, start)
        return values, False
    except (ValueError, RecursionError):
        pass  # truncated or malformed: parsed in part below
    try:
        partial = from_json(text[start:], allow_partial=True)
    except ValueError:
        return None, True
    return (partial, True) if isinstance(partial, dict) else (None, True)


def _parse_share(value: object) -> float | None:
    """Parse a share from 0 to 1, also from ``"0.8"``, ``80`` and ``"80 %"``."""
    if isinstance(value, str):
        value = value.strip().removesuffix("%").strip()
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return min(max(number / 100 if number > 1 else number, 0.0), 1.0)


def _strings(value: object) -> tuple[str, ...]:
    """The strings of a list; a single string counts as a list of one."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    lines = (" ".join(item.split()) for item in items if isinstance(item, str))
    return tuple(line for line in lines if line)
