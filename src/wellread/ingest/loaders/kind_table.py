"""The table of supported source kinds. A new kind needs an entry here and a loader.

A loader's module is imported on first use, so that unused parsers cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pkgutil import resolve_name

from wellread.ingest.loaders.base import Loader

# Memory limits: MiB for any file of the kind, and bytes in addition for each byte of the file.
TEXT = (256, 80)
PACKED = (384, 200)  # text in office files is compressed about ten to one
UNKNOWN = (1024, 200)  # for loaders of plug-ins
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
    """

    name: str
    version: str
    target: str
    extensions: str = ""
    memory: tuple[int, int] = UNKNOWN
    decides: bool = False

    @property
    def identity(self) -> str:
        """Name and version, as stored in the source record."""
        return f"{self.name}/{self.version}"

    @property
    def function(self) -> Loader:
        """The loader function; imports its module and parser."""
        loader: Loader = resolve_name(self.target)
        return loader


def _text(
    name: str, version: str, function: str, extensions: str = "", *, decides: bool = False
) -> LoaderEntry:
    entry = _entry(name, version, function, extensions, memory=TEXT)
    return replace(entry, decides=decides)


def _entry(
    name: str, version: str, function: str, extensions: str = "", memory: tuple[int, int] = PACKED
) -> LoaderEntry:
    target = f"wellread.ingest.loaders.{function}"
    return LoaderEntry(
        name=name, version=version, target=target, extensions=extensions, memory=memory
    )


LOADERS = {
    entry.name: entry
    for entry in (
        _text(
            "markdown", "4", "text.markdown_files:load", ".md .markdown .mdown .mkd", decides=True
        ),
        _text("markdown-transcript", "4", "text.markdown_files:load_transcript"),
        _entry("html", "6", "text.html:load", ".html .htm .xhtml", memory=(256, 120)),
        _text("text", "3", "plain:load", ".txt .text"),
        # Pages with white letters are rendered, with large pictures on them.
        _entry("pdf", "3", "pdf.pdf:load", ".pdf", memory=(640, 120)),
        _text("captions", "3", "text.transcripts:load", ".vtt .srt .sbv", decides=True),
        _text("speech", "2", "text.transcripts:load_speech"),
        _entry("feed", "5", "text.feeds:load", ".rss .atom", memory=TEXT),
        _text("records", "3", "text.records:load", ".jsonl .ndjson", decides=True),
        _text("rst", "3", "text.restructured:load", ".rst .rest", decides=True),
        _entry("docx", "3", "office.office_docx:load", ".docx .docm"),
        _entry("pptx", "4", "office.office_pptx:load", ".pptx .pptm .ppsx .ppsm"),
        _entry("xlsx", "2", "office.office_xlsx:load", ".xlsx .xlsm"),
        _entry("odt", "2", "office.books:load_odt"),
        _entry("epub", "2", "office.books:load_epub"),
        _entry("office-binary", "1", "archives:refuse_binary"),
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
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    f"{_OFFICE}wordprocessingml.document": ".docx",
    f"{_OFFICE}presentationml.presentation": ".pptx",
    f"{_OFFICE}spreadsheetml.sheet": ".xlsx",
}
