"""Files of kinds for which there is no real set: written here, of sentences that stand only once.

Word, PowerPoint, Excel, reStructuredText, speech-to-text JSON, a JSON feed, past questions in CSV,
and a PDF whose pages are turned.
"""

from __future__ import annotations

import csv
import json
import random
import textwrap
from collections.abc import Iterator
from pathlib import Path

import openpyxl
from docx import Document as Word
from pptx import Presentation
from reportlab.pdfgen.canvas import Canvas

SEED = 23
FILES = 3  # of each kind
SECTIONS = 8  # of each file

_NOUNS = (
    "harbour ferry lighthouse cannery net winch mast buoy pier tide gull rope cargo pilot chart "
    "anchor skipper trawler breakwater crane warehouse lantern keel rudder mooring"
).split()
_VERBS = "carries meets follows repairs watches paints measures signals guides crosses".split()
_WAYS = "quietly every-morning in-the-fog after-the-storm twice-a-week before-dawn".split()


class Sentences:
    """Sentences with a number of their own, so that each stands in one place only."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._count = 0

    def one(self) -> str:
        """A new sentence."""
        self._count += 1
        first, second, third = self._draw.sample(_NOUNS, 3)
        verb, way = self._draw.choice(_VERBS), self._draw.choice(_WAYS).replace("-", " ")
        place = self._draw.choice(("north", "south", "east", "west"))
        return f"The {first} {verb} the {second} {way} near {place} {third} {1000 + self._count}."

    def some(self, least: int, most: int) -> str:
        """Several in one paragraph."""
        return " ".join(self.one() for _ in range(self._draw.randint(least, most)))

    def title(self) -> str:
        """A heading that stands once."""
        self._count += 1
        return f"{self._draw.choice(_NOUNS).title()} section {self._count}"

    def levels(self) -> Iterator[int]:
        """Heading levels that go down by one step at most."""
        level = 1
        for _ in range(SECTIONS):
            yield level
            level = self._draw.randint(1, min(level + 1, 3))


def write_made(folder: Path) -> None:
    """Write every made file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        sentences = Sentences(SEED + number)
        _word(folder / f"made{number}.docx", sentences)
        _slides(folder / f"made{number}.pptx", sentences)
        _workbook(folder / f"made{number}.xlsx", sentences)
        _restructured(folder / f"made{number}.rst", sentences)
        _speech(folder / f"whisper{number}.json", sentences, milliseconds=False)
        _speech(folder / f"assembly{number}.json", sentences, milliseconds=True)
        _feed(folder / f"feed{number}.json", number, sentences)
        _questions(folder / f"questions{number}.csv", sentences)
        _turned(folder / f"turned{number}.pdf", sentences)


def _word(path: Path, sentences: Sentences) -> None:
    document = Word()
    for level in sentences.levels():
        document.add_heading(sentences.title(), level)
        document.add_paragraph(sentences.some(1, 3))
        document.add_paragraph(sentences.one(), style="List Bullet")
        table = document.add_table(rows=2, cols=2)
        for row in table.rows:
            for cell in row.cells:
                cell.text = sentences.one()
    document.save(str(path))


def _slides(path: Path, sentences: Sentences) -> None:
    deck = Presentation()
    for _ in range(SECTIONS):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = sentences.title()
        slide.placeholders[1].text_frame.text = sentences.one()
        slide.placeholders[1].text_frame.add_paragraph().text = sentences.one()
        slide.notes_slide.notes_text_frame.text = sentences.some(1, 2)
    deck.save(str(path))


def _workbook(path: Path, sentences: Sentences) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for _ in range(2):
        sheet = book.create_sheet(sentences.title())
        sheet.append(["What", "How many", "Where"])
        for number in range(20):
            if number % 7 == 3:
                sheet.append([])  # an empty row counts
            sheet.append([sentences.one(), number, sentences.one()])
    book.save(path)


def _restructured(path: Path, sentences: Sentences) -> None:
    lines: list[str] = []
    for level in sentences.levels():
        title = sentences.title()
        lines += [title, "=-~"[level - 1] * len(title), ""]
        lines += [*textwrap.wrap(sentences.some(2, 4), 72), ""]
        lines += [f"- {sentences.one()}", f"- {sentences.one()}", ""]
        lines += [".. note::", "", f"   {sentences.one()}", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def _speech(path: Path, sentences: Sentences, *, milliseconds: bool) -> None:
    """Segments of Whisper with speakers, or utterances with words of AssemblyAI."""
    pieces: list[dict[str, object]] = []
    at = 0.0
    for number in range(40):
        words = sentences.one().split()
        starts = [at + 0.4 * place for place in range(len(words))]
        piece: dict[str, object] = {
            "text": " ".join(words),
            "speaker": ("Ida Lund", "Tor Vik")[number // 3 % 2],
        }
        if milliseconds:
            timed = [
                {"text": word, "start": round(1000 * start), "end": round(1000 * start + 390)}
                for word, start in zip(words, starts, strict=True)
            ]
            piece |= {"start": round(1000 * at), "end": timed[-1]["end"], "words": timed}
        else:
            piece |= {"start": round(at, 2), "end": round(starts[-1] + 0.39, 2)}
        pieces.append(piece)
        at = starts[-1] + 1.0
    talk = {"utterances": pieces} if milliseconds else {"segments": pieces, "language": "en"}
    path.write_text(json.dumps(talk), encoding="utf-8")


def _feed(path: Path, number: int, sentences: Sentences) -> None:
    items = [
        {
            "id": str(item),
            "url": f"https://made.example/{number}/{item}",
            "title": sentences.title(),
            "content_html": f"<p>{sentences.some(1, 2)}</p><p>{sentences.one()}</p>",
            "date_published": "2024-05-06T07:08:09Z",
        }
        for item in range(SECTIONS)
    ]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Made", "items": items}
    path.write_text(json.dumps(feed), encoding="utf-8")


def _questions(path: Path, sentences: Sentences) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "answer", "score"])
        for _ in range(20):
            question = sentences.one().replace("The", "Why is it that the").replace(".", "?")
            writer.writerow([question, sentences.one(), 80])


def _turned(path: Path, sentences: Sentences) -> None:
    """Pages turned by all quarters, with text that is upright when they are displayed."""
    canvas = Canvas(str(path), pagesize=(595, 842), invariant=1)
    for turn in (0, 90, 180, 270, 0):
        canvas.setPageRotation(turn)  # reportlab swaps width and height with a quarter
        width, height = (842, 595) if turn % 180 else (595, 842)
        canvas.translate(*{0: (0, 0), 90: (width, 0), 180: (width, height), 270: (0, height)}[turn])
        canvas.rotate(turn)
        canvas.setFont("Helvetica", 10)
        for line in range(20):
            canvas.drawString(60, 760 - 30 * line, sentences.one())
        canvas.showPage()
    canvas.save()
