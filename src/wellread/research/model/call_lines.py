"""Calls of tools as lines of text, for models that take no tools.

``CALL: curl '/api/search?query=tide+tables'`` looks like a shell command to an address, and is
neither: the line is taken apart, its path is matched to a list of GET routes, and what is left is
the name of a tool with its arguments, which are checked as those of any other call
(``tool_arguments.py``). No shell and no network is anywhere near. Everything else is refused with
a reason that the model is told.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from wellread.research.model.tool_arguments import Asked

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
    """The tool and its arguments.

    Raises:
        ValueError: it is no such line; the message says what to write instead.
    """
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
