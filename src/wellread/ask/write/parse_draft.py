"""A model's reply read into text, claims and tail, whatever shape it has.

Nothing here raises: a reply is a model's, so every text is a reply.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

from pydantic_core import from_json

from wellread.ask.write.markers import HALF_MARKER, Marker, MarkerReader, keyed_by_title
from wellread.ask.write.prompts import CALL_LINE, Guard, Shown
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answers import Claim, Evidence

_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")
_BOLD_HEADING = re.compile(r"\s*(?:\*\*[^*\n]+\*\*:?|__[^_\n]+__:?)\s*")
_NOT_PROSE = re.compile(r"\s*(?:`{3,}.*|~{3,}.*|(?:[-*_=]\s*){3,}|[|:\-\s]+)?", re.DOTALL)
_DIVIDER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_LINE_HEAD = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?"
)
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣▪]|\d{1,3}[.)])[ \t]")
_REACH = 1_000  # characters of what was shown, that a run of the prompt's words may begin in
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_`]*\s|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A reply taken apart.

    Attributes:
        claims: the sentences, in order, each with the keys cited for it; every claim's text
            stands in ``text`` after the one before it. Headings are no claims; a row of a table is
            one.
        text: the Markdown before the tail, without citation markers.
        tail: what the model says about its answer; ``None`` when it says nothing readable.
        unknown_keys: how many evidence keys it cites that do not exist.
        withheld: how many sentences and lines must not be shown; they are already removed.
    """

    claims: tuple[Claim, ...]
    text: str
    tail: Tail | None
    unknown_keys: int
    withheld: int = 0


def parse_draft(
    reply: str,
    known_keys: Collection[str],
    guard: Guard | None = None,
    *,
    evidence: Sequence[Evidence] = (),
) -> Draft:
    """Read a model's reply; one that is an object as a whole is read as its ``answer``.

    Args:
        known_keys: the evidence keys that it was given.
        guard: takes out what must not be shown; None trusts the reply.
        evidence: what markers by title, page, time or id stand for.
    """
    reply = reply.replace("\r\n", "\n")
    place, state = find_tail(reply)
    tail = read_tail(reply[place:]) if state == "tail" else None
    reader = MarkerReader(known_keys)
    said = reply[:place].strip() or (tail.answer if tail else "")
    body, references = reader.without_references(said)
    shown = guard.shown(body) if guard else Shown(text=body)
    by_title = keyed_by_title(evidence)
    stripped = reader.strip(by_title(shown.text.strip()))
    claims = _claims(stripped.text, stripped.markers)
    if tail and tail.citations and not any(claim.keys for claim in claims):
        cited = reader.strip(by_title("".join(f"[{one}]" for one in tail.citations)))
        keys = tuple(dict.fromkeys(key for marker in cited.markers for key in marker.keys))
        claims = tuple(replace(claim, keys=keys) for claim in claims)
    # A tail's strings are shown to readers, to whom a key says nothing.
    return Draft(
        claims=claims,
        text=stripped.text,
        tail=_for_readers(tail, reader, guard) if tail else None,
        unknown_keys=stripped.unknown_keys + reader.strip(references).unknown_keys,
        withheld=shown.withheld,
    )


class VisibleStream:
    """What of a streamed reply a reader is shown: the text before the tail, markers as they are.

    Held back until it is clear what they become: a beginning tail, a half-finished marker, white
    space at the end. The shown pieces together are the same however the reply was cut.
    With a guard whole sentences are shown, without what it takes out.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self._waiting = self._before = ""
        self._text = ""
        self._shown = 0
        self._ended = False

    def feed(self, delta: str) -> str:
        """The next piece to show, now that ``delta`` has come; often empty."""
        self._text += delta
        return self._guarded(self._advance(final=False), final=False)

    def finish(self) -> str:
        """What is left to show at the reply's end."""
        return self._guarded(self._advance(final=True), final=True)

    def _guarded(self, piece: str, *, final: bool) -> str:
        if self._guard is None:
            return piece
        self._waiting += piece
        ready: list[str] = []
        while self._waiting:
            border = _LINE_END if CALL_LINE.match(self._waiting) else _SENTENCE_END
            found = border.search(self._waiting)
            if found is None and not final:
                break
            end = found.end() if found else len(self._waiting)
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


def _for_readers(tail: Tail, reader: MarkerReader, guard: Guard | None) -> Tail:
    """The tail's strings without markers, and without what must not be shown."""

    def plain(lines: Iterable[str]) -> tuple[str, ...]:
        allowed = guard.lines(lines) if guard else lines
        stripped = (reader.strip(line).text.strip() for line in allowed)
        return tuple(line for line in stripped if line)

    return replace(
        tail,
        answer="",
        data_gaps=plain(tail.data_gaps),
        conflicts=plain(tail.conflicts),
        relevance={key: said for key, text in tail.relevance.items() for said in plain([text])},
    )


def _claims(text: str, markers: Sequence[Marker]) -> tuple[Claim, ...]:
    """The sentences of ``text`` with the keys of the markers that belong to them."""
    lines = _sentences_by_line(text, markers)
    leads = dict(zip((line.start for line, _ in lines), _leads(text.split("\n")), strict=True))
    spans = [span for _, sentences in lines for span in sentences]
    keys: dict[int, list[str]] = {span.start: [] for span in spans}
    lead = {span.start: leads[line.start] for line, found in lines for span in found}
    for line, sentences in lines:
        here = [marker for marker in markers if line.start <= marker.place <= line.end]
        if not sentences:
            # A line of markers alone cites what stands above it.
            before = [span for span in spans if span.start < line.start]
            sentences = before[-1:] or spans[:1]
        prefixed = _is_prefixed(sentences, here)
        for marker in here:
            owner = _owner(sentences, marker.place, prefixed=prefixed)
            if owner is not None:
                keys[owner.start] += marker.keys
    return tuple(
        Claim(
            text=span.of(text),
            keys=tuple(dict.fromkeys(keys[span.start])),
            lead=lead[span.start],
        )
        for span in spans
    )


