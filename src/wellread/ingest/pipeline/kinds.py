"""Chooses the loader for a source, by its content first, then by its extension, and runs it.

A loader from another package (entry points ``wellread.loaders``, named by the extension) takes
precedence over the built-in ones (``loaders/kind_table.py``).
"""

from __future__ import annotations

import codecs
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from wellread import plugins
from wellread.errors import SourceError
from wellread.ingest.loaders import plain
from wellread.ingest.loaders.archives import START as COMPOUND_START
from wellread.ingest.loaders.archives import ZIP_START, is_odt, names_in, office_binary_stream
from wellread.ingest.loaders.base import (
    ENTRIES,
    ENTRIES_VERSION,
    SETTINGS_NAME,
    EmptyError,
    LoaderLimits,
    Source,
)
from wellread.ingest.loaders.kind_table import EXTENSIONS, LOADERS, OPML, LoaderEntry
from wellread.ingest.loaders.text import markdown_files, meetings
from wellread.ingest.loaders.text.records import is_question_header, is_record, kind_of_json
from wellread.types import Document

if TYPE_CHECKING:
    from wellread.ingest.settings.mapping import SourceRules


logger = logging.getLogger(__name__)

HEAD_BYTES = 4096  # read from the start of a file to detect its type
MAX_REASON_CHARS = 200
UNSUPPORTED = "unsupported file type"
MAX_DEPTH = 3  # of files inside files
MAX_NAMED_FILES = 5  # files inside that a remark names

