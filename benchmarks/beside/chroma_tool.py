"""Chroma on the disk, nearest vectors by cosine.

Its search that joins words and vectors is for its cloud: asked of a local client it raises
``NotImplementedError`` (1.5.9), so that vectors alone are what a local user gets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from benchmarks.beside.shared import SHOWN, Place, batches, minilm


class Chroma:
    """A persistent collection."""

    def __init__(self, home: Path, model: Path) -> None:
        self._embed = minilm(model)
        self._embed(["The first call is slower."])
        client = chromadb.PersistentClient(str(home), Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "passages", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, folder: Path) -> int:
        count = 0
        for batch in batches(folder):
            texts = [one.text for one in batch]
            places: list[Any] = [
                {"document": one.document, "start": one.start, "end": one.place[2]} for one in batch
            ]
            self._collection.add(
                ids=[str(count + number) for number in range(len(batch))],
                documents=texts,
                embeddings=self._embed(texts),
                metadatas=places,
            )
            count += len(batch)
        return count

    def search(self, question: str) -> list[Place]:
        found = self._collection.query(
            query_embeddings=self._embed([question]), n_results=SHOWN, include=["metadatas"]
        )
        rows: list[Any] = (found["metadatas"] or [[]])[0]
        return [(row["document"], row["start"], row["end"]) for row in rows]


open_tool = Chroma
