"""Transcripts in Markdown: turns that open with a speaker's name, with or without a time.

Turns are told by their first line: ``**Name**: text``, ``**Name:** 00:12:14``, ``Name: [12:14]``,
``[00:12:14] Name: text``, and ``Name:`` alone where the name is known from other turns or from
the front matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import FrontMatter, split, taxonomy_of
from wellread.ingest.loaders.plain import Blocks, decode
from wellread.ingest.loaders.text import markdown_pages as markdown
from wellread.ingest.loaders.text.markdown_pages import strip_templates
from wellread.types import Document

MINIMUM_TURNS = 3
MINIMUM_SHARE = 0.25  # of the blocks of text, those that open a turn
MINIMUM_RETURNS = 2.0  # turns of a speaker, on average, where no times tell a transcript
SECTION_LEVEL = 5  # of a line that is all emphasis: below every written heading

# Words of labels that look like a speaker in bold ("**Note**: ...").
LABEL_WORDS = frozenset(
    "note notes warning tip important example examples default defaults type types value values "
    "parameter parameters returns return raises usage see description summary question answer "
    "problem solution context result results step steps input output name date title url link "
    "source status version requirements prerequisites goal purpose pros cons caution info hint "
    "definition background conclusion discussion abstract figure table http https".split()
)

_TRANSCRIPT_KINDS = frozenset({"transcript", "podcast", "interview", "meeting"})
_PLAIN_NAME = r"[^\W\d_][^\n:*\[\]()#|<>`]{0,60}?"
_NAME = rf"(?P<name>{_PLAIN_NAME})"
# A role may follow in brackets: "**Jo Bell (Minister of Ports)**: text".
_TITLED = rf"(?P<name>{_PLAIN_NAME}(?:\s*\((?!\d)[^\n:*()\[\]<>`]{{1,120}}\))?)"
_STAMP = r"[\[(]?(?P<stamp>(?:\d{1,2}:)?\d{1,3}:\d{2}(?:\.\d{1,3})?)[\])]?"
_TURNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\*\*{_TITLED}\s*(?::\*\*|\*\*\s*:)\s*{_STAMP}\s*(?P<rest>.*)$",
        rf"\*\*{_TITLED}\*\*\s*{_STAMP}\s*:?\s*(?P<rest>.*)$",
        rf"(?:\*\*)?{_STAMP}(?:\*\*)?\s*[-–—]?\s*(?:\*\*)?{_NAME}(?::\*\*|\*\*\s*:|:)\s*(?P<rest>.*)$",
        rf"{_TITLED}(?!(?<=\s\d\d):\d)\s*:\s*{_STAMP}\s*(?P<rest>.*)$",
        rf"{_NAME}\s+[\[(](?P<stamp>(?:\d{{1,2}}:)?\d{{1,3}}:\d{{2}})[\])]\s*:?\s*(?P<rest>.*)$",
        rf"\*\*{_TITLED}\s*(?::\*\*|\*\*\s*:)\s*(?P<rest>.*)$",
    )
)
# Without further signs, only of speakers who are known.
_BARE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_NAME}\s+(?P<stamp>\d{{1,2}}:\d{{2}}:\d{{2}})(?P<rest>\s*)$",
        rf"{_TITLED}\s*:\s*(?P<rest>.*)$",
    )
)
_EMPHASISED = re.compile(
    r"(?:_((?:[^_\n`]|`[^`\n]*`|(?<=\w)_(?=\w))+)_"
    r"|\*([^*\n]+)\*|\*\*([^*\n:]+)\*\*)$"
)
_MARKED = re.compile(r"[*_\[\]<>`#|~\\&]|^\s*(?:[-+=]|\d+[.)]\s|\t|    )|  $", re.M)
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[ \t]*\S[^\n]*)*")
_NUMBERED = re.compile(r"(?:speaker|guest|host|interviewer|moderator|audience)\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The first line of a turn: who, when (seconds), and what is said on the same line."""

    speaker: str
    begin: float | None
    rest: str


