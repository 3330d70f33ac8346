"""Markdown with front matter: pages, and entities of a knowledge commons.

The stored text is what a reader of the rendered page sees, in plain characters: headings and
paragraphs, ``- `` before list items, ``cell | cell`` table rows, code as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    FrontMatter,
    date_in_name,
    entity_of,
    moment,
    split,
    strings,
    taxonomy_of,
)
from wellread.ingest.loaders.html.html import markup_text
from wellread.ingest.loaders.html.html_blocks import without_scripts
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, title_from_name
from wellread.types import Document

_FENCE = re.compile(r"[ ]{0,3}(?:[-*+>] +)*(`{3,}|~{3,})")
_HARD_BREAK = "  "  # at the end of a line of Markdown
# None reaches over another one's opening, so that a page full of openings without an end is still
# read in linear time.
_TEMPLATE = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\{%-?\s*comment\b(?:(?!\{%-?\s*comment\b).)*?\{%-?\s*endcomment\s*-?%\}"
    r"|(?P<tag>\{%(?:(?!\{%).)*?%\})|(?P<slot>\{\{(?:(?!\{\{).)*?\}\})"
    r"|<!--(?:(?!<!--).)*?-->|\{:[^{}\n]{0,200}\}",
    re.DOTALL,
)
# Tags that compute something; what is quoted in them is not shown where they stand.
_SILENT = re.compile(
    r"\{%[-<]?\s*(?:assign|capture|case|when|if|elsif|unless|for|tablerow|cycle|increment|decrement"
    r"|comment|end\w*|else|raw|layout|set|block|extends|macro|import|from)\b"
)
_QUOTED = re.compile(r"(?:(?<==)|(?<=\s))(?:\"([^\"]*)\"|'([^']*)')")
_PROSE_WORD = re.compile(r"(?:^|(?<=[\s(\[`*_\"“‘]))[^\W\d_][\w'’-]*(?=$|[\s.,;:!?)\]`*_\"”’])")
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|/\S*\s*$|[\w./-]+\.[a-z]{2,5}\s*$)", re.I)


def strip_templates(body: str) -> str:
    """Remove template tags, comments and scripts outside code; line numbers stay."""
    kept: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in body.split("\n"):
        opening = _FENCE.match(line)
        if not (fence or opening):
            prose.append(line)
            continue
        kept += [*_without_templates(prose), line]
        prose = []
        if opening and opening.group(1).startswith(fence):
            fence = "" if fence else opening.group(1)
    return "\n".join(kept + _without_templates(prose))


def _without_templates(lines: list[str]) -> list[str]:
    if not lines:
        return []
    text = without_scripts("\n".join(lines))
    return _TEMPLATE.sub(lambda found: _shown(found, text), text).split("\n")


def _shown(found: re.Match[str], text: str) -> str:
    """What a reader sees of one tag, with as many line breaks as the tag has."""
    whole = found.group()
    if found.group("code"):
        return whole
    shortcode = found.group("slot") and whole.startswith(("{{<", "{{%"))
    if (found.group("tag") and not _SILENT.match(whole)) or shortcode:
        begun = text.rfind("\n", 0, found.start()) + 1
        before = text[begun : found.start()]
        return _sentences(whole, before if not before.strip() else "")
    return "\n" * whole.count("\n")


def _sentences(tag: str, indent: str) -> str:
    """The sentences that are quoted in a tag, each on the lines on which it stands.

    ``indent`` stood before the tag: its later lines get the same, so that they stay in their list.
    """
    shown, place = "", 0
    for quoted in _QUOTED.finditer(tag):
        words = quoted.group(1) or quoted.group(2) or ""
        if len(_PROSE_WORD.findall(words)) < 2 or _ADDRESS.match(words):
            continue  # says nothing
        breaks = tag.count("\n", place, quoted.start())
        if shown:  # an argument of its own begins a line of its own
            shown += _HARD_BREAK + "\n" * breaks + indent if breaks else " "
        else:
            shown += "\n" * breaks + (indent if breaks else "")
        shown += f"\n{indent}".join(line.strip() for line in words.split("\n"))
        place = quoted.end()
    return shown + "\n" * tag.count("\n", place)


_REFERENCE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]{0,200}\]){1,400})\]\[([^\[\]]{0,200})\]")
_LABEL = "\ue000"  # begins the address of a link whose reference is defined nowhere
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")  # inside HTML many site generators read Markdown too
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# Fields of a page without a body that say nothing to a reader.
_MACHINE_FIELDS = frozenset(
    "id slug reference layout permalink url link uri canonical lang language source_type kind type "
    "title date published published_at updated updated_at modified created media media_url video "
    "audio draft weight".split()
)
_PAGE_KINDS = ("article", "page", "paper")

_parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page or, when the front matter describes a node of a graph, one entity."""
    matter = split(decode(source), source.uri)
    entity = entity_of(matter, source.uri)
    blocks = Blocks()
    tokens = parse(strip_templates(matter.body))
    excerpt = matter.words("excerpt")
    if excerpt and excerpt not in matter.body:
        write(blocks, parse(without_scripts(excerpt)), first_line=matter.lines.get("excerpt", 1))
    write(blocks, tokens, first_line=matter.body_line)
    if blocks.empty:
        _write_fields(blocks, matter)
    named = matter.words("kind", "type").lower()
    yield source.document(
        blocks.build(),
        kind="entity" if entity else named if named in _PAGE_KINDS else "page",
        title=title_of(matter, tokens, source.name),
        url=matter.link("url", "link", "canonical", "permalink"),
        source_type=matter.words("source_type") or "markdown",
        language=matter.words("language", "lang"),
        authors=matter.several("authors", "author"),
        published_at=date_of(matter, source.name),
        summary=plain_line(matter.words("summary", "excerpt", "description", "abstract")),
        media_url=matter.link("media_url", "media", "video", "audio"),
        taxonomy=taxonomy_of(matter, words_too=entity is not None),
        entity=entity,
    )


