"""Loads text that is neither prose nor Markdown: programs, settings, logs, outlines, notebooks.

Programs, settings and logs keep their lines as they are. Outlines (Org, AsciiDoc, LaTeX) are plain
text with the headings of their format. What another format can tell is turned into it first:
notebooks and MDX into Markdown, RTF into plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from striprtf.striprtf import rtf_to_text as _rtf_to_text

from wellread.errors import SourceError
from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import Loader, LoaderLimits, Source
from wellread.ingest.loaders.plain import Blocks, decode, parse_json
from wellread.ingest.loaders.text import markdown_files
from wellread.ingest.loaders.text.records import objects
from wellread.types import Document, LineMark

rtf_to_text: Callable[..., str] = _rtf_to_text  # the library has no types
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of terminals, in logs and printed output
# What stands for a heading or the fence of code in an outline, and for it in Markdown.
_OUTLINES: Mapping[str, Sequence[tuple[str, str]]] = {
    "org": (
        (r"#\+title:\s*", "# "),
        (r"(\*+) (?:(?:TODO|DONE) )?", r"#\1 "),
        (r"#\+(?:begin|end)_(?:src|example)\b.*", "```"),
        (r"(?:#\+\w+:|:[A-Z_]+:).*", ""),
    ),
    "adoc": (
        (r"(={1,6}) ", r"\1 "),
        (r"(?:-{4,}|\.{4,})$", "```"),
        (r"(?:={4,}|\[.*\]|//.*)$", ""),
    ),
    "tex": (
        (r"\\title\{(.+?)\}\s*(?:%.*)?$", r"# \1"),
        (r"\\(?:part|chapter|section)\*?\{(.+?)\}", r"## \1"),
        (r"\\subsection\*?\{(.+?)\}", r"### \1"),
        (r"\\(?:subsubsection|paragraph)\*?\{(.+?)\}", r"#### \1"),
        (r"\\(?:begin|end)\{(?:verbatim|lstlisting)\}.*", "```"),
        (r"(?:%|\\(?:documentclass|usepackage|begin|end|label|maketitle)\b).*", ""),
    ),
}

_INLINE: Mapping[str, Sequence[tuple[str, str]]] = {  # the same for what stands inside a line
    "org": ((r"(?<=-)\+(?=-)", "|"), (r"\[\[[^][]*\]\[([^][]*)\]\]", r"\1")),
    "tex": (
        (r"(?<!\\)%.*", ""),
        (r"\\href\{[^{}]*\}\{([^{}]*)\}", r"\1"),
        (r"~?\\(?:[a-z]*cite[a-z]*|[a-z]*ref|label|index)\*?(?:\[[^]]*\])*\{[^{}]*\}", ""),
        (r"\\[A-Za-z]+\*?(?:\[[^]]*\])*\{([^{}]*)\}", r"\1"),
        (r"\\[A-Za-z]+\*?(?:\[[^]]*\])*\{([^{}]*)\}", r"\1"),  # around the others
        (r"\\item\b(?:\[([^]]*)\])?", r"- \1"),
        (r"~|\\[,;: ]", " "),
        (r"\\([%&_#$])", r"\1"),
    ),
}


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Load a file as one page whose lines stay as they are; blank lines part its blocks."""
    blocks = Blocks()
    for number, lines in _paragraphs(_COLOURS.sub("", decode(source)).split("\n")):
        starts, length = list[tuple[int, int]](), 0
        for offset, line in enumerate(lines):
            starts += [(length, number + offset)] if offset else []
            length += len(line) + 1
        blocks.block("\n".join(lines), number, later=starts)
    yield source.document(
        blocks.build(), kind="page", title=source.name, source_type=_ending(source) or "text"
    )


