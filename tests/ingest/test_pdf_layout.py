"""Reading order, turned pages, tables, notes, headings and facts of papers drawn here."""

from __future__ import annotations

import io
from collections.abc import Callable

import pypdfium2 as pdfium
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import source_of
from wellread.types import Box, Document, PageMark, Span
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
