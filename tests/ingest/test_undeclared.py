"""Text in Windows-1252 that does not declare it is read, and a report says so."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from rich.console import Console

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.plain import WINDOWS_NOTE, windows_1252
from wellread.ingest.pipeline import kinds
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli.material_cli import print_report
from wellread.serve.features.home_and_jobs import report_body
from wellread.testing.embedding import ReadableEmbedder

WESTERN = (
    "Le café était fermé à Noël, malgré l’été. Où êtes-vous passé ? Ça coûte 5 €.",
    "Die Fähre fährt um sechs. Über die Brücke geht es „schnell“.",
    "El niño comió una piña en España. ¿Qué pasó? ¡Olé!",
    "Färjan går över Öresund på kvällen åt Malmö.",
    "Færgen sejler på søndage; øen er rød.",
    "It’s the “best” – really… and 20 £ per m³.",
    "Café",
)
OTHERS = (
    ("Привет, это текст на русском языке.", "cp1251"),
    ("Καλημέρα κόσμε, αυτό είναι κείμενο.", "cp1253"),
    ("これは日本語のテキストです。", "shift_jis"),
    ("Był sobie król, który miał żonę i dzieci. Wszyscy żyli szczęśliwie.", "cp1250"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
    ("Le café était fermé à Noël", "mac_roman"),
    ("Die Fähre fährt über die Brücke", "cp437"),
)


@pytest.mark.parametrize("text", WESTERN)
def test_western_european_text_is_read(text: str) -> None:
    assert windows_1252(text.encode("cp1252")) == text


@pytest.mark.parametrize(("text", "encoding"), OTHERS)
def test_other_encodings_are_refused_as_before(text: str, encoding: str) -> None:
    source = Source(uri="file:///a.txt", name="a.txt", data=text.encode(encoding), collection="c")
    with pytest.raises(SourceError, match=r"not UTF-8 \(line 1\): save it as UTF-8"):
        kinds.load(source, LoaderLimits())


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + b"Caf\xe9",
        "Café\n".encode() * 3 + b"one broken byte: \xe9\n",
        b"\x89PNG\r\n\x1a\n\x00\xe9",
        bytes(range(256)),
    ],
)
def test_broken_utf_8_and_no_text_at_all_are_refused(data: bytes) -> None:
    source = Source(uri="file:///a.txt", name="a.txt", data=data, collection="c")
    with pytest.raises(SourceError, match="not UTF-8"):
        kinds.load(source, LoaderLimits())


def test_the_report_says_which_files_were_read_so(tmp_path: Path) -> None:
    (tmp_path / "menu.md").write_bytes("# Café\n\nDie Fähre fährt um sechs.\n".encode("cp1252"))
    page = "<html><body><p>Der Bäcker öffnet früh, und die Fähre fährt spät.</p></body></html>"
    (tmp_path / "bread.html").write_bytes(page.encode("cp1252"))
    declared = page.replace("<body>", '<head><meta charset="windows-1252"></head><body>')
    (tmp_path / "told.html").write_bytes(declared.encode("cp1252"))
    (tmp_path / "fine.md").write_text("# Café\n\nDie Fähre fährt um sieben.\n", encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        report = add(kb, [str(path) for path in tmp_path.glob("*.*")])
        titles = {facts.title for facts in kb.catalogue.documents("default")}
        again = add(kb, [str(tmp_path / "menu.md")])
    assert "Café" in titles
    notes = {row.uri.rpartition("/")[2]: row.reason for row in report.rows}
    assert notes.pop("bread.html").endswith(
        "which the page does not declare: " + WINDOWS_NOTE.partition(": ")[2]
    )
    assert notes == {"menu.md": WINDOWS_NOTE, "fine.md": "", "told.html": ""}
    assert again.counts()["unchanged"] == 1
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as printed:
        print_report(console, report_body(report, "default"))
    assert f"menu.md: {WINDOWS_NOTE}" in printed.get()
    assert "fine.md" not in printed.get()
