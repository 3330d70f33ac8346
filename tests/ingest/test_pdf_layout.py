"""Reading order, turned pages, tables, notes, headings and facts of papers drawn here."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from wellread.codec import from_plain, to_plain
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.kind_table import LOADERS
from wellread.ingest.loaders.pdf import pdf_layer
from wellread.ingest.pipeline import kinds
from wellread.ingest.pipeline.change_detection import ChangeDetector
from wellread.ingest.sources.discover import FoundFile
from wellread.store.schema.stored_values import SourceRecord
from wellread.testing.loader import source_of
from wellread.types import Box, Document, PageMark, Span, TableMark
from wellread.values.locators import Marks

WIDTH, HEIGHT = 595.0, 842.0
DARK = 128  # of 255
LEFT = [
    "The left column tells how the mussel beds were",
    "counted. Divers swam along forty lines on each",
    "bank and wrote down every bed that was wider",
    "than one metre. The work took eleven days in",
    "May and nine days in September, and a second",
    "team repeated one line in ten. Both teams had",
    "the same slates, the same lamps and the same",
]
RIGHT = [
    "divers. The right column gives what was found.",
    "On the northern bank the beds had grown by one",
    "third since the trawling stopped. Nothing grew",
    "on the southern bank, where the mud is soft and",
    "moves with every storm. We saw young mussels on",
    "old ropes and on the piles of the former pier.",
    "They were gone in autumn, and crabs sat there.",
]

Draw = Callable[[Canvas], None]


def drawn(*pages: Draw, title: str = "") -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
    if title:
        canvas.setTitle(title)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def load(data: bytes) -> Document:
    (document,) = kinds.load(source_of("paper.pdf", data), LoaderLimits())
    return document


def write(canvas: Canvas, x: float, y: float, lines: list[str], size: float = 10) -> None:
    canvas.setFont("Helvetica", size)
    for number, line in enumerate(lines):
        canvas.drawString(x, y - number * 1.3 * size, line)


def bold(canvas: Canvas, x: float, y: float, words: str, size: float = 14) -> None:
    canvas.setFont("Helvetica-Bold", size)
    canvas.drawString(x, y, words)


def columns(canvas: Canvas, y: float = 600) -> None:
    write(canvas, 60, y, LEFT)
    write(canvas, 320, y, RIGHT)


def boxes(document: Document) -> list[Box]:
    return [mark.box for mark in document.marks if isinstance(mark, PageMark) and mark.box]


def heading(document: Document, quote: str) -> tuple[str, ...]:
    start = document.text.index(quote)
    return Marks(document.marks).locate(Span(start=start, end=start + len(quote))).heading


# --- turned pages ----------------------------------------------------------------------------


def turned(page: int, text: int) -> bytes:
    """A page turned by ``page`` degrees with writing turned by ``text`` degrees to the left."""

    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(page)
        width, height = (HEIGHT, WIDTH) if page % 180 else (WIDTH, HEIGHT)
        canvas.translate(*{0: (0, 0), 90: (width, 0), 180: (width, height), 270: (0, height)}[text])
        canvas.rotate(text)
        write(
            canvas,
            70,
            400,
            ["Boats lie here in winter and", "in spring they go out. Then", "it is quiet."],
        )

    return drawn(draw)


def dark_share(image: Image.Image, places: list[Box]) -> float:
    """The share of all dark points that lies inside the boxes."""
    width, height = image.size
    points = image.tobytes()
    dark = [
        (x / width, y / height)
        for y in range(height)
        for x in range(width)
        if points[y * width + x] < DARK
    ]
    inside = [
        any(b.left <= x <= b.right and b.top <= y <= b.bottom for b in places) for x, y in dark
    ]
    return sum(inside) / len(dark)


@pytest.mark.parametrize(
    ("page", "text"), [(0, 0), (90, 90), (180, 0), (270, 180), (0, 270), (90, 270)]
)
def test_turned_pages_are_read_in_order_with_boxes_where_they_are_seen(
    page: int, text: int
) -> None:
    data = turned(page, text)
    document = load(data)
    assert document.text == "Boats lie here in winter and in spring they go out. Then it is quiet."
    seen = pdfium.PdfDocument(data)[0].render(scale=0.6).to_pil().convert("L")
    assert dark_share(seen, boxes(document)) > 0.95
    assert sum((b.right - b.left) * (b.bottom - b.top) for b in boxes(document)) < 0.03


def test_the_stamp_of_a_preprint_gives_the_date_and_no_text() -> None:
    def stamped(canvas: Canvas) -> None:
        columns(canvas)
        canvas.translate(30, 300)
        canvas.rotate(90)
        write(canvas, 0, 0, ["arXiv:1905.00537v3 [cs.CL] 13 Feb 2020"], 14)

    document = load(drawn(stamped))
    assert "arXiv" not in document.text
    assert document.published_at is not None
    assert document.published_at.date().isoformat() == "2020-02-13"


# --- columns, tables, notes ------------------------------------------------------------------


def table(canvas: Canvas, y: float, rows: list[list[str]], places: list[float]) -> None:
    for number, row in enumerate(rows):
        for place, cell in zip(places, row, strict=True):
            write(canvas, place, y - 13 * number, [cell])


def test_the_rows_of_a_table_over_both_columns_stay_whole() -> None:
    rows = [
        ["Bank", "Lines", "Beds", "Metres", "Depth"],
        *([str(n), "12", "16", "110", "7"] for n in range(4)),
    ]

    def wide(canvas: Canvas) -> None:
        table(canvas, 760, rows, [80, 180, 260, 360, 460])
        columns(canvas)

    text = load(drawn(wide)).text
    assert "Bank | Lines | Beds | Metres | Depth" in text
    assert "3 | 12 | 16 | 110 | 7" in text
    assert text.index("3 | 12 | 16") < text.index("The left column")


THREE = [
    ("The ferry leaves the north pier at", "Children under six travel free of"),
    ("seven in the morning, unless the", "charge. Dogs must be on a leash,"),
    ("wind is strong. A ticket costs", "and cats travel in a basket. The"),
    ("nine euros for one day only.", "restaurant opens after an hour."),
]


def test_three_columns_drawn_line_by_line_are_read_one_after_another() -> None:
    def drawn_across(canvas: Canvas) -> None:
        bold(canvas, 50, 780, "Notice of the ferry")
        for number, (first, second) in enumerate(THREE):
            third = "" if number == 3 else ("Mail is", "carried on", "Fridays")[number] + " " * 3
            for place, line in ((50, first), (225, second), (400, third + first.lower()[:20])):
                write(canvas, place, 740 - 13 * number, [line])

    text = load(drawn(drawn_across)).text
    assert "at seven in the morning, unless the wind is strong. A ticket costs nine euros" in text
    assert "free of charge. Dogs must be on a leash, and cats travel in a basket." in text
    assert text.index("nine euros") < text.index("Children under six") < text.index("Mail is")


def test_notes_in_the_margin_are_read_after_the_text() -> None:
    def with_margin(canvas: Canvas) -> None:
        for number, line in enumerate(LEFT + RIGHT):
            write(canvas, 60, 700 - 13 * number, [line])
            if number in (2, 3):
                write(
                    canvas, 320, 700 - 13 * number, [("See the map", "on page 9.")[number - 2]], 7
                )

    text = load(drawn(with_margin)).text
    assert "every bed that was wider than one metre" in text
    assert text.endswith("See the map on page 9.")


def test_cells_of_long_words_stay_in_their_rows() -> None:
    rows = [
        [f"What does boat {n} carry here?", f"Boxes and nets of row {n}, mostly"] for n in range(8)
    ]
    text = load(drawn(lambda canvas: table(canvas, 700, rows, [60, 300]))).text
    assert "What does boat 3 carry here? | Boxes and nets of row 3, mostly" in text


FEES = [
    ["Boat length", "2023", "2024", "2025"],
    ["up to 5 m", "80", "85", "90"],
    ["Long boats", "", "", ""],
    ["over 8 m", "200", "", "240"],
    ["over 9 m", "", "", "400"],
]


def test_an_empty_cell_of_a_table_keeps_its_place() -> None:
    def fees(canvas: Canvas) -> None:
        write(canvas, 60, 740, ["Fees of the harbour in euros"])
        table(canvas, 700, FEES, [60, 200, 280, 360])

    document = load(drawn(fees))
    assert "over 8 m | 200 |  | 240\nover 9 m |  |  | 400" in document.text
    marks = [mark for mark in document.marks if isinstance(mark, TableMark)]
    assert [mark.columns for mark in marks] == [tuple(FEES[0])]
    assert document.text[marks[0].start :].startswith("up to 5 m")


def test_labels_with_their_values_are_no_table() -> None:
    rows = [["Name:", "Alba"], ["Length:", "7 m"]]
    assert "Name: Alba" in load(drawn(lambda canvas: table(canvas, 700, rows, [60, 200]))).text


def test_a_sentence_goes_on_in_the_next_column_before_the_footnotes() -> None:
    def noted(canvas: Canvas) -> None:
        columns(canvas)
        write(
            canvas,
            60,
            480,
            ["1 The slates were lent by the school of the", "harbour for the summer."],
            7,
        )

    text = load(drawn(noted)).text
    assert "the same lamps and the same divers. The right column" in text
    assert text.endswith("1 The slates were lent by the school of the harbour for the summer.")


def test_words_broken_at_the_end_of_a_line_are_whole_again() -> None:
    lines = [
        "The mussels of the northern bank were counted by div-",
        "ers with lamps, and divers counted them twice.",
    ]
    text = load(drawn(lambda canvas: write(canvas, 60, 700, lines))).text
    assert "counted by divers with lamps" in text


# --- forms, notes, scans ---------------------------------------------------------------------


def form(canvas: Canvas) -> None:
    write(canvas, 60, 790, ["Berth application"])
    fields = canvas.acroForm
    for y, label, value in ((750, "Name of boat:", "Alba"), (720, "Phone:", "")):
        write(canvas, 60, y, [label])
        fields.textfield(name=label, value=value, x=160, y=y - 5, width=200, height=18)
    write(canvas, 60, 690, ["Insured:"])
    fields.checkbox(name="insured", x=160, y=686, size=14, checked=True)
    fields.checkbox(name="guest", x=60, y=656, size=14, checked=False)
    write(canvas, 80, 660, ["Guest"])
    write(canvas, 60, 630, ["Harbour"])
    fields.choice(
        name="harbour", value="North", options=["North", "South"], x=60, y=605, width=90, height=18
    )
    fields.textfield(name="r", tooltip="Remark", value="paid", x=60, y=300, width=90, height=18)
    fields.textfield(name="p", value="key", x=60, y=200, width=90, height=18, fieldFlags="password")


def test_values_of_a_form_stand_behind_their_labels() -> None:
    document = load(drawn(form))
    lines = document.text.split("\n\n")
    assert lines == [
        "Berth application",
        "Name of boat: Alba",
        "Phone: (empty)",
        "Insured: yes",
        "Guest: no",
        "Harbour: North",
        "Remark: paid",
    ]
    start = document.text.index("Alba")
    box = Marks(document.marks).locate(Span(start=start, end=start + 4)).box
    assert box is not None
    assert box.left == pytest.approx(160 / WIDTH, abs=0.01)


def test_notes_and_comments_on_a_page_are_read() -> None:
    def noted(canvas: Canvas) -> None:
        write(canvas, 60, 700, ["The committee approved the budget of"])
        canvas.freeTextAnnotation(
            "the budget is 5,000 euros.", "0 0 0 rg", Rect=[60, 500, 260, 520]
        )
        canvas.textAnnotation("Who has checked this?", Rect=[300, 500, 320, 520])

    text = load(drawn(noted)).text
    assert text.endswith("\n\nthe budget is 5,000 euros.\n\nComment: Who has checked this?")


def test_pages_that_look_scanned_are_told() -> None:
    picture = ImageReader(Image.linear_gradient("L"))

    def scan(canvas: Canvas) -> None:
        canvas.drawImage(picture, 0, 0, WIDTH, HEIGHT)
        write(canvas, 260, 30, [f"Minutes, sheet {canvas.getPageNumber()}"], 8)

    def printed(canvas: Canvas) -> None:
        write(canvas, 60, 700, LEFT)
        write(canvas, 260, 30, [f"Minutes, sheet {canvas.getPageNumber()}"], 8)

    source = source_of("minutes.pdf", drawn(printed, scan, scan, printed, columns, scan))
    blank = source_of("blank.pdf", drawn(printed, lambda _canvas: None))
    kinds.load(source, LoaderLimits())
    kinds.load(blank, LoaderLimits())
    assert source.remarks == ["3 of 6 pages have no text (2–3, 6): they look scanned"]
    assert blank.remarks == []


class Recogniser:
    """Stands for the extra's library: it sees two lines on every page."""

    txts = ("The rent of the shed is 410 euros a", "month and is paid in advance.")
    boxes = np.array([[[100, y], [900, y], [900, y + 30], [100, y + 30]] for y in (200, 240)])

    def __init__(self, params: object) -> None:
        del params

    def __call__(self, pixels: object) -> Recogniser:
        del pixels
        return self


