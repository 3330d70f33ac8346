"""Loads transcripts that meeting programs save as text or Word files.

Zoom writes ``[Name] 14:02:10`` over each turn, Otter and Teams ``Name  0:03``, an older Teams
``0:0:3.1 --> 0:0:9.4`` and the name below it; chats and other programs write ``0:03 Name: text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import date_in_name, parse_moment
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, one_line, title_from_name
from wellread.ingest.loaders.text.markdown_files import LABEL_WORDS, seconds
from wellread.types import Document

MIN_TURNS = 2
MAX_LINES_PER_TURN = 12  # on average; more, and the times belong to something else
MAX_NAME_WORDS = 6
MAX_HEAD_LINES = 40  # above the first turn

_TIME = r"\d{1,3}:\d{1,2}(?::\d{1,2})?(?:\.\d{1,7})?"
_NAME = r"[^\W\d_][^\d:\[\]<>|]{0,80}?(?:\s\d{1,2})?"  # also "Speaker 2"
_OPENINGS = (
    re.compile(rf"\[(?P<name>{_NAME})\]\s+(?P<time>{_TIME})\s*$"),
    re.compile(rf"(?P<name>{_NAME})(?:\s+|\s*[-–—•|]\s*)[(\[]?(?P<time>{_TIME})[)\]]?\s*:?\s*$"),
    re.compile(rf"[(\[]?(?P<time>{_TIME})[)\]]?\s*[-–—]?\s*(?P<name>{_NAME})\s*:\s*(?P<rest>.*)$"),
    re.compile(rf"(?P<name>{_NAME})\s*:?\s*[(\[](?P<time>{_TIME})[)\]]\s*:?\s+(?P<rest>.*)$"),
)
_RANGE = re.compile(rf"(?P<time>{_TIME})\s*-->\s*{_TIME}\s*$")
_STAMP = re.compile(r"(?<!\d)(20\d\d)(\d\d)(\d\d)(?:_\d{4,6})?(?!\d)")
_STAMPED_NAME = re.compile(r"[-_ ]+20\d{6}(?:_\d{4,6})?(?!\d).*$")
_DURATION = re.compile(r"(?:\d+\s*\w{1,4}\.?\s*){1,3}|[\d:]+")
_CREDIT = re.compile(r".*https?://otter\.ai\S*\s*$", re.IGNORECASE)


@dataclass(slots=True)
class _Turn:
    """One turn: who, from when (seconds), and its lines with their numbers."""

    speaker: str
    begin: float
    lines: list[tuple[int, str]] = field(default_factory=list)


def is_meeting(text: str) -> bool:
    """Whether plain text is a transcript with speakers and times."""
    return bool(_turns(text.split("\n"))[1])


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Load a transcript saved as text."""
    head, turns = _turns(decode(source).split("\n"))
    base = source.document(("-", ()), kind="transcript", title="", source_type="meeting")
    yield _transcript(base, source, head, turns, numbered=True)


def as_meeting(page: Document, source: Source) -> Document:
    """Return the transcript that a meeting program saved as ``page``; else the page itself."""
    head, turns = _turns(page.text.split("\n"))
    return _transcript(page, source, head, turns, numbered=False) if turns else page


def _transcript(
    page: Document, source: Source, head: Sequence[str], turns: Sequence[_Turn], *, numbered: bool
) -> Document:
    """Return ``page`` with the turns as its text, and title and date from the lines above."""
    blocks = Blocks()
    for turn in turns:
        blocks.turn(turn.speaker, turn.begin)
        for at, (number, line) in enumerate(turn.lines):
            blocks.block(line, number if numbered else None, "\n" if at else PARAGRAPH)
    text, marks = blocks.build()
    names = [line for line in head if not _date(line) and not _DURATION.fullmatch(line)]
    name = source.name.rpartition(".")[0]
    title = next(iter(names), "") if len(head) <= MAX_HEAD_LINES else ""
    return replace(
        page,
        kind="transcript",
        title=_STAMPED_NAME.sub("", one_line(title))
        or title_from_name(_STAMPED_NAME.sub("", name)),
        text=text,
        marks=marks,
        # The properties of the file are those of the template that the program fills.
        published_at=next(filter(None, map(_date, head)), None)
        or next(filter(None, map(_stamp, (*head, name))), None)
        or date_in_name(source.name),
        authors=(),
    )


def _turns(lines: Sequence[str]) -> tuple[list[str], list[_Turn]]:
    """Return the lines above the turns, and the turns; none if this is not a transcript."""
    head: list[str] = []
    turns: list[_Turn] = []
    below_time: float | None = None  # a time whose speaker stands on the next line
    for number, line in enumerate(map(one_line, lines), 1):
        opening = next((match for form in _OPENINGS if (match := form.match(line))), None)
        if not line or _CREDIT.match(line):
            continue
        if below_time is not None:
            turns.append(_Turn(line, below_time))
            below_time = None
        elif span := _RANGE.match(line):
            below_time = seconds(span["time"])
        elif opening and _may_be_name(opening["name"]):
            rest = opening.groupdict().get("rest")
            lines_said = [(number, rest)] if rest else []
            turns.append(_Turn(opening["name"].strip(), seconds(opening["time"]), lines_said))
        elif turns:
            turns[-1].lines.append((number, line))
        else:
            head.append(line)
    return (head, turns) if _is_transcript(head, turns) else (head, [])


def _may_be_name(name: str) -> bool:
    words = name.split()
    is_name = len(words) <= MAX_NAME_WORDS and not (name.isupper() or name[0].islower())
    return is_name and not any(word.lower() in LABEL_WORDS for word in words)


def _is_transcript(head: Sequence[str], turns: Sequence[_Turn]) -> bool:
    """Whether the turns are those of a talk: filled, in the order of time, by people who recur."""
    filled = [turn for turn in turns if turn.lines]
    names = {turn.speaker for turn in turns}
    lines = len(head) + sum(len(turn.lines) for turn in turns)
    in_order = all(before.begin <= after.begin for before, after in pairwise(turns))
    full_names = all(len(name.split()) > 1 and name.istitle() for name in names)
    return (
        len(filled) >= MIN_TURNS
        and len(filled) * 5 >= len(turns) * 4
        and lines <= MAX_LINES_PER_TURN * len(turns)
        and in_order
        and (len(names) < len(turns) or full_names)
    )


def _date(line: str) -> datetime | None:
    """Return the date that a line above the turns consists of, in any language; else None."""
    if len(line) > 80 or not any(map(str.isdigit, line)) or _DURATION.fullmatch(line):
        return None
    from dateparser import parse as read  # noqa: PLC0415 - slow to import

    options = {"STRICT_PARSING": True, "PARSERS": ["absolute-time"]}
    return parse_moment(read(re.split(r"\s+[•|·]\s+", line)[0], settings=options))


def _stamp(name: str) -> datetime | None:
    """Return the date in a name that a program gave, such as ``Talk-20260312_140210``."""
    found = _STAMP.search(name)
    return parse_moment("-".join(found.groups())) if found else None
