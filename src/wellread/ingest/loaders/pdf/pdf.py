"""Loads PDF files as papers: text in reading order, with pages, boxes, sections and metadata.

pdfium returns the characters of a page (``pdf_layer``), which are arranged as lines in reading
order (``pdf_rows``) and then as headings and paragraphs (``pdf_text``). There is no text
recognition in images.

Title, authors and date come from the file's metadata, else from its first page.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

import pypdfium2 as pdfium

from wellread.errors import SourceError
from wellread.ingest.loaders import plain
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import names, parse_moment
from wellread.ingest.loaders.pdf.pdf_layer import (
    OutlineEntry,
    PageText,
    outline_of,
    page_text,
    recognised,
)
from wellread.ingest.loaders.pdf.pdf_rows import NOTES, Row, rows_in_order, usual_size
from wellread.ingest.loaders.pdf.pdf_text import (
    MAX_HEADING_ROWS,
    headings_of,
    is_section,
    joined_words,
    paper_text,
)
from wellread.types import Document

# pdfium is not thread-safe, even for different documents.
_pdfium_lock = threading.Lock()

MAX_NAME_WORDS = 5  # words in a person's name
MAX_AUTHOR_ROWS = 60  # rows below the title that are searched for authors
MAX_AUTHOR_GAP = 6  # lines between two authors (affiliations, addresses)

_USELESS_TITLE = re.compile(r"untitled|microsoft|presentation$|^\W*$|\.\w{2,4}$", re.I)
_ARXIV = re.compile(r"arXiv:\S+\s+\[[^\]]+\]\s+(\d{1,2} \w{3} \d{4})")
_WRITTEN = re.compile(
    r"\b(\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?:19|20)\d\d|(?:January|February|March|April|May|June|July|August|September|"
    r"October|November|December) \d{1,2}, (?:19|20)\d\d)\b"
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_FILE_DATE = re.compile(r"D:(\d{14})(?:([+-])(\d\d)'?(\d\d))?")
_SIGNS = re.compile(r"[\d*†‡§¶∗♠♥♦♣⋆,\s]+$|^[\d*†‡§¶∗\s]+")
_NAME = re.compile(
    r"(?:(?:[^\W\d_]\.-?)+|[^\W\d_][\w'’.-]*|d[aeio]s?|v[ao]n|de[rn]?|la|le|al|bin|ten)"
    r"(?:\s+(?:(?:[^\W\d_]\.-?)+|[^\W\d_][\w'’.-]*)){1,4}"
)
_BETWEEN = re.compile(r"\s*[,;·]\s*(?:(?:and|&)(?:\s+|$))?|(?:^|\s+)(?:and|&)(?:\s+|$)")
_CONTINUES = re.compile(r"(?:[,;·]|\band|&)[\W\d]*$")
_NO_NAME = re.compile(r"\b(?:anonymous|unknown|admin\w*|user|owner|author)\b|[\d@_\\]", re.I)
_PLACES = re.compile(
    r"universit|institut|department|laborator|school|college|academy|research|center|centre|"
    r"google|facebook|microsoft|amazon|openai|deepmind|\binc\b|\bltd\b|\bcorp|\bai\b|abstract|"
    r"hospital|ministry|faculty|group|team|conference|proceedings|journal|workshop|street|"
    r"editor|author|contribut|equal|correspond|preprint|version|draft|report|page",
    re.I,
)


def title_rows(declared: str, rows: Sequence[Row], body: float) -> range:
    """Return the title's rows on the first page: the declared title, else the largest letters."""
    first_page = [number for number, row in enumerate(rows) if row.page == rows[0].page]
    if declared:
        key = plain.letters_of(declared)
        for number in first_page if key else ():
            for count in range(1, MAX_HEADING_ROWS + 1):
                if plain.letters_of(joined_words(rows[number : number + count])) == key:
                    return range(number, number + count)
        return range(0)
    long_enough = [number for number in first_page if len(rows[number].text) >= 4]
    largest = max((rows[number].size for number in long_enough), default=0.0)
    by_size = groupby(long_enough, key=lambda number: rows[number].size)
    runs = [list(run) for size, run in by_size if size == largest]
    # Several separate runs of the largest letters are headings.
    if len(runs) != 1 or largest <= 1.05 * body or runs[0][-1] - runs[0][0] >= 2 * MAX_HEADING_ROWS:
        return range(0)
    title = range(runs[0][0], runs[0][-1] + 1)
    return range(0) if is_section(joined_words(rows[title.start : title.stop])) else title


