"""Papers: the text layer of a PDF in reading order, with pages, boxes and sections.

pdfium gives the characters of a page (``pdf_layer``); they become printed lines in reading order
(``pdf_rows``), lines become headings (``pdf_headings``) and paragraphs (``pdf_text``). Nothing is
recognised in images.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2 as pdfium

from wellread.errors import SourceError
from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.pdf.pdf_facts import (
    authors_of,
    given_title,
    is_stamp,
    published,
    title_of,
    title_rows,
)
from wellread.ingest.loaders.pdf.pdf_headings import headings_of
from wellread.ingest.loaders.pdf.pdf_layer import OutlineEntry, PageText, outline_of, page_text
from wellread.ingest.loaders.pdf.pdf_rows import rows_in_order
from wellread.ingest.loaders.pdf.pdf_text import body_size, paper_text
from wellread.types import Document

logger = logging.getLogger(__name__)

# pdfium is not thread-safe, whatever the document.
_pdfium_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What a file holds."""

    pages: list[PageText]
    fields: dict[str, str]
    outline: list[OutlineEntry]


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One paper.

    Raises:
        SourceError: not a PDF, encrypted, damaged, too many pages, or no text layer.
    """
    with _pdfium_lock:
        file = _read(source, limits)
    stamps = [one.text for page in file.pages for one in page.aside if is_stamp(one.text)]
    pages = [
        PageText(page.pieces, [one for one in page.aside if not is_stamp(one.text)])
        for page in file.pages
    ]
    rows = rows_in_order(pages)
    if not any(character.isalnum() for row in rows for character in row.text):
        raise SourceError(
            source.uri,
            f"no text layer on any of its {len(pages)} pages: it looks scanned",
            hint="run text recognition on it first, for example with ocrmypdf",
        )
    _tell_of_bare_pages(source, pages)
    body = body_size(rows)
    given = given_title(file.fields)
    title = title_rows(given, rows, body)
    paper = paper_text(rows, headings_of(rows, body, file.outline, title))
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="paper",
        title=title_of(given, rows, title) or plain.title_from_name(source.name),
        text=paper.text,
        marks=paper.marks,
        source_type="pdf",
        authors=authors_of(file.fields, rows, title),
        published_at=published(file.fields, stamps[0] if stamps else "", rows),
        summary=paper.abstract,
    )


def _read(source: Source, limits: LoaderLimits) -> _File:
    try:
        document = pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as error:
        reason = "encrypted: it needs a password" if "assword" in str(error) else "not a PDF"
        raise SourceError(source.uri, f"{reason} ({plain.one_line(str(error))})") from error
    try:
        count = len(document)
        if count > limits.max_pages:
            raise SourceError(
                source.uri,
                f"too many pages: {count}, the limit is {limits.max_pages}",
                hint="raise sources.max_pages",
            )
        fields = document.get_metadata_dict().items()
        return _File(
            pages=[page_text(document, index) for index in range(count)],
            fields={str(name): plain.one_line(value) for name, value in fields},
            outline=outline_of(document),
        )
    except pdfium.PdfiumError as error:
        raise SourceError(source.uri, f"damaged PDF: {plain.one_line(str(error))}") from error
    finally:
        document.close()


def _tell_of_bare_pages(source: Source, pages: list[PageText]) -> None:
    """A page without text may be blank or scanned; only a person can tell."""
    bare = [number for number, page in enumerate(pages, 1) if not (page.pieces or page.aside)]
    if bare:
        logger.info("%s: no text on %d of %d pages", source.uri, len(bare), len(pages))
