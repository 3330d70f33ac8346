"""The loader interface, and the builder that creates a document's text together with its marks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from wellread.codec import storable
from wellread.errors import SourceError
from wellread.types import (
    Box,
    Document,
    HeadingMark,
    LineMark,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TableMark,
    TimeMark,
)

ENTRIES = "entries"  # the loader name of data files whose entries become documents by a rule
ENTRIES_VERSION = "1"
SETTINGS_NAME = "wellread-collection.yaml"  # tells how a folder is read; no source itself


class EmptyError(SourceError):
    """Raised for a source that was read and contains no text."""


Built = tuple[str, tuple[Mark, ...]]  # a complete text with its marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One input file or page: its address and its bytes.

    Attributes:
        uri: ``file:///…`` or ``https://…``; identifies the document unless the loader finds a
            better address (an item of a feed has its own link).
        name: the last part of the path, used for titles and to detect the kind by extension.
        path: the local file, if there is one.
        remarks: what the report says about a source that was read (``remark``).
    """

    uri: str
    name: str
    data: bytes
    collection: str
    path: Path | None = None
    remarks: list[str] = field(default_factory=list, compare=False)

    def remark(self, text: str) -> None:
        """Add a remark for the report; a repeated one counts once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def require(self, text: str) -> None:
        """Raise ``EmptyError`` when ``text`` is blank."""
        if not text.strip():
            raise EmptyError(self.uri, "no text")

    def member(self, name: str, data: bytes) -> Source:
        """A file inside this one, such as an attachment, as a source of its own."""
        parts = [part for part in name.split("/") if part not in ("", ".", "..")] or ["file"]
        uri = f"{self.uri}#{quote('/'.join(parts))}"
        return Source(uri=uri, name=parts[-1], data=data, collection=self.collection)

    def document(self, built: Built, **fields: Any) -> Document:
        """A document read from this source; ``fields`` are further fields of ``Document``."""
        text, marks = built
        self.require(text)
        base = {"collection": self.collection, "uri": self.uri, "text": text, "marks": marks}
        return Document(**{**base, **fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderLimits:
    """Limits for loading one source.

    Attributes:
        max_pages: the number of pages of a PDF or slides of a presentation.
        ocr: whether pages that are pictures are read by text recognition.
        max_unpacked_bytes, max_entries: the size and number of files in a zip archive.
    """

    max_pages: int = 5_000
    max_unpacked_bytes: int = 1 << 30
    max_entries: int = 20_000
    max_cells: int = 2_000_000
    ocr: bool = False


class Loader(Protocol):
    """Reads one kind of source. Tests of every loader inherit ``testing.LoaderContract``."""

    def __call__(self, source: Source, limits: LoaderLimits) -> Iterator[Document]:
        """Yield the documents of ``source``: one for most kinds, many for a feed.

        Every document has at least one character that is not white space. A valid but empty
        source (a feed without items) yields nothing.

        Raises:
            SourceError: with the source's uri and the reason; nothing is yielded.
        """
        ...


class Container(Protocol):
    """Reads a file that holds others: yields its own documents, and the files as sources."""

    def __call__(self, source: Source, limits: LoaderLimits) -> Iterator[Document | Source]:
        """As ``Loader``; the sources are read by the loaders of their kinds."""
        ...


def changed_ns(status: os.stat_result) -> int:
    """Return when a file changed last, in nanoseconds.

    Programs can set the modification time back, but not the time of change of the inode.
    """
    return max(status.st_mtime_ns, status.st_ctime_ns)


class TextBuilder:
    """Collects a text piece by piece, together with its marks.

    ``page``, ``heading``, ... open a range, which ends at the next call of the same method or at
    ``build``. ``add`` removes unstorable characters, so offsets are those of the stored text.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._open: dict[type[Mark], tuple[int, dict[str, Any]]] = {}

    @property
    def length(self) -> int:
        """The number of characters so far, which is the offset of the next piece."""
        return self._length

    def add(self, text: str) -> Span:
        """Append ``text`` and return its span."""
        clean = storable(text)
        start = self._length
        self._pieces.append(clean)
        self._length += len(clean)
        return Span(start=start, end=self._length)

    def page(self, page: int, label: str = "") -> None:
        """Mark the text from here to the next call as on ``page``, printed as ``label``."""
        self._begin(PageMark, page=page, label="" if label == str(page) else storable(label))

    def heading(self, path: tuple[str, ...]) -> None:
        """Mark the text from here to the next call as under the heading ``path`` (may be empty)."""
        self._finish(HeadingMark)
        if path:
            self._begin(HeadingMark, path=path)

    def columns(self, names: Sequence[str]) -> None:
        """Mark the lines from here to the next call as rows with these column names, or none."""
        self._finish(TableMark)
        if any(names):
            self._begin(TableMark, columns=tuple(names))

    def line(self, line: int) -> None:
        """Mark the text from here to the next call as starting on source line ``line``."""
        self._begin(LineMark, line=line)

    def speaker(self, speaker: str | None) -> None:
        """Mark the text from here to the next call as said by ``speaker`` (None: unknown)."""
        self._finish(SpeakerMark)
        if speaker:
            self._begin(SpeakerMark, speaker=speaker)

    def time(self, begin: float, finish: float | None = None) -> None:
        """Mark the text from here to the next call as said from ``begin`` (seconds) on."""
        self._begin(TimeMark, begin=begin, finish=finish)

    def box(self, span: Span, page: int, box: Box) -> None:
        """Mark ``span`` as printed in ``box`` of ``page``."""
        self._marks.append(PageMark(start=span.start, end=span.end, page=page, box=box))

    def build(self) -> Built:
        """Return the complete text, and all marks sorted by start."""
        for kind in tuple(self._open):
            self._finish(kind)
        marks = sorted(self._marks, key=lambda mark: (mark.start, -mark.end))
        return "".join(self._pieces), tuple(marks)

    def _begin(self, kind: type[Mark], **facts: Any) -> None:
        self._finish(kind)
        self._open[kind] = (self._length, facts)

    def _finish(self, kind: type[Mark]) -> None:
        start, facts = self._open.pop(kind, (self._length, {}))
        if start < self._length:
            self._marks.append(kind(start=start, end=self._length, **facts))
