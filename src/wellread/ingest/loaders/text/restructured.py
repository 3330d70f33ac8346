"""reStructuredText: sections, paragraphs, lists, tables and code, with source lines.

docutils parses with file access, raw markup and configuration files switched off. Most files are
written for Sphinx and its extensions: while one is parsed, every unknown directive or role keeps
its words and does nothing else. docutils is off by some lines for titles, directives and what is
nested in them, so the words of a block are looked for around the line that it gives.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from docutils import nodes, utils
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, names, refuse_readers
from wellread.ingest.loaders.plain import PARAGRAPH, Blocks, decode, one_line, title_from_name
from wellread.types import Document

MOST_NAMES = 2_000  # of one file

_NAME = r"(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*"
_DIRECTIVE = re.compile(rf"\.\.[ \t]+(?:\|[^|\n]{{1,200}}\|[ \t]+)?({_NAME})[ \t]?::")
_ROLE = re.compile(rf":({_NAME}):`|`:({_NAME}):")
_TARGETED = re.compile(r"(?s)(.*?)\s*<[^<>]*>\Z")

_CODE = frozenset({"code", "code-block", "sourcecode", "math", "prompt", "parsed-literal"})
_CODE |= {"productionlist", "ipython", "doctest", "testcode", "testoutput", "graphviz", "mermaid"}
_NAMES_LANGUAGE = frozenset({"code", "code-block", "sourcecode", "prompt"})  # as the argument
# Nothing that a reader sees, or what is made from the rest of the text.
_DROPPED = frozenset({"contents", "sectnum", "section-numbering", "target-notes", "index"})
_DROPPED |= {"highlight", "currentmodule", "tabularcolumns", "include", "raw", "literalinclude"}
_OVERRIDDEN = (_CODE | _DROPPED | {"date", "figure"}) - {"parsed-literal"}
_LEADS: Mapping[str, str] = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
    "seealso": "See also:",
}


class _AnyOption(dict[str, Any]):
    """Options of every name, as they are written."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


def _run(directive: Any) -> list[nodes.Node]:
    """The words of a directive as paragraphs, or as they are when they are code."""
    name = directive.name.lower()
    if name in _DROPPED:
        return []
    if name in _CODE:
        return _code(directive, name)
    if name == "toctree":
        return _entries(directive)
    holder = nodes.container()
    words = " ".join([_LEADS.get(name, ""), *directive.arguments]).strip()
    if words and name != "figure":  # whose argument is a file
        holder += _paragraph(directive, words)
    directive.state.nested_parse(directive.content, directive.content_offset, holder)
    return list(holder.children)


def _code(directive: Any, name: str) -> list[nodes.Node]:
    lines = list(directive.content)
    if name not in _NAMES_LANGUAGE:
        lines = [*directive.arguments, *lines]
    found: list[nodes.Node] = []
    if caption := directive.options.get("caption"):
        found.append(_paragraph(directive, caption))
    if any(line.strip() for line in lines):
        text = "\n".join(lines)
        block = nodes.literal_block(text, text)
        block.line = directive.content_offset + 1 if directive.content else directive.lineno
        found.append(block)
    return found


def _entries(directive: Any) -> list[nodes.Node]:
    """The entries of a table of contents that have titles; the others are names of files."""
    listed = nodes.bullet_list()
    for place, line in enumerate(directive.content):
        titled = _TARGETED.match(line.strip())
        if titled:
            paragraph = nodes.paragraph("", titled.group(1))
            paragraph.line = directive.content_offset + place + 1
            listed += nodes.list_item("", paragraph)
    return [listed] if listed.children else []


def _paragraph(directive: Any, words: str) -> nodes.Node:
    inline, _ = directive.state.inline_text(words, directive.lineno)
    paragraph = nodes.paragraph(words, "", *inline)
    paragraph.line = directive.lineno
    return paragraph


# Made by a call, because the types of docutils are not known to the type checker.
_KEPT = type(
    "Kept",
    (Directive,),
    {
        "optional_arguments": 1,
        "final_argument_whitespace": True,
        "has_content": True,
        "option_spec": _AnyOption(name=directives.unchanged),
        "run": _run,
    },
)


