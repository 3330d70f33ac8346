"""How fast each kind of file is read: Wellread's loader beside the library that it stands on.

    python -m benchmarks.loaders --rounds 3

PDF: real papers and reports, in pages a second, beside pdfium's plain text of each page and beside
docling-parse's lines, which is installed into ``.cache`` first (it needs the package index). HTML:
60 real news pages beside trafilatura with its defaults. Word, PowerPoint, Excel: files written here
(``made_files.py``) beside the bare text of their library. All in one process and in turn, each file
once a round; the rate of a kind is that of its median round. Loaders do more than the bare calls
(places, tables, headings, dates): the ratio says what that costs.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pypdfium2 as pdfium
import trafilatura
from docx import Document as Word
from pptx import Presentation

from benchmarks.made_files import write_made
from benchmarks.paths import CACHE, eval_data
from benchmarks.record import save
from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds

DOCLING = CACHE / "docling-parse"
PDFS = ("aragog/pdf", "docling_pdfs")
Read = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The files of a kind with their number of pages, and what they are read with."""

    name: str
    unit: str
    files: Mapping[str, bytes]
    pages: int
    beside: Mapping[str, Read]


def main() -> None:
    """Read all kinds, print the table, write ``results/loaders.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    figures = {kind.name: measured(kind, rounds) for kind in (pdf(), html(), *office())}
    save("loaders", {"rounds": rounds, "kinds": figures})
    print("\n".join(table(figures)))


def measured(kind: Kind, rounds: int) -> dict[str, Any]:
    """Pages a second of the loader and of each library beside it."""
    spent: dict[str, list[float]] = {"Wellread": [], **{name: [] for name in kind.beside}}
    for number in range(rounds + 1):  # the first round warms up
        seconds = dict.fromkeys(spent, 0.0)
        for name, data in kind.files.items():
            seconds["Wellread"] += timed(partial(load, name), data)
            for beside, read in kind.beside.items():
                seconds[beside] += timed(read, data)
        if number:
            for name, each in seconds.items():
                spent[name].append(each)
    rates = {name: kind.pages / statistics.median(each) for name, each in spent.items()}
    return {"files": len(kind.files), "pages": kind.pages, "unit": kind.unit, "rates": rates}


def timed(read: Read, data: bytes) -> float:
    """Seconds of one reading."""
    started = time.perf_counter()
    read(data)
    return time.perf_counter() - started


def load(name: str, data: bytes) -> object:
    """What the loader yields; a file that it refuses stops the run."""
    source = Source(uri=f"file:///{name}", name=name, data=data, collection="default")
    try:
        return kinds.load(source, LoaderLimits())
    except SourceError as error:
        raise SystemExit(str(error)) from error


# --- kinds -------------------------------------------------------------------------------------


def pdf() -> Kind:
    """Papers and reports."""
    paths = [path for folder in PDFS for path in sorted(eval_data(folder).rglob("*.pdf"))]
    files = {f"{number}-{path.name}": path.read_bytes() for number, path in enumerate(paths)}
    pages = sum(len(pdfium.PdfDocument(data)) for data in files.values())
    beside = {"pypdfium2, plain text": by_pdfium, "docling-parse, lines": docling()}
    return Kind(name="PDF", unit="pages", files=files, pages=pages, beside=beside)


def by_pdfium(data: bytes) -> object:
    """The plain text of each page."""
    return [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(data)]


def docling() -> Read:
    """The lines of each page by docling-parse, from a folder of its own."""
    if not DOCLING.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(DOCLING)]
        subprocess.run([*command, "docling-parse"], check=True)
    sys.path.append(str(DOCLING))  # behind what is installed here
    opened: Any = importlib.import_module("docling_parse.pdf_parser").DoclingPdfParser()
    line: Any = importlib.import_module("docling_core.types.doc.page").TextCellUnit.LINE

    def read(data: bytes) -> object:
        document = opened.load(io.BytesIO(data))
        pages = document.iterate_pages()
        return [cell.text for _, page in pages for cell in page.iterate_cells(line)]

    return read


def html() -> Kind:
    """News pages."""
    paths = sorted(eval_data("article_extraction", "html").glob("*.html.gz"))
    files = {path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()) for path in paths}
    beside: dict[str, Read] = {"trafilatura": trafilatura.extract}
    return Kind(name="HTML", unit="files", files=files, pages=len(files), beside=beside)


def office() -> Sequence[Kind]:
    """Word, PowerPoint and Excel."""
    libraries: dict[str, tuple[str, Read]] = {
        "docx": ("python-docx, paragraphs", by_docx),
        "pptx": ("python-pptx, text frames", by_pptx),
        "xlsx": ("openpyxl, rows", by_openpyxl),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        write_made(Path(folder))
        for ending, (library, read) in libraries.items():
            paths = sorted(Path(folder).rglob(f"*.{ending}"))
            files = {path.name: path.read_bytes() for path in paths}
            found.append(
                Kind(
                    name=ending, unit="files", files=files, pages=len(files), beside={library: read}
                )
            )
    return found


def by_docx(data: bytes) -> object:
    """The text of each paragraph."""
    return [paragraph.text for paragraph in Word(io.BytesIO(data)).paragraphs]


def by_pptx(data: bytes) -> object:
    """The text of each shape that has some."""
    slides = Presentation(io.BytesIO(data)).slides
    shapes = (shape for slide in slides for shape in slide.shapes if shape.has_text_frame)
    return [shape.text_frame.text for shape in shapes]


def by_openpyxl(data: bytes) -> object:
    """The values of each row."""
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    return [row for sheet in book for row in sheet.iter_rows(values_only=True)]


def table(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A row for each library as Markdown."""
    lines = [
        "| kind | files | read by | a second | Wellread's rate by it |",
        "|---|---|---|---|---|",
    ]
    for name, kind in figures.items():
        ours = kind["rates"]["Wellread"]
        of = f"{kind['files']} ({kind['pages']:,} {kind['unit']})"
        for library, rate in kind["rates"].items():
            cells = (name, of, library, f"{rate:,.1f} {kind['unit']}", f"{ours / rate:.2f}")
            lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
