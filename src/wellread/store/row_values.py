"""Engine-independent helpers for index back ends: packed keys, unit vectors, result order.

Everything that a candidate needs is packed into one field (``key``), because fetching a hundred
scattered rows costs one read per column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from wellread.errors import StoreError
from wellread.identity import tagged_hash
from wellread.store.base import Fingerprint, Floats, HeldRow, IndexKey, IndexRow
from wellread.text.parsed import index_text
from wellread.types import Candidate, Filters, Span

COPIED = ("collection", "kind", "source_type", "language")
LISTS = ("authors", "speakers", "taxonomy")


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
    doubles = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(doubles).all():
        raise StoreError("a vector contains NaN or infinite numbers", hint="check the embedder")
    largest = np.abs(doubles).max(axis=-1, keepdims=True, initial=0.0)
    # Scaling first keeps the squares of very large or very small numbers in range.
    scaled = np.divide(doubles, largest, out=np.zeros_like(doubles), where=largest > 0)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    result = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return np.ascontiguousarray(result, dtype=np.float32)


def last_positions(ids: Iterable[str]) -> list[int]:
    """The position of each id's last occurrence."""
    return list({row_id: position for position, row_id in enumerate(ids)}.values())


def edition(document_id: str, version: str) -> str:
    """The value of the field ``edition``: one version of one document."""
    return json.dumps([document_id, version])


def _casefolded(names: Iterable[str]) -> list[str]:
    return [name.casefold() for name in names]


def index_fields(row: IndexRow) -> dict[str, Any]:
    """The values of a row to store, by field; each engine converts vectors and times itself."""
    return {
        "passage_id": row.passage_id,
        "document_id": row.document_id,
        "edition": edition(row.document_id, row.version),
        "key": pack(row),
        **{name: getattr(row, name) for name in COPIED},
        "authors": _casefolded(row.authors),
        "speakers": _casefolded(row.speakers),
        "taxonomy": list(row.taxonomy),
        "published_at": utc(row.published_at) if row.published_at else None,
        "search_text": searched_text(row.context, row.text, row.language),
    }


def searched_text(context: str, text: str, language: str) -> str:
    """The text of a row as it is searched: context, own text, stems of its language."""
    return index_text(f"{context}\n{text}" if context else text, [language])


def accepted_values(filters: Filters) -> list[tuple[str, list[str]]]:
    """Pairs of a field and values: a row must have one of the values of every pair."""
    dimensions: dict[str, list[str]] = {}
    for dimension, value in filters.taxonomy:
        dimensions.setdefault(dimension, []).append(f"{dimension}={value}")
    pairs: list[tuple[str, list[str]]] = [
        ("collection", list(filters.collections)),
        ("kind", list(filters.kinds)),
        ("document_id", list(filters.document_ids)),
        ("source_type", list(filters.source_types)),
        ("language", list(filters.languages)),
        ("authors", _casefolded(filters.authors)),
        ("speakers", _casefolded(filters.speakers)),
        *(("taxonomy", values) for values in dimensions.values()),
    ]
    return [(name, values) for name, values in pairs if values]


def index_id(fingerprint: Fingerprint) -> str:
    """The part of an index's name that identifies its fingerprint, the same on every machine."""
    shape = (fingerprint.embedder, fingerprint.dimensions, fingerprint.chunking)
    return tagged_hash("idx", *shape, fingerprint.schema).removeprefix("idx_")[:12]


def utc(moment: datetime) -> datetime:
    """``moment`` in UTC; a moment without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def pack(row: IndexRow) -> str:
    """The value of the field ``key``: everything that a candidate needs from its row."""
    return json.dumps([row.passage_id, row.document_id, row.version, row.span.start, row.span.end])


def unpack(key: str) -> tuple[str, str, str, int, int]:
    """The passage id, document id, version, and span start and end of a packed key."""
    passage_id, document_id, version, start, end = json.loads(key)
    return passage_id, document_id, version, start, end


def to_index_key(key: str) -> IndexKey:
    """The index key that a packed key contains."""
    passage_id, document_id, version, _, _ = unpack(key)
    return IndexKey(passage_id=passage_id, document_id=document_id, version=version)


def to_held_row(key: str, collection: str, text: str, vector: bool) -> HeldRow:
    """A stored row for comparison with the catalogue, from its packed key and other fields."""
    return HeldRow(*unpack(key), collection, text, vector)


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
