"""Word, PowerPoint and Excel files, and zip files that mean harm."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import openpyxl
import pytest
from docx import Document as WordDocument
from lxml import etree
from pptx import Presentation
from tests.ingest.office_files import (
    NOTES_CONTENT,
    NOTES_TYPE,
    W,
    append,
    changed,
    part,
    saved,
    slides,
    with_parts,
    word,
    workbook,
)

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import Document

WORD, SLIDES, BOOK = saved(word()), slides(), workbook()
BODY = "word/document.xml"
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def old(stream: str) -> bytes:
    return OLD + stream.encode("utf-16-le").ljust(64, b"\x00") + bytes(448)


def load(name: str, data: bytes, limits: LoaderLimits | None = None) -> Document:
    (document,) = kinds.load(source_of(name, data), limits or LoaderLimits())
    return document


def refusal(name: str, data: bytes, limits: LoaderLimits | None = None) -> str:
    with pytest.raises(SourceError) as caught:
        load(name, data, limits)
    return caught.value.reason


class TestWord(LoaderContract):
    good = source_of("rules.docx", WORD)
    expected_kind = "page"
    quotes = (
        ("The tide turns at noon.", {"heading": ("Tides",)}),
        ("- Rope\n1. Tar", {"heading": ("Tides", "Spring tide")}),
        ("Berth | Depth\nNorth | 4 m at ebb\n", {"heading": ("Tides", "Spring tide")}),
        ("Moor at the north quay.", {"label": "§ Mooring"}),
    )
    broken = (
        source_of("text.docx", b"Only words."),
        source_of("cut.docx", WORD[: len(WORD) // 2]),
        source_of("empty.docx", saved(WordDocument())),
        source_of("secret.docx", old("EncryptedPackage")),
        source_of("old.doc", old("WordDocument")),
        source_of("headless.docx", with_parts(WORD, {}, drop="[Content_Types].xml")),
        source_of("torn.docx", changed(WORD, BODY, b"</w:body>", b"")),
    )


class TestSlides(LoaderContract):
    good = source_of("budget.pptx", SLIDES)
    expected_kind = "page"
    quotes = (
        ("- Stone is dear\n  - Granite", {"page": 1, "heading": ("Slide 1: Costs of the quay",)}),
        ("Say this slowly.", {"page": 1, "heading": ("Slide 1: Costs of the quay", "Notes")}),
        ("Deep in a group", {"page": 2, "label": "p. 2 · § Slide 2"}),
        ("Stone | Price\nGranite | 900", {"page": 2}),
        (" | Tonnes\nNorth | 0.3\nSouth | 7", {"page": 2}),
    )
    broken = (
        source_of("text.pptx", b"Only words."),
        source_of("none.pptx", saved(Presentation())),
        source_of("old.ppt", old("PowerPoint Document")),
        source_of("torn.pptx", changed(SLIDES, "ppt/presentation.xml", b"<p:sldIdLst", b"<p:x")),
    )


class TestWorkbook(LoaderContract):
    good = source_of("members.xlsx", BOOK)
    expected_kind = "page"
    quotes = (
        ("Members of the guild", {"heading": ("People",), "line": 1}),
        ("Name | Joined | Share", {"heading": ("People",), "line": 3}),
        ("Ida Lund | 2024-01-02 | 29%", {"line": 4}),
        ("Tor Vik | 2024-03-04 05:06:00 | 0.3 |  | TRUE", {"line": 9, "heading": ("People",)}),
        ("1234567890123", {"heading": ("Boats",), "line": 2}),
    )
    broken = (
        source_of("text.xlsx", b"Only words."),
        source_of("none.xlsx", saved(openpyxl.Workbook())),
        source_of("old.xls", old("Workbook")),
        source_of("torn.xlsx", changed(BOOK, "xl/workbook.xml", b"<sheets>", b"<sheets")),
        source_of("sheet.xlsx", changed(BOOK, "xl/worksheets/sheet1.xml", b"</row>", b"")),
    )


def test_the_properties_become_facts() -> None:
    rules = load("rules.docx", WORD)
    assert (rules.title, rules.source_type) == ("Harbour rules", "docx")
    assert rules.authors == ("Ida Lund", "Tor Vik")
    assert rules.published_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert rules.taxonomy == {"tags": ("harbour", "tide")}
    assert rules.summary == ""  # the library's own remark
    members = load("members.xlsx", BOOK)
    assert (members.title, members.authors) == ("Members", ())
    assert members.published_at == datetime(2024, 1, 2, tzinfo=UTC)


def test_word_says_what_is_a_heading_in_many_ways() -> None:
    document = word()
    styles = document.styles
    named = styles.add_style("Titre 2", 1)
    own = styles.add_style("Own", 1)
    own.base_style = styles["Heading 3"]
    document.add_paragraph("By a foreign name", style=named)
    document.add_paragraph("Under it.")
    document.add_paragraph("By inheritance", style=own)
    document.add_paragraph("Deeper.")
    append(
        document,
        '<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>By level</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>At the end.</w:t></w:r></w:p>",
    )

    class Ways(TestWord):
        good = source_of("ways.docx", saved(document))
        quotes = (
            ("Under it.", {"heading": ("Mooring", "By a foreign name")}),
            ("Deeper.", {"heading": ("Mooring", "By a foreign name", "By inheritance")}),
            ("At the end.", {"label": "§ By level"}),
            ("By level", {"heading": ("By level",)}),
        )

    Ways().test_quotations_stand_where_they_should()


def test_word_keeps_what_stands_in_boxes_controls_and_insertions() -> None:
    document = word()
    box = "<w:txbxContent><w:p><w:r><w:t>Boxed words.</w:t></w:r></w:p></w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    append(
        document,
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>Controlled words.</w:t></w:r></w:p></w:sdtContent>"
        "</w:sdt>"
        f"<w:p {mc}><w:r><w:t>Anchor.</w:t><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        "<w:p><w:ins><w:r><w:t>Inserted</w:t></w:r></w:ins><w:del><w:r><w:delText>Deleted"
        "</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>Hidden</w:t></w:r>"
        "<w:hyperlink><w:r><w:tab/><w:t>linked.</w:t></w:r></w:hyperlink></w:p>",
    )
    text = load("boxes.docx", saved(document)).text
    assert text.endswith("Controlled words.\n\nAnchor.\n\nBoxed words.\n\nInserted linked.")


def test_word_puts_a_note_after_the_paragraph_that_refers_to_it() -> None:
    document = word()
    append(
        document,
        '<w:p><w:r><w:t>See below</w:t><w:footnoteReference w:id="2"/><w:t>.</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>Next.</w:t></w:r></w:p>",
    )
    notes = (
        f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="0"/><w:footnote w:id="2"><w:p><w:r>'
        "<w:t>Told by the pilot.</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    data = with_parts(saved(document), {"word/footnotes.xml": notes.encode()})
    data = changed(
        data,
        "[Content_Types].xml",
        b"</Types>",
        f'<Override PartName="/word/footnotes.xml" ContentType="{NOTES_CONTENT}"/>'
        "</Types>".encode(),
    )
    data = changed(
        data,
        "word/_rels/document.xml.rels",
        b"</Relationships>",
        f'<Relationship Id="rId99" Type="{NOTES_TYPE}" Target="footnotes.xml"/>'
        "</Relationships>".encode(),
    )
    text = load("notes.docx", data).text
    assert text.endswith("See below.\n\n* Told by the pilot.\n\nNext.")


def test_the_kind_is_told_by_what_is_inside() -> None:
    for name, data, kind in (
        ("a", WORD, "docx"),
        ("a.zip", SLIDES, "pptx"),
        ("a.docx", BOOK, "xlsx"),
        ("A.DOCX", WORD, "docx"),
        ("a.bin", old("Book"), "office-binary"),
        ("a.msi", old("Property"), ""),
        ("a.bin", with_parts(WORD, {"x/" + BODY: b""}, drop=BODY), ""),
    ):
        assert kinds.kind_of(source_of(name, data)) == kind, name


def test_limits_on_slides_cells_and_entries() -> None:
    assert "too many slides: 2" in refusal("a.pptx", SLIDES, LoaderLimits(max_pages=1))
    assert "more than 5 filled cells" in refusal("a.xlsx", BOOK, LoaderLimits(max_cells=5))
    assert "too many entries in the zip file: 17, the limit is 3" in refusal(
        "a.docx", WORD, LoaderLimits(max_entries=3)
    )
    assert "too large when unpacked" in refusal(
        "a.docx", WORD, LoaderLimits(max_unpacked_bytes=9_000)
    )


def test_a_sheet_that_claims_the_whole_grid_is_read_by_its_cells() -> None:
    name = "xl/worksheets/sheet1.xml"
    grid = changed(BOOK, name, b'<dimension ref="A1:E9"', b'<dimension ref="A1:XFD1048576"')
    assert load("a.xlsx", grid).text == load("a.xlsx", BOOK).text
    far = changed(BOOK, name, b'<row r="9"', b'<row r="9000000"')
    assert "more than 1,048,576 rows" in refusal("a.xlsx", far)


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>"""
FETCH = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
REMOTE = '<?xml version="1.0"?><!DOCTYPE x SYSTEM "http://127.0.0.1:9/evil.dtd">'


