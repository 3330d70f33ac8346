"""Directives and roles of reStructuredText that docutils does not know, or would not keep.

Most files are written for Sphinx and its extensions. While one is parsed, every unknown name in
it stands for a directive or role that keeps the words and does nothing else.

Where its blocks stand is found here too: docutils is off by some lines for titles (it gives the
line below them), for directives, and for what is nested in them. So the words of a block are
looked for around the line that it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from docutils import nodes, utils
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

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
    """Line numbers, the nearest first."""
    return sorted(range(line - NEAR, line + NEAR + 1), key=lambda at: abs(at - line))
