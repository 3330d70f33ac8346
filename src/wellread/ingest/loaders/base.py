"""The loader seam, and the builder with which every loader makes text and marks together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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
    TimeMark,
)

ENTRIES = "entries"  # stands for the loader of data files whose entries are documents by a rule
ENTRIES_VERSION = "1"


class EmptyError(SourceError):
    """A source was read, and there is no text in it."""


Built = tuple[str, tuple[Mark, ...]]  # a whole text and all marks on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One input as it was found: where it is, and its bytes.

    Attributes:
        uri: ``file:///…`` or ``https://…``; names the document unless the loader knows better
            (an item of a feed has a link of its own).
        name: the last part of the path, for titles and for telling the kind by extension.
        path: the local file, where there is one.
    """

    uri: str
    name: str
    data: bytes
    collection: str
    path: Path | None = None

    def require(self, text: str) -> None:
        """Refuse a document without any character that is not white space."""
        if not text.strip():
            raise EmptyError(self.uri, "no text")

    def document(self, built: Built, **fields: Any) -> Document:
        """A document that was read from it; ``fields``: the other fields of a ``Document``."""
        text, marks = built
        self.require(text)
        own = {"collection": self.collection, "uri": self.uri, "text": text, "marks": marks}
        return Document(**{**own, **fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderLimits:
    """What a loader may spend on one source.

    Attributes:
        max_pages: pages of a PDF, slides of a presentation.
        max_unpacked_bytes, max_entries: of the zip file that an Office file is.
    """

    max_pages: int = 5_000
    max_unpacked_bytes: int = 1 << 30
    max_entries: int = 20_000
    max_cells: int = 2_000_000


class Loader(Protocol):
    """Reads one kind of source. ``testing.LoaderContract`` is what every loader inherits."""

    def __call__(self, source: Source, limits: LoaderLimits) -> Iterator[Document]:
        """The documents of ``source``: one for most kinds, many for a feed.

        A document has at least one character that is not white space. A source that is valid
        and empty (a feed without items) yields nothing.

        Raises:
            SourceError: with the source's uri and a reason; no part of a document is yielded.
        """
        ...


class TextBuilder:
    """Collects text piece by piece and keeps the marks in step with it.

    Ranges are opened by ``page``, ``heading``, ... and closed by the next of the same sort or by
    ``build``. ``add`` cleans unstorable characters, so offsets are those of the stored text.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._open: dict[type[Mark], tuple[int, dict[str, Any]]] = {}

    @property
    def length(self) -> int:
        """Characters so far: the offset at which the next piece starts."""
        return self._length

    def add(self, text: str) -> Span:
        """Append ``text``; the span that it takes."""
        clean = storable(text)
        start = self._length
        self._pieces.append(clean)
        self._length += len(clean)
        return Span(start=start, end=self._length)

    def page(self, page: int) -> None:
        """Everything from here to the next page stands on ``page``."""
        self._begin(PageMark, page=page)

    def heading(self, path: tuple[str, ...]) -> None:
        """Everything from here to the next heading stands under ``path`` (empty: under none)."""
        self._finish(HeadingMark)
        if path:
            self._begin(HeadingMark, path=path)

    def line(self, line: int) -> None:
        """Everything from here to the next line mark begins on source line ``line``."""
        self._begin(LineMark, line=line)

    def speaker(self, speaker: str | None) -> None:
        """Everything from here on is said by ``speaker`` (None: nobody is named)."""
        self._finish(SpeakerMark)
        if speaker:
            self._begin(SpeakerMark, speaker=speaker)

    def time(self, begin: float, finish: float | None = None) -> None:
        """Everything from here to the next time was said from ``begin`` (seconds) on."""
        self._begin(TimeMark, begin=begin, finish=finish)

    def box(self, span: Span, page: int, box: Box) -> None:
        """``span`` stands in ``box`` of ``page``."""
        self._marks.append(PageMark(start=span.start, end=span.end, page=page, box=box))

    def build(self) -> Built:
        """The whole text and all marks, by start."""
        for sort in tuple(self._open):
            self._finish(sort)
        marks = sorted(self._marks, key=lambda mark: (mark.start, -mark.end))
        return "".join(self._pieces), tuple(marks)

    def _begin(self, sort: type[Mark], **facts: Any) -> None:
        self._finish(sort)
        self._open[sort] = (self._length, facts)

    def _finish(self, sort: type[Mark]) -> None:
        start, facts = self._open.pop(sort, (self._length, {}))
        if start < self._length:
            self._marks.append(sort(start=start, end=self._length, **facts))