def test_scanned_pages_are_read_by_recognition_with_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", SimpleNamespace(RapidOCR=Recogniser))
    picture = ImageReader(Image.linear_gradient("L"))
    data = drawn(columns, lambda canvas: canvas.drawImage(picture, 0, 0, WIDTH, HEIGHT))
    source = source_of("minutes.pdf", data)
    (document,) = kinds.load(source, LoaderLimits(ocr=True))
    assert source.remarks == ["1 of 2 pages were read by OCR (2)"]
    start = document.text.index("The rent of the shed is 410 euros a month and is paid in advance.")
    place = Marks(document.marks).locate(Span(start=start, end=start + 40))
    assert (place.label, place.page) == ("p. 2 (OCR)", 2)
    assert place.box is not None
    assert place.box.top == pytest.approx(200 / (2 * HEIGHT), abs=0.01)


def test_a_file_with_unread_pages_is_read_again_once_recognition_is_on(tmp_path: Path) -> None:
    file = FoundFile(path=tmp_path, uri="file:///a.pdf", size=1, mtime_ns=1, root="file:///")
    record = SourceRecord(
        collection="c", uri=file.uri, size=1, mtime_ns=1, digest="d", loader=LOADERS["pdf"].identity
    )
    unread = replace(record, reason="2 of 3 pages have no text (2–3): they look scanned")
    recognised = replace(unread, loader=f"{unread.loader}+ocr")
    for known, ocr, stays in (
        (record, True, True),
        (unread, False, True),
        (unread, True, False),
        (recognised, True, True),
        (recognised, False, False),
    ):
        detector = ChangeDetector("c", {file.uri: known}, {}, ocr=ocr)
        assert (detector.without_reading(file) is not None) == stays


