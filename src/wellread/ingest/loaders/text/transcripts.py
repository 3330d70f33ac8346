"""Captions: WebVTT, SRT and SBV, with times and, where the file names them, speakers.

The cues of one turn are joined into a paragraph; each keeps its time as a mark. The parser of
webvtt-py skips what it cannot read, so every timing line is checked here first.
"""

from __future__ import annotations

import html
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from webvtt import WebVTT
from webvtt.errors import MalformedCaptionError, MalformedFileError

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import (
    date_in_name,
    moment,
    refuse_readers,
    strings,
    web_address,
)
from wellread.ingest.loaders.html.html_blocks import without_scripts
from wellread.ingest.loaders.plain import PARAGRAPH, decode, title_from_name
from wellread.ingest.loaders.text.markdown_transcripts import LABEL_WORDS, seconds
from wellread.types import Document

LONG_PAUSE = 4.0  # seconds without speech after which a new paragraph begins
PARAGRAPH_CUES = 10  # where no speaker is named, a paragraph ends at a sentence after so many
ROLLING_SHARE = 0.3  # of neighbouring cues that repeat a line: captions that scroll up

Form = Literal["vtt", "srt", "sbv"]

_TIMINGS: Mapping[Form, re.Pattern[str]] = {
    "vtt": re.compile(
        r"\s*(?:\d+:)?\d{1,2}:\d{2}\.\d{3}\s*-->\s*(?:\d+:)?\d{1,2}:\d{2}\.\d{3}(?:\s|$)"
    ),
    "srt": re.compile(
        r"\s*\d+:\d{1,2}:\d{2}([,.])\d{1,3}\s*-->\s*\d+:\d{1,2}:\d{2}\1\d{1,3}(?:\s|$)"
    ),
    "sbv": re.compile(r"\d+:\d{2}:\d{2}\.\d{1,3},\d+:\d{2}:\d{2}\.\d{1,3}\s*$"),
}
_SBV_TIMING_LIKE = re.compile(r"\d+:\d{2}:[^\s,]+,\d+:\d{2}:\S+\s*$")
_HEADER = re.compile(r"(?:NOTE\s+)?(?P<name>[A-Za-z_ ]{2,20}?)\s*:\s*(?P<value>.+)$")
_VOICE = re.compile(r"<v(?:\.[\w.-]+)*[ \t]+([^<>\n]{1,120})>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>|<\d[\d:.]*>")
_PREFIX = re.compile(r"(?:>>+|-)?\s*(?P<name>[^\W\d_][\w.'’ -]{0,40}?)\s*:\s+(?=\S)")
_CHANGE = re.compile(r">>+\s*")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One stretch of speech. ``fresh``: the file marks a change of speaker here."""

    begin: float
    finish: float
    lines: tuple[str, ...]
    speaker: str | None = None
    fresh: bool = False

    @property
    def text(self) -> str:
        """The words in one line."""
        return " ".join(" ".join(self.lines).split())


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One transcript; title, date, url and language from ``NOTE name: value`` lines."""
    text = decode(source)
    form = _form(source.name, text)
    _check(source.uri, form, text.split("\n"))
    cues = _read(source.uri, form, text)
    if not cues:
        raise EmptyError(source.uri, "no text: the file has no captions")
    built = write_cues(_with_speakers(_without_repeats(cues)))
    if not built[0].strip():
        raise EmptyError(source.uri, "no text: every caption is empty")
    facts = _facts(text) if form == "vtt" else {}
    refuse_readers(facts, source.uri)
    yield source.document(
        built,
        kind="transcript",
        title=facts.get("title") or title_from_name(source.name),
        source_type=form,
        language=facts.get("language", "").lower(),
        authors=strings([name.strip() for name in facts.get("author", "").split(",")]),
        published_at=moment(facts.get("date", "").replace("/", "-")) or date_in_name(source.name),
        media_url=web_address(facts.get("url", "")),
    )


def _form(name: str, text: str) -> Form:
    if text.startswith("WEBVTT") or name.lower().endswith(".vtt"):
        return "vtt"
    return "sbv" if name.lower().endswith(".sbv") else "srt"


def _check(uri: str, form: Form, lines: Sequence[str]) -> None:
    """Refuse a malformed timing line, or one that stands where speech should be."""
    if form == "vtt" and not lines[0].startswith("WEBVTT"):
        raise SourceError(uri, "not WebVTT: the first line is not WEBVTT")
    pattern, seen, before = _TIMINGS[form], False, False
    for number, line in enumerate(lines, 1):
        timing = bool(_SBV_TIMING_LIKE.match(line)) if form == "sbv" else "-->" in line
        if timing and not pattern.match(line):
            raise SourceError(uri, f"malformed time on line {number}: {line.strip()[:60]}")
        if timing and before:
            raise SourceError(uri, f"malformed cue: a second time follows on line {number}")
        before = timing
        seen = seen or timing
    if form != "vtt" and not seen:
        raise SourceError(uri, f"not {form.upper()}: no line with times")


