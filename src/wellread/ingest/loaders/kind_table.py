"""The table of supported source kinds. A new kind needs an entry here and a loader.

A loader's module is imported on first use, so that unused parsers cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

from wellread.ingest.loaders.base import Container, Loader

# Memory limits: MiB for any file of the kind, and bytes in addition for each byte of the file.
TEXT = (256, 80)
PACKED = (384, 200)  # text in office files is compressed about ten to one
UNKNOWN = (1024, 200)  # for loaders of plug-ins
HOLDER = (640, 240)  # for files with others inside, of any kind
_OFFICE = "application/vnd.openxmlformats-officedocument."


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderEntry:
    """One loader and the files that it reads.

    Attributes:
        version: increased with every change of the output, so that sources are read again.
        target: the function, as ``module:function``.
        extensions: file extensions that decide the kind when the content does not.
        memory: the memory limit for a file of the kind.
        text: whether the files are text whose encoding may be undeclared.
        decides: whether the extension decides alone, because the first lines may look
            like another format (an HTML block, a JSON example).
        holds: whether other files may be inside, which the loader yields as sources.
        library: by which library the files are read; empty for the standard library.
        place: what the locator of a passage shows.
    """

    name: str
    version: str
    target: str
    extensions: str = ""
    memory: tuple[int, int] = UNKNOWN
    text: bool = False
    decides: bool = False
    holds: bool = False
    library: str = ""
    place: str = ""

    @property
    def identity(self) -> str:
        """Name and version, as stored in the source record."""
        return f"{self.name}/{self.version}"

    @property
    def function(self) -> Loader:
        """The loader function; imports its module and parser."""
        loader: Loader = resolve_name(self.target)
        return loader

    @property
    def container(self) -> Container:
        """The loader function of files with others inside."""
        loader: Container = resolve_name(self.target)
        return loader


def _text(name: str, function: str, extensions: str = "", **more: Any) -> LoaderEntry:
    return replace(_entry(name, function, extensions, **{"memory": TEXT, **more}), text=True)


def _entry(name: str, function: str, extensions: str = "", **more: Any) -> LoaderEntry:
    name, _, version = name.partition("/")
    target = f"wellread.ingest.loaders.{function}"
    return LoaderEntry(
        name=name,
        version=version,
        target=target,
        extensions=extensions,
        **{"memory": PACKED, **more},
    )


_CODE = (
    ".py .pyi .js .mjs .cjs .ts .tsx .jsx .vue .svelte .java .kt .kts .scala .groovy .gradle .c .h "
    ".cc .cpp .cxx .hh .hpp .m .mm .cs .fs .go .rs .swift .dart .rb .php .pl .pm .lua .r .jl .hs "
    ".ml .ex .exs .erl .clj .el .lisp .sh .bash .zsh .fish .ps1 .bat .cmd .sql .graphql .proto "
    ".tf .cmake .mk .css .scss .less .diff .patch .log .yaml .yml .json .json5 .toml .ini .cfg "
    ".conf .properties"
)
_LINE, _HEADING, _TIME = "line", "heading", "time, speaker"

LOADERS = {
    entry.name: entry
    for entry in (
        _text(
            "markdown/3",
            "text.markdown_files:load",
            ".md .markdown .mdown .mkd",
            decides=True,
            library="markdown-it-py, PyYAML",
            place=_HEADING,
        ),
        _text(
            "markdown-transcript/3",
            "text.markdown_files:load_transcript",
            library="markdown-it-py, PyYAML",
            place=_TIME,
        ),
        _text(
            "mdx/1",
            "text.lines:load_mdx",
            ".mdx",
            decides=True,
            library="markdown-it-py, PyYAML",
            place=_HEADING,
        ),
        _text(
            "html/5",
            "text.html:load",
            ".html .htm .xhtml",
            memory=(256, 120),
            library="trafilatura, lxml",
            place=_HEADING,
        ),
        _entry(
            "mhtml/1",
            "text.mail:load_mhtml",
            ".mhtml .mht",
            memory=(256, 120),
            decides=True,
            library="trafilatura, lxml",
            place=_HEADING,
        ),
        _text("text/3", "plain:load", ".txt .text", place=_LINE),
        _text("outline/1", "text.lines:load_outline", ".org .adoc .asciidoc .tex", place=_HEADING),
        _text("lines/1", "text.lines:load", _CODE, place=_LINE),
        _text(
            "notebook/1",
            "text.lines:load_notebook",
            ".ipynb",
            decides=True,
            library="markdown-it-py",
            place=_HEADING,
        ),
        _entry(
            "rtf/1",
            "text.lines:load_rtf",
            ".rtf",
            memory=TEXT,
            decides=True,
            library="striprtf",
            place="none",
        ),
        # Pages with white letters are rendered, with large pictures on them.
        _entry(
            "pdf/3",
            "pdf.pdf:load",
            ".pdf",
            memory=(640, 120),
            library="pypdfium2",
            place="page, box",
        ),
        _text(
            "captions/2",
            "text.transcripts:load",
            ".vtt .srt .sbv",
            decides=True,
            library="webvtt-py",
            place=_TIME,
        ),
        _text("speech/3", "text.transcripts:load_speech", place=_TIME),
        _text("meeting/1", "text.meetings:load", place=_TIME),
        _entry(
            "feed/4",
            "text.feeds:load",
            ".rss .atom",
            memory=TEXT,
            library="feedparser",
            place=_HEADING,
        ),
        _text("records/3", "text.records:load", ".jsonl .ndjson", decides=True, place=_LINE),
        _text("table/1", "text.records:load_table", ".csv .tsv .tab", place=_LINE),
        _text("rst/3", "text.restructured:load", ".rst .rest", decides=True, place=_HEADING),
        _entry(
            "mail/1",
            "text.mail:load",
            ".eml .mbox .mbx",
            memory=HOLDER,
            decides=True,
            holds=True,
            library="quotequail, lxml",
            place="heading",
        ),
        _entry(
            "outlook/1",
            "text.mail:load_msg",
            ".msg",
            memory=HOLDER,
            decides=True,
            holds=True,
            library="python-oxmsg, quotequail",
            place="heading",
        ),
        _entry(
            "zip/1", "archives:load_zip", ".zip", memory=HOLDER, holds=True, place="of the file"
        ),
        _entry(
            "docx/3",
            "text.meetings:load_docx",
            ".docx .docm",
            library="python-docx, lxml",
            place=f"{_HEADING}, or {_TIME}",
        ),
        _entry(
            "pptx/3",
            "office.office_pptx:load",
            ".pptx .pptm .ppsx .ppsm",
            library="python-pptx",
            place="page",
        ),
        _entry(
            "xlsx/2",
            "office.office_xlsx:load",
            ".xlsx .xlsm",
            library="openpyxl",
            place="sheet, row",
        ),
        _entry("odt/2", "office.books:load_odt", library="lxml", place=_HEADING),
        _entry("epub/2", "office.books:load_epub", library="lxml", place=_HEADING),
        _entry("office-binary/1", "archives:refuse_binary"),
    )
}
OPML = "opml"  # a list of feeds; it contains no document, so it has no loader
EXTENSIONS = {
    ".opml": OPML,
    **{end: entry.name for entry in LOADERS.values() for end in entry.extensions.split()},
}
# Web content types and the extension they imply when the name has no extension of the kind.
TYPES = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "application/x-pdf": ".pdf",
    "application/rss+xml": ".rss",
    "application/atom+xml": ".atom",
    "application/rdf+xml": ".rss",
    "application/feed+json": ".json",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/x-rst": ".rst",
    "text/prs.fallenstein.rst": ".rst",
    "text/vtt": ".vtt",
    "application/x-subrip": ".srt",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "message/rfc822": ".eml",
    "application/mbox": ".mbox",
    "application/vnd.ms-outlook": ".msg",
    "multipart/related": ".mhtml",
    "application/x-mimearchive": ".mhtml",
    "application/x-ipynb+json": ".ipynb",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "text/x-org": ".org",
    "application/zip": ".zip",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
}