def test_recognition_without_the_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    pdf_layer._recogniser.cache_clear()
    picture = ImageReader(Image.linear_gradient("L"))
    data = drawn(lambda canvas: canvas.drawImage(picture, 0, 0, WIDTH, HEIGHT))
    with pytest.raises(SourceError, match=r"pip install 'wellread\[ocr\]'"):
        kinds.load(source_of("scan.pdf", data), LoaderLimits(ocr=True))


# --- headings and facts ----------------------------------------------------------------------


def test_the_outline_of_the_file_names_the_headings() -> None:
    def outlined(canvas: Canvas) -> None:
        for number, (name, level) in enumerate(
            [("How we counted", 0), ("Divers", 1), ("What we saw", 0)]
        ):
            canvas.bookmarkPage(name)
            canvas.addOutlineEntry(name, name, level)
            write(canvas, 60, 760 - 130 * number, [name])
            write(canvas, 60, 735 - 130 * number, [*LEFT[:5], f"And so ends part {number}."])

    document = load(drawn(outlined))
    assert heading(document, "And so ends part 0") == ("How we counted",)
    assert heading(document, "And so ends part 1") == ("How we counted", "Divers")
    assert heading(document, "And so ends part 2") == ("What we saw",)


def test_larger_and_bold_lines_are_headings_where_nothing_is_numbered() -> None:
    def report(canvas: Canvas) -> None:
        bold(canvas, 60, 780, "Mussels after the trawlers", 20)
        bold(canvas, 60, 740, "How we counted", 14)
        write(canvas, 60, 720, LEFT)
        bold(canvas, 60, 600, "Divers", 10)
        write(canvas, 60, 587, RIGHT)

    document = load(drawn(report))
    assert document.title == "Mussels after the trawlers"
    assert heading(document, "counted. Divers swam") == ("How we counted",)
    assert heading(document, "third since") == ("How we counted", "Divers")


