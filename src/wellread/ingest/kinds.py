"""Which loader reads a source: by its content first, then by its extension.

A loader's module is imported when it is first used, so that nobody pays for a parser that
nothing needs.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from wellread.errors import SourceError
from wellread.ingest import markdown_transcripts
from wellread.ingest.base import Loader, LoaderLimits, Source
from wellread.types import Document

logger = logging.getLogger(__name__)

HEAD_BYTES = 4096
REASON_CHARACTERS = 200

_XML_ROOT = re.compile(
    rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[.*?\])?[^>]*>\s*)*<(?:\w+:)?([A-Za-z]+)",
    re.DOTALL | re.IGNORECASE,
)
_SRT_START = re.compile(r"\s*\d+\s*\n\s*\d+:\d\d:\d\d[,.]\d+\s*-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderEntry:
    """One loader.

    Attributes:
        name: what it reads, in a word.
        version: raised with every change of what it yields, so that sources are read again.
        module: where its function ``load`` stands.
    """

    name: str
    version: str
    module: str

    @property
    def identity(self) -> str:
        """Name and version, as the source record keeps it."""
        return f"{self.name}/{self.version}"

    @property
    def function(self) -> Loader:
        """The loader itself; imports its module (and the parser behind it)."""
        found: Loader = importlib.import_module(self.module).load
        return found


def _entry(name: str, version: str, module: str) -> LoaderEntry:
    return LoaderEntry(name=name, version=version, module=f"wellread.ingest.{module}")


LOADERS = {
    entry.name: entry
    for entry in (
        _entry("markdown", "1", "markdown"),
        _entry("markdown-transcript", "1", "markdown_transcripts"),
        _entry("html", "1", "html"),
        _entry("text", "1", "plain"),
        _entry("pdf", "1", "pdf"),
        _entry("captions", "1", "transcripts"),
        _entry("feed", "1", "feeds"),
        _entry("records", "1", "records"),
    )
}

EXTENSIONS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
    ".pdf": "pdf",
    ".vtt": "captions",
    ".srt": "captions",
    ".sbv": "captions",
    ".rss": "feed",
    ".atom": "feed",
    ".jsonl": "records",
    ".ndjson": "records",
}
# Text formats whose first lines may look like another format (an HTML block, a JSON example).
_OWN_WORD = frozenset({"markdown", "captions", "records"})


def loader_for(source: Source) -> LoaderEntry | None:
    """The loader for ``source``; None when the kind is not known and it should be skipped."""
    name = _kind(source)
    return LOADERS[name] if name else None


def is_current(identity: str) -> bool:
    """Whether a source that was read by the loader ``identity`` would be read the same today."""
    return any(entry.identity == identity for entry in LOADERS.values())


def load(source: Source, limits: LoaderLimits) -> list[Document]:
    """Every document of ``source``, whole or not at all.

    Raises:
        SourceError: no loader fits, the source is broken, or it holds no text.
    """
    entry = loader_for(source)
    if entry is None:
        raise SourceError(source.uri, "unknown kind of file")
    try:
        documents = list(entry.function(source, limits))
    except SourceError:
        raise
    except Exception as error:
        # The one place that catches everything: parsers fed with hostile bytes raise whatever
        # they stumble over, and one bad file must never stop the run.
        logger.warning("%s: the %s loader failed", source.uri, entry.name, exc_info=True)
        reason = " ".join(f"cannot be parsed: {type(error).__name__}: {error}".split())
        raise SourceError(source.uri, reason[:REASON_CHARACTERS]) from error
    if any(not document.text.strip() for document in documents):
        raise SourceError(source.uri, "no text")
    return [_titled(document, source) for document in documents]


def _titled(document: Document, source: Source) -> Document:
    """The document with a title of one line; the file's name where it has none."""
    title = " ".join(document.title.split()) or source.name
    return document if title == document.title else replace(document, title=title)


def _kind(source: Source) -> str:
    by_extension = EXTENSIONS.get(PurePosixPath(source.name.lower()).suffix, "")
    if source.data[:HEAD_BYTES].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if by_extension == "markdown":
        return _markdown_kind(source)
    if by_extension in _OWN_WORD:
        return by_extension
    return _kind_of_markup(source) or by_extension or _kind_of_lines(source)


def _markdown_kind(source: Source) -> str:
    text = source.data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return "markdown-transcript" if markdown_transcripts.is_transcript(text) else "markdown"


def _kind_of_markup(source: Source) -> str:
    head = source.data[:HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"WEBVTT"):
        return "captions"
    root = _XML_ROOT.match(head)
    tag = root.group(1).lower() if root else b""
    if tag in (b"rss", b"feed", b"rdf"):
        return "feed"
    is_page = tag in (b"html", b"head", b"body")
    return "html" if is_page or head.lstrip().lower().startswith(b"<!doctype html") else ""


def _kind_of_lines(source: Source) -> str:
    """What the first lines of a file without a telling extension look like."""
    head = source.data[:HEAD_BYTES].decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    first = source.data.split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").strip()
    table = source.name.lower().endswith(".csv")
    if _asks(first) if table else _is_record(first):
        return "records"
    return "captions" if _SRT_START.match(head) and not table else ""


def _asks(header: str) -> bool:
    """Whether a CSV header names a question and what became of it."""
    names = {name.strip().strip('"').lower() for name in header.split(",")}
    return "question" in names and bool(names & {"answer", "feedback", "score"})


def _is_record(line: str) -> bool:
    """Whether the line is a JSON object with words in it, as a list of records begins."""
    if not (line.startswith("{") and line.endswith("}")):
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and bool({"text", "content", "body", "question"} & set(record))
