"""The index seam. The docstrings here are the specification that back ends are tested against.

Nothing outside ``store/`` may know which back end is in use. ``testing.IndexContract`` holds the
tests that every back end inherits.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """One passage as the index keeps it: what is searched and what is filtered by.

    Attributes:
        text: the passage's own text.
        context: title and heading path; searched together with ``text``.
        taxonomy: ``dimension=value`` strings.
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
    """Which passage of which version of which document a row belongs to."""

    passage_id: str
    document_id: str
    version: str


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A row as an index holds it, to be compared with what it should hold.

    Attributes:
        text: what is searched by words: the context, a line break, and the passage's own text;
            without a context the text alone.
        vector: whether the row has one that can be used; one of another length than 1 (or 0) is
            damaged.
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
    """What shaped an index. Two indexes with the same fingerprint are interchangeable.

    Attributes:
        backend: the name of the back end that holds it (``IndexBackend``).
    """

    embedder: str
    dimensions: int
    chunking: str
    schema: int = field(default=1)
    backend: str = field(default=LANCEDB)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """Where a server keeps the indexes of one base.

    Attributes:
        url: as in the setting ``index.url``; its scheme begins with the name of the back end, and
            it holds no password.
        base: the id of that base, which the names of all that it keeps there hold, so that
            several share a server.
        password: of the user that the URL names; empty for none.
    """

    url: str
    base: str
    password: str = field(default="", repr=False)


class Index(Protocol):
    """Full text (BM25) and vectors over passages, with filters: what asking and adding need.

    The index is never the truth: it may hold rows of versions that are no longer live, and the
    caller checks each candidate's version against the catalogue.
    """

    def write(self, rows: Sequence[IndexRow], vectors: NDArray[np.float32] | None) -> None:
        """Add rows, or replace those with the same ``passage_id``.

        ``vectors`` has shape ``(len(rows), dimensions)``. When the call returns, the rows
        survive a kill, and both searches find them, with or without ``optimize``. Without
        vectors (None) only ``search_text`` finds them until ``set_vectors``.

        What cannot be right (shapes, numbers that are not finite) is refused before the first
        row is written. A call that fails later, or is killed, may leave some of the rows behind:
        the caller notes beforehand which documents it writes (``Catalogue.intend``), and removes
        their rows again.

        Raises:
            StoreError: the rows could not be written (disk full, damaged files, no answer);
                ``retryable`` where the same call may go through later.
        """
        ...

    def set_vectors(self, passage_ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Give rows their vectors, of shape ``(len(passage_ids), dimensions)``.

        Ids that are not there are no error: their passage was removed meanwhile.

        Raises:
            StoreError: as ``write``.
        """
        ...

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        """Remove all rows of the (document_id, version) pairs; how many rows went.

        Pairs that are not there are no error.
        """
        ...

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """The best ``limit`` rows by BM25 over context and text, best first.

        With ``differences`` (1 or 2) the query is one word's stem, and words whose stem differs
        from it in so many letters count as well; the first letter has to be the same. Rows that
        are not yet folded in (``optimize``) may be missed.

        ``query`` is a person's words: no character in it is an operator, and a query without
        a searchable word finds nothing. Ties are in a repeatable order.
        """
        ...

    def search_vector(
        self, vector: NDArray[np.float32], filters: Filters, limit: int
    ) -> list[Candidate]:
        """The best ``limit`` rows by cosine similarity (the score, -1 to 1), best first."""
        ...

    def rows(self) -> int:
        """How many rows there are; as quick as a search."""
        ...


class Maintenance(Protocol):
    """What keeps an index whole: reading all of it back, folding, making anew, purging."""

    def keys(self) -> Iterator[IndexKey]:
        """Every row's key, in no particular order, without loading the table at once."""
        ...

    def held(self) -> Iterator[HeldRow]:
        """Every row, in no particular order, without loading the table at once."""
        ...

    def optimize(self) -> None:
        """Fold new rows into the search structures and free the space of removed ones.

        Safe to skip, to repeat and to kill; results are the same before and after.
        """
        ...

    def rebuild(self) -> None:
        """Make the search structures anew from the rows, also where their files are damaged.

        Raises:
            StoreError: as ``write``; the rows stay.
        """
        ...

    def purge(self) -> None:
        """Take the bytes of removed and replaced rows off the disk, search structures included.

        Searches go on meanwhile, and find the same. Safe to repeat and to kill; costs nothing
        when nothing was removed or replaced since the last time, else as much as rewriting the
        index.
        """
        ...

    def purged(self) -> bool:
        """Whether no byte of removed or replaced rows can be on the disk."""
        ...


class KeptIndex(Index, Maintenance, Protocol):
    """One index with both faces, as a back end opens it."""


Place = TypeVar("Place", Path, ServiceAddress, contravariant=True)


class IndexBackend(Protocol[Place]):
    """What opens indexes, one for each fingerprint, where this back end keeps those of one base.

    ``place`` is a folder of the back end's own, which need not be there, or the address of a
    server where ``index.url`` names one.
    """

    def open(self, place: Place, fingerprint: Fingerprint, /) -> KeptIndex:
        """The index of ``fingerprint`` in ``place``; made when it is not there.

        Raises:
            SettingsError: the address cannot be used.
            StoreError: the place cannot be used, or another process holds it for too long.
        """
        ...

    def others(self, place: Place, /, *keep: Fingerprint) -> list[str]:
        """The names of the indexes in ``place`` that are of none of these fingerprints."""
        ...

    def set_aside(self, place: Place, fingerprint: Fingerprint, /) -> None:
        """Put what is in the way of making the index of ``fingerprint`` anew under another name.

        For what is damaged so that the index cannot be opened. ``others`` tells of it then, and
        ``drop_others`` drops it. Nobody may hold the index open.

        Raises:
            StoreError: it cannot be moved, or is being written.
        """
        ...

    def drop_others(self, place: Place, /, *keep: Fingerprint) -> list[str]:
        """Drop every index in ``place`` but those of ``keep``; the names of those that went.

        Raises:
            StoreError: an index could not be dropped, or is being written.
        """
        ...
