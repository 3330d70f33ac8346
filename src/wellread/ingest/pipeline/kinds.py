"""Chooses the loader for a source, by its content first, then by its extension, and runs it.

A loader from another package (entry points ``wellread.loaders``, named by the extension) takes
precedence over the built-in ones (``loaders/kind_table.py``).
"""

from __future__ import annotations

import codecs
import csv
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from wellread import plugins
from wellread.errors import SourceError
from wellread.ingest.loaders.archives import is_odt, is_office_binary, names_in
from wellread.ingest.loaders.base import ENTRIES, ENTRIES_VERSION, EmptyError, LoaderLimits, Source
from wellread.ingest.loaders.kind_table import EXTENSIONS, LOADERS, OPML, LoaderEntry
from wellread.ingest.loaders.text import markdown_files
from wellread.ingest.loaders.text.records import (
    delimiter_of,
    has_question_columns,
    is_record,
    kind_of_json,
)
from wellread.types import Document

if TYPE_CHECKING:
    from wellread.ingest.settings.mapping import SourceRules


logger = logging.getLogger(__name__)

HEAD_BYTES = 4096  # read from the start of a file to detect its type
MAX_REASON_CHARS = 200

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


def is_current(identity: str, rules: SourceRules | None = None) -> bool:
    """Whether a source whose record says ``identity`` would be read the same way today."""
    return any(identity_of(name, rules) == identity for name in (*loaders(), ENTRIES))


def load(source: Source, limits: LoaderLimits, rules: SourceRules | None = None) -> list[Document]:
    """Load all documents of ``source``; raise if any of them fails."""
    name = loader_name(source, rules)
    entry = loaders().get(name)
    if not source.data:
        raise EmptyError(source.uri, "no text")
    if entry is None and name != ENTRIES:
        raise SourceError(source.uri, "unsupported file type")
    try:
        loader = entry.function if entry else None
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
    if any(not document.text.strip() for document in documents):
        raise EmptyError(source.uri, "no text")
    return [_with_title(document, source) for document in documents]


def loader_name(source: Source, rules: SourceRules | None = None) -> str:
    """Return the loader for ``source``; empty if it is excluded or its type is unsupported."""
    detected = kind_of(source)
    name = detected if detected in loaders() else ""
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
    if binary := _kind_of_office(source):
        return binary
    if by_extension == "markdown":
        is_transcript = markdown_files.is_transcript(_decode_head(source.data), source)
        return "markdown-transcript" if is_transcript else "markdown"
    if by_extension in LOADERS and LOADERS[by_extension].decides:
        return by_extension
    return _kind_of_markup(source) or by_extension or _kind_of_lines(source)


def _kind_of_office(source: Source) -> str:
    if is_office_binary(source.data):
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


def _kind_of_lines(source: Source) -> str:
    """Guess the type from the first lines of a file whose extension does not decide."""
    head = _decode_head(source.data[:HEAD_BYTES])
    if kind := kind_of_json(source.data):
        return kind
    first = _decode_head(source.data.split(b"\n", 1)[0]).strip()
    is_table = source.name.lower().endswith(".csv")
    if _is_question_header(first) if is_table else _is_record(first):
        return "records"
    return "captions" if _SRT_START.match(head) and not is_table else ""


def _is_question_header(header: str) -> bool:
    try:
        columns = next(csv.reader([header], delimiter=delimiter_of(header)), [])
    except csv.Error:
        return False
    return has_question_columns(columns)


def _is_record(line: str) -> bool:
    """Whether the line is a JSON object with text, as the first line of a list of records is."""
    if not (line.startswith("{") and line.endswith("}")):
        return False
    try:
        return is_record(json.loads(line))
    except (ValueError, RecursionError):
        return False
