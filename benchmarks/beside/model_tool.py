"""The model alone: embeds the plain chunks and the questions, and finds nothing."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beside.shared import Place, batches, minilm


class Model:
    """What is left when a tool costs nothing."""

    def __init__(self, home: Path, model: Path) -> None:  # noqa: ARG002 - as all tools
        self._embed = minilm(model)

    def add(self, folder: Path) -> int:
        return sum(len(self._embed([one.text for one in batch])) for batch in batches(folder))

    def search(self, question: str) -> list[Place]:
        self._embed([question])
        return []


open_tool = Model
