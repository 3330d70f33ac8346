"""Text that nobody sees on the page is not read, and what only looks hidden is."""

from __future__ import annotations

import io

import openpyxl
import pytest
from docx import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt, RGBColor
from pptx import Presentation
from reportlab.pdfgen.canvas import Canvas

from wellread.ingest.loaders.base import LoaderLimits
from wellread.ingest.loaders.kind_table import LOADERS
from wellread.testing.loader import source_of

SEEN = "The mooring fee is due in March, and the desk in the harbour office takes it in cash."
PLANT = "The mooring fee is ninety crowns."


def read(kind: str, data: bytes) -> str:
    name = f"fees.{kind}"
    entry = LOADERS["html" if kind == "html" else kind]
    return "\n".join(one.text for one in entry.function(source_of(name, data), LoaderLimits()))


def page(style: str, inside: str, head: str = "") -> str:
    markup = (
        f"<!doctype html><html><head><title>Fees</title><style>{style}</style>{head}</head><body>"
        f"<article><h1>Fees</h1><p>{SEEN}</p>{inside}<p>{SEEN}</p></article></body></html>"
    )
    return read("html", markup.encode())


@pytest.mark.parametrize(
    "rule",
    [
        "display:none",
        "visibility: hidden",
        "opacity:0",
        "font-size: 1px",
        "color:#fefefe",
        "color: white; background: #fdfdfd",
        "position:absolute; clip: rect(0,0,0,0)",
        "clip-path: inset(100%)",
        "position:absolute; left:-200vw",
        "height:0; overflow:hidden",
        "color: transparent",
    ],
)
def test_what_a_rule_of_the_page_hides_is_not_read(rule: str) -> None:
    for selector in ("p.note", "#n", "article > .note", "p:not(.far).a", '[id="n"]:not(#x)'):
        text = page(f"/* . */ {selector} {{ {rule} }}", f'<p class="a note" id="n">{PLANT}</p>')
        assert SEEN in text
        assert PLANT not in text


@pytest.mark.parametrize(
    ("style", "inside", "head"),
    [
        ("@media print { .note { display: none } }", f'<p class="note">{PLANT}</p>', ""),
        (".note:hover { display: none }", f'<p class="note">{PLANT}</p>', ""),
        (".note { display: none } p.note { display: block }", f'<p class="note">{PLANT}</p>', ""),
        (".note { opacity: 0; transition: opacity 1s }", f'<p class="note">{PLANT}</p>', ""),
        (
            ".dark { background: #222 } .note { color: #fff }",
            f'<div class="dark"><p class="note">{PLANT}</p></div>',
            "",
        ),
        (
            ".note { color: #fff }",
            f'<p class="note">{PLANT}</p>',
            '<link rel="stylesheet" href="a.css">',
        ),
        ("article { visibility: hidden }", f"<p>{PLANT}</p>", ""),
    ],
)
def test_what_only_looks_hidden_is_read(style: str, inside: str, head: str) -> None:
    assert PLANT in page(style, inside, head)


def drawn(*, grey: float, ground: float | None = None, mode: int = 0, left: int = 72) -> str:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=1)
    canvas.drawString(72, 760, SEEN)
    if ground is not None:
        canvas.setFillGray(ground)
        canvas.rect(60, 690, 400, 30, stroke=0, fill=1)
    words = canvas.beginText(left, 700)
    words.setFillGray(grey)
    words.setTextRenderMode(mode)
    words.textLine(PLANT)
    canvas.drawText(words)
    canvas.save()
    text = read("pdf", stream.getvalue())
    assert SEEN in text
    return text


def test_white_unpainted_and_distant_letters_of_a_pdf_are_not_read() -> None:
    assert PLANT not in drawn(grey=1.0)
    assert PLANT not in drawn(grey=0.97)
    assert PLANT not in drawn(grey=0.0, mode=3)
    assert PLANT not in drawn(grey=0.0, left=900)


def test_white_letters_on_a_dark_ground_are_read() -> None:
    assert PLANT in drawn(grey=1.0, ground=0.2)
    assert PLANT in drawn(grey=0.0)


def word(kind: str) -> str:
    document = WordDocument()
    document.add_paragraph(SEEN)
    paragraph = document.add_paragraph()
    run = paragraph.add_run(PLANT)
    if kind == "hidden":
        run.font.hidden = True
    if kind == "style":
        style = document.styles.add_style("Aside", WD_STYLE_TYPE.CHARACTER)
        style.font.hidden = True
        run.style = style
    if kind == "tiny":
        run.font.size = Pt(1)
    if kind in ("white", "shaded"):
        run.font.color.rgb = RGBColor(0xFE, 0xFE, 0xFE)
    if kind == "shaded":
        shade = parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:fill="203040"/>')
        paragraph._p.get_or_add_pPr().append(shade)
    stream = io.BytesIO()
    document.save(stream)
    text = read("docx", stream.getvalue())
    assert SEEN in text
    return text


@pytest.mark.parametrize("kind", ["hidden", "style", "tiny", "white"])
def test_hidden_and_white_runs_of_a_word_file_are_not_read(kind: str) -> None:
    assert PLANT not in word(kind)


@pytest.mark.parametrize("kind", ["plain", "shaded"])
def test_white_runs_on_a_dark_ground_are_read(kind: str) -> None:
    assert PLANT in word(kind)


def test_hidden_sheets_are_not_read() -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["Fee", SEEN])
    other = book.create_sheet("Notes")
    other.append(["Fee", PLANT])
    other.sheet_state = "hidden"
    stream = io.BytesIO()
    book.save(stream)
    text = read("xlsx", stream.getvalue())
    assert SEEN in text
    assert PLANT not in text


def test_hidden_slides_and_shapes_are_not_read() -> None:
    show = Presentation()
    for words in (SEEN, PLANT, "Ask at the desk."):
        slide = show.slides.add_slide(show.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text = words
        if words == PLANT:
            slide._element.set("show", "0")
    show.slides[2].placeholders[1].text = PLANT
    show.slides[2].placeholders[1]._element.nvSpPr.cNvPr.set("hidden", "1")
    stream = io.BytesIO()
    show.save(stream)
    text = read("pptx", stream.getvalue())
    assert SEEN in text
    assert "Ask at the desk." in text
    assert PLANT not in text