def _read(uri: str, form: Form, text: str) -> list[Cue]:
    # A paragraph of blank lines in front of an SRT file is common, and refused by the parser.
    buffer = io.StringIO(text if form == "vtt" else text.strip())
    try:
        captions = WebVTT.from_buffer(buffer, format=form).captions
    except (MalformedFileError, MalformedCaptionError) as error:
        raise SourceError(uri, f"not {form.upper()}: {error}") from error
    found: list[Cue] = []
    for caption in captions:
        begin, finish = seconds(caption.start), seconds(caption.end)
        found += _voices(without_scripts(caption.raw_text), begin, max(begin, finish))
    return found


def _voices(raw: str, begin: float, finish: float) -> Iterator[Cue]:
    """The parts of one caption, by voice tag; without any, the whole of it."""
    pieces = _VOICE.split(raw)  # text, name, text, name, text ...
    speakers = [None, *pieces[1::2]]
    for speaker, piece in zip(speakers, pieces[::2], strict=True):
        lines = (html.unescape(_TAG.sub("", line)).strip() for line in piece.split("\n"))
        kept = tuple(line for line in lines if line)
        if kept:
            name = " ".join(html.unescape(speaker).split()) if speaker else None
            yield Cue(begin=begin, finish=finish, lines=kept, speaker=name, fresh=bool(name))


def _facts(text: str) -> dict[str, str]:
    """``Name: value`` lines of the header and of the notes in front of the first cue."""
    head = text.partition("-->")[0]
    found = [_HEADER.match(line.strip()) for line in head.split("\n")[1:]]
    # The first of a name counts.
    return {one["name"].lower().strip(): one["value"].strip() for one in found[::-1] if one}


def _without_repeats(cues: list[Cue]) -> list[Cue]:
    """Drop what scrolling captions show a second time; other captions stay as they are."""
    shared = [_overlap(a.lines, b.lines) for a, b in pairwise(cues)]
    repeats = sum(overlap > 0 for overlap in shared)
    if repeats < 2 or repeats < ROLLING_SHARE * len(shared):
        return cues
    return [
        replace(cue, lines=cue.lines[overlap:])
        for overlap, cue in zip([0, *shared], cues, strict=True)
        if overlap < len(cue.lines)
    ]


def _overlap(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """How many first lines of ``after`` are the last lines of ``before``."""
    longest = min(len(before), len(after))
    return next((n for n in range(longest, 0, -1) if before[-n:] == after[:n]), 0)


def _with_speakers(cues: list[Cue]) -> list[Cue]:
    """Take speakers from ``Name: `` prefixes where no voice tags name them."""
    if any(cue.speaker for cue in cues):
        return cues
    prefixes = [_PREFIX.match(cue.text) for cue in cues]
    counts = Counter(match["name"] for match in prefixes if match)
    names = {name for name, count in counts.items() if _is_speaker(name, count)}
    found: list[Cue] = []
    current: str | None = None
    for cue, match in zip(cues, prefixes, strict=True):
        text, fresh = cue.text, False
        if match and match["name"] in names:
            current, text, fresh = match["name"], text[match.end() :], True
        elif change := _CHANGE.match(text):
            current, text, fresh = None, text[change.end() :], True
        found.append(replace(cue, lines=(text,), speaker=_cased(current), fresh=fresh))
    return found


def _is_speaker(name: str, count: int) -> bool:
    words = name.split()
    if len(words) > 4 or any(word.lower() in LABEL_WORDS for word in words):
        return False
    capitals = sum(word[0].isupper() for word in words)
    return capitals == len(words) and (count > 1 or len(words) > 1)


def _cased(name: str | None) -> str | None:
    """Broadcast captions shout names; ``JANE DOE`` becomes ``Jane Doe``."""
    return name.title() if name and name.isupper() and len(name) > 3 else name


def write_cues(cues: Sequence[Cue]) -> Built:
    """The text of all cues and its marks: turns, and what long pauses part, are paragraphs."""
    builder = TextBuilder()
    before: Cue | None = None
    run = 0  # cues in the open paragraph
    for cue in cues:
        if not cue.text:
            continue
        turn = before is None or cue.speaker != before.speaker or (cue.fresh and not cue.speaker)
        apart = turn
        if before is not None:
            pause = cue.begin - before.finish > LONG_PAUSE
            full = run >= PARAGRAPH_CUES and SENTENCE_END.search(before.text)
            apart = turn or pause or bool(full and cue.speaker is None)
            builder.add(PARAGRAPH if apart else " ")
        if turn:
            builder.speaker(cue.speaker)
        builder.time(cue.begin, cue.finish)
        builder.add(cue.text)
        run = 1 if apart else run + 1
        before = cue
    return builder.build()
