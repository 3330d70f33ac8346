"""Papers: the text layer of a PDF in reading order, with pages, boxes and sections.

pdfium gives the characters of a page (``pdf_layer``); they become printed lines in reading order
(``pdf_rows``), lines become headings and paragraphs (``pdf_text``). Nothing is
recognised in images.

Title, authors and date are the file's own fields, or else stand on its first page.
"""

from __future__ import annotations

import logging
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
from wellread.ingest.loaders.front_matter import moment, names
from wellread.ingest.loaders.pdf.pdf_layer import OutlineEntry, PageText, outline_of, page_text
from wellread.ingest.loaders.pdf.pdf_rows import Row, rows_in_order, usual_size
from wellread.ingest.loaders.pdf.pdf_text import (
    HEADING_ROWS,
    headings_of,
    is_section,
    joined_words,
    paper_text,
)
from wellread.types import Document

logger = logging.getLogger(__name__)

# pdfium is not thread-safe, whatever the document.
_pdfium_lock = threading.Lock()

NAME_WORDS = 5  # of one person
AUTHOR_ROWS = 60  # below the title
BETWEEN_AUTHORS = 6  # lines between two of them, with where they work and how to reach them

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
_GOES_ON = re.compile(r"(?:[,;·]|\band|&)[\W\d]*$")
_NOBODY = re.compile(r"(?:anonymous|unknown|admin\w*|user|owner|author)\W*$", re.I)
_PLACES = re.compile(
    r"universit|institut|department|laborator|school|college|academy|research|center|centre|"
    r"google|facebook|microsoft|amazon|openai|deepmind|\binc\b|\bltd\b|\bcorp|\bai\b|abstract|"
    r"hospital|ministry|faculty|group|team|conference|proceedings|journal|workshop|street|"
    r"editor|author|contribut|equal|correspond|preprint|version|draft|report|page",
    re.I,
)


def title_rows(given: str, rows: Sequence[Row], body: float) -> range:
    """The rows of the first page that are the title: the largest letters, or the given words."""
    first = [number for number, row in enumerate(rows) if row.page == rows[0].page]
    if given:
        wanted = plain.bare(given)
        for number in first:
            for count in range(1, HEADING_ROWS + 1):
                if wanted and plain.bare(joined_words(rows[number : number + count])) == wanted:
                    return range(number, number + count)
        return range(0)
    wordy = [number for number in first if len(rows[number].text) >= 4]
    largest = max((rows[number].size for number in wordy), default=0.0)
    sized = groupby(wordy, key=lambda number: rows[number].size)
    runs = [list(run) for size, run in sized if size == largest]
    # Several runs of the largest letters are headings.
    if len(runs) != 1 or largest <= 1.05 * body or runs[0][-1] - runs[0][0] >= 2 * HEADING_ROWS:
        return range(0)
    found = range(runs[0][0], runs[0][-1] + 1)
    return range(0) if is_section(joined_words(rows[found.start : found.stop])) else found


def given_title(fields: Mapping[str, str]) -> str:
    """The title of the file's fields, when it is one."""
    given = fields.get("Title", "")
    return given if len(given) >= 4 and not _USELESS_TITLE.search(given) else ""


def title_of(given: str, rows: Sequence[Row], found: range) -> str:
    """The given title, else the words of the title's rows, else a first line that stands alone."""
    if given:
        return given
    words = joined_words(rows[found.start : found.stop]) if found else rows[0].text
    first = rows[0].place
    alone = found or len(rows) < 2 or rows[1].place.top - first.bottom > first.bottom - first.top
    fits = alone and len(words) <= plain.TITLE_CHARACTERS and not words.endswith((".", ","))
    return words if fits else ""


def authors_of(fields: Mapping[str, str], rows: Sequence[Row], title: range) -> tuple[str, ...]:
    """The people that the file names, else those in the lines under the title."""
    named = names(fields.get("Author", ""))
    given = tuple(one for one in named if not _PLACES.search(one) and not _NOBODY.match(one))
    if given or not title:
        return given
    found: list[str] = []
    style: tuple[float, bool] | None = None
    last, goes_on = title.stop, False
    for number, row in enumerate(rows[title.stop : title.stop + AUTHOR_ROWS], title.stop):
        # The paper itself begins; "1 Harbour School" is where somebody works.
        begins = is_section(row.text) and not row.text[0].isdigit()
        begins = begins or row.text.lower().startswith("abstract")
        if row.page != rows[0].page or begins or number - last > BETWEEN_AUTHORS:
            break
        people = _people(row)
        if people and style and goes_on and row.size == style[0]:
            style = (row.size, row.bold)  # only the first line of a list may be bold
        if people and (style is None or style == (row.size, row.bold)):
            style, last = (row.size, row.bold), number
            found += people
            ended, goes_on = goes_on, _GOES_ON.search(row.text) is not None
            if ended and not goes_on:
                break
    return tuple(dict.fromkeys(found))


def _people(row: Row) -> list[str]:
    """The names on one line; none when something else stands there too."""
    if _PLACES.search(row.text) or "@" in row.text:
        return []
    pieces = [piece.text for piece in row.pieces if piece.size >= 0.85 * row.size]
    parts = [part for text in pieces for part in _BETWEEN.split(text)]
    parts = [clean for part in parts if (clean := _SIGNS.sub("", part.strip()))]
    fits = (
        _NAME.fullmatch(part)
        and part[0].isupper()
        and part.split()[-1][0].isupper()
        and len(part.split()) <= NAME_WORDS
        for part in parts
    )
    return parts if all(fits) else []


def published(fields: Mapping[str, str], stamp: str, rows: Sequence[Row]) -> datetime | None:
    """The date of a preprint's stamp or one written on the first page; else the day on which the
    file was made, when the first page names that year.
    """
    stamped = _ARXIV.match(stamp)
    if stamped:
        return moment(stamped.group(1))
    first = " ".join(row.text for row in rows if row.page == rows[0].page)
    written = _WRITTEN.search(first)
    if written:
        return moment(written.group(1))
    made = _file_date(fields.get("CreationDate", ""))
    years = {int(year) for year in _YEAR.findall(first)}
    return made if made and made.year in years else None


def is_stamp(text: str) -> bool:
    """Whether ``text`` is what a preprint server prints in the margin."""
    return bool(_ARXIV.match(text))


def _file_date(text: str) -> datetime | None:
    found = _FILE_DATE.match(text)
    if not found:
        return None
    try:
        zone = "".join(found.group(2, 3, 4)) if found.group(2) else "+0000"
        return datetime.strptime(found.group(1) + zone, "%Y%m%d%H%M%S%z").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class _File(NamedTuple):
    pages: list[PageText]
    fields: dict[str, str]
    outline: list[OutlineEntry]


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One paper."""
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
    blank = sum(not (page.pieces or page.aside) for page in pages)
    if blank:  # or scanned; only a person can tell
        logger.info("%s: no text on %d of %d pages", source.uri, blank, len(pages))
    body = usual_size(rows)
    given = given_title(file.fields)
    title = title_rows(given, rows, body)
    paper = paper_text(rows, headings_of(rows, body, file.outline, title))
    yield source.document(
        (paper.text, paper.marks),
        kind="paper",
        title=title_of(given, rows, title) or plain.title_from_name(source.name),
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