def _kept_role(
    _name: str, rawtext: str, text: str, *_context: object
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """What Sphinx shows of a role: the title of ``title <target>``, the last part of ``~a.b``."""
    words = utils.unescape(text)
    titled = _TARGETED.match(words)
    if titled and titled.group(1):
        words = titled.group(1)
    elif words.startswith("~"):
        words = words[1:].rpartition(".")[2]
    return [nodes.inline(rawtext, words.removeprefix("!"))], []


@contextmanager
def words_kept(text: str) -> Iterator[None]:
    """Within this, docutils knows every directive and role that ``text`` names.

    What it, or the file, defines is forgotten afterwards: docutils itself keeps it for the next.
    """
    named = {name.lower() for name in _DIRECTIVE.findall(text)} - set(en.directives)
    used = {(a or b).lower() for a, b in _ROLE.findall(text)} - set(en.roles)
    before = dict(directives._directives), dict(roles._roles)
    try:
        for name in [*_OVERRIDDEN, *sorted(named)[:MOST_NAMES]]:
            directives.register_directive(name, _KEPT)
        for name in sorted(used)[:MOST_NAMES]:
            roles.register_local_role(name, _kept_role)
        yield
    finally:
        for registry, kept in zip((directives._directives, roles._roles), before, strict=True):
            registry.clear()
            registry.update(kept)


ALIKE = 5  # lines of code that are compared to find its place
NEAR = 12  # lines around the parser's guess in which words are looked for

_WORD = re.compile(r"\w+")


class SourceLines:
    """The lines of a source file, and look-ups in them. Lines are counted from 1."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def of(self, node: nodes.Element, words: str, *, verbatim: bool = False) -> int | None:
        """The line on which a block begins; None when the parser gives no hint.

        Args:
            words: its text.
            verbatim: the text stands in the file as it is, line by line.
        """
        given: nodes.Element | None = node
        while given is not None and given.line is None:
            given = given.parent
        if given is None:
            return None
        lines = words.split("\n")
        if verbatim and (found := self._block(int(given.line), lines[:ALIKE])):
            return found
        return self.near(int(given.line), lines[:1])

    def near(self, line: int, texts: Sequence[str]) -> int | None:
        """The line next to ``line`` that holds the first word of each text."""
        known = line if 1 <= line <= len(self._lines) else None
        return next((at for at in _around(line) if self._holds(at, texts)), known)

    def below(self, line: int, texts: Sequence[str]) -> int:
        """The first line after ``line`` that holds the first word of each text; else ``line``."""
        after = range(line + 1, line + 1 + NEAR)
        return next((at for at in after if self._holds(at, texts)), line)

    def _block(self, line: int, lines: Sequence[str]) -> int | None:
        for at in _around(line):
            there = self._lines[at - 1 : at - 1 + len(lines)] if at > 0 else ()
            pairs = zip(lines, there, strict=False)
            if len(there) == len(lines) and all(a.strip() in b for a, b in pairs):
                return at
        return None

    def _holds(self, line: int, texts: Sequence[str]) -> bool:
        if not 1 <= line <= len(self._lines):
            return False
        written = self._lines[line - 1]
        there = set(_WORD.findall(written))
        firsts = ((_WORD.search(text), text) for text in texts)
        return all(word.group() in there if word else text in written for word, text in firsts)


def _around(line: int) -> list[int]:
    return sorted(range(line - NEAR, line + NEAR + 1), key=lambda at: abs(at - line))


LOST = 3  # docutils' "error": from here on a message quotes source text that is nowhere else

_SETTINGS = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": LOST,
    "halt_level": 5,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "line_length_limit": 10_000_000,
    "input_encoding": "unicode",
}
# What docutils could not resolve, as it is written: `title <target>`_, :role:`title`, word_
_REFERENCE = re.compile(
    r"(?::[\w:+.-]+:)?`(?P<title>.+?)(?:\s*<[^<>]*>)?`_{0,2}|(?P<word>\w[\w.-]*)__?"
)
_SKIPPED = (
    nodes.comment,
    nodes.substitution_definition,
    nodes.raw,
    nodes.image,
    nodes.pending,
    nodes.decoration,
    nodes.docinfo,
    nodes.transition,
    nodes.meta,
)
_VERBATIM = (nodes.literal_block, nodes.doctest_block, nodes.math_block)
_TOP_LEVELS = {nodes.title: 1, nodes.subtitle: 2}  # of what stands in no section
_OTHER_NAMES = {"published": "date", "lang": "language", "description": "summary"}
_TAGS = frozenset({"tags", "keywords", "category", "categories"})


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page. The fields in front of the text give its facts."""
    text = decode(source)
    source.require(text)
    settings = {**_SETTINGS, "warning_stream": io.StringIO()}
    with words_kept(text):
        tree = publish_doctree(text, settings_overrides=settings)
    facts = _facts(tree, source.uri)
    title = _title(tree) or facts.pop("title")
    writer = _Writer(SourceLines(text.split("\n")))
    writer.walk(tree)
    yield source.document(
        writer.blocks.build(),
        kind="page",
        source_type="rst",
        **{**facts, "title": title or title_from_name(source.name)},
    )


class _Writer:
    def __init__(self, lines: SourceLines) -> None:
        self.blocks = Blocks()
        self._lines = lines
        self._level = 0
        self._depth = 0
        self._lead = ""
        self._gap = PARAGRAPH
        self._writers: Mapping[type[nodes.Node], Callable[[nodes.Element], None]] = {
            nodes.section: self._write_section,
            nodes.bullet_list: self._write_list,
            nodes.enumerated_list: self._write_list,
            nodes.definition_list_item: self._write_definition,
            nodes.field: self._write_pair,
            nodes.option_list_item: self._write_pair,
            nodes.line_block: self._write_verse,
            nodes.table: self._write_table,
            nodes.footnote: self._write_note,
            nodes.citation: self._write_note,
            nodes.system_message: self._write_lost,
            **dict.fromkeys(_VERBATIM, self._write_verbatim),
        }

    def walk(self, holder: nodes.Element) -> None:
        """Write everything that a reader sees below ``holder``."""
        for node in holder.children:
            if isinstance(node, _SKIPPED) or not isinstance(node, nodes.Element):
                continue
            if isinstance(holder, nodes.document) and type(node) in _TOP_LEVELS:
                self._level = _TOP_LEVELS[type(node)]
                self._head(node)
            elif writer := self._writers.get(type(node)):
                writer(node)
            elif isinstance(node, nodes.TextElement):
                self._write_words(node)
            else:
                self.walk(node)

    def _write_words(self, node: nodes.Element) -> None:
        """A paragraph, or anything else that holds words."""
        raw = _inline(node).strip()
        if not raw:
            return
        text = self._lead + raw.replace("\n", " ")
        self._write(text, raw, self._lines.of(node, raw), self._gap)

    def _write_verbatim(self, node: nodes.Element) -> None:
        text = node.astext().strip("\n").rstrip()
        self._write(text, text, self._lines.of(node, text, verbatim=True), PARAGRAPH)

    def _write(self, text: str, raw: str, line: int | None, gap: str) -> None:
        """Write ``text``, which ends in the words that stand as ``raw`` in the file."""
        begun = len(text) - len(raw)
        breaks = [begun + found.end() for found in re.finditer("\n", raw)] if line else []
        later = [(at, (line or 0) + count) for count, at in enumerate(breaks, 1)]
        self.blocks.block(text, line, gap=gap, later=later)
        self._lead, self._gap = "", PARAGRAPH

    def _head(self, title: nodes.Element) -> None:
        words = _inline(title)
        self.blocks.heading(self._level, words, self._lines.of(title, words))

    def _write_section(self, node: nodes.Element) -> None:
        if "system-messages" in node["classes"]:  # by docutils, at the end
            return
        self._level += 1
        title = node.next_node(nodes.title)
        if title is not None:
            self._head(title)
            node.remove(title)
        self.walk(node)
        self._level -= 1

    def _write_list(self, node: nodes.Element) -> None:
        for count, item in enumerate(node.children):
            self._lead = "  " * self._depth + _bullet(node, count)
            if count or self._depth:
                self._gap = "\n"
            self._depth += 1
            self.walk(item)
            self._depth -= 1
        self._lead = ""
        self._gap = "\n" if self._depth else PARAGRAPH

    def _write_definition(self, node: nodes.Element) -> None:
        """The term on a line, what it means below it."""
        for part in node.children:
            if isinstance(part, nodes.definition):
                self._gap = "\n"
                self.walk(part)
            elif not isinstance(part, nodes.classifier):
                self._write_words(part)

    def _write_pair(self, node: nodes.Element) -> None:
        """``name: text``, of a field or an option."""
        name, body = node.children[0], node.children[-1]
        self._lead = f"{one_line(_inline(name))}: "
        self.walk(body)
        if self._lead:  # a name without a text
            self.blocks.block(self._lead.removesuffix(": "), self._lines.of(node, self._lead))
            self._lead = ""

    def _write_verse(self, node: nodes.Element) -> None:
        for line in node.findall(nodes.line):
            self._write_words(line)
            self._gap = "\n"
        self._gap = PARAGRAPH

    def _write_note(self, node: nodes.Element) -> None:
        label = node.next_node(nodes.label)
        self._lead = f"[{label.astext()}] " if isinstance(node, nodes.citation) else "* "
        if label is not None:
            node.remove(label)
        self.walk(node)
        self._lead = ""

    def _write_lost(self, node: nodes.Element) -> None:
        """Source text that docutils could not make sense of."""
        if node.get("level", 0) >= LOST:
            for block in node.findall(nodes.literal_block):
                self._write_verbatim(block)

    def _write_table(self, node: nodes.Element) -> None:
        line = self._lines.of(node, "")
        for part in node.children:
            if isinstance(part, nodes.title):
                self._write_words(part)
        gap = PARAGRAPH
        for row in node.findall(nodes.row):
            cells = [one_line(_cell(entry)) for entry in row.children]
            text = " | ".join(cells).rstrip(" |")
            first = next((paragraph.line for paragraph in row.findall(nodes.paragraph)), None)
            if line is not None:
                # Cells of a CSV table are counted from the table's own first line.
                inside = int(first) if first is not None and first > line else 0
                find = self._lines.near if inside else self._lines.below
                line = find(inside or line, cells)
            self.blocks.block(text, line, gap=gap)
            gap = "\n" if text else gap
        self._gap = PARAGRAPH


def _bullet(node: nodes.Element, count: int) -> str:
    if isinstance(node, nodes.bullet_list):
        return "- "
    number = int(node.get("start", 1)) + count
    if node.get("enumtype") in ("loweralpha", "upperalpha") and number <= 26:
        letter = chr(ord("a") + number - 1)
        return f"{letter.upper() if node['enumtype'] == 'upperalpha' else letter}. "
    return f"{number}. "


def _inline(node: nodes.Node) -> str:
    """The words of a node as a reader sees them; line breaks are those of the source."""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, nodes.problematic):
        written = node.astext()
        found = _REFERENCE.fullmatch(written)
        return (found["title"] or found["word"]) if found else written
    if isinstance(node, nodes.citation_reference):
        return f"[{node.astext()}]"
    pieces = ""
    for child in node.children:
        if isinstance(child, nodes.footnote_reference):
            pieces = pieces.rstrip(" ")
        elif not isinstance(child, (nodes.generated, nodes.image, nodes.raw)):
            pieces += _inline(child)
    return pieces


