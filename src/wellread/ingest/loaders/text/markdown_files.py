"""Loads Markdown files with front matter: pages, entities of a knowledge graph, and transcripts.

The stored text is the visible text of the rendered page: headings and paragraphs, ``- `` before
list items, table rows as ``cell | cell``, code unchanged.

Turns of a transcript start with ``**Name**: text``, ``**Name:** 00:12:14``, ``Name: [12:14]``,
``[00:12:14] Name: text``, or just ``Name:`` for a speaker known from other turns or front matter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    FrontMatter,
    authors,
    date_of,
    is_post,
    parse_entity,
    split,
    strings,
    taxonomy_of,
)
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, title_from_name
from wellread.ingest.loaders.text.html import markup_text
from wellread.ingest.loaders.text.html_visible import without_scripts
from wellread.text.sentences import is_name_and_value
from wellread.types import Document

_FENCE = re.compile(r"[ ]{0,3}(?:[-*+>] +)*(`{3,}|~{3,})")
_HARD_BREAK = "  "  # at the end of a line of Markdown
# No match spans another opening tag, so that a page full of unclosed tags is still read in linear
# time.
_TEMPLATE = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\{%-?\s*comment\b(?:(?!\{%-?\s*comment\b).)*?\{%-?\s*endcomment\s*-?%\}"
    r"|(?P<tag>\{%(?:(?!\{%).)*?%\})|(?P<slot>\{\{(?:(?!\{\{).)*?\}\})"
    r"|<!--(?:(?!<!--).)*?-->|\{:[^{}\n]{0,200}\}",
    re.DOTALL,
)
# Tags that compute something; their quoted arguments are not displayed.
_SILENT = re.compile(
    r"\{%[-<]?\s*(?:assign|capture|case|when|if|elsif|unless|for|tablerow|cycle|increment|decrement"
    r"|comment|end\w*|else|raw|layout|set|block|extends|macro|import|from)\b"
)
_QUOTED = re.compile(r"(?:(?<==)|(?<=\s))(?:\"([^\"]*)\"|'([^']*)')")
_PROSE_WORD = re.compile(r"(?:^|(?<=[\s(\[`*_\"“‘]))[^\W\d_][\w'’-]*(?=$|[\s.,;:!?)\]`*_\"”’])")
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|/\S*\s*$|[\w./-]+\.[a-z]{2,5}\s*$)", re.I)


# Of Obsidian and similar programs: comments over lines, and marks within them.
_PRIVATE = re.compile(r"^%%[ \t]*\n.*?^%%[ \t]*$", re.MULTILINE | re.DOTALL)
_NOTE_MARKS = re.compile(
    r"(?P<code>`[^`\n]+`)|(?<![\w%])%%(?![%\d])(?:(?!%%).)*?%%(?![\w%])"
    r"|!\[\[[^\[\]\n]+\.\w{2,5}(?:[#|][^\[\]\n]*)?\]\]"
    r"|!?\[\[(?!\d+\]\])(?P<target>[^\s\[\]|][^\[\]|\n]*)(?:\|(?P<alias>[^\[\]\n]+))?\]\](?![\[(])"
    r"|(?<![=A-Za-z0-9])==(?=[^\s=])(?P<marked>[^\n=]+?)(?<=\S)==(?![=A-Za-z0-9])"
    r"|(?:(?<=\S) |^)\^(?=[\w-]*[A-Za-z])[\w-]{2,}[ \t]*$"
    r"|(?<=> )\[!(?P<callout>\w[\w -]*)(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>[^\n]*)",
    re.DOTALL | re.MULTILINE,
)
_COMPUTED = frozenset("dataview dataviewjs compressed-json".split())  # code whose text is no text


def _note_words(mark: re.Match[str]) -> str:
    """Return the words of a mark in a note; the title of a callout gets a line of its own."""
    if mark["code"]:
        return mark["code"]
    if mark["callout"]:
        return (mark["title"].strip() or mark["callout"].capitalize()) + _HARD_BREAK
    words = mark["alias"] or mark["marked"] or (mark["target"] or "").replace("#", " > ")
    return words.removeprefix(" > ") or "\n" * mark.group().count("\n")


def strip_templates(body: str) -> str:
    """Remove template tags, comments and scripts outside code; line numbers are kept."""
    lines: list[str] = []
    prose: list[str] = []
    fence = ""
    body = _PRIVATE.sub(lambda private: "\n" * private.group().count("\n"), body)
    for line in body.split("\n"):
        opening = _FENCE.match(line)
        if not (fence or opening):
            prose.append(line)
            continue
        lines += [*_without_templates(prose), line]
        prose = []
        if opening and opening.group(1).startswith(fence):
            fence = "" if fence else opening.group(1)
    return "\n".join(lines + _without_templates(prose))


def _without_templates(lines: list[str]) -> list[str]:
    if not lines:
        return []
    text = without_scripts("\n".join(lines))
    text = _TEMPLATE.sub(lambda match: _visible_part(match, text), text)
    return _NOTE_MARKS.sub(_note_words, text).split("\n")


def _visible_part(match: re.Match[str], text: str) -> str:
    """Return the visible text of one template tag, with as many line breaks as the tag."""
    tag = match.group()
    if match.group("code"):
        return tag
    shortcode = match.group("slot") and tag.startswith(("{{<", "{{%"))
    if (match.group("tag") and not _SILENT.match(tag)) or shortcode:
        line_start = text.rfind("\n", 0, match.start()) + 1
        before = text[line_start : match.start()]
        return _quoted_sentences(tag, before if not before.strip() else "")
    return "\n" * tag.count("\n")


def _quoted_sentences(tag: str, indent: str) -> str:
    """Return the sentences quoted in a tag, on their original lines.

    Further lines get the ``indent`` before the tag, so that they stay in the same list.
    """
    visible, copied_until = "", 0
    for quoted in _QUOTED.finditer(tag):
        words = quoted.group(1) or quoted.group(2) or ""
        if len(_PROSE_WORD.findall(words)) < 2 or _ADDRESS.match(words):
            continue  # not a sentence
        breaks = tag.count("\n", copied_until, quoted.start())
        if visible:  # each argument starts a new line
            visible += _HARD_BREAK + "\n" * breaks + indent if breaks else " "
        else:
            visible += "\n" * breaks + (indent if breaks else "")
        visible += f"\n{indent}".join(line.strip() for line in words.split("\n"))
        copied_until = quoted.end()
    return visible + "\n" * tag.count("\n", copied_until)


_REFERENCE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]{0,200}\]){1,400})\]\[([^\[\]]{0,200})\]")
_LABEL_PREFIX = "\ue000"  # starts the placeholder address of a link with an undefined reference
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")  # many site generators render Markdown inside HTML too
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Fields that are not part of the text of a page without body.
_MACHINE_FIELDS = frozenset(
    "id slug reference layout permalink url link uri canonical lang language source_type kind type "
    "title date published published_at updated updated_at modified created media media_url video "
    "audio draft weight".split()
)
_PAGE_KINDS = ("article", "page", "paper")

_parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load one page or, if the front matter describes a node of a graph, one entity."""
    matter = split(decode(source), source)
    entity = parse_entity(matter, source.uri)
    blocks = Blocks()
    tokens = parse(strip_templates(matter.body))
    excerpt = matter.text_of("excerpt")
    if excerpt and excerpt not in matter.body:
        write(blocks, parse(without_scripts(excerpt)), first_line=matter.lines.get("excerpt", 1))
    write(blocks, tokens, first_line=matter.body_line)
    if blocks.empty:
        _write_fields(blocks, matter)
    published_at = date_of(matter, source.name)
    kind = matter.text_of("kind", "type").lower()
    if published_at and kind not in _PAGE_KINDS and is_post(matter, source.uri):
        kind = "article"
    yield source.document(
        blocks.build(),
        kind="entity" if entity else kind if kind in _PAGE_KINDS else "page",
        title=title_of(matter, tokens, source.name),
        url=matter.link("url", "link", "canonical", "permalink"),
        source_type=matter.text_of("source_type") or "markdown",
        language=matter.text_of("language", "lang"),
        authors=authors(matter.fields.get("authors"), matter.fields.get("author")),
        published_at=published_at,
        summary=plain_line(matter.text_of("summary", "excerpt", "description", "abstract")),
        media_url=matter.link("media_url", "media", "video", "audio"),
        taxonomy=taxonomy_of(matter, include_strings=entity is not None),
        entity=entity,
    )


