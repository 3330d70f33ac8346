"""Whether the pages of the web open a citation at its place.

    python -m benchmarks.web_places

Citations are sentences of the passages of real files, chosen evenly (what an answer cites is a
sentence). 300 of PDFs (ARAGOG, docling): the text that PDFium finds under the boxes that the page
draws holds the quote, white space and hyphens aside. 200 of WebVTT files: the player is set to the
second at which the cue of the quote begins. 200 of HTML and Markdown: what is marked is the quote.
"""

from __future__ import annotations

import asyncio
import html
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pypdfium2 as pdfium

from benchmarks.paths import eval_data
from wellread.ingest.run import add
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.sentences import sentence_spans
from wellread.types import Document, Span, TimeMark

SHORTEST, LONGEST = 20, 600  # characters of a quote
Cited = tuple[str, Document, Span]
Check = Callable[[str, Document, Span], bool]


def main() -> None:
    """Open each, count, print what is wrong."""
    pdfs = [eval_data("aragog", "pdf"), eval_data("docling_pdfs", "tests")]
    texts = [eval_data("article_extraction"), eval_data("s3_patterns")]
    measure("PDF", pdfs, 300, under_boxes)
    with tempfile.TemporaryDirectory() as beside:
        measure("WebVTT", [recorded(eval_data("webvtt_samples"), Path(beside))], 200, at_second)
    measure("HTML and Markdown", texts, 200, marked)


def measure(name: str, folders: list[Path], wanted: int, check: Check) -> None:
    """Read the folders, open citations of what is of this sort, print what is wrong."""
    with (
        tempfile.TemporaryDirectory() as home,
        open_kb(Path(home), embedder=ReadableEmbedder()) as kb,
    ):
        add(kb, [str(folder) for folder in folders])
        cited = list(evenly(list(citations(kb, name)), wanted))
        right, wrong = asyncio.run(opened(kb, cited, check))
    print(f"{name}: {right} of {len(cited)} ({right / max(len(cited), 1):.3f})", flush=True)
    for line in wrong[:12]:
        print(f"   {line}")


def recorded(folder: Path, beside: Path) -> Path:
    """A copy of the captions, each with a file beside it that stands for the recording."""
    for number, path in enumerate(sorted(folder.rglob("*.vtt"))):
        shutil.copy(path, beside / f"{number}.vtt")
        (beside / f"{number}.mp3").write_bytes(b"")
    return beside


def citations(kb: KnowledgeBase, name: str) -> Iterator[Cited]:
    """Every sentence of the files of this sort, with its document."""
    endings = {"PDF": (".pdf",), "WebVTT": (".vtt",)}.get(name, (".html", ".htm", ".md"))
    for facts in kb.catalogue.documents("default"):
        if not facts.uri.lower().endswith(endings):
            continue
        document = kb.catalogue.document(facts.id)
        if document is None:
            continue
        for span in sentence_spans(document.text):
            if SHORTEST <= len(span.of(document.text).strip()) <= LONGEST:
                yield facts.id, document, span


def evenly(found: list[Cited], wanted: int) -> Iterator[Cited]:
    """``wanted`` of them, as far from one another as can be."""
    step = max(1.0, len(found) / wanted)
    return (found[int(place * step)] for place in range(min(wanted, len(found))))


async def opened(kb: KnowledgeBase, cited: list[Cited], check: Check) -> tuple[int, list[str]]:
    """How many pages are right, and what is wrong with the others."""
    right, wrong = 0, []
    transport = httpx.ASGITransport(create_app(kb))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for known, document, span in cited:
            address = f"/view/{known}?start={span.start}&end={span.end}&pane=true"
            reply = await client.get(address)
            if reply.status_code == 200 and check(reply.text, document, span):
                right += 1
            else:
                wrong.append(f"{document.uri.rpartition('/')[2]}: {span.of(document.text)!r}"[:160])
    return right, wrong


def under_boxes(page: str, document: Document, span: Span) -> bool:
    """Whether the text under the boxes that are drawn holds the quote."""
    opened_file = pdfium.PdfDocument(local_path(document.uri))
    said = ""
    try:
        for figure in page.split('<figure class="page" id="page-')[1:]:
            number = int(figure.partition('"')[0])
            layer = opened_file[number - 1]
            left, bottom, _, top = layer.get_mediabox()
            text = layer.get_textpage()
            for found in re.finditer(r'<rect class="cited"[^>]*>', figure):
                x, y, w, h = (
                    _number(found.group(), name) for name in ("x", "y", "width", "height")
                )
                # Half a point of room: the shares of a mark have four digits.
                said += text.get_text_bounded(
                    left + x - 0.5, top - y - h - 0.5, left + x + w + 0.5, top - y + 0.5
                )
            assert bottom < top
    finally:
        opened_file.close()
    quote = _bare(span.of(document.text))
    return bool(quote) and quote in _bare(said)


def at_second(page: str, document: Document, span: Span) -> bool:
    """Whether the player is set to the second at which the cue begins that holds the quote."""
    cues = [mark for mark in document.marks if isinstance(mark, TimeMark)]
    holding = [cue for cue in cues if cue.start <= span.start < cue.end]
    begun = re.search(r'<audio[^>]* data-begin="([\d.]+)"', page)
    return bool(holding) and begun is not None and float(begun.group(1)) == holding[-1].begin


def marked(page: str, document: Document, span: Span) -> bool:
    """Whether what is marked is exactly the quote."""
    pieces = re.findall(r"<mark[^>]*>(.*?)</mark>", page, re.DOTALL)
    return html.unescape("".join(pieces)) == span.of(document.text)


def _number(tag: str, name: str) -> float:
    found = re.search(rf'\b{name}="([\d.-]+)"', tag)
    return float(found.group(1)) if found else 0.0


def _bare(text: str) -> str:
    return re.sub(r"[\s\u00ad\u2010-\u2015\ufffe\x02-]+", "", text).casefold()


if __name__ == "__main__":
    main()
