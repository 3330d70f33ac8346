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
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import date_in_name, parse_moment
from wellread.ingest.loaders.plain import Blocks, decode, one_line, parse_json, title_from_name
from wellread.ingest.loaders.text import markdown_files
from wellread.types import Document, LineMark

rtf_to_text: Callable[..., str] = _rtf_to_text  # the library has no types
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of terminals, in logs and printed output
_HEADINGS = {
    "org": re.compile(r"(?P<level>\*+)\s+(?:(?:TODO|DONE)\s+)?(?P<title>.+?)(?:\s+:[\w@:]+:)?\s*$"),
    "adoc": re.compile(r"(?P<level>={1,6})\s+(?P<title>.+?)\s*$"),
    "tex": re.compile(
        r"\s*\\(?P<level>part|chapter|(?:sub){0,2}section|paragraph)\*?(?:\[[^\]]*\])?"
        r"\{(?P<title>.+?)\}\s*(?:\\label\{[^}]*\}\s*)?$"
    ),
}
_TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_FACTS = re.compile(
    r"#\+(?P<a>title|author|date):\s*(?P<b>.+)|\s*\\(?P<c>title|author|date)\{(?P<d>[^{}]+)\}"
    r"|:(?P<e>title|author|date|revdate):\s*(?P<f>.+)",
    re.IGNORECASE,
)
_TEX_AND = re.compile(r"\s*\\and\b\s*")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """Load a file as one page whose lines stay as they are; blank lines part its blocks."""
    blocks = Blocks()
    for number, lines in _paragraphs(_COLOURS.sub("", decode(source)).split("\n")):
        _write_lines(blocks, lines, number)
    yield source.document(
        blocks.build(), kind="page", title=source.name, source_type=_ending(source) or "text"
    )


def load_outline(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001
    """Load an Org, AsciiDoc or LaTeX file as one page with its headings."""
    form = {"asciidoc": "adoc"}.get(_ending(source), _ending(source))
    blocks, first = Blocks(), ""
    facts: dict[str, str] = {}
    for number, lines in _paragraphs(decode(source).split("\n")):
        open_line, body = number, list[str]()
        for line in lines:
            heading, fact = _HEADINGS[form].match(line), _FACTS.match(line)
            if heading or fact:
                _write_lines(blocks, body, open_line)
                open_line, body = open_line + len(body) + 1, []
            else:
                body.append(line)
            if fact:
                name, value = (part for part in fact.groups() if part)
                facts.setdefault(name.lower(), value.strip())
            elif heading:
                first = first or heading["title"]
                blocks.heading(_level(heading["level"]), heading["title"], open_line - 1)
        _write_lines(blocks, body, open_line)
    title = one_line(facts.get("title", "")) or one_line(first) or title_from_name(source.name)
    yield source.document(
        blocks.build(),
        kind="page",
        title=title,
        source_type=form,
        authors=tuple(filter(None, _TEX_AND.split(facts.get("author", "")))),
        published_at=parse_moment(facts.get("revdate", facts.get("date", "")).strip("<>[]"))
        or date_in_name(source.name),
    )


def _level(sign: str) -> int:
    return _TEX_LEVELS.index(sign) + 1 if sign in _TEX_LEVELS else len(sign)


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


def _write_lines(blocks: Blocks, lines: Sequence[str], number: int) -> None:
    starts, length = list[tuple[int, int]](), 0
    for offset, line in enumerate(lines):
        starts += [(length, number + offset)] if offset else []
        length += len(line) + 1
    blocks.block("\n".join(lines), number, later=starts)


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
    cells = tree.get("cells") if isinstance(tree, dict) else None
    if isinstance(tree, dict) and cells is None:  # the format before version 4
        cells = [cell for sheet in _objects(tree.get("worksheets")) for cell in sheet["cells"]]
    if not isinstance(cells, list):
        raise SourceError(source.uri, "not a notebook: the file has no list of cells")
    text = "\n\n".join(part for cell in _objects(cells) for part in _cell_parts(cell))
    if not text.strip():
        raise EmptyError(source.uri, "no text: the notebook has no filled cells")
    yield from _read_as(markdown_files.load, source, text, limits, "notebook")


def _cell_parts(cell: Mapping[str, Any]) -> Iterator[str]:
    content = _joined(cell.get("source", cell.get("input")))
    if cell.get("cell_type") == "heading":
        yield f"{'#' * int(cell.get('level', 1))} {content}"
    elif cell.get("cell_type") != "code":
        yield content
    else:
        yield _fenced(content)
        for output in _objects(cell.get("outputs")):
            data = output.get("data") or output
            printed = _joined(data.get("text/plain") or data.get("text"))
            yield _fenced(_COLOURS.sub("", printed))


def _joined(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


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
    read = replace(source, data=text.encode())
    for document in markdown_files.load(read, limits):
        yield replace(document, source_type="mdx")


def _without_jsx(text: str) -> str:
    """Return the prose of MDX; line numbers are kept. Indented lines are no code there."""
    for pattern in (_STATEMENT, _JSX):
        text = pattern.sub(lambda match: "\n" * match.group().count("\n"), text)
    return _DEEP.sub("", text)


def _read_as(
    loader: Any, source: Source, text: str, limits: LoaderLimits, form: str
) -> Iterator[Document]:
    """Load ``text`` in place of the source's own; its lines are not those of the file."""
    for document in loader(replace(source, data=text.encode()), limits):
        marks = tuple(mark for mark in document.marks if not isinstance(mark, LineMark))
        yield replace(document, marks=marks, source_type=form)