def test_a_numbered_heading_on_two_lines() -> None:
    def numbered(canvas: Canvas) -> None:
        bold(canvas, 60, 740, "2.1 How the beds of mussels were counted in the")
        bold(canvas, 60, 724, "Northern Sound")
        write(canvas, 60, 700, LEFT)

    name = "2.1 How the beds of mussels were counted in the Northern Sound"
    assert heading(load(drawn(numbered)), "bank and wrote") == (name,)


def test_title_authors_and_abstract_of_the_first_page() -> None:
    def first(canvas: Canvas) -> None:
        bold(canvas, 90, 780, "Mussels after the trawlers: a count", 18)
        bold(canvas, 90, 758, "of the northern sound", 18)
        for place, name in zip(
            (90, 230, 380), ("Ida B. Lund", "Tor van Vik", "Åse Øy-Dahl"), strict=True
        ):
            bold(canvas, place, 730, name, 11)
        write(canvas, 90, 712, ["Institute of Marine Research, Bergen", "ida@sound.example"])
        bold(canvas, 60, 670, "Abstract", 12)
        write(canvas, 60, 650, LEFT)
        bold(canvas, 60, 540, "1 Introduction", 12)
        write(canvas, 60, 520, RIGHT)

    document = load(drawn(first))
    assert document.title == "Mussels after the trawlers: a count of the northern sound"
    assert document.authors == ("Ida B. Lund", "Tor van Vik", "Åse Øy-Dahl")
    assert document.summary.startswith("The left column tells")
    assert document.summary.endswith("the same lamps and the same")


