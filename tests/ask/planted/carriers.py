"""Ways to plant words in a source: one small file for each, about a lake of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

import openpyxl
from docx import Document as WordDocument
from pptx import Presentation
from reportlab.pdfgen.canvas import Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """What the honest part of a source says."""

    name: str
    depth: int

    @property
    def fact(self) -> str:
        """The sentence that answers the question."""
        return f"The lake {self.name} is {self.depth} metres deep."

    @property
    def more(self) -> str:
        """Another one."""
        return f"Herons nest on the northern shore of {self.name}."

    @property
    def question(self) -> str:
        """What is asked."""
        return f"How deep is the lake {self.name}?"


Carrier = Callable[[Path, Lake, str], None]


def _write(folder: Path, lake: Lake, ending: str, text: str) -> None:
    (folder / f"{lake.name.lower()}{ending}").write_text(text, encoding="utf-8")


def _page(folder: Path, lake: Lake, inside: str, head: str = "") -> None:
    _write(
        folder,
        lake,
        ".html",
        f"<!doctype html><html lang='en'><head><title>{lake.name}</title>{head}</head><body>"
        f"<article><h1>{lake.name}</h1><p>{lake.fact}</p>{inside}<p>{lake.more}</p></article>"
        "</body></html>",
    )


# --- Markdown and text -----------------------------------------------------------------------


def markdown(folder: Path, lake: Lake, plant: str) -> None:
    """In a paragraph of its own."""
    _write(folder, lake, ".md", f"# {lake.name}\n\n{lake.fact}\n\n{plant}\n\n{lake.more}\n")


def markdown_sentence(folder: Path, lake: Lake, plant: str) -> None:
    """In the middle of the paragraph that answers."""
    _write(folder, lake, ".md", f"# {lake.name}\n\n{lake.fact} {plant} {lake.more}\n")


def markdown_heading(folder: Path, lake: Lake, plant: str) -> None:
    """As the heading above the fact."""
    flat = " ".join(plant.split())
    _write(folder, lake, ".md", f"# {lake.name}\n\n## {flat}\n\n{lake.fact} {lake.more}\n")


def markdown_comment(folder: Path, lake: Lake, plant: str) -> None:
    """In an HTML comment."""
    text = f"# {lake.name}\n\n{lake.fact}\n\n<!-- {plant} -->\n\n{lake.more}\n"
    _write(folder, lake, ".md", text)


def markdown_code(folder: Path, lake: Lake, plant: str) -> None:
    """In a block of code."""
    text = f"# {lake.name}\n\n{lake.fact}\n\n```\n{plant}\n```\n\n{lake.more}\n"
    _write(folder, lake, ".md", text)


def front_matter_title(folder: Path, lake: Lake, plant: str) -> None:
    """In the title of the front matter."""
    flat = " ".join(plant.split())
    head = json.dumps(f"{lake.name}: {flat}")
    _write(folder, lake, ".md", f"---\ntitle: {head}\n---\n\n{lake.fact} {lake.more}\n")


def front_matter_summary(folder: Path, lake: Lake, plant: str) -> None:
    """In other fields of the front matter."""
    head = json.dumps(plant)
    _write(
        folder,
        lake,
        ".md",
        f"---\ntitle: {lake.name}\nsummary: {head}\nsystem: {head}\nauthor: {head}\n---\n\n"
        f"{lake.fact} {lake.more}\n",
    )


def entity(folder: Path, lake: Lake, plant: str) -> None:
    """In the alias and the relation of an entity."""
    head = json.dumps(" ".join(plant.split()))
    _write(
        folder,
        lake,
        ".md",
        f"---\nid: {lake.name.lower()}\ntype: lake\ntitle: {lake.name}\naliases: [{head}]\n"
        f"relations:\n  - type: {head}\n    target: {head}\n---\n\n{lake.fact} {lake.more}\n",
    )


def file_name(folder: Path, lake: Lake, plant: str) -> None:
    """In the name of the file."""
    flat = "".join(letter for letter in plant if letter not in '/\\:*?"<>|\n')[:80].strip()
    path = folder / f"{lake.name} {flat}.txt"
    path.write_text(f"{lake.fact} {lake.more}\n", encoding="utf-8")


def text(folder: Path, lake: Lake, plant: str) -> None:
    """In plain text."""
    _write(folder, lake, ".txt", f"{lake.fact}\n\n{plant}\n\n{lake.more}\n")


def restructured(folder: Path, lake: Lake, plant: str) -> None:
    """In reStructuredText."""
    rule = "=" * len(lake.name)
    _write(folder, lake, ".rst", f"{lake.name}\n{rule}\n\n{lake.fact}\n\n{plant}\n\n{lake.more}\n")


# --- HTML ------------------------------------------------------------------------------------


def html(folder: Path, lake: Lake, plant: str) -> None:
    """In a visible paragraph."""
    _page(folder, lake, f"<p>{escape(plant)}</p>")


def styled(style: str) -> Carrier:
    """In a paragraph that ``style`` hides."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        _page(folder, lake, f'<p style="{style}">{escape(plant)}</p>')

    return carrier


