"""What every back end keeps of a row, in forms that need no engine: keys, names, vectors, order.

Everything that a candidate needs is packed into one value (``key``), as fetching a hundred
scattered rows costs a read per column.
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


def check_question(vector: Floats, dimensions: int) -> None:
    """Refuse a vector that cannot be looked for in an index of so many dimensions."""
    if vector.shape != (dimensions,):
        raise StoreError(
            f"a vector of shape {vector.shape} was searched for in an index of "
            f"{dimensions} dimensions",
            hint="embed the question with the embedder that the index was opened for",
        )


def unit(vectors: Floats) -> Floats:
    """The vectors (last axis) at length 1, so that a dot product is a cosine; zero stays zero."""
    wide = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise StoreError("a vector holds numbers that are not finite", hint="check the embedder")
    largest = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    # Scaling first keeps the squares of very large or very small numbers in range.
    scaled = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    result = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return np.ascontiguousarray(result, dtype=np.float32)


def last_places(ids: Iterable[str]) -> list[int]:
    """Where each id stands for the last time."""
    return list({known: place for place, known in enumerate(ids)}.values())


def edition(document_id: str, version: str) -> str:
    """One version of one document, as the value of the field ``edition``."""
    return json.dumps([document_id, version])


def searched(row: IndexRow) -> str:
    """What is searched by words of a row."""
    return f"{row.context}\n{row.text}" if row.context else row.text


def folded(names: Iterable[str]) -> list[str]:
    """Names as they are compared: case does not matter."""
    return [name.casefold() for name in names]


def utc(moment: datetime) -> datetime:
    """``moment`` in UTC; without a zone it is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def pack(row: IndexRow) -> str:
    """What a candidate tells of a row, as the value of the field ``key``."""
    return json.dumps([row.passage_id, row.document_id, row.version, row.span.start, row.span.end])


def unpack(key: str) -> tuple[str, str, str, int, int]:
    """Passage, document, version, and the span's start and end."""
    passage_id, document_id, version, start, end = json.loads(key)
    return passage_id, document_id, version, start, end


def to_index_key(key: str) -> IndexKey:
    """The identity part of a packed key."""
    passage_id, document_id, version, _, _ = unpack(key)
    return IndexKey(passage_id=passage_id, document_id=document_id, version=version)


def ranked(keys: list[str], scores: list[float], limit: int) -> list[Candidate]:
    """The best ``limit`` of the candidates, best first, equal ones in the order of their ids."""
    found = []
    for key, score in zip(keys, scores, strict=True):
        passage_id, document_id, version, start, end = unpack(key)
        found.append(
            Candidate(
                passage_id=passage_id,
                document_id=document_id,
                version=version,
                span=Span(start=start, end=end),
                score=score,
            )
        )
    found.sort(key=lambda candidate: (-candidate.score, candidate.passage_id))
    return found[:limit]
