"""Splits text into sentences with exact character spans.

A line break is always a boundary, since loaders join the lines of a paragraph. Within a line the
blingfire sentence breaker decides. It knows English abbreviations, initials and decimal points;
further abbreviations and ordinals are masked here, and the stops of scripts that it does not
know are written as one that it knows.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any

import blingfire

from wellread.text.languages import ENGLISH, languages
from wellread.types import Span

# Lone surrogates have no UTF-8 form and NUL ends a C string; each is replaced by one character,
# so that offsets do not change.
_UNENCODABLE = dict.fromkeys([0, *range(0xD800, 0xE000)], " ")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BULLET = re.compile(r"\s*(?:[-*•‣▪]\s+)?")
# The number of a list item, heading or clause stays with its sentence.
_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlIVXL]{1,6})[.)](?=\s+\S)")
_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+(?=\s+\S)")
# Full stops that the breaker would take for the end of a sentence: in abbreviations and ordinals
# ("am 3. März", "der 2. Vorsitzende"; but not "I am 12.").
_ABBREVIATIONS = [form for words in languages().values() for form in words.abbreviations]
_BEFORE_ORDINAL = [word for words in languages().values() for word in words.before_ordinal]
_MONTHS = [name for code, words in languages().items() if code != ENGLISH for name in words.months]
_NO_END = re.compile(
    rf"(?<![\w.])(?:{'|'.join(map(re.escape, _ABBREVIATIONS))})\."
    rf"|(?<!\bI )\b(?i:{'|'.join(_BEFORE_ORDINAL)})\s\d{{1,3}}\.(?=\s\w)"
    rf"|\b\d{{1,2}}\.(?=\s(?:{'|'.join(_MONTHS)})\b)"
)
# Letters of scripts that may have stops of their own; Latin letters and emoji are not among them.
_OTHER_SCRIPTS = re.compile(r"[\u0370-\u1fff\u2c80-\u2dff\ua000-\uabff\U00010000-\U0001dfff]")
_KNOWN_STOP = "。"
BETWEEN_CELLS = " | "  # in a row of a table, which is one sentence
MAX_CELL_CHARS = 250  # on average; longer text with a bar is prose
# A short name, a colon and a value; "9:30" and addresses have no space after the colon.
_NAME_AND_VALUE = re.compile(r"\s*[^\W\d_][^.!?:：。|\n]{0,39}(?::\s+|：\s*)(?=\S)")
MAX_NAME_WORDS = 5
MAX_LINE_CHARS = 20_000
MAX_CACHED_CHARS, MAX_CACHED_TEXTS = 8_000, 512  # longer texts are not cached
QUOTABLE_CHARS = 400  # start of a document from which a quotation is taken
MIN_WORDS = 4  # of a sentence; shorter texts are taken for headings


def sentence_spans(text: str) -> list[Span]:
    """The sentences of ``text``, in order, without the white space and bullets around them.

    Spans do not overlap, are never empty, and together cover every letter of ``text``.
    """
    return list(_cached_spans(text) if len(text) <= MAX_CACHED_CHARS else _spans(text))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _cached_spans(text: str) -> tuple[Span, ...]:
    return _spans(text)


def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        bars = line.group().count(BETWEEN_CELLS)
        if bars and len(line.group()) <= MAX_CELL_CHARS * (bars + 1):
            row = _trim(text, line.start(), line.end())
            spans += [row] if row else []
            continue
        for start, end in _windows(text, line.start(), line.end()):
            bullet = _BULLET.match(text, start, end)
            begin = bullet.end() if bullet and start == line.start() else start
            spans += _split_line(text, begin, end)
    return tuple(spans)


def _windows(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut an overlong line at spaces, so that the buffers of the sentence breaker stay small."""
    windows = []
    while end - start > MAX_LINE_CHARS:
        cut = text.rfind(" ", start + MAX_LINE_CHARS // 2, start + MAX_LINE_CHARS) + 1
        cut = cut or start + MAX_LINE_CHARS
        windows.append((start, cut))
        start = cut
    return [*windows, (start, end)]


def _split_line(text: str, start: int, end: int) -> list[Span]:
    piece = text[start:end].translate(_UNENCODABLE)
    piece = _NO_END.sub(lambda match: f"{match.group()[:-1]},", piece)
    if _OTHER_SCRIPTS.search(piece):
        piece = _other_stops().sub(_KNOWN_STOP, piece)
    if enumerator := _ENUMERATOR.match(piece):
        piece = enumerator.group().replace(".", ",") + piece[enumerator.end() :]
    if not piece.strip():
        return []
    spans: list[Span] = []
    sentence_start = start
    # Only the starts are used: a sentence extends to the next start, so no text is lost.
    borders = [start + begin for begin in _sentence_starts(piece)[1:]] + [end]
    for border in borders:
        if not sentence_start < border <= end:
            continue
        span = _trim(text, sentence_start, border)
        if span:
            spans.append(span)
        sentence_start = border
    return spans


@cache
def _other_stops() -> Any:
    """The stops beyond ASCII by their Unicode property, and the semicolon that Greek asks with."""
    import regex  # noqa: PLC0415 - takes 20 ms, which texts in Latin letters need not wait for

    asked = r"(?<=\p{Greek}{2})[;\u037e](?=\W*(?:\p{Greek}|$))"
    return regex.compile(rf"[\p{{Sentence_Terminal}}--\p{{ASCII}}]|{asked}", regex.V1)


def _sentence_starts(piece: str) -> list[int]:
    """The offsets of the sentences of a line, according to the sentence breaker.

    Calls the C library directly: its Python wrapper computes offsets byte by byte, which took
    longer than all other work on a passage.
    """
    data = piece.encode()
    capacity = 1 << (2 * len(data)).bit_length()  # few sizes, since each is a ctypes type
    out = ctypes.create_string_buffer(capacity)
    begins, ends = (ctypes.c_int32 * capacity)(), (ctypes.c_int32 * capacity)()
    blingfire.blingfire.TextToSentencesWithOffsets(data, len(data), out, begins, ends, capacity)
    offsets = begins[: out.value.count(b"\n") + 1]
    if len(data) == len(piece):
        return offsets
    return [len(data[:offset].decode(errors="ignore")) for offset in offsets]


def _trim(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start=start, end=end) if start < end else None


def is_name_and_value(line: str) -> bool:
    """Whether a line is a name and its value: "Phone: 555 0101"."""
    match = _NAME_AND_VALUE.match(line)
    if match is None or match.group().lstrip()[0].islower():
        return False
    return len(match.group().split()) <= MAX_NAME_WORDS


def enumerator_of(line: str) -> str:
    """The number of a clause or list item that ``line`` begins with: "2.2" of "2.2 Fees"."""
    match = _ENUMERATOR.match(line) or _CLAUSE.match(line)
    return match.group().strip("(). ") if match else ""


def first_sentence(text: str, passage: Span) -> Span:
    """The span, in the document, of the first full sentence of ``text``, whose span is ``passage``.

    A heading is taken only if no sentence follows.
    """
    spans = sentence_spans(text) or [Span(start=0, end=len(text))]
    first = next((span for span in spans if is_sentence(span.of(text))), spans[0])
    return Span(start=passage.start + first.start, end=passage.start + first.end)


def is_sentence(text: str) -> bool:
    """Whether ``text`` is long enough and ends like a sentence, unlike a heading."""
    return len(text.split()) >= MIN_WORDS and text.rstrip("\"'”’)").endswith((".", "!", "…"))


HEAD_CHARS = 300  # at the start of a part that suffice for its title
MAX_TITLE_CHARS = 90
MAX_LEAD_CHARS = 140  # of a title that ends at a colon
WHOLE_SHARE = 0.95  # of a document's text; such a part has the document's title

_HEADING = re.compile(r"(?P<line>[^\n]{1,120}[^\n.!?:,;…])\n\n")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def part_title(span: Span, head: str, title: str, characters: int) -> str:
    """The title of a document's part ``span``."""
    if len(span) >= WHOLE_SHARE * characters and title:
        return shorten(" ".join(title.split()), MAX_TITLE_CHARS)
    return short_title(head)


def short_title(text: str) -> str:
    """A short title for ``text``: its heading, the words before a colon or its first sentence."""
    heading = _HEADING.match(text.lstrip())
    if heading:
        return shorten(" ".join(heading["line"].split()), MAX_TITLE_CHARS)
    line = " ".join(text.split())
    colon = line.find(": ")
    sentence = _SENTENCE_END.search(line)
    end = sentence.start() if sentence else len(line)
    lead = line[:colon] if 0 < colon <= min(end, MAX_LEAD_CHARS) else line[:end]
    return shorten(lead, MAX_TITLE_CHARS).rstrip(" ,;:.")


def shorten(line: str, max_chars: int) -> str:
    """Cut ``line`` at a space, with an ellipsis, if it is longer than ``max_chars`` characters."""
    if len(line) <= max_chars:
        return line
    cut = line.rfind(" ", max_chars // 2, max_chars)
    return line[: cut if cut > 0 else max_chars - 1].rstrip(" ,;:–—-") + "…"


# --- rows of tables ---

EMPTY = "empty"
_BAR = re.compile(r"(?:^|(?<=\s))\|(?=\s|$)")


def cells_of(line: str, columns: Sequence[str] = ()) -> list[str]:
    """The cells of a row; empty cells, which the stored line lacks at its end, are added."""
    cells = [" ".join(cell.split()) for cell in _BAR.split(line)]
    return cells + [""] * (len(columns) - len(cells))


def readable_row(line: str, columns: Sequence[str]) -> str:
    """A row on one line with the name of each column before its cell."""
    cells = cells_of(line, columns)
    pairs = zip_longest(columns, cells, fillvalue="")
    return "; ".join(f"{name}: {cell or EMPTY}" if name else cell for name, cell in pairs)