def _cell(entry: nodes.Element) -> str:
    return " ".join(
        _inline(node)
        for node in entry.findall(nodes.TextElement, include_self=False)
        if not isinstance(node.parent, nodes.TextElement)
    )


def _title(tree: nodes.document) -> str:
    """The document's title: its only top section's, or that of the section it begins with."""
    for node in tree.children:
        if isinstance(node, nodes.title):
            return one_line(_inline(node))
        if isinstance(node, nodes.section):
            return one_line(_inline(node.next_node(nodes.title)))
        if not isinstance(node, (nodes.comment, nodes.target, nodes.docinfo, nodes.meta)):
            return ""
    return ""


def _facts(tree: nodes.document, uri: str) -> dict[str, Any]:
    """Title, authors, date and tags of the field list in front of the text."""
    authors: list[str] = []
    tags: list[str] = []
    found: dict[str, str] = {}
    info = tree.next_node(nodes.docinfo)
    for node in info.children if info is not None else ():
        name, value = type(node).__name__, one_line(node.astext())
        if isinstance(node, nodes.field):
            name = node.children[0].astext().lower()
            value = one_line(node.children[1].astext())
        if name == "authors":
            people = (names(one_line(child.astext())) for child in node.children)
            authors = [person for group in people for person in group]
        elif name == "author":
            authors += names(value)
        elif name in _TAGS:
            tags += [tag.strip() for tag in value.split(",") if tag.strip()]
        else:
            found[_OTHER_NAMES.get(name, name)] = value
    refuse_readers(found, uri)
    return {
        "title": found.get("title", ""),
        "authors": tuple(authors),
        "published_at": moment(found.get("date", "").strip("$ ").removeprefix("Date: ")),
        "language": found.get("language", "").lower(),
        "summary": found.get("summary", ""),
        "taxonomy": {"tags": tuple(dict.fromkeys(tags))} if tags else {},
    }
