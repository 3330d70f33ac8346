"""The interface of index back ends; its docstrings are the specification they are tested against.

Code outside ``store/`` must not depend on the back end in use. ``testing.IndexContract`` holds
the tests that every back end inherits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wellread.config import LANCEDB
from wellread.types import Candidate, Filters, Kind, Span

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One passage as it is written to the index: searched text and filterable fields.

    ``context`` (title and heading path) is searched together with ``text``; ``taxonomy`` holds
    ``dimension=value`` strings.
    """

    passage_id: str
    document_id: str
    version: str
    span: Span
    collection: str
    kind: Kind
    text: str
    context: str = ""
    source_type: str = ""
    language: str = ""
    authors: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    taxonomy: tuple[str, ...] = ()
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKey:
    """The passage, document and version that a row belongs to."""

    passage_id: str
    document_id: str
    version: str


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A stored row read back from an index, to be compared with the catalogue.

    ``text`` is the text as searched (``row_values.searched_text``); ``vector`` says whether the row
    has a usable vector: one whose length is neither 1 nor 0 is damaged.
    """

    passage_id: str
    document_id: str
    version: str
    start: int
    end: int
    collection: str
    text: str
    vector: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Everything that determines an index: equal fingerprints mean interchangeable indexes."""

    embedder: str
    dimensions: int
    chunking: str
    schema: int = field(default=1)
    backend: str = field(default=LANCEDB)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """The address of one knowledge base's indexes on a server.

    The scheme of ``url`` begins with the name of the back end. ``base`` is part of every name on
    the server, so that several bases can share it.
    """

    url: str
    base: str
    password: str = field(default="", repr=False)


class Index(Protocol):
    """Full-text (BM25) and vector search over passages with filters, for asking and adding.

    The catalogue is authoritative, not the index: the index may hold rows of versions that are no
    longer live, and the caller checks each candidate's version against the catalogue.
    """

    def write(self, rows: Sequence[IndexRow], vectors: Floats | None) -> None:
        """Add rows, or replace those with the same ``passage_id``.

        ``vectors`` has shape ``(len(rows), dimensions)``. When the call returns, the rows
        survive a kill, and both searches find them, with or without ``optimize``. Without
        vectors (None) only ``search_text`` finds them until ``set_vectors``.

        Invalid input (wrong shapes, numbers that are not finite) is refused before the first row
        is written. A call that fails later, or is killed, may leave some of the rows behind:
        the caller records beforehand which documents it writes (``Catalogue.intend``), and removes
        their rows again.

        Raises:
            StoreError: the rows could not be written (disk full, damaged files, no answer);
                ``retryable`` when the same call may succeed later.
        """
        ...

    def set_vectors(self, passage_ids: Sequence[str], vectors: Floats) -> None:
        """Set the vectors of rows, of shape ``(len(passage_ids), dimensions)``.

        Unknown ids are ignored: their passage was removed meanwhile.

        Raises:
            StoreError: as ``write``.
        """
        ...

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        """Remove all rows of the (document_id, version) pairs; return the number of rows removed.

        Unknown pairs are ignored.
        """
        ...

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """Return the best ``limit`` rows by BM25 over context and text, best first.

        With ``differences`` (1 or 2) the query is one word's stem, and words whose stem differs
        from it by up to that many letters match as well; the first letter must be the same. Rows
        that ``optimize`` has not merged yet may be missed.

        ``query`` is plain text: no character in it is an operator, and a query without a
        searchable word finds nothing. Ties are in a repeatable order.
        """
        ...

    def search_vector(self, vector: Floats, filters: Filters, limit: int) -> list[Candidate]:
        """Return the best ``limit`` rows by cosine similarity (score -1 to 1), best first."""
        ...

    def rows(self) -> int:
        """The number of rows; as fast as a search."""
        ...


class Maintenance(Protocol):
    """Maintenance of an index: reading it back, merging, rebuilding and purging."""

    def keys(self) -> Iterator[IndexKey]:
        """Yield every row's key in no particular order, without loading the whole table."""
        ...

    def held(self) -> Iterator[HeldRow]:
        """Yield every row in no particular order, without loading the whole table."""
        ...

    def optimize(self) -> None:
        """Merge new rows into the search structures and free the space of removed ones.

        Safe to skip, to repeat and to kill; results are the same before and after.
        """
        ...

    def rebuild(self) -> None:
        """Rebuild the search structures from the rows, even when their files are damaged.

        Raises:
            StoreError: as ``write``; the rows are kept.
        """
        ...

    def purge(self) -> None:
        """Erase the bytes of removed and replaced rows from disk, search structures included.

        Searches continue meanwhile with the same results. Safe to repeat and to kill. Costs
        nothing when nothing was removed or replaced since the last purge, otherwise as much as
        rewriting the index.
        """
        ...

    def purged(self) -> bool:
        """Whether the disk is certain to hold no byte of removed or replaced rows."""
        ...


class KeptIndex(Index, Maintenance, Protocol):
    """An index with both interfaces, as a back end opens it."""


Location = TypeVar("Location", Path, ServiceAddress, contravariant=True)


class IndexBackend(Protocol[Location]):
    """Opens the indexes of one knowledge base, one for each fingerprint.

    ``place`` is a folder owned by the back end, which need not exist yet, or the address of the
    server that ``index.url`` names.
    """

    def open(self, place: Location, fingerprint: Fingerprint, /) -> KeptIndex:
        """Open the index of ``fingerprint`` in ``place``, and create it when it is missing.

        Raises:
            SettingsError: the address cannot be used.
            StoreError: the place cannot be used, or another process locks it for too long.
        """
        ...

    def others(self, place: Location, /, *keep: Fingerprint) -> list[str]:
        """The names of the indexes in ``place`` whose fingerprint is not in ``keep``."""
        ...

    def set_aside(self, place: Location, fingerprint: Fingerprint, /) -> None:
        """Rename whatever prevents rebuilding the index of ``fingerprint``.

        For an index too damaged to be opened. ``others`` then lists the renamed files, and
        ``drop_others`` drops them. The index must not be open anywhere.

        Raises:
            StoreError: the files cannot be moved, or are being written.
        """
        ...

    def drop_others(self, place: Location, /, *keep: Fingerprint) -> list[str]:
        """Drop every index in ``place`` except those of ``keep``, and return the dropped names.

        Raises:
            StoreError: an index could not be dropped, or is being written.
        """
        ...
