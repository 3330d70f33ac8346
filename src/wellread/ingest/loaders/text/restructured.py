"""Loads reStructuredText: sections, paragraphs, lists, tables and code, with source lines.

The text is parsed line by line; nothing is included, computed or fetched. Because most files use
Sphinx extensions, every directive and role only keeps its words.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import names, parse_moment, refuse_readers
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, one_line, title_from_name
from wellread.types import Document

Line = tuple[int, str]  # the number (from 1) and the text

_HIDDEN_BREAK = "\ue001"  # a line break inside hidden markup
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_BULLET = re.compile(r"[-*+•‣⁃](?:\s+|$)")
_NUMBER = re.compile(r"\(?(?:\d{1,4}|#|[A-Za-z]|[ivxlcIVXLC]{1,6})[.)](?:\s+|$)")
_ITEMS = (_BULLET, _NUMBER)
_FIELD = re.compile(r":(?P<name>[^\s:`][^:`\n]*):(?:\s+(?P<words>.*))?$")
_DIRECTIVE = re.compile(
    r"(?:\|(?P<slot>[^|\n]{1,200})\|\s+)?(?P<name>[\w.+:-]*\w)\s?::(?:\s+(?P<words>.*))?$"
)
_NOTE = re.compile(r"\[(?P<label>[^\]\n]{1,80})\]\s+(?P<words>.*)$")
_GRID = re.compile(r"\+(?:[-=]+\+)+$")
_SIMPLE = re.compile(r"=+(?:\s+=+)+$")
_TARGETED = re.compile(r"(?s)(.+?)\s*<[^<>]*>\Z")
_INLINE = re.compile(
    r"``(?P<code>.+?)``(?!\w)"
    r"|(?<!\w):[\w:+.-]+:`(?P<role>[^`]+)`_{0,2}|`(?P<roled>[^`]+)`:[\w+.-]+(?::[\w+.-]+)*:"
    r"|_?`(?P<linked>[^`]+)`_{0,2}"
    r"|[ ]?\[(?:\d+|[#*][\w-]*)\]_(?!\w)|(?P<cited>\[[\w.-]+\])_(?!\w)"
    r"|(?<![\w*\\])\*\*(?=\S)(?P<strong>.+?)(?<=[^\s\\])\*\*(?!\w)"
    r"|(?<![\w*\\])\*(?=[^\s*])(?P<stressed>[^*]*?[^\s*\\]|[^\s*\\])\*(?!\w)"
    r"|\|(?P<slot>[^|\s](?:[^|\n]{0,80}[^|\s])?)\|_{0,2}"
    r"|(?<![\w`.\\])(?P<word>[^\W_](?:[\w.+-]*[^\W_])?)__?(?=$|[\s'\")\]}>/\\:.,;!?-])"
    r"|\\(?P<escaped>\S|\s)",
    re.DOTALL,
)

_CODE = frozenset({"code", "code-block", "sourcecode", "math", "prompt", "parsed-literal"})
_CODE |= {"productionlist", "ipython", "doctest", "testcode", "testoutput", "graphviz", "mermaid"}
# Directives without visible text, or generated from other text.
_DROPPED = frozenset({"contents", "sectnum", "section-numbering", "target-notes", "index", "image"})
_DROPPED |= {"highlight", "currentmodule", "tabularcolumns", "include", "raw", "literalinclude"}
_DROPPED |= {"role", "default-role", "meta", "unicode", "date"}
# Directives whose argument is a language, a file or the name of a style.
_NO_WORDS = frozenset({"code", "code-block", "sourcecode", "prompt", "figure", "only", "class"})
_NO_WORDS |= {"rst-class", "container", "ifconfig"}
_LEADS: Mapping[str, str] = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
    "seealso": "See also:",
}
_FIELD_ALIASES = {"published": "date", "lang": "language", "description": "summary"}
_TAGS = frozenset({"tags", "keywords", "category", "categories"})


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load the file as one page, with metadata from the fields before the text."""
    lines = list(enumerate(decode(source).expandtabs().split("\n"), 1))
    reader = _Reader(lines)
    reader.read(lines, top=True)
    facts = _facts(reader.fields)
    refuse_readers(dict(reader.fields), source.uri)
    title = reader.title or facts.pop("title")
    yield source.document(
        reader.blocks.build(),
        kind="page",
        source_type="rst",
        **{**facts, "title": title or title_from_name(source.name)},
    )