def title_of(declared: str, rows: Sequence[Row], heading: range) -> str:
    """Return the declared title, else the text of the title's rows, else a separate first line."""
    if declared:
        return declared
    text = joined_words(rows[heading.start : heading.stop]) if heading else rows[0].text
    first = rows[0].box
    gap = rows[1].box.top - first.bottom if len(rows) > 1 else math.inf
    is_separate = heading or gap > first.bottom - first.top
    fits = len(text) <= plain.TITLE_CHARACTERS and not text.endswith((".", ","))
    return text if is_separate and fits else ""


def authors_of(fields: Mapping[str, str], rows: Sequence[Row], title: range) -> tuple[str, ...]:
    """Return the authors in the file's metadata, else the names in the lines below the title."""
    listed = names(fields.get("Author", ""))
    text = " ".join(row.text for row in rows)
    declared = tuple(name for name in listed if _is_author(name, fields, text))
    if declared or not title:
        return declared
    authors: list[str] = []
    style: tuple[float, bool] | None = None
    last, continues = title.stop, False
    for number, row in enumerate(rows[title.stop : title.stop + MAX_AUTHOR_ROWS], title.stop):
        # The paper begins here; but "1 Harbour School" is an affiliation.
        begins = is_section(row.text) and not row.text[0].isdigit()
        begins = begins or row.text.lower().startswith("abstract")
        if row.page != rows[0].page or begins or number - last > MAX_AUTHOR_GAP:
            break
        people = _people(row)
        if people and style and continues and row.size == style[0]:
            style = (row.size, row.bold)  # only the first line of a list may be bold
        if people and (style is None or style == (row.size, row.bold)):
            style, last = (row.size, row.bold), number
            authors += people
            continued, continues = continues, _CONTINUES.search(row.text) is not None
            if continued and not continues:
                break  # the last line of a list
    return tuple(dict.fromkeys(authors))


def _is_author(name: str, fields: Mapping[str, str], text: str) -> bool:
    """Whether a declared author is a name, not that of an account or of the program.

    A single word may be either, so the text must have it too, except in scripts without capitals.
    """
    programs = re.findall(r"\w+", f"{fields.get('Creator', '')} {fields.get('Producer', '')}")
    if _PLACES.search(name) or _NO_NAME.search(name) or set(programs) & set(name.split()):
        return False
    return " " in name or name.lower() == name.upper() or (name in text and not name.islower())


def _people(row: Row) -> list[str]:
    """Return the names on one line; none when it contains anything else."""
    if _PLACES.search(row.text) or "@" in row.text:
        return []
    pieces = [piece.text for piece in row.pieces if piece.size >= 0.85 * row.size]
    parts = [part for text in pieces for part in _BETWEEN.split(text)]
    parts = [clean for part in parts if (clean := _SIGNS.sub("", part.strip()))]
    fits = (
        _NAME.fullmatch(part)
        and part[0].isupper()
        and part.split()[-1][0].isupper()
        and len(part.split()) <= MAX_NAME_WORDS
        for part in parts
    )
    return parts if all(fits) else []


def publication_date(fields: Mapping[str, str], stamp: str, rows: Sequence[Row]) -> datetime | None:
    """Return the date of a preprint's stamp, else a date on the first page, else the file's
    creation date if the first page contains its year.
    """
    stamped = _ARXIV.match(stamp)
    if stamped:
        return parse_moment(stamped.group(1))
    first_page = " ".join(row.text for row in rows if row.page == rows[0].page)
    written = _WRITTEN.search(first_page)
    if written:
        return parse_moment(written.group(1))
    created = _file_date(fields.get("CreationDate", ""))
    years = {int(year) for year in _YEAR.findall(first_page)}
    return created if created and created.year in years else None


