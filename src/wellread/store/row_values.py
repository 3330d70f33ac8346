"""Engine-independent helpers for index back ends: packed keys, unit vectors, result order.

Everything that a candidate needs is packed into one field (``key``), because fetching a hundred
scattered rows costs one read per column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from wellread.errors import StoreError
from wellread.store.base import IndexKey, IndexRow
from wellread.types import Candidate, Span

Floats = NDArray[np.float32]


def check_shape(vectors: Floats, rows: int, dimensions: int) -> None:
    """Refuse vectors that do not fit the rows or the index."""
    if vectors.shape != (rows, dimensions):
        raise StoreError(
            f"{rows} rows of {dimensions} numbers do not fit vectors of shape {vectors.shape}",
            hint="embed every row with the embedder that the index was opened for",
        )


def check_query_vector(vector: Floats, dimensions: int) -> None:
    """Refuse a query vector that does not have the index's number of dimensions."""
    if vector.shape != (dimensions,):
        raise StoreError(
            f"a question vector of shape {vector.shape} does not fit an index of "
            f"{dimensions} dimensions",
            hint="embed the question with the embedder that the index was opened for",
        )


def unit(vectors: Floats) -> Floats:
    """The vectors scaled to length 1 along the last axis; a zero vector stays zero."""
    wide = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise StoreError("a vector contains NaN or infinite numbers", hint="check the embedder")
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    # Scaling first keeps the squares of very large or very small numbers in range.
    scaled = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    result = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return np.ascontiguousarray(result, dtype=np.float32)


def last_positions(ids: Iterable[str]) -> list[int]:
    """The position of each id's last occurrence."""
    return list({row_id: position for position, row_id in enumerate(ids)}.values())


def edition(document_id: str, version: str) -> str:
    """The value of the field ``edition``: one version of one document."""
    return json.dumps([document_id, version])


def indexed_text(row: IndexRow) -> str:
    """The text of a row that keyword search uses: its context and its text."""
    return f"{row.context}\n{row.text}" if row.context else row.text


def casefolded(names: Iterable[str]) -> list[str]:
    """The names in case-folded form, for comparison."""
    return [name.casefold() for name in names]


def utc(moment: datetime) -> datetime:
    """``moment`` in UTC; a moment without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def pack(row: IndexRow) -> str:
    """The value of the field ``key``: what a candidate needs to know of its row."""
    return json.dumps([row.passage_id, row.document_id, row.version, row.span.start, row.span.end])


def unpack(key: str) -> tuple[str, str, str, int, int]:
    """The passage id, document id, version, and span start and end of a packed key."""
    passage_id, document_id, version, start, end = json.loads(key)
    return passage_id, document_id, version, start, end


def to_index_key(key: str) -> IndexKey:
    """The index key that a packed key contains."""
    passage_id, document_id, version, _, _ = unpack(key)
    return IndexKey(passage_id=passage_id, document_id=document_id, version=version)


def ranked(keys: list[str], scores: list[float], limit: int) -> list[Candidate]:
    """The ``limit`` best candidates, best first; equal scores are ordered by passage id."""
    candidates = []
    for key, score in zip(keys, scores, strict=True):
        passage_id, document_id, version, start, end = unpack(key)
        candidates.append(
            Candidate(
                passage_id=passage_id,
                document_id=document_id,
                version=version,
                span=Span(start=start, end=end),
                score=score,
            )
        )
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.passage_id))
    return candidates[:limit]