@pytest.mark.parametrize(
    ("name", "data", "inside", "encoding", "head"),
    [
        *(("a.docx", WORD, BODY, "utf-8", head) for head in (BOMB, FETCH, REMOTE)),
        ("a.docx", WORD, BODY, "utf-16", BOMB),
        ("a.docx", WORD, "docProps/core.xml", "utf-8", FETCH),
        ("a.pptx", SLIDES, "ppt/slides/slide1.xml", "utf-16", FETCH),
        ("a.xlsx", BOOK, "xl/workbook.xml", "utf-8", BOMB),
        ("a.xlsx", BOOK, "xl/worksheets/sheet1.xml", "utf-16", REMOTE),
    ],
)
def test_no_part_may_declare_a_document_type(
    name: str, data: bytes, inside: str, encoding: str, head: str
) -> None:
    content = part(data, inside).decode("utf-8")
    plain = content.partition("?>")[2] if content.startswith("<?xml") else content
    evil = with_parts(data, {inside: (head + plain).encode(encoding)})
    assert "which is not allowed" in refusal(name, evil)


def test_a_declaration_behind_many_spaces_is_found_too() -> None:
    content = part(WORD, BODY).partition(b"?>")[2]
    for spaces in range((1 << 20) - 40, (1 << 20) + 8):
        if spaces % 6:  # one place in six is enough to cover every cut through the word
            continue
        head = b'<?xml version="1.0"?>' + b" " * spaces + b"<!DOCTYPE x []>"
        assert "which is not allowed" in refusal("a.docx", with_parts(WORD, {BODY: head + content}))


