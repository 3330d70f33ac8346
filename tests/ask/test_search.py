"""One search: what it must not cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellread.ask.retrieve.search import search
from wellread.errors import UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.store.catalogue import Catalogue
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters


def test_a_filter_by_collection_counts_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note.md"
    note.write_text("The ferry leaves at noon.", encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(note)], collection="harbour")

        def refuse(_: Catalogue) -> None:
            raise AssertionError("every document was counted")

        monkeypatch.setattr(Catalogue, "stats", refuse)
        (hit,) = search(kb, "When does the ferry leave?", Filters(collections=("harbour",)))
        assert hit.passage.text == "The ferry leaves at noon."
        with pytest.raises(UnknownCollectionError, match="nowhere") as raised:
            search(kb, "ferry", Filters(collections=("nowhere",)))
        assert "harbour" in str(raised.value.hint)