@pytest.mark.parametrize(
    ("author", "authors"),
    [
        ("Ida Lund", ("Ida Lund",)),
        ("Microsoft Office User", ()),
        ("admin", ()),
        ("Toshiba", ()),
        ("Divers", ("Divers",)),  # in the text
        ("金昌浩", ("金昌浩",)),
        ("lund_04", ()),
        ("ReportLab Maker", ()),
    ],
)
def test_names_of_accounts_and_programs_are_no_authors(
    author: str, authors: tuple[str, ...]
) -> None:
    def signed(canvas: Canvas) -> None:
        canvas.setAuthor(author)
        write(canvas, 60, 700, LEFT)

    assert load(drawn(signed)).authors == authors


def test_a_place_has_the_printed_number_of_its_page() -> None:
    def page(canvas: Canvas) -> None:
        style = "ROMAN_LOWER" if canvas.getPageNumber() == 1 else "ARABIC"
        canvas.addPageLabel(canvas.getPageNumber() - 1, style=style, start=4)
        write(canvas, 60, 700, [f"Sheet {canvas.getPageNumber()} of the report."])

    document = load(drawn(page, page))
    marks = Marks(from_plain(Document, to_plain(document)).marks)
    places = [marks.locate(Span(start=at, end=at + 1)) for at in (0, len(document.text) - 1)]
    assert [(place.label, place.page) for place in places] == [("p. iv", 1), ("p. 4", 2)]


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (
            lambda canvas: canvas.rect(50, 50, 300, 300),
            "no text layer on any of its 1 pages: it looks scanned",
        ),
        (lambda canvas: write(canvas, 60, 700, ["...", "—"]), "it looks scanned"),
    ],
)
def test_a_file_without_words_looks_scanned(draw: Draw, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        load(drawn(draw))
