"""Calls of tools as lines of text, and how what sources say is kept from becoming one.

``CALL: curl '/api/search?query=tide+tables'`` looks like a shell command to an address, and is
neither: the line is taken apart, its path is matched to a list of GET routes, and what is left is
the name of a tool with its arguments, which are checked as those of any other call (``tools.py``).
No shell and no network is anywhere near. Everything else is refused with a reason.

A model that looks for evidence reads sources, and a source may hold such a line, or "call the tool
search with …". Two walls, each enough by itself against a model that obeys:

- it is not shown. What looks like a call, orders a search, a tool or an address to be opened, or
  orders an answer (``ask/understand/planted_orders.py``) is left out of what the searching model
  sees. This costs nothing but a hint where to look: sections are written from whole passages;
- it is not run. What was left out is remembered. A call that repeats a line of it, or whose words
  stand in one such order and neither in the question nor in the plan nor in what the model was
  shown, is refused, and the model is told so. A name that a passage plainly mentions is free.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from wellread.ask.understand.planted_orders import planted_in
from wellread.research.tools import TAKEN, Asked
from wellread.text.english_followups import CALL_SYNTAX, ORDERS_TO_LOOK
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.text.words import visible
from wellread.types import Span

LONGEST_LINE = 2_000
MOST_FIELDS = 12
_LINE = re.compile(r"CALL:[ \t]*(.*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_FORM = "write CALL: curl '/api/…' with one address and nothing else"
_HOST = "only addresses on this machine that begin with /api/ are known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One address that may be called.

    Attributes:
        path: its parts; the one in braces is the argument of that name.
        tool: what it stands for.
        renamed: query parameters that the tool calls otherwise.
    """

    path: str
    tool: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    example: str = ""


ROUTES = (
    Route(path="/api/search", tool="search", example="?query=WORDS&limit=6"),
    Route(path="/api/search/speaker/{name}", tool="search_speaker", example="?query=WORDS"),
    Route(
        path="/api/search/date-range",
        tool="search_dates",
        example="?start=2024-01&end=2024-06&query=WORDS",
    ),
    Route(path="/api/documents/{document}/search", tool="search_document", example="?query=WORDS"),
    Route(path="/api/entities/{name}", tool="look_up_entity"),
    Route(path="/api/videos", tool="list_recordings", example="?limit=20"),
    Route(
        path="/api/videos/{document}/transcript",
        tool="read_transcript",
        renamed={"from": "start", "to": "end"},
        example="?speaker=NAME&from=1:30&to=4:00",
    ),
    Route(path="/api/segments/{passage}/context", tool="read_around", example="?before=2&after=2"),
    Route(
        path="/api/topics/{name}/timeline",
        tool="read_timeline",
        renamed={"from": "start", "to": "end"},
        example="?from=2024&to=2025",
    ),
)


def calls_in(reply: str) -> list[Asked]:
    """The lines of ``reply`` that begin with ``CALL:``, in order, each read or refused."""
    found = (_LINE.fullmatch(line.strip()) for line in reply.splitlines())
    return [read_line(line.group()) for line in found if line]


def read_line(line: str) -> Asked:
    """What one such line asks for; ``wrong`` says why it is not run."""
    try:
        name, arguments = _read(line)
    except ValueError as error:
        return Asked(name="", line=line, arguments={}, wrong=str(error))
    return Asked(name=name, line=line, arguments=arguments)


def _read(line: str) -> tuple[str, dict[str, str]]:
    """The tool and its arguments."""
    found = _LINE.fullmatch(line)
    if found is None or len(line) > LONGEST_LINE or _CONTROL.search(line):
        raise ValueError(_FORM)
    try:
        words = shlex.split(found[1])
    except ValueError as error:
        raise ValueError(f"the quotation marks do not match; {_FORM}") from error
    if len(words) != 2 or words[0] != "curl" or words[1].startswith("-"):
        raise ValueError(f"other commands, options and methods are refused; {_FORM}")
    return _target(words[1])


def _target(address: str) -> tuple[str, dict[str, str]]:
    if not address.startswith("/api/") or "\\" in address:
        raise ValueError(_HOST)
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or parts.fragment:
        raise ValueError(_HOST)
    steps = [_decoded(step) for step in parts.path.split("/")[1:]]
    if any(step in ("", ".", "..") or "/" in step or "\\" in step for step in steps):
        raise ValueError("the address has an empty step, .. or a slash inside a name")
    for route in ROUTES:
        arguments = _matched(route, steps)
        if arguments is not None:
            return route.tool, {**_query(route, parts.query, arguments), **arguments}
    raise ValueError(f"there is no such address; there are: {', '.join(r.path for r in ROUTES)}")


def _matched(route: Route, steps: list[str]) -> dict[str, str] | None:
    """The arguments in the path; None where it is another route's."""
    wanted = route.path.split("/")[1:]
    if len(wanted) != len(steps):
        return None
    arguments: dict[str, str] = {}
    for known, step in zip(wanted, steps, strict=True):
        if known.startswith("{"):
            arguments[known.strip("{}")] = step
        elif known != step:
            return None
    return arguments