def is_stamp(text: str) -> bool:
    """Whether ``text`` is the stamp of a preprint server in the margin."""
    return bool(_ARXIV.match(text))


def _file_date(text: str) -> datetime | None:
    match = _FILE_DATE.match(text)
    if not match:
        return None
    try:
        zone = "".join(match.group(2, 3, 4)) if match.group(2) else "+0000"
        return datetime.strptime(match.group(1) + zone, "%Y%m%d%H%M%S%z").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers in words ("2–4, 7")."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(group) for _, group in runs)]
    return ", ".join("–".join(map(str, dict.fromkeys(pair))) for pair in ends)


class _File(NamedTuple):
    pages: list[PageText]
    fields: dict[str, str]
    outline: list[OutlineEntry]
    labels: list[str]
    recognised: list[int]


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """Load a PDF as one paper."""
    with _pdfium_lock:
        file = _read_file(source, limits)
    stamps = [piece.text for page in file.pages for piece in page.rotated if is_stamp(piece.text)]
    pages = [
        page._replace(rotated=[piece for piece in page.rotated if not is_stamp(piece.text)])
        for page in file.pages
    ]
    rows = rows_in_order(pages)
    if not any(character.isalnum() for row in rows for character in row.text):
        raise SourceError(
            source.uri,
            f"no text layer on any of its {len(pages)} pages: it looks scanned",
            hint="turn on sources.ocr, or run text recognition on it, for example with ocrmypdf",
        )
    printed = [row for row in rows if row.column != NOTES]
    told = {row.page for row in printed if any(map(str.isalnum, row.text))}
    blank = [n for n, page in enumerate(pages, 1) if page.is_picture and n not in told]
    if read := [number for number in file.recognised if number in told]:
        source.remark(f"{len(read)} of {len(pages)} pages were read by OCR ({ranges(read)})")
    if blank:
        source.remark(
            f"{len(blank)} of {len(pages)} pages have no text ({ranges(blank)}): they look scanned"
        )
    body = usual_size(rows)
    declared = file.fields.get("Title", "")
    declared = "" if len(declared) < 4 or _USELESS_TITLE.search(declared) else declared
    title = title_rows(declared, rows, body)
    paper = paper_text(rows, headings_of(rows, body, file.outline, title), file.labels)
    yield source.document(
        (paper.text, paper.marks),
        kind="paper",
        title=title_of(declared, rows, title) or plain.title_from_name(source.name),
        source_type="pdf",
        authors=authors_of(file.fields, rows, title),
        published_at=publication_date(file.fields, stamps[0] if stamps else "", rows),
        summary=paper.abstract,
    )


def _read_file(source: Source, limits: LoaderLimits) -> _File:
    try:
        document = pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as error:
        reason = "encrypted: it needs a password" if "assword" in str(error) else "not a PDF"
        raise SourceError(source.uri, f"{reason} ({plain.one_line(str(error))})") from error
    try:
        document.init_forms()
        count = len(document)
        if count > limits.max_pages:
            raise SourceError(
                source.uri,
                f"too many pages: {count}, the limit is {limits.max_pages}",
                hint="raise sources.max_pages",
            )
        fields = document.get_metadata_dict().items()
        pages = [page_text(document, index) for index in range(count)]
        labels = [document.get_page_label(index) or str(index + 1) for index in range(count)]
        pictures = [index for index in range(count) if limits.ocr and pages[index].is_picture]
        for index in pictures:
            pages[index] = pages[index]._replace(pieces=recognised(document, index), rotated=[])
            labels[index] += " (OCR)"
        return _File(
            pages=pages,
            fields={str(name): plain.one_line(value) for name, value in fields},
            outline=outline_of(document),
            labels=labels,
            recognised=[index + 1 for index in pictures],
        )
    except ImportError as error:
        reason = "needs rapidocr to read scanned pages: pip install 'wellread[ocr]'"
        raise SourceError(source.uri, reason) from error
    except pdfium.PdfiumError as error:
        raise SourceError(source.uri, f"damaged PDF: {plain.one_line(str(error))}") from error
    finally:
        document.close()