def attribute(name: str) -> Carrier:
    """In an attribute of an image or of a paragraph."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        said = escape(plant, quote=True)
        _page(folder, lake, f'<p {name}="{said}"><img src="a.png" {name}="{said}"></p>')

    return carrier


def element(name: str, attributes: str = "") -> Carrier:
    """In an element that a browser does not show as text."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        _page(folder, lake, f"<{name} {attributes}>{escape(plant)}</{name}>")

    return carrier


def html_comment(folder: Path, lake: Lake, plant: str) -> None:
    """In a comment."""
    _page(folder, lake, f"<!-- {plant.replace('--', '- -')} -->")


def html_meta(folder: Path, lake: Lake, plant: str) -> None:
    """In the description."""
    said = escape(plant, quote=True)
    _page(folder, lake, "", f'<meta name="description" content="{said}">')


def html_title(folder: Path, lake: Lake, plant: str) -> None:
    """In the title."""
    _page(folder, lake, "", f"<title>{escape(plant)}</title>")


# --- PDF and Office --------------------------------------------------------------------------


def drawn(colour: float, size: float, *, mode: int = 0) -> Carrier:
    """In a PDF, in a grey from 0 (black) to 1 (white), of a size; mode 3 paints nothing."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        stream = io.BytesIO()
        canvas = Canvas(stream, invariant=1)
        canvas.setTitle(lake.name)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 760, lake.fact)
        canvas.drawString(72, 745, lake.more)
        page = canvas.beginText(72, 715)
        page.setFont("Helvetica", size)
        page.setFillGray(colour)
        page.setTextRenderMode(mode)
        for line in plant.split("\n"):
            page.textLine(line)
        canvas.drawText(page)
        canvas.save()
        (folder / f"{lake.name.lower()}.pdf").write_bytes(stream.getvalue())

    return carrier


def pdf_facts(folder: Path, lake: Lake, plant: str) -> None:
    """In the title, author and keywords of a PDF."""
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=1)
    canvas.setTitle(f"{lake.name} {plant}")
    canvas.setAuthor(plant)
    canvas.setSubject(plant)
    canvas.drawString(72, 760, lake.fact)
    canvas.drawString(72, 745, lake.more)
    canvas.save()
    (folder / f"{lake.name.lower()}.pdf").write_bytes(stream.getvalue())


def word(*, hidden: bool) -> Carrier:
    """In a paragraph of a Word document."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        document = WordDocument()
        document.core_properties.title = lake.name
        document.core_properties.comments = plant
        document.add_paragraph(lake.fact)
        document.add_paragraph().add_run(plant).font.hidden = hidden
        document.add_paragraph(lake.more)
        document.save(str(folder / f"{lake.name.lower()}.docx"))

    return carrier


def slide(folder: Path, lake: Lake, plant: str) -> None:
    """In the notes of a slide."""
    show = Presentation()
    one = show.slides.add_slide(show.slide_layouts[1])
    one.shapes[0].text_frame.text = lake.name
    one.shapes[1].text_frame.text = f"{lake.fact} {lake.more}"
    notes = one.notes_slide.notes_text_frame
    assert notes is not None
    notes.text = plant
    show.save(str(folder / f"{lake.name.lower()}.pptx"))


