"""Every kind of source that is read: one entry each. A new kind is an entry here and a loader.

A loader's module is imported when it is first used, so that nobody pays for a parser that nothing
needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pkgutil import resolve_name

from wellread.ingest.loaders.base import Loader

# MiB that any file of a kind may take, and bytes more for each byte of it.
TEXT = (256, 80)
PACKED = (384, 200)  # the text of office files is packed ten to one
UNKNOWN = (1024, 200)  # loaders of other packages
_OFFICE = "application/vnd.openxmlformats-officedocument."


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderEntry:
    """One loader.

    Attributes:
        version: raised with every change of what it yields, so that sources are read again.
        target: where its function stands, as ``module:function``.
        extensions: that tell the kind where the content does not.
        memory: what a file of the kind may take.
        text: its encoding may be undeclared.
        sure: the extension decides: first lines may look like another format (an HTML block, a
            JSON example).
    """

    name: str
    version: str
    target: str
    extensions: str = ""
    memory: tuple[int, int] = UNKNOWN
    text: bool = False
    sure: bool = False

    @property
    def identity(self) -> str:
        """Name and version, as the source record keeps it."""
        return f"{self.name}/{self.version}"

    @property
    def function(self) -> Loader:
        """The loader itself; imports its module (and the parser behind it)."""
        found: Loader = resolve_name(self.target)
        return found


def _text(
    name: str, version: str, place: str, extensions: str = "", *, sure: bool = False
) -> LoaderEntry:
    entry = _entry(name, version, place, extensions, memory=TEXT)
    return replace(entry, text=True, sure=sure)


def _entry(
    name: str, version: str, place: str, extensions: str = "", memory: tuple[int, int] = PACKED
) -> LoaderEntry:
    target = f"wellread.ingest.loaders.{place}"
    return LoaderEntry(
        name=name, version=version, target=target, extensions=extensions, memory=memory
    )


LOADERS = {
    entry.name: entry
    for entry in (
        _text("markdown", "3", "text.markdown_files:load", ".md .markdown .mdown .mkd", sure=True),
        _text("markdown-transcript", "3", "text.markdown_files:load_transcript"),
        replace(
            _entry("html", "5", "text.html:load", ".html .htm .xhtml", memory=(256, 120)), text=True
        ),
        _text("text", "3", "plain:load", ".txt .text"),
        # Pages with white letters are drawn, large pictures with them.
        _entry("pdf", "3", "pdf.pdf:load", ".pdf", memory=(640, 120)),
        _text("captions", "2", "text.transcripts:load", ".vtt .srt .sbv", sure=True),
        _text("speech", "2", "text.transcripts:load_speech"),
        _entry("feed", "4", "text.feeds:load", ".rss .atom", memory=TEXT),
        _text("records", "3", "text.records:load", ".jsonl .ndjson", sure=True),
        _text("rst", "3", "text.restructured:load", ".rst .rest", sure=True),
        _entry("docx", "2", "office.office_docx:load", ".docx .docm"),
        _entry("pptx", "3", "office.office_pptx:load", ".pptx .pptm .ppsx .ppsm"),
        _entry("xlsx", "2", "office.office_xlsx:load", ".xlsx .xlsm"),
        _entry("odt", "2", "office.books:load_odt"),
        _entry("epub", "2", "office.books:load_epub"),
        _entry("office-binary", "1", "archives:refuse_binary"),
    )
}
OPML = "opml"  # a list of feeds: no document, so no loader
EXTENSIONS = {
    ".opml": OPML,
    **{end: entry.name for entry in LOADERS.values() for end in entry.extensions.split()},
}
# Content types of the web to the extension of a name that has none of the kind's own.
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
