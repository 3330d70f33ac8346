"""What all tools share: the documents, the model, plain chunks. Imports no tool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wellread.models.embedders.local_embedder import LocalEmbedder

SHOWN = 20  # passages that each search asks for
WORDS = 200  # of a plain chunk: the length to which Haystack cuts by default
TOGETHER = 512  # chunks handed to a tool at once, where it takes chunks

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Place = tuple[str, int, int]  # (document id, start, end in its text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A document as the other tools get it, or a chunk of it."""

    document: str
    start: int = 0
    text: str

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.document, self.start, self.start + len(self.text)


class Tool(Protocol):
    """Takes a folder in and searches it."""

    def add(self, folder: Path) -> int:
        """Take in what ``folder`` holds; the number of passages."""
        ...

    def search(self, question: str) -> list[Place]:
        """The best ``SHOWN`` passages, best first."""
        ...


def minilm(model: Path) -> Embed:
    """The very code and file with which Wellread embeds; ``model`` holds the rebuilt graph."""
    embedder = LocalEmbedder(model)
    return lambda texts: embedder.embed(texts, "passage")


def documents(folder: Path) -> Iterator[Text]:
    """The documents that lie beside the set's files."""
    with (folder / "documents.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            yield Text(document=row["id"], text=row["text"])


def batches(folder: Path) -> Iterator[list[Text]]:
    """All documents in chunks of ``WORDS`` words, ``TOGETHER`` at a time."""
    batch: list[Text] = []
    for whole in documents(folder):
        words = [found.span() for found in re.finditer(r"\S+", whole.text)]
        for first in range(0, len(words), WORDS):
            start, end = words[first][0], words[min(first + WORDS, len(words)) - 1][1]
            batch.append(Text(document=whole.document, start=start, text=whole.text[start:end]))
            if len(batch) == TOGETHER:
                yield batch
                batch = []
    if batch:
        yield batch