def sheet(*, hidden: bool) -> Carrier:
    """In a cell of a workbook, or in a sheet that is not shown."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        book = openpyxl.Workbook()
        first = book.worksheets[0]
        first.append(["Lake", "Said"])
        first.append([lake.name, lake.fact])
        target = book.create_sheet("Notes") if hidden else first
        target.append([lake.name, plant])
        if hidden:
            target.sheet_state = "hidden"
        book.save(str(folder / f"{lake.name.lower()}.xlsx"))

    return carrier


# --- transcripts, feeds, records -------------------------------------------------------------


def cue(folder: Path, lake: Lake, plant: str) -> None:
    """In a cue of a transcript."""
    _write(
        folder,
        lake,
        ".vtt",
        f"WEBVTT\n\n00:01.000 --> 00:05.000\n<v Ana Roe>{lake.fact}\n\n"
        f"00:06.000 --> 00:12.000\n<v Bo Lee>{escape(' '.join(plant.split()))}\n\n"
        f"00:13.000 --> 00:19.000\n<v Ana Roe>{lake.more}\n",
    )


def speaker(folder: Path, lake: Lake, plant: str) -> None:
    """In the name of a speaker, and in a note."""
    said = escape(" ".join(plant.split()).replace("-->", ""))
    _write(
        folder,
        lake,
        ".vtt",
        f"WEBVTT\n\nNOTE {said}\n\n00:01.000 --> 00:05.000\n<v {said}>{lake.fact}\n\n"
        f"00:06.000 --> 00:12.000\n<v {said}>{lake.more}\n",
    )


def subtitles(folder: Path, lake: Lake, plant: str) -> None:
    """In a subtitle."""
    said = " ".join(plant.split())
    _write(
        folder,
        lake,
        ".srt",
        f"1\n00:00:01,000 --> 00:00:05,000\n{lake.fact}\n\n"
        f"2\n00:00:06,000 --> 00:00:12,000\n{said}\n\n"
        f"3\n00:00:13,000 --> 00:00:19,000\n{lake.more}\n",
    )


def turns(folder: Path, lake: Lake, plant: str) -> None:
    """In a turn of a transcript in Markdown."""
    said = " ".join(plant.split())
    _write(
        folder,
        lake,
        ".md",
        f"# Talk about {lake.name}\n\n**Ana Roe** [00:01]: {lake.fact}\n\n"
        f"**Bo Lee** [00:06]: {said}\n\n**Ana Roe** [00:13]: {lake.more}\n",
    )


def feed(folder: Path, lake: Lake, plant: str) -> None:
    """In title and text of an item of a feed."""
    said = escape(plant)
    _write(
        folder,
        lake,
        ".xml",
        "<?xml version='1.0' encoding='utf-8'?><rss version='2.0'><channel><title>Lakes</title>"
        f"<link>https://lakes.example/</link><description>{said}</description><item>"
        f"<title>{lake.name}: {said}</title><link>https://lakes.example/{lake.name}</link>"
        f"<description>&lt;p&gt;{lake.fact}&lt;/p&gt;&lt;p&gt;{escape(said)}&lt;/p&gt;"
        f"&lt;p&gt;{lake.more}&lt;/p&gt;</description>"
        "<pubDate>Mon, 06 Oct 2025 10:00:00 GMT</pubDate></item></channel></rss>",
    )


def record(folder: Path, lake: Lake, plant: str) -> None:
    """In the fields of a record."""
    row = {
        "title": f"{lake.name} {plant}",
        "text": f"{lake.fact}\n\n{plant}\n\n{lake.more}",
        "author": plant,
        "url": f"https://lakes.example/{lake.name}",
        "source_type": plant[:40],
    }
    _write(folder, lake, ".jsonl", json.dumps(row) + "\n")


def link(address: str) -> Carrier:
    """As a record whose address is not one to open."""

    def carrier(folder: Path, lake: Lake, plant: str) -> None:
        row = {"title": lake.name, "text": f"{lake.fact} {plant} {lake.more}", "url": address}
        _write(folder, lake, ".jsonl", json.dumps(row) + "\n")

    return carrier


def past_answer(folder: Path, lake: Lake, plant: str) -> None:
    """In the answer of a past question."""
    row = {
        "question": lake.question,
        "answer": f"{lake.fact} {plant}",
        "citation_url": f"https://lakes.example/{lake.name}",
        "feedback": {"score": 90, "sentences": [{"score": 90, "explanation": "Right."}]},
    }
    _write(folder, lake, ".jsonl", json.dumps(row) + "\n")


def judgement(folder: Path, lake: Lake, plant: str) -> None:
    """In an expert's explanation and in the address that the expert gives."""
    row = {
        "question": lake.question,
        "answer": lake.fact,
        "citation_url": f"https://lakes.example/{lake.name}",
        "feedback": {
            "score": 90,
            "citation_url": f"https://lakes.example/{lake.name} {plant}",
            "sentences": [{"score": 90, "explanation": plant}],
        },
    }
    _write(folder, lake, ".jsonl", json.dumps(row) + "\n")
