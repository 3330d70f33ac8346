"""Haystack's hybrid pipeline: its splitter, its store in memory, BM25 and vectors joined by RRF."""

# No "from __future__ import annotations": Haystack reads the types of its components.
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.beside.shared import SHOWN, Embed, Place, documents, minilm


@component
class PassageVectors:
    """Embeds documents."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        component.set_output_types(self, documents=list[Document])

    def run(self, documents: list[Document]) -> dict[str, Any]:
        vectors = self._embed([one.content or "" for one in documents])
        embedded = [
            replace(one, embedding=vector.tolist())
            for one, vector in zip(documents, vectors, strict=True)
        ]
        return {"documents": embedded}


@component
class QuestionVector:
    """Embeds a question."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        component.set_output_types(self, embedding=list[float])

    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self._embed([text])[0].tolist()}


class Haystack:
    """One pipeline to take in, one to search; nothing is written to the disk."""

    def __init__(self, home: Path, model: Path) -> None:  # noqa: ARG002 - as all tools
        embed = minilm(model)
        embed(["The first call is slower."])
        self._store = store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self._taking_in = Pipeline()
        self._taking_in.add_component("split", DocumentSplitter())  # 200 words, no overlap
        self._taking_in.add_component("embed", PassageVectors(embed))
        self._taking_in.add_component("write", DocumentWriter(store))
        self._taking_in.connect("split.documents", "embed.documents")
        self._taking_in.connect("embed.documents", "write.documents")
        self._searching = Pipeline()
        self._searching.add_component("embed", QuestionVector(embed))
        self._searching.add_component("near", InMemoryEmbeddingRetriever(store, top_k=SHOWN))
        self._searching.add_component("words", InMemoryBM25Retriever(store, top_k=SHOWN))
        join = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=SHOWN)
        self._searching.add_component("join", join)
        self._searching.connect("embed.embedding", "near.query_embedding")
        self._searching.connect("near.documents", "join.documents")
        self._searching.connect("words.documents", "join.documents")

    def add(self, folder: Path) -> int:
        given = [
            Document(content=one.text, meta={"document": one.document}) for one in documents(folder)
        ]
        self._taking_in.run({"split": {"documents": given}})
        return int(self._store.count_documents())

    def search(self, question: str) -> list[Place]:
        asked = {"embed": {"text": question}, "words": {"query": question}}
        found = self._searching.run(asked)["join"]["documents"]
        return [
            (one.meta["document"], start, start + len(one.content))
            for one in found
            for start in (one.meta["split_idx_start"],)
        ]


open_tool = Haystack
