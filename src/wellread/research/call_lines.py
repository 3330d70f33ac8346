"""Parses tool calls written as text lines, and keeps source text from injecting such calls.

``CALL: curl '/api/search?query=tide+tables'`` looks like a shell command but is never executed: the
line is parsed, and its path is matched against a list of GET routes, which gives the name of a tool
with its arguments. They are checked as for any other call (``tools.py``). No shell and no network
is involved. Everything else is refused with a reason.

A model that searches for evidence reads sources, and a source may contain such a line, or "call the
tool search with …". Two defences, each sufficient against an obedient model:

- Hiding: text that looks like a call, instructs to search, use a tool or open an address, or
  dictates an answer (``ask/understand/planted_orders.py``) is removed from what the searching model
  sees. Only search hints are lost: sections are written from the whole passages.
- Refusal: removed text is remembered. A call that repeats a line of it, or whose words occur in one
  such instruction but not in the question, the plan or the text shown, is refused with a message to
  the model. Names that passages mention openly are allowed.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from wellread.ask.understand.planted_orders import find_prompt_injection
from wellread.research.tools import ARGUMENT_TYPES, RequestedCall
from wellread.text.characters import visible
from wellread.text.english import CALL_SYNTAX, ORDERS_TO_LOOK
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span

MAX_LINE_CHARS = 2_000
MAX_FIELDS = 12
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_EXPECTED_FORM = "write CALL: curl '/api/…' with exactly one address"
_LOCAL_ONLY = "only local addresses that start with /api/ are supported"


# Addresses with an example query, and the tool that each one calls. A part in braces is the
# tool's argument of that name.
ROUTES = {
    "/api/search?query=WORDS&limit=6": "search",
    "/api/search/speaker/{name}?query=WORDS": "search_speaker",
    "/api/search/date-range?start=2024-01&end=2024-06&query=WORDS": "search_dates",
    "/api/documents/{document}/search?query=WORDS": "search_document",
    "/api/entities/{name}": "look_up_entity",
    "/api/videos?limit=20": "list_recordings",
    "/api/videos/{document}/transcript?speaker=NAME&from=1:30&to=4:00": "read_transcript",
    "/api/segments/{passage}/context?before=2&after=2": "read_around",
    "/api/topics/{name}/timeline?from=2024&to=2025": "read_timeline",
}
PATHS = {address.partition("?")[0]: tool for address, tool in ROUTES.items()}
RENAMED = {"from": "start", "to": "end"}  # query parameters with another name in the tools


def calls_in(reply: str) -> list[RequestedCall]:
    """Return the lines of ``reply`` that start with ``CALL:``, in order, each parsed or refused."""
    lines = map(str.strip, reply.splitlines())
    return [read_line(line) for line in lines if line.startswith("CALL:")]


def read_line(line: str) -> RequestedCall:
    """Parse a call line; ``wrong`` gives the reason if it is refused."""
    try:
        name, arguments = _parse_line(line)
    except ValueError as error:
        return RequestedCall(name="", line=line, arguments={}, wrong=str(error))
    return RequestedCall(name=name, line=line, arguments=arguments)


def _parse_line(line: str) -> tuple[str, dict[str, str]]:
    if not line.startswith("CALL:") or len(line) > MAX_LINE_CHARS or _CONTROL.search(line):
        raise ValueError(_EXPECTED_FORM)
    try:
        words = shlex.split(line.removeprefix("CALL:"))
    except ValueError as error:
        raise ValueError(f"the quotation marks do not match; {_EXPECTED_FORM}") from error
    if len(words) != 2 or words[0] != "curl" or words[1].startswith("-"):
        raise ValueError(f"other commands, options and methods are refused; {_EXPECTED_FORM}")
    return _parse_address(words[1])


def _parse_address(address: str) -> tuple[str, dict[str, str]]:
    if not address.startswith("/api/") or "\\" in address:
        raise ValueError(_LOCAL_ONLY)
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or parts.fragment:
        raise ValueError(_LOCAL_ONLY)
    steps = [_decode_step(step) for step in parts.path.split("/")[1:]]
    if any(step in ("", ".", "..") or "/" in step or "\\" in step for step in steps):
        raise ValueError("the address has an empty part, .. or a slash inside a name")
    for path, tool in PATHS.items():
        pattern = path.split("/")[1:]
        named = {part: step for part, step in zip(pattern, steps, strict=False) if part != step}
        if len(pattern) == len(steps) and all(part.startswith("{") for part in named):
            arguments = {part.strip("{}"): step for part, step in named.items()}
            return tool, _query_arguments(parts.query, arguments)
    raise ValueError(f"unknown address; the known ones are: {', '.join(PATHS)}")


def _query_arguments(query: str, path_values: Mapping[str, str]) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query,
            keep_blank_values=True,
            strict_parsing=bool(query),
            max_num_fields=MAX_FIELDS,
            errors="strict",
        )
    except ValueError as error:
        raise ValueError("the text after the ? cannot be parsed; write name=value&…") from error
    values = dict(path_values)
    for key, value in pairs:
        name = RENAMED.get(key, key)
        if name in values:
            raise ValueError(f"{key[:40]!r} occurs twice")
        if _CONTROL.search(key + value):
            raise ValueError("the address contains a control character")
        if value:
            values[name] = value
    return values


def _decode_step(step: str) -> str:
    try:
        text = unquote(step, errors="strict")
    except ValueError as error:
        raise ValueError("the address is not UTF-8") from error
    if _CONTROL.search(text):
        raise ValueError("the address contains a control character")
    return text.strip()


# --- prompt injection in sources -----------------------------------------------------------------

REMOVED_TEXT = "(left out)"
MIN_PRINTABLE_SHARE = 0.9  # share of printable characters from which decoded bytes count as text

_TOOL_NAMES = "|".join(name for name in ARGUMENT_TYPES if "_" in name)
_CALL_SYNTAX = re.compile(rf"{CALL_SYNTAX}|\b(?:{_TOOL_NAMES})\b", re.IGNORECASE)
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")  # replaced by a space, which keeps positions
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")
_INVISIBLE = re.compile(r"[\u200c\u200d\u00ad\u034f\u180e\ufe00-\ufe0f]")


def screen(text: str) -> tuple[str, list[str]]:
    """Return the text without calls and instructions, and the removed parts.

    Hidden letters are made visible first.
    """
    removed: list[str] = []
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", visible(text)))
    plain = _BASE64.sub(lambda match: _hide_encoded(match.group(), removed), plain)
    plain = _remove_spans(plain, find_prompt_injection(plain), removed)
    shown = "\n".join(_without_calls(line, removed) for line in plain.split("\n"))
    shown = _remove_spans(shown, _instructions_in(shown), removed)  # across line breaks
    if _CALL_SYNTAX.search(" ".join(shown.split())):  # a call split over several lines
        removed.append(shown)
        shown = REMOVED_TEXT
    return shown, removed


def _without_calls(line: str, removed: list[str]) -> str:
    if _CALL_SYNTAX.search(line):
        removed.append(line)
        return REMOVED_TEXT
    return _remove_spans(line, _instructions_in(line), removed)


def _instructions_in(text: str) -> list[Span]:
    return [
        span
        for span in sentence_spans(_WRAPPED.sub(" ", text))
        if any(order.search(" ".join(span.of(text).split())) for order in ORDERS_TO_LOOK)
    ]


def _remove_spans(text: str, spans: Sequence[Span], removed: list[str]) -> str:
    for span in reversed(spans):
        removed.append(span.of(text))
        text = f"{text[: span.start]}{REMOVED_TEXT}{text[span.end :]}"
    return text


def _hide_encoded(token: str, removed: list[str]) -> str:
    """Return the token, or a placeholder if it is text in base64, which then counts as removed."""
    plain = token.rstrip("=").translate(_URL_SAFE)
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return token
    printable = sum(letter.isprintable() or letter.isspace() for letter in text)
    looks_like_text = " " in text.strip() or _CALL_SYNTAX.search(text)
    if not (text and looks_like_text and printable >= MIN_PRINTABLE_SHARE * len(text)):
        return token
    removed.append(text)
    return REMOVED_TEXT


class Watch:
    """Remembers which source text a run's model was shown and which was removed."""

    def __init__(self, free: Iterable[str]) -> None:
        """Start with texts whose words are allowed in calls: the question and the plan."""
        self._free = {stem for text in free for stem in parse(text).stem_set}
        self._removed: list[tuple[str, frozenset[str]]] = []

    def show(self, text: str) -> str:
        """Return ``text`` as the model may see it, and remember what was removed."""
        shown, removed = screen(text)
        self._free |= parse(shown).stem_set
        self._removed += [(_normalized(piece), parse(piece).stem_set) for piece in removed]
        return shown

    def knows(self, text: str) -> bool:
        """Whether every word of ``text`` was in the question, the plan or the text shown."""
        return parse(text).stem_set <= self._free

    def copied(self, name: str, line: str, values: Iterable[str]) -> bool:
        """Whether a call follows an instruction in a source.

        Args:
            name: the name of the tool.
            line: the call as it was written.
            values: the free-text arguments.
        """
        written, names = _normalized(line), _names_of(name)
        value_stems = [stems for value in values if (stems := parse(value).stem_set)]
        allowed = all(stems <= self._free for stems in value_stems)
        for instruction, stems in self._removed:
            if written and written in instruction:
                return True
            repeats_it = all(words <= stems for words in value_stems)
            named = any(tool in instruction for tool in names)
            if repeats_it and (named or not allowed):
                return True
        return False


def _names_of(tool: str) -> list[str]:
    """Return the distinctive names of a tool in a call: its name with underscores, its address."""
    paths = [path.partition("{")[0] for path, called in PATHS.items() if called == tool]
    return [_normalized(name) for name in (tool, *paths) if "_" in name or "/" in name]


def _normalized(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