def title_of(matter: FrontMatter, tokens: Sequence[Token], name: str) -> str:
    """Return the title from the front matter, the first heading of level 1, or the file name."""
    headings = (
        " ".join(inline_text(below).split())
        for token, below in pairwise(tokens)
        if token.type == "heading_open" and token.tag == "h1"
    )
    title = plain_line(matter.text_of("title"))
    return title or next(filter(None, headings), "") or title_from_name(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link in the body: its address and the label of its reference; either may be empty."""

    href: str = ""
    label: str = ""


def parse(body: str) -> list[Token]:
    """Parse ``body`` to tokens; links with undefined references keep their label."""
    labels = {
        normalizeReference(label or text): label or text for text, label in _REFERENCE.findall(body)
    }
    placeholders = {label: {"href": _LABEL_PREFIX + label, "title": ""} for label in labels}
    env: dict[str, Any] = {"references": placeholders}
    tokens = _parser.parse(body, env)
    # The parser prefers the placeholders to the definitions in the text, which it lists separately.
    defined = {ref["label"]: ref["href"] for ref in reversed(env.get("duplicate_refs", []))}
    for child in (child for token in tokens for child in token.children or ()):
        href = str(child.attrGet("href") or "") if child.type == "link_open" else ""
        if href.startswith(_LABEL_PREFIX):
            key = href.removeprefix(_LABEL_PREFIX)
            child.attrSet("href", defined.get(key, ""))
            child.meta["label"] = " ".join(labels[key].split())
    return tokens


def links(tokens: Sequence[Token]) -> list[Link]:
    """Return the links of parsed Markdown in reading order, including those in HTML blocks."""
    targets = [
        Link(href=str(child.attrGet("href") or ""), label=child.meta.get("label", ""))
        for token in tokens
        for parent in (
            _parser.parseInline(token.content) if token.type == "html_block" else [token]
        )
        for child in parent.children or ()
        if child.type == "link_open"
    ]
    return [link for link in targets if link.href or link.label]


def write(blocks: Blocks, tokens: Sequence[Token], first_line: int) -> None:
    """Write parsed Markdown whose body begins on source line ``first_line``."""
    writer = _Writer(blocks, first_line)
    for token in tokens:
        writer.take(token)


def inline_text(token: Token) -> str:
    """Return the text of an inline token without emphasis marks and link targets."""
    return _text_and_lines(token)[0]


def _text_and_lines(token: Token) -> tuple[str, list[tuple[int, int]]]:
    """Return the text, and the offset and number (from 0) of each further source line in it."""
    lines: list[list[str]] = [[]]
    ends: list[str] = []
    for child in token.children or ():
        if child.type in ("text", "code_inline", "image"):
            lines[-1].append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            lines.append([])
            ends.append("\n" if child.type == "hardbreak" else " ")
        elif _LINE_BREAK.fullmatch(child.content):
            lines[-1].append("\n")
    text, line_starts = "", []
    named = [is_name_and_value("".join(parts)) for parts in lines]
    if named[0]:  # a list of names and values, one a line
        ends = ["\n" if own else end for own, end in zip(named[1:], ends, strict=True)]
    for number, (parts, gap) in enumerate(zip(lines, ["", *ends], strict=True)):
        words = re.sub(r"[ \t]{2,}", " ", "".join(parts)).strip(" \t")
        if text and words:
            text += gap if not text.endswith("\n") and not words.startswith("\n") else ""
            line_starts.append((len(text), number))
        text += words if text else words.lstrip()
    return text.rstrip(), line_starts


@dataclass(slots=True)
class _Writer:
    """Writes a flat list of tokens, keeping track of list depth and table rows."""

    _blocks: Blocks
    _first_line: int
    _heading: int = 0
    _numbers: list[int | None] = field(default_factory=list)  # the next number of each open list
    _sign: str = "-"  # the number of the item, or a dash
    _bullet: bool = False  # the next text is the first of its list item
    _listed: bool = False  # an item of the outermost open list has been written
    _tight: bool = False  # the paragraph belongs to a list without blank lines
    _cells: list[str] | None = None
    _rows: list[list[str]] = field(default_factory=list)
    _row_lines: list[int | None] = field(default_factory=list)

    def take(self, token: Token) -> None:
        if token.type.endswith("list_open"):
            self._listed = self._listed and bool(self._numbers)
            start = token.attrs.get("start", 1)
            self._numbers.append(int(start) if token.type.startswith("ordered") else None)
        elif token.type.endswith("list_close"):
            self._numbers.pop()
        elif token.type == "list_item_open":
            self._bullet, number = True, self._numbers[-1]
            self._sign = "-" if number is None else f"{number}{token.markup}"
            self._numbers[-1] = None if number is None else number + 1
        elif token.type == "list_item_close":
            self._bullet = False
        elif token.type == "paragraph_open":
            self._tight = token.hidden
        elif token.type == "heading_open":
            self._heading = int(token.tag[1:])
        elif token.type in ("table_open", "tr_open", "tr_close", "table_close"):
            self._take_table(token)
        elif token.type in ("fence", "code_block"):
            self._tight = False
            self._write_code(token)
        elif token.type == "html_block":
            self._tight = False
            self._write_block(_BOLD.sub(r"\1", markup_text(token.content)), (), token)
        elif token.type == "inline":
            self._write_inline(token)

    def _take_table(self, token: Token) -> None:
        if token.type == "table_open":
            self._rows, self._row_lines = [], []
        elif token.type == "tr_open":
            self._cells = []
            self._rows.append(self._cells)
            self._row_lines.append(self._line(token))
        elif token.type == "tr_close":
            self._cells = None
        else:
            self._blocks.table(self._rows, self._row_lines, header=any(self._rows[0]))

    def _write_inline(self, token: Token) -> None:
        if self._cells is not None:
            self._cells.append(inline_text(token).replace("\n", " "))
        elif self._heading:
            self._blocks.heading(self._heading, inline_text(token), self._line(token))
            self._heading = 0
        else:
            self._write_block(*_text_and_lines(token), token)

    def _write_block(self, text: str, line_starts: Sequence[tuple[int, int]], token: Token) -> None:
        if not text.strip():
            return
        gap, line = PARAGRAPH, self._line(token)
        later = [(position, number + line) for position, number in line_starts] if line else []
        if self._bullet:
            bullet = "  " * (len(self._numbers) - 1) + f"{self._sign} "
            later = [(position + len(bullet), number) for position, number in later]
            text = bullet + text
            gap = "\n" if self._tight and self._listed else PARAGRAPH
            self._bullet = False
            self._listed = True
        self._blocks.block(text, line, gap, later)

    def _write_code(self, token: Token) -> None:
        """Write code with its line breaks; fenced code begins on the line below the fence."""
        if token.info.strip() in _COMPUTED:
            return
        code = token.content.rstrip("\n")
        below = 1 if token.type == "fence" else 0
        breaks = [match.end() for match in re.finditer("\n", code)]
        line_starts = [(position, number + below) for number, position in enumerate([0, *breaks])]
        self._write_block(code, line_starts, token)

    def _line(self, token: Token) -> int | None:
        return token.map[0] + self._first_line if token.map else None


def _write_fields(blocks: Blocks, matter: FrontMatter) -> None:
    blocks.block(plain_line(matter.text_of("title")), matter.lines.get("title"))
    for name, value in matter.fields.items():
        if name not in _MACHINE_FIELDS:
            values = strings(value)
            text = ", ".join(values) if len(values) > 1 else plain_line("".join(values))
            blocks.block(text, matter.lines.get(name))


def plain_line(text: str) -> str:
    """Return one line of Markdown as plain text."""
    tokens = _parser.parseInline(without_scripts(text)) if text else ()
    return " ".join(map(inline_text, tokens))


MIN_TURNS = 3
MIN_TURN_SHARE = 0.25  # share of the text blocks that must start a turn
MIN_TURNS_PER_SPEAKER = 2.0  # average needed when there are no times
SECTION_LEVEL = 5  # heading level of a line that is all emphasis: below every written heading

# Labels that look like a speaker in bold ("**Note**: ...").
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
# A role may follow the name: "**Jo Bell (Minister of Ports)**: text".
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
# Without bold or brackets, only names of known speakers count.
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
    """The first line of a turn: speaker, time (seconds), and the text on the same line."""

    speaker: str
    begin: float | None
    rest: str


def is_transcript(text: str, source: Source) -> bool:
    """Whether a Markdown file consists mostly of turns of named speakers."""
    try:
        matter = split(text, source)
    except (SourceError, yaml.YAMLError):
        return False  # the Markdown loader reports the error
    lines = matter.body.split("\n")
    known_speakers = _known_speakers(matter, lines)
    turns = [turn for line in lines if (turn := _parse_turn(line, known_speakers))]
    blocks = sum(
        1
        for before, line in zip(["", *lines], lines, strict=False)
        if line.strip() and not before.strip() and not line.startswith("#")
    )
    if len(turns) < MIN_TURNS or len(turns) < MIN_TURN_SHARE * blocks:
        return False
    if matter.text_of("kind", "type").lower() in _TRANSCRIPT_KINDS:
        return True
    counts = Counter(turn.speaker for turn in turns)
    stamped = sum(turn.begin is not None for turn in turns)
    declared = {
        _bare_name(name) for name in matter.values_of("speakers", "speaker", "guests", "hosts")
    }
    likely = sum(n for name, n in counts.items() if name in declared or _is_likely_name(name))
    # Labels look like names too, but speakers recur.
    recurs = len(turns) >= MIN_TURNS_PER_SPEAKER * len(counts)
    return stamped * 2 >= len(turns) or (recurs and likely * 2 >= len(turns))


def load_transcript(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load one transcript with speakers, headings and, if present, times."""
    matter = split(decode(source), source)
    body = strip_templates(matter.body)
    lines = body.split("\n")
    known_speakers = _known_speakers(matter, lines)
    blocks = Blocks()
    chunk: list[str] = []
    first_line = matter.body_line
    for number, line in enumerate(lines, matter.body_line):
        turn = _parse_turn(line, known_speakers)
        if turn is None:
            chunk.append(line)
            continue
        _write_chunk(blocks, chunk, first_line)
        blocks.turn(turn.speaker, turn.begin)
        chunk, first_line = [turn.rest], number
    _write_chunk(blocks, chunk, first_line)
    tokens = [] if matter.text_of("title") else parse(body)
    yield source.document(
        blocks.build(),
        kind="transcript",
        title=title_of(matter, tokens, source.name),
        url=matter.link("url", "link", "canonical", "permalink"),
        source_type=matter.text_of("source_type") or "markdown",
        language=matter.text_of("language", "lang"),
        authors=matter.values_of("speakers", "authors", "author"),
        published_at=date_of(matter, source.name),
        summary=matter.text_of("summary", "excerpt", "description"),
        media_url=matter.link("media_url", "media", "video", "audio", "url"),
        taxonomy=taxonomy_of(matter, include_strings=False),
    )


def seconds(stamp: str) -> float:
    """Convert ``HH:MM:SS`` or ``MM:SS``, with or without a fraction, to seconds."""
    total = 0.0
    for part in stamp.split(":"):
        total = total * 60 + float(part)
    return total


def _parse_turn(line: str, known_speakers: frozenset[str]) -> _Turn | None:
    if ":" not in line[:160] or line[0] in " \t#>|`":
        return None
    for pattern in (*_TURNS, *_BARE):
        match = pattern.match(line)
        is_bold = pattern in _TURNS  # else only a known speaker counts
        if match and (
            not _is_label(match["name"]) if is_bold else _bare_name(match["name"]) in known_speakers
        ):
            stamp = match.groupdict().get("stamp")
            begin = seconds(stamp) if stamp else None
            return _Turn(speaker=_bare_name(match["name"]), begin=begin, rest=match["rest"])
    return None


def _known_speakers(matter: FrontMatter, lines: Sequence[str]) -> frozenset[str]:
    """Return the front matter's speakers, their first names, and names with two marked turns."""
    speakers = {
        _bare_name(name) for name in matter.values_of("speakers", "speaker", "guests", "hosts")
    }
    counts = Counter(turn.speaker for line in lines if (turn := _parse_turn(line, frozenset())))
    speakers |= {name.split()[0] for name in speakers if name}
    return frozenset(speakers | {name for name, count in counts.items() if count > 1})


def _write_chunk(blocks: Blocks, chunk: list[str], first_line: int) -> None:
    """Write one speaker's text; a line that is entirely emphasised is a section title."""
    lines = list(chunk)
    for index in range(1, len(chunk)):  # the first line of a turn is never a title
        match = _EMPHASISED.match(chunk[index].strip())
        neighbours = [chunk[index - 1], *chunk[index + 1 : index + 2]]
        if match and not "".join(neighbours).strip():
            words = next(filter(None, match.groups()))
            lines[index] = f"{'#' * SECTION_LEVEL} {words.strip()}"
    text = "\n".join(lines)
    if _MARKED.search(text):
        write(blocks, parse(text), first_line)
        return
    for paragraph in _PARAGRAPH.finditer(text):  # most of a talk needs no parser
        line = first_line + text.count("\n", 0, paragraph.start())
        spoken, later = "", []
        for number, words in enumerate(paragraph.group().split("\n"), line):
            spoken += " " if spoken else ""
            later += [(len(spoken), number)] if number > line else []
            spoken += " ".join(words.split())
        blocks.block(spoken, line, later=later)


def _bare_name(name: str) -> str:
    """Return the speaker's name without a role in brackets."""
    return " ".join(name.partition("(")[0].split())


def _is_label(name: str) -> bool:
    words = name.partition("(")[0].lower().split()
    return len(words) > 5 or any(word.strip(".,'\"") in LABEL_WORDS for word in words)


def _is_likely_name(name: str) -> bool:
    """Whether it is two or more capitalised words, or a generic speaker ("Host 1")."""
    words = [word for word in re.split(r"[\s\"“”]+", name) if word]
    capitals = sum(word[0].isupper() for word in words)
    return bool(_NUMBERED.match(name)) or (len(words) >= 2 and capitals >= 2)
