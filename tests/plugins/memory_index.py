"""A package that adds a search index: everything in the memory of this process."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from wellread.errors import StoreError
from wellread.store.base import Fingerprint, HeldRow, IndexKey, IndexRow
from wellread.testing.index_model import matches
from wellread.text.english import FUNCTION_WORDS
from wellread.text.parsed import stem
from wellread.types import Candidate, Filters

Vector = NDArray[np.float32]


@dataclass
class Table:
    """The rows of one index, and whether what was removed of them is gone."""

    rows: dict[str, tuple[IndexRow, Vector | None]] = field(default_factory=dict)
    purged: bool = True


TABLES: dict[tuple[Path, Fingerprint], Table] = {}


class MemoryIndex:
    """``store.base.Index``, and as a class the ``IndexBackend``."""

    def __init__(self, table: Table, dimensions: int) -> None:
        self._table = table
        self._dimensions = dimensions

    @classmethod
    def open(cls, path: Path, fingerprint: Fingerprint) -> MemoryIndex:
        table = TABLES.setdefault((path, fingerprint), Table())
        return cls(table, fingerprint.dimensions)

    @staticmethod
    def others(path: Path, *keep: Fingerprint) -> list[str]:
        return [made.embedder for place, made in TABLES if place == path and made not in keep]

    @staticmethod
    def set_aside(path: Path, fingerprint: Fingerprint) -> None:
        TABLES.pop((path, fingerprint), None)

    @classmethod
    def drop_others(cls, path: Path, *keep: Fingerprint) -> list[str]:
        names = cls.others(path, *keep)
        for place, made in [*TABLES]:
            if place == path and made not in keep:
                del TABLES[place, made]
        return names

    def write(self, rows: Sequence[IndexRow], vectors: Vector | None) -> None:
        units = [None] * len(rows) if vectors is None else self._units(vectors, len(rows))
        for row, unit in zip(rows, units, strict=True):
            self._table.purged &= row.passage_id not in self._table.rows
            self._table.rows[row.passage_id] = (row, unit)

    def set_vectors(self, passage_ids: Sequence[str], vectors: Vector) -> None:
        units = self._units(vectors, len(passage_ids))
        for known, unit in zip(passage_ids, units, strict=True):
            if known in self._table.rows:
                self._table.rows[known] = (self._table.rows[known][0], unit)

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        gone = [
            known
            for known, (row, _) in self._table.rows.items()
            if (row.document_id, row.version) in set(keys)
        ]
        for known in gone:
            del self._table.rows[known]
        self._table.purged &= not gone
        return len(gone)

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        counts = {known: Counter(words(text(row))) for known, row in self._rows(Filters()).items()}
        asked = {word for counted in counts.values() for word in counted}
        wanted = {
            word
            for one in words(query)
            for word in asked
            if word == one or (differences and near(word, one, differences))
        }
        average = sum(map(Counter.total, counts.values())) / max(1, len(counts)) or 1.0
        scores = dict.fromkeys(self._rows(filters), 0.0)
        for word in wanted:
            holding = sum(word in counted for counted in counts.values())
            rare = math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
            for known in scores:
                times = counts[known][word]
                length = 0.25 + 0.75 * counts[known].total() / average
                scores[known] += rare * 2.2 * times / (times + 1.2 * length)
        return self._ranked({known: score for known, score in scores.items() if score}, limit)

    def search_vector(self, vector: Vector, filters: Filters, limit: int) -> list[Candidate]:
        (unit,) = self._units(vector[None], 1)
        held = {known: self._table.rows[known][1] for known in self._rows(filters)}
        scores = {known: float(one @ unit) for known, one in held.items() if one is not None}
        return self._ranked(scores, limit)

    def rows(self) -> int:
        return len(self._table.rows)

    def keys(self) -> Iterator[IndexKey]:
        for row, _ in [*self._table.rows.values()]:
            yield IndexKey(
                passage_id=row.passage_id, document_id=row.document_id, version=row.version
            )

    def held(self) -> Iterator[HeldRow]:
        for row, vector in [*self._table.rows.values()]:
            place = (row.passage_id, row.document_id, row.version, row.span.start, row.span.end)
            yield HeldRow(*place, row.collection, text(row), vector is not None)

    def rebuild(self) -> None:
        """Nothing is kept beside the rows."""

    def optimize(self) -> None:
        """Nothing is to be folded in."""

    def purge(self) -> None:
        self._table.purged = True

    def purged(self) -> bool:
        return self._table.purged

    def _rows(self, filters: Filters) -> dict[str, IndexRow]:
        rows = {known: row for known, (row, _) in self._table.rows.items()}
        return {known: row for known, row in rows.items() if matches(row, filters)}

    def _units(self, vectors: Vector, rows: int) -> list[Vector]:
        if vectors.shape != (rows, self._dimensions) or not np.isfinite(vectors).all():
            raise StoreError(f"vectors of shape {vectors.shape} do not fit {rows} rows")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return list(vectors / np.where(lengths > 0, lengths, 1))

    def _ranked(self, scores: dict[str, float], limit: int) -> list[Candidate]:
        best = sorted(scores, key=lambda known: (-scores[known], known))[:limit]
        return [
            Candidate(
                passage_id=known,
                document_id=row.document_id,
                version=row.version,
                span=row.span,
                score=scores[known],
            )
            for known in best
            for row in [self._table.rows[known][0]]
        ]


def text(row: IndexRow) -> str:
    """What is searched of a row."""
    return f"{row.context}\n{row.text}" if row.context else row.text


def words(said: str) -> list[str]:
    """The stems of what is written, without accents and words of grammar."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", said) if ord(one) not in ACCENTS)
    found = re.findall(r"[^\W_]+", plain.casefold())
    return [stem(word) for word in found if word not in FUNCTION_WORDS]


ACCENTS = range(0x300, 0x370)


def near(word: str, other: str, most: int) -> bool:
    """Whether so few letters differ, and not the first."""
    return word[:1] == other[:1] and Levenshtein.distance(word, other) <= most
