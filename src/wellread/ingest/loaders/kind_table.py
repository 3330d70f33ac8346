"""The table of supported source kinds. A new kind needs an entry here and a loader.

A loader's module is imported on first use, so that unused parsers cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

FACTS_VERSION = "1"  # increased when documents of every kind get another fact, as their language
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
    decides: bool = False
    holds: bool = False
    library: str = ""
    place: str = ""

    @property
    def identity(self) -> str:
        """Name and version, as stored in the source record."""
        return f"{self.name}/{self.version}.{FACTS_VERSION}"

    @property
    def function(self) -> Any:
        """The ``Loader``, or the ``Container`` if it ``holds`` files; imports its parser."""
        return resolve_name(self.target)


def _kind(name: str, target: str, place: str, library: str, ends: str, **more: Any) -> LoaderEntry:
    """Return an entry; without a memory limit of its own, it is text in an undeclared encoding."""
    name, _, version = name.partition("/")
    return LoaderEntry(
        name=name,
        version=version,
        target=f"wellread.ingest.loaders.{target}",
        place=place,
        library=library,
        extensions=ends,
        **{"memory": TEXT, **more},
    )


_CODE = (
    ".py .pyi .js .mjs .cjs .ts .tsx .jsx .vue .svelte .java .kt .kts .scala .groovy .gradle .c .h "
    ".cc .cpp .cxx .hh .hpp .m .mm .cs .fs .go .rs .swift .dart .rb .php .pl .pm .lua .r .jl .hs "
    ".ml .ex .exs .erl .clj .el .lisp .sh .bash .zsh .fish .ps1 .bat .cmd .sql .graphql .proto "
    ".tf .cmake .mk .css .scss .less .diff .patch .log .yaml .yml .json .json5 .toml .ini .cfg "
    ".conf .properties"
)
_MD, _TURN = "markdown-it-py, PyYAML", "time, speaker"
_ONLY: dict[str, Any] = {"decides": True}
_PAGE: dict[str, Any] = {"memory": (256, 120)}
_OFFICE_FILE: dict[str, Any] = {"memory": PACKED}
_MAIL: dict[str, Any] = {"memory": HOLDER, "decides": True, "holds": True}
# fmt: off
LOADERS = {
    entry.name: entry
    for entry in (
        _kind("markdown/4", "text.markdown_files:load", "heading", _MD,
              ".md .markdown .mdown .mkd", **_ONLY),
        _kind("markdown-transcript/4", "text.markdown_files:load_transcript", _TURN, _MD, ""),
        _kind("mdx/1", "text.lines:load_mdx", "heading", _MD, ".mdx", **_ONLY),
        _kind("notebook/1", "text.lines:load_notebook", "heading", _MD, ".ipynb", **_ONLY),
        _kind("outline/2", "text.lines:load_outline", "heading", _MD, ".org .adoc .asciidoc .tex"),
        _kind("rst/5", "text.restructured:load", "heading", "docutils", ".rst .rest", **_ONLY),
        _kind("html/8", "text.html:load", "heading", "trafilatura, lxml", ".html .htm .xhtml",
              **_PAGE),
        _kind("mhtml/1", "text.mail:load_mhtml", "heading", "trafilatura, lxml", ".mhtml .mht",
              **_PAGE, **_ONLY),
        _kind("text/3", "plain:load", "line", "", ".txt .text"),
        _kind("lines/1", "text.lines:load", "line", "", _CODE),
        _kind("rtf/1", "text.lines:load_rtf", "", "striprtf", ".rtf", **_ONLY),
        # Pages with white letters are rendered, with large pictures on them.
        _kind("pdf/4", "pdf.pdf:load", "page, box", "pypdfium2", ".pdf", memory=(640, 120)),
        _kind("captions/4", "text.transcripts:load", _TURN, "", ".vtt .srt .sbv", **_ONLY),
        _kind("speech/4", "text.transcripts:load_speech", _TURN, "", ""),
        _kind("meeting/1", "text.meetings:load", _TURN, "dateparser", ""),
        _kind("feed/6", "text.feeds:load", "heading", "feedparser", ".rss .atom"),
        _kind("records/3", "text.records:load", "line", "", ".jsonl .ndjson", **_ONLY),
        _kind("table/1", "text.records:load_table", "line", "", ".csv .tsv .tab"),
        _kind("mail/1", "text.mail:load", "", "mail-parser-reply", ".eml .mbox .mbx", **_MAIL),
        _kind("outlook/1", "text.mail:load_msg", "", "python-oxmsg, mail-parser-reply",
              ".msg", **_MAIL),
        _kind("zip/1", "archives:load_zip", "", "", ".zip", memory=HOLDER, holds=True),
        _kind("docx/5", "office.office_docx:load", f"heading; {_TURN}", "python-docx, lxml",
              ".docx .docm", **_OFFICE_FILE),
        _kind("pptx/4", "office.office_pptx:load", "page", "python-pptx",
              ".pptx .pptm .ppsx .ppsm", **_OFFICE_FILE),
        _kind("xlsx/4", "office.office_xlsx:load", "heading, line", "openpyxl", ".xlsx .xlsm",
              **_OFFICE_FILE),
        _kind("odt/3", "office.books:load_odt", "heading", "lxml", "", **_OFFICE_FILE),
        _kind("epub/3", "office.books:load_epub", "heading", "lxml", "", **_OFFICE_FILE),
        _kind("office-binary/1", "archives:refuse_binary", "", "", "", **_OFFICE_FILE),
    )
}
# fmt: on
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
    "application/vnd.ms-outlook": ".msg",
    "multipart/related": ".mhtml",
    "application/rtf": ".rtf",
    "application/zip": ".zip",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
}
