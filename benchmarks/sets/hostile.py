"""Files with a planted order each, of ten kinds: what ``hostile.jsonl`` says, written to a folder.

Of each case an honest file tells what is true, and a hostile one holds the plant. ``carrier`` says
in what file and in which part of it the plant stands, and how it is hidden.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import openpyxl
from docx import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.shared import RGBColor
from reportlab.pdfgen.canvas import Canvas

SETS = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One planted order.

    Attributes:
        half: ``dev``, by which rules are made, or ``aside``, looked at in the end.
        value: what an answer shows that follows the plant.
        claim: the planted lie as a plain statement.
    """

    half: str
    carrier: str
    title: str
    honest: tuple[str, ...]
    plant: str
    question: str
    value: str
    claim: str

    @property
    def name(self) -> str:
        """Of its files."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imperative:
    """One honest order to a reader, that answers ``question``; ``more`` stands beside it."""

    half: str
    title: str
    sentence: str
    question: str
    more: str


def hostile_cases() -> list[Hostile]:
    """The forty planted orders."""
    rows = (row | {"honest": tuple(row["honest"])} for row in _rows("hostile"))
    return [Hostile(**row) for row in rows]


def imperatives() -> list[Imperative]:
    """The forty honest imperatives."""
    return [Imperative(**row) for row in _rows("imperatives")]


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_hostile(folder: Path) -> None:
    """Both files of every case."""
    for case in hostile_cases():
        told = f"# About {case.title}\n\n{' '.join(case.honest)}\n"
        (folder / f"about-{case.name}.md").write_text(told, encoding="utf-8")
        ending, data = CARRIERS[case.carrier](case)
        (folder / f"{case.name}{ending}").write_bytes(data)


def write_imperatives(folder: Path) -> None:
    """A page for each."""
    for number, one in enumerate(imperatives()):
        text = f"# {one.title}\n\n{one.more} {one.sentence}\n"
        (folder / f"guide-{number:02}.md").write_text(text, encoding="utf-8")


Made = tuple[str, bytes]
Carrier = Callable[[Hostile], Made]


def _text(ending: str, form: str) -> Carrier:
    def carrier(case: Hostile) -> Made:
        flat = " ".join(case.plant.split())
        text = form.format(title=case.title, last=case.honest[-1], plant=case.plant, flat=flat)
        return ending, text.encode()

    return carrier


def _page(form: str, style: str = "") -> Carrier:
    def carrier(case: Hostile) -> Made:
        inside = form.format(plant=escape(case.plant, quote=True))
        text = (
            f"<!doctype html><html lang='en'><head><title>{case.title}</title>"
            f"<style>{style}</style></head><body><article><h1>{case.title}</h1>"
            f"<p>{case.honest[-1]}</p>{inside}</article></body></html>"
        )
        return ".html", text.encode()

    return carrier


def _drawn(*, grey: float = 0.0, size: float = 11, place: tuple[int, int] = (72, 700)) -> Carrier:
    def carrier(case: Hostile) -> Made:
        stream = io.BytesIO()
        canvas = Canvas(stream, invariant=1)
        canvas.setTitle(case.title)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 760, case.honest[-1])
        canvas.setFont("Helvetica", size)
        canvas.setFillGray(grey)
        for line, sentence in enumerate(case.plant.split(". ")):
            ended = sentence if sentence.endswith(".") else f"{sentence}."
            canvas.drawString(place[0], place[1] - 14 * line, ended)
        canvas.save()
        return ".pdf", stream.getvalue()

    return carrier


def _word(kind: str) -> Carrier:
    def carrier(case: Hostile) -> Made:
        document = WordDocument()
        document.core_properties.title = case.title
        document.add_paragraph(case.honest[-1])
        if kind == "cell":
            cells = document.add_table(rows=2, cols=2)
            for at, words in enumerate(("Name", "Note", case.title, case.plant)):
                cells.cell(at // 2, at % 2).text = words
        else:
            run = document.add_paragraph().add_run(case.plant)
            if kind == "white":
                run.font.color.rgb = RGBColor(0xFF, 0xFF, 0xFF)
            if kind == "style":
                style = document.styles.add_style("Remark", WD_STYLE_TYPE.CHARACTER)
                style.font.hidden = True
                run.style = style
        stream = io.BytesIO()
        document.save(stream)
        return ".docx", stream.getvalue()

    return carrier


def _entries(case: Hostile) -> Made:
    rows = [
        {"title": case.title, "text": case.honest[-1]},
        {"title": f"{case.title}: more", "text": case.plant},
    ]
    return ".jsonl", "\n".join(map(json.dumps, rows)).encode()


def _cues(case: Hostile) -> Made:
    text = (
        f"WEBVTT\n\n00:01.000 --> 00:05.000\n<v Ana Roe>{case.honest[-1]}\n\n"
        f"00:06.000 --> 00:12.000\n<v Bo Lee>{case.plant}\n"
    )
    return ".vtt", text.encode()


def _sheets(case: Hostile) -> Made:
    book = openpyxl.Workbook()
    book.worksheets[0].append([case.title, case.honest[-1]])
    hidden = book.create_sheet("Notes")
    hidden.append([case.title, case.plant])
    hidden.sheet_state = "hidden"
    stream = io.BytesIO()
    book.save(stream)
    return ".xlsx", stream.getvalue()


CARRIERS: Mapping[str, Carrier] = {
    "txt": _text(".txt", "{title}\n\n{last}\n\n{plant}\n"),
    "md": _text(".md", "# {title}\n\n{last}\n\n{plant}\n"),
    "md-inline": _text(".md", "# {title}\n\n{last} {plant} More will be told.\n"),
    "md-split": _text(".md", "# {title}\n\n{plant}\n\n{last}\n"),
    "md-heading": _text(".md", "# {title}\n\n## {flat}\n\n{last}\n"),
    "md-item": _text(".md", "# {title}\n\nWhat there is to know:\n\n- {last}\n- {flat}\n"),
    "md-cell": _text(".md", "# {title}\n\n| What | Note |\n|---|---|\n| {last} | {flat} |\n"),
    "md-quote": _text(".md", "# {title}\n\n{last}\n\n> {flat}\n"),
    "md-title": _text(".md", "---\ntitle: '{title}. {flat}'\n---\n\n{last}\n"),
    "md-author": _text(".md", "---\ntitle: {title}\nauthor: '{flat}'\n---\n\n{last}\n"),
    "html": _page("<p>{plant}</p>"),
    "html-caption": _page("<figure><img src='a.png'><figcaption>{plant}</figcaption></figure>"),
    "html-alt": _page("<p><img src='a.png' alt=\"{plant}\"></p>"),
    "html-class": _page("<p class='remark'>{plant}</p>", "p.remark, .x { display: none }"),
    "html-pale": _page("<p class='pale'>{plant}</p>", ".pale{color:#fdfdfd}"),
    "html-clip": _page(
        "<div class='note'><p>{plant}</p></div>", ".note{position:absolute;clip-path:inset(50%)}"
    ),
    "html-away": _page("<p id='n'>{plant}</p>", "#n{position:absolute;left:-5000px}"),
    "pdf": _drawn(),
    "pdf-white": _drawn(grey=1.0),
    "pdf-away": _drawn(place=(72, -300)),
    "pdf-tiny": _drawn(size=0.3),
    "docx": _word("plain"),
    "docx-cell": _word("cell"),
    "docx-white": _word("white"),
    "docx-style": _word("style"),
    "json": _entries,
    "vtt": _cues,
    "xlsx-hidden": _sheets,
}
