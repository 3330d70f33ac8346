"""Text that does not declare its encoding is read where that is sure, and a report says so."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.plain import NOTE
from wellread.ingest.pipeline import kinds
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder

WESTERN = (
    "Le café était fermé à Noël, malgré l’été. Où êtes-vous passé ? Ça coûte 5 €.",
    "Die Fähre fährt um sechs. Über die Brücke geht es „schnell“.",
    "El niño comió una piña en España. ¿Qué pasó? ¡Olé!",
    "Färjan går över Öresund på kvällen åt Malmö.",
    "Færgen sejler på søndage; øen er rød.",
    "It’s the “best” – really… and 20 £ per m³.",
    "Café",
    "<title>Perché</title><p>La città è già là: però costa 3 €.</p>",
)
OTHERS = (
    ("Привет, это текст на русском языке.", "cp1251", "Windows-1251"),
    ("Καλημέρα κόσμε, αυτό είναι κείμενο.", "cp1253", "Windows-1253"),
    ("Był sobie król, który miał żonę. Żyli szczęśliwie.", "cp1250", "Windows-1250"),
    ("Мост закрыт до мая.", "cp1251", "Windows-1251"),
    ("Мост закрыт до мая.", "utf-16-le", "UTF-16"),
    ("The quay opens at six.", "utf-16-be", "UTF-16"),
    ("これは日本語のテキストです。", "shift_jis", "Shift-JIS"),
    ("青石镇图书馆于二〇一九年三月开放。图书馆每周二至周日开放，周一闭馆。", "gb18030", "GB18030"),
)
WINDOWS = NOTE.format("Windows-1252")


def source_of(data: bytes) -> Source:
    return Source(uri="file:///a.txt", name="a.txt", data=data, collection="c")


@pytest.mark.parametrize(
    ("text", "encoding", "name"), [*((text, "cp1252", "Windows-1252") for text in WESTERN), *OTHERS]
)
def test_text_that_speaks_for_its_encoding_is_read(text: str, encoding: str, name: str) -> None:
    source = source_of(text.encode(encoding))
    (document,) = kinds.load(source, LoaderLimits())
    assert document.text == text
    assert source.remarks == [NOTE.format(name)]


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + b"Caf\xe9",
        "Café\n".encode() * 3 + b"one broken byte: \xe9\n",
        b"\x89PNG\r\n\x1a\n\x00\xe9",
        bytes(range(256)),
        "Le café était fermé à Noël".encode("mac_roman"),
    ],
)
def test_what_is_unsure_broken_or_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"not UTF-8 \(line \d\): save it as UTF-8"):
        kinds.load(source_of(data), LoaderLimits())


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
    assert notes == {"menu.md": WINDOWS, "bread.html": WINDOWS, "fine.md": "", "told.html": ""}
    assert again.counts()["unchanged"] == 1
