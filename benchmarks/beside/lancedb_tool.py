"""LanceDB itself: its full-text index and exact vectors, joined by its reranker (RRF, the default).

Its documentation has tables searched without a vector index unless they are large.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from benchmarks.beside.shared import SHOWN, Place, batches, minilm

SCHEMA = pa.schema(
    [
        ("document", pa.string()),
        ("start", pa.int64()),
        ("text", pa.string()),
        ("vector", pa.list_(pa.float32(), 384)),
    ]
)


class LanceDB:
    """A table on the disk."""

    def __init__(self, home: Path, model: Path) -> None:
        self._embed = minilm(model)
        self._embed(["The first call is slower."])
        self._table = lancedb.connect(home).create_table("passages", schema=SCHEMA)
        self._join = RRFReranker()

    def add(self, folder: Path) -> int:
        for batch in batches(folder):
            vectors = self._embed([one.text for one in batch])
            rows = [
                {"document": one.document, "start": one.start, "text": one.text, "vector": vector}
                for one, vector in zip(batch, vectors, strict=True)
            ]
            self._table.add(rows)
        self._table.create_fts_index("text")  # English stems, stop words removed: its defaults
        self._table.optimize()
        return int(self._table.count_rows())

    def search(self, question: str) -> list[Place]:
        asked: Any = self._table.search(query_type="hybrid", fts_columns="text")
        asked = asked.vector(self._embed([question])[0]).text(question).distance_type("cosine")
        rows = asked.rerank(self._join).select(["document", "start", "text"]).limit(SHOWN)
        return [
            (row["document"], row["start"], row["start"] + len(row["text"]))
            for row in rows.to_list()
        ]


open_tool = LanceDB