def _leads(lines: Sequence[str]) -> Iterator[str]:
    """For each line what it is read with: the head of its table, the line above its list."""
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


def _sentences_by_line(text: str, markers: Sequence[Marker]) -> list[tuple[Span, list[Span]]]:
    """Every line with the spans of its claims."""
    found: list[tuple[Span, list[Span]]] = []
    lines = text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        span = Span(start=start, end=start + len(line))
        places = [marker.place for marker in markers if span.start <= marker.place <= span.end]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        found.append((span, _sentences(line, start, places, following)))
        start += len(line) + 1
    return found


def _sentences(line: str, offset: int, places: Sequence[int], following: str) -> list[Span]:
    """The spans of a line's claims, in the text's offsets; ``places`` are its markers'."""
    if _HEADING.match(line) or _NOT_PROSE.fullmatch(line):
        return []
    if _BOLD_HEADING.fullmatch(line) and not places:
        return []
    if line.lstrip().startswith("|"):
        if "-" in following and _DIVIDER.fullmatch(following):
            return []  # the table's head
        begin = len(line) - len(line.lstrip(" \t|"))
        spans = [Span(start=begin, end=max(begin, len(line.rstrip(" \t|"))))]
    else:
        head = _LINE_HEAD.match(line)
        begin = head.end() if head else 0
        # A marker at a full stop ends a sentence, also where the breaker saw an abbreviation or
        # goes on in lower case.
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


def _is_prefixed(sentences: Sequence[Span], markers: Sequence[Marker]) -> bool:
    """Whether the line's markers stand in front of the sentences they belong to."""
    if not sentences or not markers:
        return False
    return markers[0].place <= sentences[0].start and markers[-1].place < sentences[-1].end


def _owner(sentences: Sequence[Span], place: int, *, prefixed: bool) -> Span | None:
    """The sentence that a marker belongs to: the one it ends or stands in."""
    if prefixed:
        return next((span for span in sentences if span.end > place), None)
    before = [span for span in sentences if span.start < place]
    return before[-1] if before else next(iter(sentences), None)


# --- the machine-readable tail: a line of dashes, then one JSON object ---------------------------
# Models leave the dashes out, wrap the object in a code fence, or are cut off in the middle; all of
# that is read. Dashes alone are a rule between paragraphs: a tail begins where an object follows.

FIELDS = ("answered", "confidence", "data_gaps", "conflicts", "relevance", "answer")
Answered = Literal["yes", "partly", "no"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What the model says about its answer. Fields that it left out are empty.

    Attributes:
        answered: whether the evidence answers the question.
        confidence: its own claim, 0-1.
        relevance: why a source matters, by its key.
        answer: the text, where all of the reply is one object.
        citations: keys or titles that such an object cites for all of its text.
    """

    answered: Answered | None = None
    confidence: float | None = None
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    relevance: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    citations: tuple[str, ...] = ()


def find_tail(
    text: str, start: int = 0, *, final: bool = True
) -> tuple[int, Literal["tail", "maybe", "none"]]:
    """Where the tail begins, looking from ``start`` on.

    ``maybe``: what stands there may become a tail once more text has come; never when ``final``.
    ``none`` comes with the text's length.
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


def read_tail(section: str) -> Tail | None:
    """The tail in ``section``; of a broken object the fields that can be read."""
    start = section.find("{")
    values, _ = load_object(section[start : start + LONGEST_TAIL]) if start >= 0 else (None, True)
    if values is None:
        return None
    answer = values.get("answer")
    said = str(values.get("answered", "")).strip().casefold()
    answered = next((one for one in get_args(Answered) if one == said), None)
    return Tail(
        answered=answered,
        confidence=_share(values.get("confidence")),
        answer=answer.strip() if isinstance(answer, str) else "",
        citations=_strings(values.get("citations")),
        data_gaps=_strings(values.get("data_gaps")),
        conflicts=_strings(values.get("conflicts")),
        relevance=_by_key(values.get("relevance")),
    )


def _may_become_tail(rest: str) -> bool:
    """Whether ``rest``, which reaches to the end of the text so far, is the start of a tail."""
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
    """The object at the beginning of ``text``, whole or as far as it goes."""
    try:
        values, _ = json.JSONDecoder().raw_decode(text)
        return values, False
    except (ValueError, RecursionError):
        pass  # cut off or malformed: what can be read of it is read below
    try:
        partial = from_json(text, allow_partial=True)
    except ValueError:
        return None, True
    return (partial, True) if isinstance(partial, dict) else (None, True)


def _share(value: object) -> float | None:
    """A number from 0 to 1, also out of ``"0.8"``, ``80`` and ``"80 %"``."""
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


def _by_key(value: object) -> dict[str, str]:
    """The strings of an object, by their names."""
    said = value.items() if isinstance(value, dict) else ()
    found = {str(key).strip("[] "): "".join(_strings(text)[:1]) for key, text in said}
    return {key: text for key, text in found.items() if text}


def _strings(value: object) -> tuple[str, ...]:
    """The strings of a list; one string stands for a list of one."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    lines = (" ".join(item.split()) for item in items if isinstance(item, str))
    return tuple(line for line in lines if line)