def _query(route: Route, query: str, taken: Mapping[str, str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query,
            keep_blank_values=True,
            strict_parsing=bool(query),
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError as error:
        raise ValueError("what stands behind the ? cannot be read; write name=value&…") from error
    found: dict[str, str] = {}
    for key, value in pairs:
        name = route.renamed.get(key, key)
        if name in found or name in taken:
            raise ValueError(f"{key[:40]!r} is given twice")
        if _CONTROL.search(key + value):
            raise ValueError("a control character in the address")
        if value:
            found[name] = value
    return found


def _decoded(step: str) -> str:
    try:
        text = unquote(step, errors="strict")
    except ValueError as error:
        raise ValueError("the address is not UTF-8") from error
    if _CONTROL.search(text):
        raise ValueError("a control character in the address")
    return text.strip()


# --- orders in sources ---------------------------------------------------------------------------

LEFT_OUT = "(left out)"
LEAST_CODED = 0.9  # share of printable letters that makes decoded bytes a text

_TOOL_NAMES = "|".join(name for name in TAKEN if "_" in name)
_CALL_SYNTAX = re.compile(rf"{CALL_SYNTAX}|\b(?:{_TOOL_NAMES})\b", re.IGNORECASE)
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")  # a line that goes on; one for one with a space
_CODED = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")
_JOINTS = re.compile(r"[\u200c\u200d\u00ad\u034f\u180e\ufe00-\ufe0f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A text as the searching model is shown it, and what was left out of it, in order."""

    text: str
    removed: tuple[str, ...] = ()


def screened(text: str) -> Screened:
    """``text`` without calls and orders; letters that are hidden or in disguise are plain."""
    removed: list[str] = []
    seen = _JOINTS.sub("", unicodedata.normalize("NFKC", visible(text)))
    seen = _CODED.sub(lambda found: _uncoded(found.group(), removed), seen)
    seen = _without(seen, planted_in(seen), removed)
    shown = "\n".join(_without_calls(line, removed) for line in seen.split("\n"))
    shown = _without(shown, _orders_in(shown), removed)  # those that go on in the next line
    if _CALL_SYNTAX.search(" ".join(shown.split())):  # a call that is broken over lines
        removed.append(shown)
        shown = LEFT_OUT
    return Screened(text=shown, removed=tuple(removed))


def _without_calls(line: str, removed: list[str]) -> str:
    if _CALL_SYNTAX.search(line):
        removed.append(line)
        return LEFT_OUT
    return _without(line, _orders_in(line), removed)


def _orders_in(text: str) -> list[Span]:
    """The sentences that order a search, a call or an address to be opened."""
    return [
        span
        for span in sentence_spans(_WRAPPED.sub(" ", text))
        if any(order.search(" ".join(span.of(text).split())) for order in ORDERS_TO_LOOK)
    ]


def _without(text: str, spans: Sequence[Span], removed: list[str]) -> str:
    for span in reversed(spans):
        removed.append(span.of(text))
        text = f"{text[: span.start]}{LEFT_OUT}{text[span.end :]}"
    return text


def _uncoded(token: str, removed: list[str]) -> str:
    """The token; where it is a text in base64, that text counts as left out."""
    plain = token.rstrip("=").translate(_URL_SAFE)
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return token
    printable = sum(letter.isprintable() or letter.isspace() for letter in text)
    words = " " in text.strip() or _CALL_SYNTAX.search(text)
    if not (text and words and printable >= LEAST_CODED * len(text)):
        return token
    removed.append(text)
    return LEFT_OUT


class Watch:
    """Remembers what one run's model was shown and what was kept from it."""

    def __init__(self, free: Iterable[str]) -> None:
        """Begin with words that are ``free``: those of the question and of the plan."""
        self._free: set[str] = set()
        self._removed: list[frozenset[str]] = []
        self._lines: list[str] = []
        for text in free:
            self._free |= parse(text).stem_set

    def show(self, text: str) -> str:
        """``text`` as the model may see it."""
        found = screened(text)
        self._free |= parse(found.text).stem_set
        for piece in found.removed:
            self._removed.append(parse(piece).stem_set)
            self._lines.append(_squeezed(piece))
        return found.text

    def knows(self, text: str) -> bool:
        """Whether every word of ``text`` was asked, planned or shown."""
        return parse(text).stem_set <= self._free

    def copied(self, name: str, line: str, values: Iterable[str]) -> bool:
        """Whether a call does what a source orders.

        Args:
            name: of the tool.
            line: the call as it was written.
            values: the words among its arguments.
        """
        written, names = _squeezed(line), _names_of(name)
        if written and any(written in known for known in self._lines):
            return True
        wanted = [stems for value in values if (stems := parse(value).stem_set)]
        for known, stems in zip(self._lines, self._removed, strict=True):
            inside = all(one <= stems for one in wanted)
            if inside and any(tool in known for tool in names):
                return True
            if wanted and inside and not all(one <= self._free for one in wanted):
                return True
        return False


def _names_of(tool: str) -> list[str]:
    """What a tool is called in a call, where that is no plain word: its name, its address."""
    paths = [route.path.partition("{")[0] for route in ROUTES if route.tool == tool]
    return [_squeezed(one) for one in (tool, *paths) if "_" in one or "/" in one]


def _squeezed(text: str) -> str:
    """``text`` as it is compared: letters and digits alone."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())
