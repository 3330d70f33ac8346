"""Places of other tools' passages are told in the text that Wellread stored."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beside_others import NoVectors, shown, stored_place
from benchmarks.homes import documents, text_of

from wellread.ingest.run import add
from wellread.kb import open_kb


def test_a_place_after_title_and_speakers_is_found_again(tmp_path: Path) -> None:
    source = tmp_path / "talk.md"
    source.write_text("# Harbour\n\n**Ada**: The ferry is late.\n\n**Ben**: It sank.\n")
    with open_kb(tmp_path / "home", embedder=NoVectors()) as kb:
        add(kb, [str(source)])
        (document,) = documents(kb)
        text, inserts = shown(kb, document)
        stored = text_of(kb, document)
    assert "Ben: It sank." in text
    start = text.index("It sank.")
    found = stored_place(inserts, start)
    assert stored[found : found + len("It sank.")] == "It sank."