def load_outline(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load an Org, AsciiDoc or LaTeX file as one page with its headings."""
    form = _ending(source).replace("asciidoc", "adoc")
    lines = decode(source).split("\n")
    for number, line in enumerate(lines):
        for sign, markdown in _OUTLINES[form]:
            told, count = re.subn(rf"^\s*{sign}", markdown, line, flags=re.IGNORECASE)
            if count:
                level = len(told) - len(told.lstrip("=#*"))  # of "=== Title" and "#** Title"
                is_heading = told[level : level + 1] == " "
                line = "#" * level + told[level:] if is_heading else told
                break
        for sign, shown in _INLINE.get(form, ()):
            line = re.sub(sign, shown, line)
        lines[number] = line
    yield from _read_as(markdown_files.load, source, "\n".join(lines), limits, form)


def _ending(source: Source) -> str:
    return source.name.lower().rpartition(".")[2] if "." in source.name else ""


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the runs of lines between blank ones, with the number of the first (from 1)."""
    run: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            run.append(line.rstrip())
        elif run:
            yield number - len(run), run
            run = []


# --- read as another format ------------------------------------------------------------------


def load_rtf(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load the text of an RTF file as one page."""
    if not source.data.lstrip().startswith(b"{\\rtf"):
        raise SourceError(source.uri, "not RTF: the file does not begin with {\\rtf")
    text = rtf_to_text(source.data.decode("latin-1"), errors="replace")
    yield from _read_as(plain.load, source, text, limits, "rtf")


def load_notebook(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a notebook as one page: its texts as Markdown, its code and printed output as code."""
    tree = parse_json(source)
    tree = tree if isinstance(tree, dict) else {}
    cells = objects(tree.get("cells")) + [  # the second before version 4 of the format
        cell for sheet in objects(tree.get("worksheets")) for cell in objects(sheet.get("cells"))
    ]
    if not cells:
        raise SourceError(source.uri, "not a notebook with text: the file has no cells")
    text = "\n\n".join(part for cell in cells for part in _cell_parts(cell))
    yield from _read_as(markdown_files.load, source, text, limits, "notebook")


def _cell_parts(cell: Mapping[str, Any]) -> Iterator[str]:
    content = _joined(cell.get("source", cell.get("input")))
    is_code = cell.get("cell_type") == "code"
    yield _fenced(content) if is_code else content
    for output in objects(cell.get("outputs")) if is_code else ():
        data = output.get("data") or output
        yield _fenced(_COLOURS.sub("", _joined(data.get("text/plain") or data.get("text"))))


def _joined(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _fenced(code: str) -> str:
    longest = max(map(len, re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{code.rstrip()}\n{fence}" if code.strip() else ""


# Tags of components, also over several lines and with braces inside; comments in braces.
_JSX = re.compile(
    r"</?(?:[A-Z][\w.]*(?:[^<>{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+)?/?>|\{/\*.*?\*/\}",
    re.DOTALL,
)
_STATEMENT = re.compile(r"^(?:import|export)\s(?:.+\n)+?(?=\s*\n|\Z|#|(?:import|export)\s)", re.M)
_CODE = re.compile(r"(^[ ]{0,3}(`{3,}|~{3,}).*?^[ ]{0,3}\2[`~]*[ \t]*$|`[^`\n]+`)", re.M | re.S)
_DEEP = re.compile(r"^[ \t]{4,}(?![-*+] |\d+[.)] )", re.MULTILINE)


def load_mdx(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load MDX as Markdown, without imports, exports and the tags of components."""
    pieces = _CODE.split(decode(source) + "\n")
    text = "".join(
        "" if at % 3 == 2 else piece if at % 3 else _without_jsx(piece)
        for at, piece in enumerate(pieces)
    )
    yield from _read_as(markdown_files.load, source, text, limits, "mdx")


def _without_jsx(text: str) -> str:
    """Return the prose of MDX; line numbers are kept. Indented lines are no code there."""
    for pattern in (_STATEMENT, _JSX):
        text = pattern.sub(lambda match: "\n" * match.group().count("\n"), text)
    return _DEEP.sub("", text)


def _read_as(
    loader: Loader, source: Source, text: str, limits: LoaderLimits, form: str
) -> Iterator[Document]:
    """Load ``text`` in place of the source's own; the lines of some are not those of the file."""
    for document in loader(replace(source, data=text.encode()), limits):
        marks = document.marks
        if form in ("rtf", "notebook"):
            marks = tuple(mark for mark in marks if not isinstance(mark, LineMark))
        yield replace(document, marks=marks, source_type=form)
