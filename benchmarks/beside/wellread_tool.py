"""Wellread as shipped: ``add`` of the set's own files, ``search`` with the default settings."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beside.shared import SHOWN, Place
from wellread.ask.retrieve.search import search
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.models.embedders.open_embedder import open_embedder
from wellread.settings_file import load_settings
from wellread.types import Filters


class Wellread:
    """A home on the disk."""

    def __init__(self, home: Path, model: Path) -> None:
        settings = load_settings(home, environ={})
        self._kb = open_kb(home, embedder=open_embedder(settings.embedding, model))
        self._kb.embedder.embed(["The first call is slower."], "passage")

    def add(self, folder: Path) -> int:
        report = add(self._kb, [str(folder / "files")])
        bad = [row.uri for row in report.rows if row.status in ("failed", "skipped")]
        if bad:
            raise SystemExit(f"not taken in: {', '.join(bad[:10])}")
        return sum(row.passages for row in self._kb.catalogue.listings.kinds())

    def search(self, question: str) -> list[Place]:
        return [
            (hit.document.id, hit.passage.span.start, hit.passage.span.end)
            for hit in search(self._kb, question, Filters(), limit=SHOWN)
        ]


open_tool = Wellread