@pytest.mark.parametrize("encoding", ["utf-7", "cp037", "utf-32"])
def test_a_part_in_an_encoding_that_hides_its_words_is_refused(encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    hidden = head.encode("ascii" if encoding == "utf-7" else encoding) + BOMB.encode(encoding)
    assert "not XML in UTF-8" in refusal("a.docx", with_parts(WORD, {BODY: hidden}))


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    zeros = with_parts(WORD, {"word/media/image1.png": bytes(20 << 20)})
    assert "zip bomb" in refusal("a.docx", zeros)


@pytest.mark.parametrize("promised", [10, 10_000_000])
def test_an_entry_that_lies_about_its_size_is_refused(promised: int) -> None:
    lying = bytearray(WORD)
    size = len(part(WORD, BODY))
    for at in range(len(lying) - 4):
        if bytes(lying[at : at + 4]) in (b"PK\x03\x04", b"PK\x01\x02"):
            place = at + (22 if lying[at + 2] == 3 else 24)
            if struct.unpack_from("<I", lying, place)[0] == size:
                struct.pack_into("<I", lying, place, promised)
    assert "damaged file" in refusal("a.docx", bytes(lying))


def test_an_encrypted_entry_is_a_password() -> None:
    locked = bytearray(WORD)
    at = locked.index(b"PK\x01\x02")
    locked[at + 8] |= 1
    assert "password-protected" in refusal("a.docx", bytes(locked))


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (6, b"\x63", "zip file version 9.9"),  # a NotImplementedError of the library
        (9, b"\x08", "decode"),  # names are said to be UTF-8, and the first one is not
    ],
)
def test_a_directory_that_the_library_cannot_read_is_damage(
    place: int, value: bytes, told: str
) -> None:
    data = bytearray(WORD)
    at = data.index(b"PK\x01\x02")
    data[at + place : at + place + 1] = value
    data[at + 46 : at + 47] = b"\xff"
    assert told in refusal("a.docx", bytes(data))
    assert refusal("a.docx", bytes(data)).startswith("damaged file")


