"""Loads reStructuredText by docutils: sections, paragraphs, lists, tables and code, with lines.

docutils parses; nothing is included, computed or fetched. Because most files use extensions of
Sphinx, every directive and role is read alike: it only keeps its words.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, roles, states
from docutils.parsers.rst.directives.misc import Replace
from docutils.statemachine import StringList
from docutils.utils import Reporter, new_document

from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import names, parse_moment, refuse_readers
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, one_line, title_from_name
from wellread.types import Document

_HIDDEN_BREAK = "\ue001"  # a line break inside hidden markup
_TARGETED = re.compile(r"(?s)(.+?)\s*<[^<>]*>\Z")
_INLINE = (nodes.reference, nodes.inline, nodes.emphasis, nodes.strong, nodes.literal)
_OPTION = re.compile(r":(?P<name>[^\s:`][^:`]*):(?:\s+(?P<words>.*))?$")
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
    # Lines end where editors count them, so no other separator may end one.
    lines = [" ".join(line.splitlines()) for line in decode(source).split("\n")]
    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = Reporter.SEVERE_LEVEL + 1
    settings.line_length_limit = sys.maxsize
    settings.file_insertion_enabled = settings.raw_enabled = False
    tree = new_document(source.name, settings)
    with _kept_words():
        Parser().parse("\n".join(lines), tree)
    writer = _Writer(tree, lines)
    writer.write(tree)
    facts = _facts(writer.fields)
    refuse_readers(dict(writer.fields), source.uri)
    title = writer.title or facts.pop("title")
    yield source.document(
        writer.blocks.build(),
        kind="page",
        source_type="rst",
        **{**facts, "title": title or title_from_name(source.name)},
    )


# --- directives and roles --------------------------------------------------------------------


@contextmanager
def _kept_words() -> Iterator[None]:
    """Have every directive and role read by the ones below, as Sphinx puts its own in place."""
    found = directives.directive, roles.role
    directives.directive = lambda name, *_: (Replace if name == "replace" else _Words, [])
    roles.role = lambda *_: (_role, [])
    try:
        yield
    finally:
        directives.directive, roles.role = found


def _role(_name: str, raw: str, text: str, *_: Any) -> Any:
    titled = _TARGETED.match(text)
    shown = titled[1] if titled else text.rpartition(".")[2] if text[:1] == "~" else text
    return [nodes.inline(raw, shown.removeprefix("!"))], []


class _Rows(nodes.General, nodes.Element):
    """A table whose cells stand in ``rows``, each with its line."""

    rows: Sequence[tuple[int, Sequence[str]]] = ()


class _Words(Directive):
    """Any directive: the words of its argument and its content, whatever its options."""

    has_content = True  # with neither arguments nor options declared, all lines are content

    def run(self) -> list[nodes.Node]:
        """Return the nodes that the directive shows."""
        name, lines = self.name.lower(), self.content
        if name in _DROPPED or isinstance(self.state, states.SubstitutionDef):
            return []
        count = next((n for n, text in enumerate(lines) if not text.strip()), len(lines))
        options = {match["name"]: n for n in range(count) if (match := _OPTION.match(lines[n]))}
        plain = [n for n in range(count) if n not in options.values()]
        body = range(count, len(lines))
        if name in _NO_WORDS and self.block_text.partition("\n")[0].rpartition("::")[2].strip():
            plain = plain[1:]
        if name in _CODE:
            return [*self._value(options, "caption"), *self._verbatim([*plain, *body])]
        if name == "toctree":
            entries = ((n, _TARGETED.match(lines[n].strip())) for n in (*plain, *body))
            return self._parsed([(n, f"- {entry[1]}") for n, entry in entries if entry])
        if name == "csv-table":
            return [*self._parsed([(n, lines[n]) for n in plain]), self._rows(options, body)]
        lead = _LEADS.get(name, "")
        words = [(n, f"{'' if at else lead} {lines[n]}".strip()) for at, n in enumerate(plain)]
        return [*self._parsed(words), *self._parsed([(n, lines[n]) for n in body])]

    def _parsed(self, lines: Sequence[tuple[int, str]]) -> list[nodes.Node]:
        """Return the nodes of lines, each with its number in ``content``."""
        margin = min(
            (len(text) - len(text.lstrip()) for _, text in lines if text.strip()), default=0
        )
        items = [self.content.items[n] for n, _ in lines]
        node = nodes.Element()
        self.state.nested_parse(
            StringList([text[margin:] for _, text in lines], items=items), 0, node
        )
        return node.children

    def _value(self, options: Mapping[str, int], name: str) -> list[nodes.Node]:
        number = options.get(name)
        match = None if number is None else _OPTION.match(self.content[number])
        return (
            self._parsed([(number, match["words"] or "")]) if match and number is not None else []
        )

    def _verbatim(self, numbers: Sequence[int]) -> list[nodes.Node]:
        text = "\n".join(self.content[n] for n in numbers)
        node = nodes.literal_block(text, text)
        node.line = self.content.offset(numbers[0]) + 1 if numbers else None
        return [node]

    def _rows(self, options: Mapping[str, int], body: Sequence[int]) -> nodes.Node:
        header = _OPTION.match(self.content[options["header"]]) if "header" in options else None
        numbers = [*([options["header"]] if header else []), *body]
        texts = [*([header["words"]] if header else []), *(self.content[n].strip() for n in body)]
        reader, rows, begin = csv.reader(texts, skipinitialspace=True), [], 0
        for cells in reader:
            line = self.content.offset(numbers[begin]) + 1
            parsed = (self.state.inline_text(cell, line)[0] for cell in cells)
            rows.append((line, [nodes.inline("", "", *cell).astext() for cell in parsed]))
            begin = reader.line_num
        node = _Rows()
        node.rows = rows
        return node


# --- writing ---------------------------------------------------------------------------------


class _Writer:
    """Writes a parsed file; ``fields`` are the fields before its text, as name and value."""

    def __init__(self, tree: nodes.document, lines: Sequence[str]) -> None:
        self.blocks = Blocks()
        self.title = ""
        self.fields: list[tuple[str, str]] = []
        self._lines = lines
        self._slots = tree.substitution_defs
        self._text_begun = False  # anything except a title was written
        self._level = self._depth = 0  # of sections, of lists
        self._lead = ""
        self._gap = PARAGRAPH

    def write(self, node: nodes.Node) -> None:
        """Write what a node shows, in the order of the source."""
        match node:
            case nodes.Invisible() | nodes.image() | nodes.label():
                pass
            case nodes.system_message() if node["level"] >= Reporter.ERROR_LEVEL:
                for child in node.findall(nodes.literal_block):  # could not be parsed
                    child.line = self._begin(child.astext(), node.get("line"))
                    self._text(child)
            case nodes.section():
                self._level += 1
                self._children(node)
                self._level -= 1
            case nodes.title() if isinstance(node.parent, nodes.section):
                words = one_line(self._shown(node).replace(_HIDDEN_BREAK, ""))
                self.blocks.heading(self._level, words, self._begin(node.rawsource, node.line))
                self.title = self.title or ("" if self._text_begun else words)
            case nodes.list_item():
                self._item(node)
            case nodes.field():
                self._field(node)
            case nodes.footnote() | nodes.citation():
                numbered = isinstance(node, nodes.footnote)
                self._lead = "* " if numbered else f"[{node[0].astext()}] "
                self._children(node)
                self._lead = ""
            case nodes.table() | _Rows():
                self._table(node)
            case nodes.TextElement():
                self._text(node)
            case nodes.Element() if not isinstance(node, nodes.system_message):
                self._gap = "\n" if isinstance(node, nodes.definition) else self._gap
                self._children(node)
                self._gap = PARAGRAPH if isinstance(node, nodes.line_block) else self._gap

    def _children(self, node: nodes.Node) -> None:
        for child in node.children:
            self.write(child)

    def _begin(self, words: str, end: int | None) -> int:
        """The last line up to ``end`` that holds the first of ``words``; docutils tells the end."""
        first = words.lstrip("\n").partition("\n")[0].strip()
        above = range(min(end or 1, len(self._lines)), 0, -1)
        return next((n for n in above if self._lines[n - 1].strip() == first), end or 1)

    def _item(self, node: nodes.list_item) -> None:
        marker = "-"
        line = _line(node)
        if isinstance(node.parent, nodes.enumerated_list) and line:
            marker = self._lines[line - 1].split(maxsplit=1)[0]
        self._lead = f"{'  ' * self._depth}{marker} "
        if self._depth or node.parent.index(node):
            self._gap = "\n"
        self._depth += 1
        self._children(node)
        self._depth -= 1
        self._lead, self._gap = "", "\n" if self._depth else PARAGRAPH

    def _field(self, node: nodes.field) -> None:
        """Keep ``:name: words`` as metadata before the text, else write the pair."""
        name, body = node.children
        if not self._text_begun and not self._depth:
            self.fields.append((name.astext().lower(), one_line(body.astext())))
            return
        self._lead = f"{one_line(name.astext())}: "
        self._children(body)
        left, self._lead = self._lead.removesuffix(": "), ""
        self._write(left, name.line or 1, ())  # a name without text

    def _text(self, node: nodes.TextElement) -> None:
        """Write words or code, with the numbers of their lines as marks."""
        verbatim = isinstance(node, nodes.FixedTextElement)
        if verbatim:
            self._lead, self._gap = "", PARAGRAPH
        first = number = _line(node) or 1
        text, later = "", []
        for piece in re.split(f"([\n{_HIDDEN_BREAK}])", self._shown(node)):
            if piece in ("\n", _HIDDEN_BREAK):
                number += 1
                text += "\n" if verbatim else " " if piece == "\n" and text else ""
                later.append((len(text), number))
            else:
                text += piece if text or verbatim else piece.lstrip()
        self._write(text.rstrip(), first, later)
        self._gap = "\n" if isinstance(node, nodes.line) else self._gap

    def _write(self, text: str, line: int, later: Sequence[tuple[int, int]]) -> None:
        if text.strip():
            moved = [(position + len(self._lead), number) for position, number in later]
            self.blocks.block(self._lead + text, line, gap=self._gap, later=moved)
            self._lead, self._gap, self._text_begun = "", PARAGRAPH, True

    def _table(self, node: nodes.table | _Rows) -> None:
        rows = [*node.rows] if isinstance(node, _Rows) else []
        for row in node.findall(nodes.row):
            line = min((at for at in map(_line, row.children) if at), default=1)
            rows.append((line, [self._shown(entry) for entry in row.children]))
        words = [[one_line(cell.replace(_HIDDEN_BREAK, "")) for cell in cells] for _, cells in rows]
        self._lead, self._gap = "", PARAGRAPH
        self.blocks.table(words, [number for number, _ in rows])
        self._text_begun = self._text_begun or bool(rows)

    def _shown(self, node: nodes.Node) -> str:
        """The words of inline nodes; ``_HIDDEN_BREAK`` for a line break inside their markup."""
        match node:
            case nodes.Text():
                return node.astext()
            case nodes.system_message() | nodes.footnote_reference() | nodes.image():
                return ""
            case nodes.target() if not node.children:  # of the link before it
                return ""
            case nodes.substitution_reference():
                name = node.astext()
                return self._slots[name].astext() if name in self._slots else f"|{name}|"
            case nodes.citation_reference():
                return f"[{node.astext()}]"
        text = ""
        for child in node.children:
            if isinstance(child, nodes.footnote_reference):
                text = text.rstrip(" ")
            text += " " * bool(text and isinstance(node, nodes.entry)) + self._shown(child)
        if isinstance(node, _INLINE):
            text += _HIDDEN_BREAK * (node.rawsource.count("\n") - text.count("\n"))
        return text


def _line(node: nodes.Node) -> int | None:
    """The line where a node's first words stand."""
    return next((one.line for one in node.findall(nodes.TextElement) if one.line), node.line)


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
