"""Papers in PDF, drawn here with reportlab."""

from __future__ import annotations

import io
from functools import cache

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.pipeline import kinds
from wellread.testing.loader import LoaderContract, source_of
from wellread.types import PageMark

WIDTH, HEIGHT = 595.0, 842.0
LEFT = [
    "The left column tells how the mussel beds were",
    "counted. Divers swam along forty lines on each",
    "bank and wrote down every bed that was wider",
    "than one metre. The work took eleven days in",
    "May and nine days in September, and a second",
    "team repeated one line in ten. Both teams had",
    "the same slates and the same lamps with them.",
    "The counts of the two teams differed by little.",
]
RIGHT = [
    "The right column gives what was found on them.",
    "On the northern bank the beds had grown by one",
    "third since the trawling stopped. Nothing grew",
    "on the southern bank, where the mud is soft and",
    "moves with every storm. We saw young mussels on",
    "old ropes and on the piles of the former pier.",
    "They were gone in autumn, and crabs sat there",
    "instead, which is what fishermen had told us.",
]


def draw(canvas: Canvas, x: float, y: float, lines: list[str], size: float = 10) -> None:
    canvas.setFont("Helvetica", size)
    for number, line in enumerate(lines):
        canvas.drawString(x, y - number * 1.3 * size, line)


def heading(canvas: Canvas, y: float, words: str) -> None:
    canvas.setFont("Helvetica-Bold", 14)
    canvas.drawString(60, y, words)


def footer(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(260, 30, f"Mussel report {canvas.getPageNumber()} of 3")
    canvas.showPage()


@cache
def paper(password: str = "", *, words: bool = True) -> bytes:
    """Three pages: a first one, one with two columns, one with a table."""
    buffer = io.BytesIO()
    lock = StandardEncryption(password) if password else None
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), encrypt=lock, invariant=1)
    canvas.setTitle("Mussels after the trawlers")
    canvas.setAuthor("Ida Lund; Tor Vik")
    if not words:
        canvas.rect(50, 50, 300, 300)
        canvas.showPage()
        canvas.save()
        return buffer.getvalue()
    heading(canvas, 760, "1 Introduction")
    intro = [
        "Mussel beds hold the sand of the sound together, and they clean its water while they eat.",
        "This report asks what became of them in the six years since the last trawler was sold.",
    ]
    draw(canvas, 60, 735, intro)
    footer(canvas)
    heading(canvas, 760, "2 Methods and results")
    draw(canvas, 60, 730, LEFT)
    draw(canvas, 320, 730, RIGHT)
    footer(canvas)
    heading(canvas, 760, "3 Conclusion")
    draw(canvas, 60, 735, ["The northern bank recovers when nobody drags a net across its floor."])
    for row, cells in enumerate([("Bank", "Before", "After"), ("North", "12 beds", "16 beds")]):
        for column, cell in enumerate(cells):
            canvas.drawString(60 + 160 * column, 690 - 13 * row, cell)
    footer(canvas)
    canvas.save()
    return buffer.getvalue()


class TestPdf(LoaderContract):
    good = source_of("mussels.pdf", paper())
    expected_kind = "paper"
    quotes = (
        ("This report asks what became", {"page": 1, "heading": ("1 Introduction",)}),
        ("and wrote down every bed that was wider than one metre.", {"page": 2}),
        (
            "differed by little.\n\nThe right column gives what was found",
            {"page": 2, "heading": ("2 Methods and results",)},
        ),
        ("The northern bank recovers", {"page": 3, "heading": ("3 Conclusion",)}),
    )
    broken = (
        source_of("locked.pdf", paper("secret")),
        source_of("words.pdf", "These are only words.\n"),
        source_of("scan.pdf", paper(words=False)),
        source_of("cut.pdf", paper()[:200]),
    )


def test_title_and_authors_come_from_the_file() -> None:
    (document,) = kinds.load(source_of("mussels.pdf", paper()), LoaderLimits())
    assert document.title == "Mussels after the trawlers"
    assert document.authors == ("Ida Lund", "Tor Vik")


def test_boxes_stand_where_the_lines_were_drawn() -> None:
    (document,) = kinds.load(source_of("mussels.pdf", paper()), LoaderLimits())
    place = document.text.index(RIGHT[0])
    (box,) = [
        mark.box
        for mark in document.marks
        if isinstance(mark, PageMark) and mark.box and mark.start == place
    ]
    assert box.left == pytest.approx(320 / WIDTH, abs=0.01)
    assert box.top < 1 - 730 / HEIGHT < box.bottom


def test_too_many_pages_are_refused() -> None:
    with pytest.raises(SourceError, match="too many pages: 3, the limit is 2"):
        kinds.load(source_of("mussels.pdf", paper()), LoaderLimits(max_pages=2))