def title_of(matter: FrontMatter, tokens: Sequence[Token], name: str) -> str:
    """The title: from the front matter, the first heading of level 1, or the file's name."""
    headings = (
        " ".join(inline_text(below).split())
        for token, below in pairwise(tokens)
        if token.type == "heading_open" and token.tag == "h1"
    )
    given = plain_line(matter.words("title"))
    return given or next(filter(None, headings), "") or title_from_name(name)


def date_of(matter: FrontMatter, name: str) -> datetime | None:
    """The date of publication: a field, or the date that the file's name holds."""
    given = [matter.fields.get(one) for one in ("published_at", "published", "date", "created")]
    return next(filter(None, map(moment, given)), None) or date_in_name(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link in the body: where it leads, and the label of its reference, where it has them."""

    href: str = ""
    label: str = ""


def parse(body: str) -> list[Token]:
    """The tokens of ``body``. A link whose reference is defined nowhere becomes its text."""
    labels = {
        normalizeReference(label or text): label or text for text, label in _REFERENCE.findall(body)
    }
    given = {label: {"href": _LABEL + label, "title": ""} for label in labels}
    noted: dict[str, Any] = {"references": given}
    tokens = _parser.parse(body, noted)
    # The parser keeps what was given before the definitions in the text; it notes those apart.
    defined = {one["label"]: one["href"] for one in reversed(noted.get("duplicate_refs", []))}
    for child in (child for token in tokens for child in token.children or ()):
        href = str(child.attrGet("href") or "") if child.type == "link_open" else ""
        if href.startswith(_LABEL):
            key = href.removeprefix(_LABEL)
            child.attrSet("href", defined.get(key, ""))
            child.meta["label"] = " ".join(labels[key].split())
    return tokens


def links(tokens: Sequence[Token]) -> list[Link]:
    """The links of parsed Markdown, in reading order; those in blocks of HTML too."""
    found = [
        Link(href=str(child.attrGet("href") or ""), label=child.meta.get("label", ""))
        for token in tokens
        for one in (_parser.parseInline(token.content) if token.type == "html_block" else [token])
        for child in one.children or ()
        if child.type == "link_open"
    ]
    return [link for link in found if link.href or link.label]


def write(blocks: Blocks, tokens: Sequence[Token], first_line: int) -> None:
    """Write parsed Markdown. ``first_line`` is the source line on which the body begins."""
    writer = _Writer(blocks, first_line)
    for token in tokens:
        writer.take(token)


def inline_text(token: Token) -> str:
    """The words of an inline token: no emphasis marks, no link targets."""
    return _lined(token)[0]


def _lined(token: Token) -> tuple[str, list[tuple[int, int]]]:
    """The words, and where in them each further source line begins (lines counted from 0)."""
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
    text, places = "", []
    for number, (pieces, gap) in enumerate(zip(lines, ["", *ends], strict=True)):
        words = re.sub(r"[ \t]{2,}", " ", "".join(pieces)).strip(" \t")
        if text and words:
            text += gap if not text.endswith("\n") and not words.startswith("\n") else ""
            places.append((len(text), number))
        text += words if text else words.lstrip()
    return text.rstrip(), places


@dataclass(slots=True)
class _Writer:
    """Walks the flat list of tokens; keeps how deep in lists it is and the row it is in."""

    _blocks: Blocks
    _first_line: int
    _heading: int = 0
    _depth: int = 0
    _bullet: bool = False  # the next text is the first of its list item
    _listed: bool = False  # an item of the outermost open list has been written
    _tight: bool = False  # the paragraph belongs to a list without blank lines
    _cells: list[str] | None = None
    _rows: int = 0
    _row_line: int | None = None

    def take(self, token: Token) -> None:
        if token.type.endswith("list_open"):
            self._listed = self._listed and self._depth > 0
            self._depth += 1
        elif token.type.endswith("list_close"):
            self._depth -= 1
        elif token.type in ("list_item_open", "list_item_close"):
            self._bullet = token.type == "list_item_open"
        elif token.type == "paragraph_open":
            self._tight = token.hidden
        elif token.type == "heading_open":
            self._heading = int(token.tag[1:])
        elif token.type == "table_open":
            self._rows = 0
        elif token.type == "tr_open":
            self._cells = []
        elif token.type == "tr_close":
            self._write_row()
        elif token.type in ("fence", "code_block"):
            self._tight = False
            self._write_code(token)
        elif token.type == "html_block":
            self._tight = False
            self._write_block(_BOLD.sub(r"\1", markup_text(token.content)), (), token)
        elif token.type == "inline":
            self._write_inline(token)

    def _write_inline(self, token: Token) -> None:
        if self._cells is not None:
            self._cells.append(inline_text(token).replace("\n", " "))
            self._row_line = self._line(token)
        elif self._heading:
            self._blocks.heading(self._heading, inline_text(token), self._line(token))
            self._heading = 0
        else:
            self._write_block(*_lined(token), token)

    def _write_block(self, text: str, places: Sequence[tuple[int, int]], token: Token) -> None:
        if not text.strip():
            return
        gap, line = PARAGRAPH, self._line(token)
        later = [(place, number + line) for place, number in places] if line else []
        if self._bullet:
            bullet = "  " * (self._depth - 1) + "- "
            later = [(place + len(bullet), number) for place, number in later]
            text = bullet + text
            gap = "\n" if self._tight and self._listed else PARAGRAPH
            self._bullet = False
            self._listed = True
        self._blocks.block(text, line, gap, later)

    def _write_code(self, token: Token) -> None:
        """Code keeps its lines; those of a fence begin below it."""
        code = token.content.rstrip("\n")
        below = 1 if token.type == "fence" else 0
        breaks = [found.end() for found in re.finditer("\n", code)]
        places = [(place, number + below) for number, place in enumerate([0, *breaks])]
        self._write_block(code, places, token)

    def _write_row(self) -> None:
        cells, self._cells = self._cells or [], None
        if any(cells):
            gap = "\n" if self._rows else PARAGRAPH
            self._blocks.block(" | ".join(cells), self._row_line, gap)
            self._rows += 1

    def _line(self, token: Token) -> int | None:
        return token.map[0] + self._first_line if token.map else None


def _write_fields(blocks: Blocks, matter: FrontMatter) -> None:
    """A page without a body is what its fields say: title, aliases, and every sentence."""
    blocks.block(plain_line(matter.words("title")), matter.lines.get("title"))
    for name, value in matter.fields.items():
        if name not in _MACHINE_FIELDS:
            values = strings(value)
            text = ", ".join(values) if len(values) > 1 else plain_line("".join(values))
            blocks.block(text, matter.lines.get(name))


def plain_line(text: str) -> str:
    """One line of Markdown as plain words."""
    tokens = _parser.parseInline(without_scripts(text)) if text else ()
    return " ".join(map(inline_text, tokens))