def test_a_comment_in_word_is_told_as_its_authors_and_a_template_gives_no_date() -> None:
    document = WordDocument()
    paragraph = document.add_paragraph("The net costs 40 crowns.")
    document.add_comment(paragraph.runs, text="Only thirty, says Tor.", author="Ida Lund")
    document.add_paragraph("It is green.")
    read = load("net.docx", saved(document))
    comment = "Comment by Ida Lund: Only thirty, says Tor."
    assert read.text == f"The net costs 40 crowns.\n\n{comment}\n\nIt is green."
    assert read.published_at is None
    document.core_properties.modified = datetime(2025, 3, 4)
    assert load("net.docx", saved(document)).published_at == datetime(2025, 3, 4, tzinfo=UTC)
    shown = Presentation()
    shown.slides.add_slide(shown.slide_layouts[0]).shapes.title.text = "Nets"
    assert load("nets.pptx", saved(shown)).published_at is None


def test_word_counts_clauses_over_levels_and_starts_again_where_told() -> None:
    document = WordDocument()
    numbering = document.part.numbering_part.element
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(
            [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)")]
        )
    )
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    for xml in (
        f'<w:abstractNum xmlns:w="{W}" w:abstractNumId="90">{levels}</w:abstractNum>',
        f'<w:num xmlns:w="{W}" w:numId="90"><w:abstractNumId w:val="90"/></w:num>',
        f'<w:num xmlns:w="{W}" w:numId="91"><w:abstractNumId w:val="90"/>{override}</w:num>',
    ):
        numbering.append(etree.fromstring(xml))
    for level, number, words in (
        (0, 90, "Berths"), (1, 90, "North"), (1, 90, "South"), (2, 90, "Small"), (2, 90, "Large"),
        (0, 90, "Fees"), (1, 90, "Yearly"), (0, 91, "Ending"), (0, 91, "Signing"),
    ):  # fmt: skip
        append(
            document,
            f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
            f"</w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>",
        )
    assert [line.strip() for line in load("clauses.docx", saved(document)).text.split("\n")] == [
        "1. Berths", "1.1 North", "1.2 South", "(a) Small", "(b) Large",
        "2. Fees", "2.1 Yearly", "7. Ending", "8. Signing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (1234.5, "#,##0.00", "1,234.50"),
        (7, "[$£-809]#,##0.00", "£7.00"),
        (-7, '0.0" m";(0.0" m")', "(7.0 m)"),
        (-7, "0.0", "-7.0"),
        (0.125, "0.0 %", "12.5 %"),
        (42, "00000", "00042"),
        (2.5, "0.##", "2.5"),
        (3000, '0," t"', "3 t"),
        (2.5, "# ?/?", "2.5"),
        (2.5, "0.0E+00", "2.5"),
    ],
)
def test_a_number_stands_as_its_format_shows_it(value: float, form: str, shown: str) -> None:
    book = openpyxl.Workbook()
    cell = book["Sheet"]["A1"]
    cell.value, cell.number_format = value, form
    assert load("numbers.xlsx", saved(book)).text == f"Sheet\n\n{shown}"