_XML_ROOT = re.compile(
    rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[.*?\])?[^>]*>\s*)*<(?:\w+:)?([A-Za-z]+)",
    re.DOTALL | re.IGNORECASE,
)
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OFFICE_PARTS = (
    (re.compile(r"word/document\d*\.xml"), "docx"),  # Word on the web numbers the part
    (re.compile(r"ppt/presentation\d*\.xml"), "pptx"),
    (re.compile(r"xl/workbook\d*\.xml"), "xlsx"),
    (re.compile(r"META-INF/container\.xml"), "epub"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # none is in a text; logs have colours
_SRT_START = re.compile(r"\s*\d+\s*\n\s*\d+:\d\d:\d\d[,.]\d+\s*-->")


def loaders() -> Mapping[str, LoaderEntry]:
    """Return all loaders by name: the built-in ones and those of other packages."""
    added = {
        name: LoaderEntry(
            name=name,
            version=f"{point.dist.name}-{point.dist.version}" if point.dist else point.value,
            target=point.value,
        )
        for name, point in plugins.installed(plugins.LOADERS).items()
    }
    return {**LOADERS, **added}


def load(
    source: Source, limits: LoaderLimits, rules: SourceRules | None = None, *, named: bool = False
) -> list[Document]:
    """Load all documents of ``source``; raise if any of them fails.

    A file inside it (an attachment, a file in a zip file) that cannot be read is told in the
    remark of the first document and does not fail the others.

    Args:
        named: whether a person named the file itself, so that any text is read.
    """
    name = loader_name(source, rules, named=named)
    entry = loaders().get(name)
    left_out: list[str] = []
    if not source.data:
        raise EmptyError(source.uri, "no text")
    if entry is None and name != ENTRIES:
        raise SourceError(source.uri, UNSUPPORTED)
    try:
        loader = entry.function if entry else None
        if entry and entry.holds:
            loader = partial(_unpack, entry, left_out, 1)
        if rules is not None:
            documents = list(rules.load(source, limits, loader))
        else:
            documents = list(loader(source, limits)) if loader else []
    except (SourceError, MemoryError, RecursionError):
        raise
    except Exception as error:
        # The only place that catches everything: parsers may raise anything on hostile bytes, and
        # one bad file must never stop the run.
        logger.warning("%s: the %s loader failed", source.uri, name, exc_info=True)
        reason = " ".join(f"cannot be parsed: {type(error).__name__}: {error}".split())
        raise SourceError(source.uri, reason[:MAX_REASON_CHARS]) from error
    rest = len(left_out) - MAX_NAMED_FILES
    unread = ", ".join(left_out[:MAX_NAMED_FILES]) + (f" and {rest:,} more" if rest > 0 else "")
    if not documents and entry and entry.holds:
        raise EmptyError(source.uri, f"nothing in it is read: {unread}" if unread else "no text")
    if any(not document.text.strip() for document in documents):
        raise EmptyError(source.uri, "no text")
    if unread:
        source.remark(f"not read: {unread}")
    if any(made.kind == "transcript" and not made.published_at for made in documents):
        source.remark("no date: searches by time will not find it")
    return [_with_title(document, source) for document in documents]


def _unpack(
    entry: LoaderEntry, left_out: list[str], depth: int, source: Source, limits: LoaderLimits
) -> Iterator[Document]:
    """Yield the documents of ``source`` and of the files inside it, read by their own loaders."""
    uris: Counter[str] = Counter()
    for item in entry.function(source, limits):
        if isinstance(item, Document):
            yield item
            continue
        uris[item.uri] += 1
        if uris[item.uri] > 1:  # two attachments of one name
            item = replace(item, uri=f"{item.uri}~{uris[item.uri]}")
        try:
            inner = LOADERS.get(loader_name(item))
            if inner is None or not inner.holds:
                yield from load(item, limits)
            elif depth == MAX_DEPTH:
                raise SourceError(item.uri, f"more than {MAX_DEPTH} files inside one another")
            else:
                documents = list(_unpack(inner, left_out, depth + 1, item, limits))
                yield from (_with_title(document, item) for document in documents)
            for remark in item.remarks:
                source.remark(f"{item.name}: {remark}")
        except SourceError as error:
            left_out.append(f"{item.name} ({error.reason})")


def loader_name(source: Source, rules: SourceRules | None = None, *, named: bool = False) -> str:
    """Return the loader for ``source``; empty if it is excluded or its type is unsupported."""
    detected = kind_of(source)
    name = detected if detected in loaders() else ""
    if named and not detected and source.data and is_text(source):
        name = "lines"
    if name == "lines" and (not source.data.strip() or source.name == SETTINGS_NAME):
        name = ""  # programs have empty files that nobody misses
    return rules.loader_name(name) if rules is not None else name


def identity_of(name: str, rules: SourceRules | None = None) -> str:
    """Return the value recorded for how a source was read: loader, version and rules."""
    entry = loaders().get(name)
    base = entry.identity if entry else f"{name}/{ENTRIES_VERSION}"
    return f"{base}+{rules.identity}" if rules is not None else base


def _with_title(document: Document, source: Source) -> Document:
    """Reduce the title to one line; use the file's name if the document has no title."""
    title = " ".join(document.title.split()) or source.name
    return document if title == document.title else replace(document, title=title)


def kind_of(source: Source) -> str:
    """Return the name of the loader for ``source``, ``opml``, or empty if unsupported."""
    extension = PurePosixPath(source.name.lower()).suffix
    if extension.removeprefix(".") in plugins.installed(plugins.LOADERS):
        return extension.removeprefix(".")
    by_extension = EXTENSIONS.get(extension, "")
    if source.data[:HEAD_BYTES].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if by_extension == "outlook":  # files of other programs end in .msg too
        return by_extension if source.data.startswith(COMPOUND_START) else ""
    if binary := _kind_of_office(source):
        return binary
    if by_extension == "zip":
        return by_extension if source.data.startswith(ZIP_START) else ""
    return _kind_of_text(source, by_extension, extension)


def _kind_of_text(source: Source, by_extension: str, extension: str) -> str:
    head = _decode_head(source.data[: HEAD_BYTES * 16])
    if by_extension == "markdown":
        is_transcript = markdown_files.is_transcript(_decode_head(source.data), source)
        return "markdown-transcript" if is_transcript else "markdown"
    is_code = by_extension == "lines" and extension != ".json"
    if is_code or (by_extension in LOADERS and LOADERS[by_extension].decides):
        return by_extension
    kind = _kind_of_markup(source)
    if not kind and by_extension == "text":
        kind = "meeting" if meetings.is_meeting(head) else ""
    elif not kind and by_extension in ("table", "lines", ""):
        kind = _kind_of_lines(source, is_table=by_extension == "table")
    return kind or by_extension


def is_text(source: Source) -> bool:
    """Whether the bytes are text in an encoding that is declared or certain enough."""
    try:
        return _CONTROLS.search(plain.decode(source)) is None
    except SourceError:
        return False


def _kind_of_office(source: Source) -> str:
    if office_binary_stream(source.data):
        return "office-binary"
    names = names_in(source.data)
    if is_odt(source.data) and "content.xml" in names:
        return "odt"
    return next(
        (kind for part, kind in _OFFICE_PARTS if any(part.fullmatch(name) for name in names)), ""
    )


def _decode_head(data: bytes) -> str:
    """Decode ``data`` well enough to detect its type."""
    encoding = "utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig"
    return data.decode(encoding, errors="replace").replace("\r\n", "\n")


def _kind_of_markup(source: Source) -> str:
    head = _decode_head(source.data[:HEAD_BYTES]).encode()
    if head.startswith(b"WEBVTT"):
        return "captions"
    root = _XML_ROOT.match(head)
    tag = root.group(1).lower() if root else b""
    if tag in (b"rss", b"feed", b"rdf"):
        return "feed"
    if tag == OPML.encode():
        return OPML
    is_page = tag in (b"html", b"head", b"body")
    return "html" if is_page or head.lstrip().lower().startswith(b"<!doctype html") else ""


def _kind_of_lines(source: Source, *, is_table: bool) -> str:
    """Guess the type from the first lines of a file whose extension does not decide."""
    head = _decode_head(source.data[:HEAD_BYTES])
    if not is_table and (kind := kind_of_json(source.data)):
        return kind
    first = _decode_head(source.data.split(b"\n", 1)[0]).strip()
    if is_question_header(first) if is_table else _is_record(first):
        return "records"
    return "captions" if _SRT_START.match(head) and not is_table else ""


def _is_record(line: str) -> bool:
    """Whether the line is a JSON object with text, as the first line of a list of records is."""
    if not (line.startswith("{") and line.endswith("}")):
        return False
    try:
        return is_record(json.loads(line))
    except (ValueError, RecursionError):
        return False
