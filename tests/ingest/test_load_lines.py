"""Tables, programs, outlines, notebooks, MDX, RTF, zip files, and files that are named."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.conftest import statuses

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.kind_table import LOADERS
from wellread.ingest.pipeline import kinds
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.testing.loader import LoaderContract, check_document, source_of
from wellread.types import Document, Span
from wellread.values.locators import Marks

ROWS = "".join(f"{number},Boat {number},{number * 3}\n" for number in range(40, 60))


def one(name: str, data: bytes | str) -> Document:
    (document,) = kinds.load(source_of(name, data), LoaderLimits())
    return document


def line_of(document: Document, words: str) -> int | None:
    start = document.text.index(words)
    return Marks(document.marks).locate(Span(start=start, end=start + 1)).line


class TestTable(LoaderContract):
    good = source_of("boats.csv", "No,Name,Berth\n" + ROWS)
    expected_kind = "page"
    quotes = (("No | Name | Berth", {"line": 1}), ("55 | Boat 55 | 165", {"line": 17}))
    broken = (source_of("blank.csv", ",,\n\n"),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Item;Price\nRope, red;1,80\nSail;95\n"),
        ("a.tsv", "Item\tPrice\nRope, red\t1,80\nSail\t95\n"),
        ("a.csv", "Item|Price\nRope, red|1,80\nSail|95\n"),
        ("a.csv", "sep=;\nItem;Price\nRope, red;1,80\nSail;95\n"),
        ("a.csv", 'Item,Price\n"Rope, red","1,80"\nSail,95\n'),
        ("a.csv", '\ufeffItem,Price\r\n"Rope, red","1,80"\r\nSail,95\r\n'),
    ],
)
def test_the_delimiter_is_found(name: str, text: str) -> None:
    assert one(name, text).text == "Item | Price\nRope, red | 1,80\nSail | 95"


def test_a_row_keeps_its_empty_cells_and_its_line() -> None:
    found = one("a.csv", 'Berths 2026\n\nNo,Name,Note\n7,,"two\nlines"\n8,Gull,\n')
    assert found.text == "Berths 2026\nNo | Name | Note\n7 |  | two lines\n8 | Gull"
    assert [line_of(found, words) for words in ("Berths", "No |", "7 |", "8 |")] == [1, 3, 4, 6]


def test_a_table_of_past_questions_stays_one() -> None:
    (found,) = kinds.load(source_of("a.csv", "question;answer\nWhy?;So.\n"), LoaderLimits())
    assert found.kind == "qa"


def test_a_large_table_meets_its_limit() -> None:
    with pytest.raises(SourceError, match="more than 5 filled cells"):
        kinds.load(source_of("a.csv", "a,b\n" + ROWS), LoaderLimits(max_cells=5))


@given(st.text(max_size=200), st.sampled_from(["csv", "tsv", "org", "adoc", "tex", "mdx", "rtf"]))
def test_no_text_crashes(text: str, ending: str) -> None:
    source = source_of(f"a.{ending}", ("{\\rtf1 " if ending == "rtf" else "") + text)
    with suppress(SourceError):
        for document in kinds.load(source, LoaderLimits()):
            check_document(document, source)


class TestProgram(LoaderContract):
    good = source_of("pump.py", '"""The pump."""\n\n\ndef lift():\n    return "40 cm"\n')
    expected_kind = "page"
    quotes = (('    return "40 cm"', {"line": 5}),)
    broken = (source_of("blank.py", "\n\n"), source_of("bytes.log", b"\x81\x00\xff"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "pump:\n  lift: 4 m\n"),
        ("a.json", '{"pump":\n {"lift": "4 m"}}'),
        ("a.toml", "[pump]\nlift = '4 m'\n"),
        ("a.log", "10:00 \x1b[31mpump\x1b[0m started\n10:01 lift 4 m\n"),
        ("a.sql", "SELECT lift\nFROM pump WHERE lift = '4 m';\n"),
    ],
)
def test_lines_stay_lines(name: str, text: str) -> None:
    found = one(name, text)
    assert line_of(found, "4 m") == 2
    assert found.title == name
    assert "\x1b" not in found.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.org",
            "#+TITLE: Pumps\n* TODO Old pump\nIt lifts 4 m.\n#+BEGIN_SRC sh\n# x\n#+END_SRC\n",
        ),
        ("a.adoc", "= Pumps\n== Old pump\nIt lifts 4 m.\n\n----\n# x\n----\n"),
        (
            "a.tex",
            "\\title{Pumps}\n\\section{Old pump}\nIt lifts 4 m.\n\\begin{verbatim}\n# x\n"
            "\\end{verbatim}\n",
        ),
    ],
)
def test_outlines_have_headings_and_lines(name: str, text: str) -> None:
    found = one(name, text)
    place = Marks(found.marks).locate(Span(start=(at := found.text.index("It lifts")), end=at + 1))
    assert found.title == "Pumps"
    assert place.heading == ("Pumps", "Old pump")
    assert place.line == 3
    assert "\n# x" in found.text


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("a.org", "It lifts\n| lift | year |\n|------+------|\n| 4 m | 1990 |\n", "4 m | 1990"),
        ("a.org", "See [[https://x.example][the pump]].\n", "See the pump."),
        (
            "a.tex",
            r"It lifts 4\,m~\cite{a}, \emph{as \textbf{told}} \& seen. % now",
            "as told & seen.",
        ),
        ("a.tex", "\\item[a] see \\href{https://x.example}{the pump}", "- a see the pump"),
    ],
)
def test_markup_inside_the_lines_of_an_outline_is_no_text(name: str, text: str, shown: str) -> None:
    assert one(name, text).text.endswith(shown)


def test_a_notebook_has_its_texts_code_and_what_was_printed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Pumps\n", "They lift *water*."]},
        {
            "cell_type": "code",
            "source": "lift()",
            "outputs": [
                {"output_type": "stream", "text": ["4 m\n"]},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                {"output_type": "execute_result", "data": {"text/plain": ["```"]}},
            ],
        },
    ]
    found = one("pumps.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
    assert found.title == "Pumps"
    assert found.text == "Pumps\n\nThey lift water.\n\nlift()\n\n4 m\n\n```"
    with pytest.raises(SourceError, match="not a notebook"):
        one("a.ipynb", "{}")


def test_mdx_is_read_without_its_code() -> None:
    found = one(
        "pumps.mdx",
        "---\ntitle: Pumps\n---\nimport { Box } from './box'\nexport const lift = {\n  m: 4,\n}\n\n"
        "# Old pump\n\n<Box a={() => 1 > 0} b={{c: 2}}>\n    It *lifts* water.\n</Box>\n\n{/* no\n"
        "draft */}\nTill <Time at='noon' /> only; `<Box>` is shown.\n\n```\nimport x\n```\n",
    )
    assert found.title == "Pumps"
    assert found.text == "Old pump\n\nIt lifts water.\n\nTill only; <Box> is shown.\n\nimport x"
    assert line_of(found, "It lifts") == 12


def test_rtf_is_read_as_its_text() -> None:
    head = "{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\b Pumps\\b0\\par\n"
    found = one("pumps.rtf", head + "They lift 4 m, \\'fcber Nacht.\\par}")
    assert "They lift 4 m, über Nacht." in found.text
    assert "Arial" not in found.text
    with pytest.raises(SourceError, match="not RTF"):
        one("a.rtf", "words")


def zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def test_a_zip_file_gives_the_files_inside() -> None:
    inner = zipped({"deep.txt": b"The deep pump.", "../up.md": b"# Up\n\nThe upper pump."})
    data = zipped({"a/pump.txt": b"The pump.", "in.zip": inner, "a.exe": b"\x00", ".hid.txt": b"x"})
    source = source_of("all.zip", data)
    found = kinds.load(source, LoaderLimits())
    assert [document.text for document in found] == [
        "The pump.",
        "The deep pump.",
        "Up\n\nThe upper pump.",
    ]
    assert len({document.uri for document in found}) == 3
    assert source.remarks == ["not read: a.exe (unsupported file type)"]


def test_a_zip_file_meets_the_limits() -> None:
    nested = zipped({"a.txt": b"The pump."})
    for _ in range(kinds.MAX_DEPTH):
        nested = zipped({"in.zip": nested})
    with pytest.raises(SourceError, match="files inside one another"):
        kinds.load(source_of("a.zip", nested), LoaderLimits())
    bomb = zipped({"a.txt": bytes(1 << 20)})
    with pytest.raises(SourceError, match="too large when unpacked"):
        kinds.load(source_of("a.zip", bomb), LoaderLimits(max_unpacked_bytes=1000))


def test_a_file_that_is_named_is_read_if_it_is_text(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "pump.weird").write_text("The pump lifts 4 m.\n")
    (folder / "pump.bin").write_bytes(bytes(range(256)))
    named = [str(folder / name) for name in ("pump.weird", "pump.bin")]
    assert set(statuses(add(kb, [str(folder)])).values()) == {"skipped"}
    assert statuses(add(kb, named)) == {"pump.bin": "skipped", "pump.weird": "added"}
    (folder / "pump.weird").write_text("The pump lifts 5 m.\n")
    assert statuses(add(kb, [str(folder)]))["pump.weird"] == "updated"


def test_the_documents_tell_the_table_of_kinds() -> None:
    told = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
    for entry in LOADERS.values():
        if entry.extensions:
            ends = " ".join(f"`{end}`" for end in entry.extensions.split())
            row = f"| {entry.name} | {ends} | {entry.library or '—'} | {entry.place or '—'} |"
            assert row in told.splitlines()


def test_the_export_of_a_wiki_is_read_without_its_frame() -> None:
    found = one(
        "Lamp_7.html",
        "<html><title>Mole : Lamp</title><body><div id='main-header'><ol id='breadcrumbs'><li>Mole"
        "</li><li>Lights</li></ol><h1 id='title-heading'>Mole : Lamp</h1></div>"
        "<div class='page-metadata'>Created by <span class='author'>Ida Lund</span> on Feb 2, 2026"
        "</div><div id='main-content' class='wiki-content group'><p>The lamp burns all night in "
        "any weather.</p></div><div class='pageSection group'><h2>Attachments:</h2>lamp.pdf</div>"
        "<div id='footer'>Document generated by Confluence on Mar 3, 2026</div></body></html>",
    )
    assert (found.title, found.text) == ("Lamp", "The lamp burns all night in any weather.")
    assert found.taxonomy == {"breadcrumbs": ("Mole", "Lights")}
    assert str(found.published_at)[:10] == "2026-02-02"
    assert one(f"Old lamps {'0a' * 16}_all.csv", "a,b\n1,2\n").title == "Old lamps"
