"""Places in files of lines: Markdown, plain text, reStructuredText, records."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.place_words import TIME_SLACK, Found, bare, beginning, strings
from wellread.types import Locator

_LIQUID = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_LINK_END = re.compile(r"\]\([^()\n]*\)|\]\s?\[[^\]\n]*\]")
_TAG = re.compile(r"<[^<>]*>")
_ATX = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_EMPHASISED = re.compile(r"([_*]{1,2})(?![_*\s])(.*[^_*\s])\1\s*$")
_STAMP = re.compile(r"(?<![\d:])(?:\d{1,2}:)?\d{1,2}:\d\d(?:\.\d+)?(?![\d:])")
_TURN = re.compile(r"(?:\*\*)?((?=[A-Z])[^\W\d_][^:*\[\]()]{0,60}?)(?:\*\*)?\s*:(?:\*\*)?(?:\s|$)")

_RST_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}$")


def in_markdown(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The quotation stands in the block of the line, under the heading, said by the speaker."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    number = _line_of(lines, quote, locator.line or 1)
    if number is None:
        return {"line": "not in the file"}
    found = {"heading": "", "line": ""}
    above = _TAG.sub(" ", _LINK_END.sub("", _heading_above(lines, number)))
    last = locator.heading[-1] if locator.heading else ""
    if bare(last) != bare(above) and not _front_matter_title(lines, last):
        found["heading"] = f"stands under {above!r}, the locator has {last!r}"
    if locator.speaker:
        speaker = _speaker_above(lines, number)
        same = bare(locator.speaker) == bare(speaker)
        found["speaker"] = "" if same else f"said by {speaker!r}, not {locator.speaker!r}"
    if locator.begin is not None:
        begin = _time_above(lines, number)
        same = begin is not None and abs(begin - locator.begin) <= TIME_SLACK
        found["minute"] = "" if same else f"said at {begin} s, not {locator.begin} s"
    if locator.line is None:
        return found | {"line": "no line"}
    between = lines[locator.line - 1 : number]
    if locator.line > number or any(not line.strip() for line in between):
        found["line"] = f"stands on line {number}, the locator has line {locator.line}"
    return found


def _time_above(lines: Sequence[str], number: int) -> float | None:
    """The last time stamp on the line or above it, in seconds."""
    for place in range(number, _front_matter_lines(lines), -1):
        stamps = _STAMP.findall(lines[place - 1])
        if stamps:
            seconds = 0.0
            for part in stamps[-1].split(":"):
                seconds = 60 * seconds + float(part)
            return seconds
    return None


def _front_matter_title(lines: Sequence[str], title: str) -> bool:
    return bool(title) and any(
        line.lower().startswith("title:") and bare(title) in bare(line) for line in lines[:30]
    )


def _line_of(lines: Sequence[str], quote: str, near: int) -> int | None:
    """The line (from 1) where the quotation begins; of several the one nearest to ``near``."""
    squashed, places = _squashed(lines)
    wanted = beginning(quote)
    starts = [match.start() for match in re.finditer(re.escape(wanted), squashed)]
    if not wanted or not starts:
        return None
    return min((places[start] for start in starts), key=lambda line: abs(line - near))


def _squashed(lines: Sequence[str]) -> tuple[str, list[int]]:
    """The file as bare letters without templates, link targets and tags, with their lines."""
    text = "\n".join(lines)
    for pattern in (_LIQUID, _LINK_END, _TAG):
        # White space in place of what goes, so that every character keeps its line.
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    letters: list[str] = []
    places: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        plain = bare(html.unescape(line))
        letters.append(plain)
        places += [number] * len(plain)
    return "".join(letters), places


def _heading_above(lines: Sequence[str], number: int) -> str:
    for place in range(number, _front_matter_lines(lines), -1):
        line = lines[place - 1]
        written = _ATX.match(line)
        if written:
            return written.group(1)
        underline = lines[place].strip() if place < len(lines) else ""
        if re.fullmatch(r"=+|-{3,}", underline) and line.strip() and place < number:
            return line.strip()
        alone = _EMPHASISED.match(line.strip())
        before = lines[place - 2].strip() if place >= 2 else ""
        if alone and not before and not underline:
            return alone.group(2)
    return ""


def _front_matter_lines(lines: Sequence[str]) -> int:
    """How many lines at the top are front matter, its fences among them."""
    if not lines or lines[0].strip() != "---":
        return 0
    closing = (number for number, line in enumerate(lines[1:], 2) if line.strip() == "---")
    return next(closing, 0)


def _speaker_above(lines: Sequence[str], number: int) -> str:
    for place in range(number, 0, -1):
        turn = _TURN.match(lines[place - 1])
        if turn:
            return turn.group(1)
    return ""


def in_text(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The quotation begins on the line."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if locator.line is None:
        return {"line": "no line"}
    number = _line_of(lines, quote, locator.line)
    if number is None:
        return {"line": "not in the file"}
    wrong = "" if number == locator.line else f"line {number}, the locator has {locator.line}"
    return {"line": wrong}


def in_rst(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The quotation begins on the line, under the nearest underlined words above it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    number = _line_of(lines, quote, locator.line or 1)
    if number is None:
        return {"line": "not in the file"}
    above = next(
        (
            lines[place - 1].strip()
            for place in range(number, 0, -1)
            if place < len(lines)
            and lines[place - 1].strip()
            and _RST_UNDERLINE.match(lines[place].strip())
            and not _RST_UNDERLINE.match(lines[place - 1].strip())
        ),
        "",
    )
    last = locator.heading[-1] if locator.heading else ""
    same = bare(above) == bare(last)
    return {
        "heading": "" if same else f"stands under {above!r}, the locator has {last!r}",
        "line": "" if number == locator.line else f"line {number}, the locator has {locator.line}",
    }


def in_records(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The line of the JSONL or CSV file holds the quotation."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if locator.line is None or not 1 <= locator.line <= len(lines):
        return {"line": f"no line {locator.line}"}
    line = lines[locator.line - 1]
    held = bare(" ".join(strings(json.loads(line))) if path.suffix == ".jsonl" else line)
    return {"line": "" if bare(quote) in held else f"line {locator.line} does not hold it"}