class _Reader:
    """Parses one file; ``fields`` are the fields before its text, as name and value."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.blocks = Blocks()
        self.title = ""
        self.fields: list[tuple[str, str]] = []
        self._text_begun = False  # anything except a title was written
        self._styles: list[str] = []  # underlines of titles, the outermost level first
        self._depth = 0
        self._lead = ""
        self._gap = PARAGRAPH
        slots = (_DIRECTIVE.match(text[3:]) for _, text in lines if text.startswith(".. |"))
        self._slots = {
            slot["slot"]: slot["words"] for slot in slots if slot and slot["name"] == "replace"
        }

    def read(self, lines: Sequence[Line], *, top: bool = False) -> None:
        """Parse and write the lines; only ``top`` level lines may have sections."""
        index = 0
        while index < len(lines):
            text = lines[index][1].rstrip()
            if not text:
                index += 1
            elif top and (after := self._heading(lines, index)):
                index = after
            elif text[0] == " ":
                end = _block_end(lines, index, 1)
                self.read(_dedent(lines[index:end]))
                index = end
            elif text == ".." or text.startswith((".. ", "__ ")):
                end = _block_end(lines, index, 1)
                self._explicit(lines[index:end])
                index = end
            elif match := _BULLET.match(text) or _NUMBER.match(text):
                index = self._item(lines, index, match.group())
            elif match := _FIELD.match(text):
                index = self._field(lines, index, match)
            else:
                index = self._text(lines, index)

    def _heading(self, lines: Sequence[Line], start: int) -> int:
        """Write the title or skip the rule that begins here; return its end, or 0 for neither."""
        texts = [text.rstrip() for _, text in lines[start : start + 3]] + ["", ""]
        overline, underline = _ADORNMENT.match(texts[0]), _ADORNMENT.match(texts[1])
        if overline and texts[1] and not underline and texts[2] == texts[0]:
            style, index = texts[0][0] * 2, start + 1
        elif overline:
            return 0 if texts[1] else start + 1
        elif underline and texts[0][0] != " " and len(texts[1]) >= min(len(texts[0]), 4):
            style, index = texts[1][0], start
        else:
            return 0
        if style not in self._styles:
            self._styles.append(style)
        number, text = lines[index]
        words = one_line(self._shown(text.strip()).replace(_HIDDEN_BREAK, ""))
        self.blocks.heading(self._styles.index(style) + 1, words, number)
        self.title = self.title or ("" if self._text_begun else words)
        return index + 2

    def _explicit(self, lines: Sequence[Line]) -> None:
        """Write a directive, footnote or citation; targets and comments are skipped."""
        number, first = lines[0][0], lines[0][1][3:].strip()
        inner = _dedent(lines[1:])
        if match := _DIRECTIVE.match(first):
            if not match["slot"]:
                self._directive(match["name"].lower(), (number, match["words"] or ""), inner)
        elif (match := _NOTE.match(first)) and not first.startswith("_"):
            numbered = match["label"].isdecimal() or match["label"][0] in "#*"
            self._lead = "* " if numbered else f"[{match['label']}] "
            self.read([(number, match["words"]), *inner])
            self._lead = ""

    def _directive(self, name: str, first: Line, inner: Sequence[Line]) -> None:
        if name in _DROPPED:
            return
        count = next((n for n, (_, text) in enumerate(inner) if not text.strip()), len(inner))
        head, body = inner[:count], list(inner[count:])
        options = {
            match["name"]: (number, match["words"] or "")
            for number, text in head
            if (match := _FIELD.match(text))
        }
        plain = [line for line in head if not _FIELD.match(line[1])]
        words = [] if name in _NO_WORDS or not first[1] else [first]
        if name in _CODE:
            self._words([options["caption"]] if "caption" in options else [])
            self._verbatim([*words, *plain, *body])
        elif name == "toctree":
            entries = ((line, _TARGETED.match(text.strip())) for line, text in [*plain, *body])
            self.read([(line, f"- {match[1]}") for line, match in entries if match])
        elif name == "csv-table":
            self._words(words)
            self._rows(_csv_rows([*filter(None, [options.get("header")]), *plain, *body]))
        else:
            lead = _LEADS.get(name, "")
            texts = [*words, *plain]
            self._words([(first[0], f"{lead} {texts[0][1]}".strip()), *texts[1:]] if texts else [])
            self.read(_dedent(body))

    def _item(self, lines: Sequence[Line], start: int, marker: str) -> int:
        end = _block_end(lines, start, 2)
        number, text = lines[start]
        bullet = "- " if _BULLET.match(marker) else f"{marker.strip()} "
        self._lead = "  " * self._depth + bullet
        above = next((text for _, text in reversed(lines[:start]) if text[:1] not in ("", " ")), "")
        if self._depth or any(form.match(above) and form.match(text) for form in _ITEMS):
            self._gap = "\n"
        self._depth += 1
        below = [(n, line[min(len(marker), _indent(line)) :]) for n, line in lines[start + 1 : end]]
        self.read([(number, text[len(marker) :]), *below])
        self._depth -= 1
        self._lead, self._gap = "", "\n" if self._depth else PARAGRAPH
        return end

    def _field(self, lines: Sequence[Line], start: int, match: re.Match[str]) -> int:
        """Read ``:name: words``: metadata before the text, else a pair to write."""
        end = _block_end(lines, start, 1)
        number, inner = lines[start][0], _dedent(lines[start + 1 : end])
        if not self._text_begun and not self._depth:
            value = " ".join([match["words"] or "", *(text.strip("-* ") for _, text in inner)])
            self.fields.append((match["name"].lower(), one_line(value)))
            return end
        self._lead = f"{one_line(self._shown(match['name']))}: "
        self.read([(number, match["words"] or ""), *inner])
        name, self._lead = self._lead.removesuffix(": "), ""
        self._write(name, number, ())  # a name without text
        return end

    def _text(self, lines: Sequence[Line], start: int) -> int:
        """Write a table, a verse, a term with its definition, or a paragraph with its code."""
        end = start + 1
        while end < len(lines) and lines[end][1].strip() and lines[end][1][0] != " ":
            end += 1
        text = lines[start][1].rstrip()
        below = end < len(lines) and lines[end][1].strip()
        if text.startswith(">>>"):
            self._verbatim(lines[start:end])
        elif _GRID.match(text):
            rows = _grid_rows(lines[start:end])
            self._rows(rows) if rows else self._verbatim(lines[start:end])
        elif _SIMPLE.match(text):
            end = _simple_end(lines, start)
            self._rows(_simple_rows(lines[start:end]))
        elif text.startswith("| "):
            for number, line in lines[start:end]:
                self._words([(number, line.removeprefix("|"))])
                self._gap = "\n"
            self._gap = PARAGRAPH
        elif below and end == start + 1 and not text.endswith("::"):
            self._words([(lines[start][0], text.partition(" : ")[0])])
            self._gap = "\n"
            end = _block_end(lines, start, 1)
            self.read(_dedent(lines[start + 1 : end]))
        else:
            end = self._paragraph(lines, start, end)
        return end

    def _paragraph(self, lines: Sequence[Line], start: int, end: int) -> int:
        number, last = lines[end - 1][0], lines[end - 1][1].rstrip()
        if not last.endswith("::"):
            self._words(lines[start:end])
            return end
        last_text = last[:-2].rstrip() if last.endswith(" ::") or last == "::" else last[:-1]
        self._words([*lines[start : end - 1], *([(number, last_text)] if last_text else [])])
        stop = _block_end(lines, end - 1, 1)
        self._verbatim(_dedent(lines[end:stop]))
        return stop

    def _words(self, lines: Sequence[Line]) -> None:
        """Write a paragraph with its lines joined and their numbers as marks."""
        if not lines:
            return
        number = lines[0][0]
        text, later = "", []
        visible = self._shown("\n".join(words.strip() for _, words in lines))
        for piece in re.split(f"([\n{_HIDDEN_BREAK}])", visible):
            if piece in ("\n", _HIDDEN_BREAK):
                number += 1
                text += " " if piece == "\n" and text else ""
                later.append((len(text), number))
            else:
                text += piece if text else piece.lstrip()
        self._write(text.rstrip(), lines[0][0], later)

    def _write(self, text: str, line: int, later: Sequence[tuple[int, int]]) -> None:
        if text.strip():
            moved = [(position + len(self._lead), number) for position, number in later]
            self.blocks.block(self._lead + text, line, gap=self._gap, later=moved)
            self._lead, self._gap, self._text_begun = "", PARAGRAPH, True

    def _verbatim(self, lines: Sequence[Line]) -> None:
        dedented = [(number, text.rstrip()) for number, text in _dedent(lines)]
        nonblank = [index for index, (_, text) in enumerate(dedented) if text]
        self._lead, self._gap = "", PARAGRAPH
        text = ""
        later: list[tuple[int, int]] = []
        for number, words in dedented[nonblank[0] : nonblank[-1] + 1] if nonblank else ():
            text += f"\n{words}" if later else words
            later.append((len(text) - len(words), number))
        if later:
            self._write(text, later[0][1], later[1:])

    def _rows(self, rows: Sequence[tuple[int, list[str]]]) -> None:
        self._lead = ""
        words = [
            [one_line(self._shown(cell)).replace(_HIDDEN_BREAK, "") for cell in cells]
            for _, cells in rows
        ]
        self.blocks.table(words, [number for number, _ in rows])
        self._text_begun = self._text_begun or bool(rows)
        self._lead, self._gap = "", PARAGRAPH

    def _shown(self, text: str) -> str:
        return _INLINE.sub(self._visible_inline, text)

    def _visible_inline(self, match: re.Match[str]) -> str:
        kind, source_text = match.lastgroup or "", match.group()
        words = match.group(kind) if kind else ""
        if kind in ("role", "roled", "linked"):
            titled = _TARGETED.match(words)
            if titled:
                words = titled[1]
            elif kind != "linked" and words.startswith("~"):
                words = words[1:].rpartition(".")[2]
            words = words.removeprefix("!")
        elif kind == "slot":
            words = self._slots.get(words) or f"|{words}|"
        elif kind == "escaped" and words.isspace():
            words = ""
        return words + _HIDDEN_BREAK * (source_text.count("\n") - words.count("\n"))


def _block_end(lines: Sequence[Line], start: int, width: int) -> int:
    """Return the end of the block indented below a line, without trailing blank lines."""
    end = after = start + 1
    while after < len(lines):
        text = lines[after][1]
        if text.strip():
            if _indent(text) < width:
                break
            end = after + 1
        after += 1
    return end


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _dedent(lines: Sequence[Line]) -> list[Line]:
    widths = [_indent(text) for _, text in lines if text.strip()]
    return [(number, text[min(widths, default=0) :]) for number, text in lines]


def _grid_rows(lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
    """Return the rows of a grid table; none when the grid is not closed."""
    rows: list[tuple[int, list[str]]] = []
    open_row = False
    for number, line in lines:
        text = line.rstrip()
        if text[0] not in "+|" or text[-1] not in "+|":
            return []
        cells = [cell.strip() for cell in re.split(r"[|+]", text)[1:-1]]
        if any(re.fullmatch(r"[-=]+", cell) for cell in cells):
            open_row = False
        elif open_row and len(rows[-1][1]) == len(cells):
            pairs = zip(rows[-1][1], cells, strict=True)
            rows[-1] = (rows[-1][0], [f"{above} {cell}".strip() for above, cell in pairs])
        else:
            rows.append((number, cells))
            open_row = True
    return rows


def _simple_end(lines: Sequence[Line], start: int) -> int:
    """Return the end of a simple table: after its closing line, else after its first line."""
    for end in range(start + 2, len(lines) + 1):
        closed = lines[end - 1][1].rstrip()
        following = lines[end][1].strip() if end < len(lines) else ""
        if _SIMPLE.match(closed) and not following:
            return end
    return start + 1


def _simple_rows(lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
    """Return a simple table's rows; a line with an empty first cell continues the row above."""
    starts = [match.start() for match in re.finditer("=+", lines[0][1])]
    rows: list[tuple[int, list[str]]] = []
    for number, text in lines:
        if re.fullmatch(r"[=-][=\s-]*", text.strip()) and text.strip()[:3] in ("===", "---", "=="):
            continue
        ends = [*starts[1:], None]
        cells = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        if rows and not cells[0] and any(cells):
            pairs = zip(rows[-1][1], cells, strict=True)
            rows[-1] = (rows[-1][0], [f"{above} {cell}".strip() for above, cell in pairs])
        elif any(cells):
            rows.append((number, cells))
    return rows


def _csv_rows(lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
    reader = csv.reader([text.strip() for _, text in lines], skipinitialspace=True)
    rows, index = [], 0
    for cells in reader:
        if any(cells):
            rows.append((lines[index][0], cells))
        index = reader.line_num
    return rows


def _facts(fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return title, authors, date, language, summary and tags as fields of a document."""
    authors: list[str] = []
    tags: list[str] = []
    values: dict[str, str] = {}
    for name, value in fields:
        if name in ("author", "authors"):
            authors += names(value)
        elif name in _TAGS:
            tags += [tag.strip() for tag in value.split(",") if tag.strip()]
        else:
            values[_FIELD_ALIASES.get(name, name)] = value
    return {
        "title": values.get("title", ""),
        "authors": tuple(authors),
        "published_at": parse_moment(values.get("date", "").strip("$ ").removeprefix("Date: ")),
        "language": values.get("language", "").lower(),
        "summary": values.get("summary", ""),
        "taxonomy": {"tags": tuple(dict.fromkeys(tags))} if tags else {},
    }
