"""Parses a model's reply, whatever its shape, into text, claims and a machine-readable tail.

Nothing here raises: models may reply with anything.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

from pydantic_core import from_json

from wellread.ask.write.markers import HALF_MARKER, Marker, MarkerReader, resolve_titles
from wellread.ask.write.prompts import CALL_LINE, Guard, GuardedText
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import Claim, Conflict, Evidence, Usage

_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")
_BOLD_HEADING = re.compile(r"\s*(?:\*\*[^*\n]+\*\*:?|__[^_\n]+__:?)\s*")
_NOT_PROSE = re.compile(r"\s*(?:`{3,}.*|~{3,}.*|(?:[-*_=]\s*){3,}|[|:\-\s]+)?", re.DOTALL)
_DIVIDER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_LINE_HEAD = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]")
_REACH = 1_000  # shown characters kept to detect repeated prompt text that began in them
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
        by: who wrote it; ``fallback``: why it was not the configured writer, else empty.
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
    """Parse a model's reply. If all of it is a JSON object, its ``answer`` is the text.

    Args:
        known_keys: the evidence keys in the prompt.
        guard: removes text that must not be shown; None trusts the reply.
        evidence: resolves markers by title, page, time or id.
    """
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
    named = "".join(f"[{citation}]" for citation in _strings(tail.get("citations")))
    if named and not any(claim.keys for claim in claims):
        _, cited, _ = reader.strip(resolve_titles(named, evidence))
        keys = tuple(dict.fromkeys(key for _, keys in cited for key in keys))
        claims = tuple(replace(claim, keys=keys) for claim in claims)

    def plain(value: object) -> tuple[str, ...]:
        """The strings without markers, which mean nothing to readers, and without withheld text."""
        lines = guard.lines(_strings(value)) if guard else _strings(value)
        return tuple(line for one in lines if (line := reader.strip(one)[0].strip()))

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
        inside = [(span, leads[number], list[str]()) for span in spans]
        # A line of markers alone cites the sentence above it.
        owners = inside or claims[-1:]
        if inside and not claims:
            inside[0][2].extend(early)
        first = owners[0][0].start if owners else 0
        prefixed = bool(here and owners) and (
            here[0][0] <= first and here[-1][0] < owners[-1][0].end
        )
        for place, keys in here:
            (_owner(owners, place, prefixed=prefixed) if owners else early).extend(keys)
        claims += inside
        begin += len(line) + 1
    return tuple(
        Claim(text=span.of(text), keys=tuple(dict.fromkeys(keys)), lead=lead)
        for span, lead, keys in claims
    )


def _owner(
    claims: Sequence[tuple[Span, str, list[str]]], place: int, *, prefixed: bool
) -> list[str]:
    """The keys of the claim that a marker ends or is inside of; of the next one if prefixed."""
    if prefixed:
        return next((keys for span, _, keys in claims if span.end > place), [])
    before = [keys for span, _, keys in claims if span.start < place]
    return before[-1] if before else next((keys for _, _, keys in claims), [])


def _leads(lines: Sequence[str]) -> Iterator[str]:
    """For each line its lead: the header of its table, or the line above its list."""
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
LONGEST_TAIL = 50_000

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
    """The object in ``section``; of a broken one the fields that can be read."""
    start = section.find("{")
    values, _ = load_object(section[start : start + LONGEST_TAIL]) if start >= 0 else (None, True)
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
    """Parse the JSON object at the start of ``text``; also return whether it is incomplete."""
    try:
        values, _ = json.JSONDecoder().raw_decode(text)
        return values, False
    except (ValueError, RecursionError):
        pass  # truncated or malformed: parsed in part below
    try:
        partial = from_json(text, allow_partial=True)
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