def is_transcript(text: str) -> bool:
    """Whether a Markdown file is mostly turns of named speakers."""
    try:
        matter = split(text, "")
    except (SourceError, yaml.YAMLError):
        return False  # the Markdown loader says what is wrong with it
    lines = matter.body.split("\n")
    known = _known_speakers(matter, lines)
    turns = [turn for line in lines if (turn := _turn(line, known))]
    blocks = sum(
        1
        for before, line in zip(["", *lines], lines, strict=False)
        if line.strip() and not before.strip() and not line.startswith("#")
    )
    if len(turns) < MINIMUM_TURNS or len(turns) < MINIMUM_SHARE * blocks:
        return False
    if matter.words("kind", "type").lower() in _TRANSCRIPT_KINDS:
        return True
    counts = Counter(turn.speaker for turn in turns)
    stamped = sum(turn.begin is not None for turn in turns)
    listed = {_tidy(name) for name in matter.several("speakers", "speaker", "guests", "hosts")}
    sure = sum(n for name, n in counts.items() if name in listed or _looks_like_a_name(name))
    # Labels look like names too, but people who talk come back.
    recurs = len(turns) >= MINIMUM_RETURNS * len(counts)
    return stamped * 2 >= len(turns) or (recurs and sure * 2 >= len(turns))


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One transcript with speakers, headings and, where the file has them, times."""
    matter = split(decode(source), source.uri)
    body = strip_templates(matter.body)
    lines = body.split("\n")
    known = _known_speakers(matter, lines)
    blocks = Blocks()
    chunk: list[str] = []
    first_line = matter.body_line
    for number, line in enumerate(lines, matter.body_line):
        turn = _turn(line, known)
        if turn is None:
            chunk.append(line)
            continue
        _write_chunk(blocks, chunk, first_line)
        blocks.turn(turn.speaker, turn.begin)
        chunk, first_line = [turn.rest], number
    _write_chunk(blocks, chunk, first_line)
    tokens = [] if matter.words("title") else markdown.parse(body)
    yield source.document(
        blocks.build(),
        kind="transcript",
        title=markdown.title_of(matter, tokens, source.name),
        url=matter.link("url", "link", "canonical", "permalink"),
        source_type=matter.words("source_type") or "markdown",
        language=matter.words("language", "lang"),
        authors=matter.several("speakers", "authors", "author"),
        published_at=markdown.date_of(matter, source.name),
        summary=matter.words("summary", "excerpt", "description"),
        media_url=matter.link("media_url", "media", "video", "audio", "url"),
        taxonomy=taxonomy_of(matter, words_too=False),
    )


def seconds(stamp: str) -> float:
    """``HH:MM:SS`` or ``MM:SS`` (with a fraction or without) as seconds."""
    total = 0.0
    for part in stamp.split(":"):
        total = total * 60 + float(part)
    return total


def _turn(line: str, known: frozenset[str]) -> _Turn | None:
    if ":" not in line[:160] or line[0] in " \t#>|`":
        return None
    for pattern in (*_TURNS, *_BARE):
        found = pattern.match(line)
        sure = pattern in _TURNS
        if found and (not _is_label(found["name"]) if sure else _tidy(found["name"]) in known):
            stamp = found.groupdict().get("stamp")
            begin = seconds(stamp) if stamp else None
            return _Turn(speaker=_tidy(found["name"]), begin=begin, rest=found["rest"])
    return None


def _known_speakers(matter: FrontMatter, lines: Sequence[str]) -> frozenset[str]:
    """Speakers of the front matter, their first names, and whoever opens two marked turns."""
    named = {_tidy(name) for name in matter.several("speakers", "speaker", "guests", "hosts")}
    counts = Counter(turn.speaker for line in lines if (turn := _turn(line, frozenset())))
    named |= {name.split()[0] for name in named if name}
    return frozenset(named | {name for name, count in counts.items() if count > 1})


def _write_chunk(blocks: Blocks, chunk: list[str], first_line: int) -> None:
    """Write what one speaker says; a line that is all emphasis is a section's title."""
    lines = list(chunk)
    for index in range(1, len(chunk)):  # the first line of a turn is never a title
        found = _EMPHASISED.match(chunk[index].strip())
        around = [chunk[index - 1], *chunk[index + 1 : index + 2]]
        if found and not "".join(around).strip():
            words = next(filter(None, found.groups()))
            lines[index] = f"{'#' * SECTION_LEVEL} {words.strip()}"
    text = "\n".join(lines)
    if _MARKED.search(text):
        markdown.write(blocks, markdown.parse(text), first_line)
        return
    for said in _PARAGRAPH.finditer(text):  # most of a talk: no need for a parser
        line = first_line + text.count("\n", 0, said.start())
        spoken, later = "", []
        for number, words in enumerate(said.group().split("\n"), line):
            spoken += " " if spoken else ""
            later += [(len(spoken), number)] if number > line else []
            spoken += " ".join(words.split())
        blocks.block(spoken, line, later=later)


def _tidy(name: str) -> str:
    """The speaker's name alone: a role in brackets makes no other speaker of them."""
    return " ".join(name.partition("(")[0].split())


def _is_label(name: str) -> bool:
    words = name.partition("(")[0].lower().split()
    return len(words) > 5 or any(word.strip(".,'\"") in LABEL_WORDS for word in words)


def _looks_like_a_name(name: str) -> bool:
    """Two or more capitalised words, or a numbered or generic speaker."""
    words = [word for word in re.split(r"[\s\"“”]+", name) if word]
    capitals = sum(word[0].isupper() for word in words)
    return bool(_NUMBERED.match(name)) or (len(words) >= 2 and capitals >= 2)
