"""Splits text into sentences with exact character spans.

A line break is always a boundary, since loaders join the lines of a paragraph. Within a line the
blingfire sentence breaker decides. It knows English abbreviations, initials and decimal points;
further abbreviations and German ordinals are masked here.
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

import blingfire

from wellread.types import Span

# Lone surrogates have no UTF-8 form and NUL ends a C string; each is replaced by one character,
# so that offsets do not change.
_UNENCODABLE = dict.fromkeys([0, *range(0xD800, 0xE000)], " ")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LEAD = re.compile(r"\s*(?:[-*•‣▪]\s+|\d{1,3}[.)]\s+(?=\S))?")
# Full stops that the breaker would take for the end of a sentence: in abbreviations, and in German
# ordinals ("am 3. März", "der 2. Vorsitzende"; but not "I am 12.").
_SHORT = (
    "Dr Mr Mrs Ms Prof Rev Gen Col Capt Lt Sgt Hon Fig Figs Eq Eqs Sec cf vs e.g i.e "
    "Abs Bd Mio Mrd Nr Str Tsd bzgl bzw ca evtl geb ggf inkl"
).split()
_BEFORE_ORDINAL = "der die das dem den des am im zum zur vom beim seit ab bis".split()
_GERMAN_MONTHS = (  # loading them from babel takes 20 ms
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
).split()
_NO_END = re.compile(
    rf"(?<![\w.])(?:{'|'.join(map(re.escape, _SHORT))})\."
    rf"|(?<!\bI )\b(?i:{'|'.join(_BEFORE_ORDINAL)})\s\d{{1,3}}\.(?=\s\w)"
    rf"|\b\d{{1,2}}\.(?=\s(?:{'|'.join(_GERMAN_MONTHS)})\b)"
)
LONGEST_LINE = 20_000
LONGEST_KEPT, MOST_KEPT = 8_000, 512  # characters of a cached text; cached texts
QUOTED = 400  # characters at the start of a document from which a quotation is taken
SENTENCE_WORDS = 4  # least number of words in a quoted sentence


def sentence_spans(text: str) -> list[Span]:
    """The sentences of ``text``, in order, without the white space and bullets around them.

    Spans do not overlap, are never empty, and together cover every letter of ``text``.
    """
    return list(_cached_spans(text) if len(text) <= LONGEST_KEPT else _spans(text))


@lru_cache(maxsize=MOST_KEPT)
def _cached_spans(text: str) -> tuple[Span, ...]:
    return _spans(text)


def _spans(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        for start, end in _windows(text, line.start(), line.end()):
            lead = _LEAD.match(text, start, end)
            begin = lead.end() if lead and start == line.start() else start
            spans += _break(text, begin, end)
    return tuple(spans)


def _windows(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut an overlong line at spaces, so that the breaker's buffers stay small."""
    windows = []
    while end - start > LONGEST_LINE:
        cut = text.rfind(" ", start + LONGEST_LINE // 2, start + LONGEST_LINE) + 1
        cut = cut or start + LONGEST_LINE
        windows.append((start, cut))
        start = cut
    return [*windows, (start, end)]


def _break(text: str, start: int, end: int) -> list[Span]:
    piece = text[start:end].translate(_UNENCODABLE)
    piece = _NO_END.sub(lambda match: f"{match.group()[:-1]},", piece)
    if not piece.strip():
        return []
    spans: list[Span] = []
    place = start
    # Only the starts are used: a sentence extends to the next start, so no text is lost.
    borders = [start + begin for begin in _begins(piece)[1:]] + [end]
    for border in borders:
        if not place < border <= end:
            continue
        span = _trim(text, place, border)
        if span:
            spans.append(span)
        place = border
    return spans


def _begins(piece: str) -> list[int]:
    """The offsets at which the breaker begins the sentences of a line.

    Calls the C library directly: its Python wrapper computes offsets byte by byte, which took
    longer than all other work on a passage.
    """
    data = piece.encode()
    room = 1 << (2 * len(data)).bit_length()  # few sizes, since each is a ctypes type
    out = ctypes.create_string_buffer(room)
    begins, ends = (ctypes.c_int32 * room)(), (ctypes.c_int32 * room)()
    blingfire.blingfire.TextToSentencesWithOffsets(data, len(data), out, begins, ends, room)
    places = begins[: out.value.count(b"\n") + 1]
    if len(data) == len(piece):
        return places
    return [len(data[:place].decode(errors="ignore")) for place in places]


def _trim(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start=start, end=end) if start < end else None


def first_sentence(text: str, place: Span) -> Span:
    """The span, in the document, of the first whole sentence of ``text``, found at ``place``.

    A heading is taken only if no sentence follows.
    """
    spans = sentence_spans(text) or [Span(start=0, end=len(text))]
    first = next((span for span in spans if is_sentence(span.of(text))), spans[0])
    return Span(start=place.start + first.start, end=place.start + first.end)


def is_sentence(text: str) -> bool:
    """Whether ``text`` is long enough and ends like a sentence, unlike a heading."""
    return len(text.split()) >= SENTENCE_WORDS and text.rstrip("\"'”’)").endswith((".", "!", "…"))


HEAD = 300  # characters at the start of a part that suffice to name it
LONGEST_TITLE = 90  # characters
LONGEST_LEAD = 140  # characters up to which a colon ends a title
WHOLE = 0.95  # share of a document's text from which a part counts as the whole document

_HEADING = re.compile(r"(?P<line>[^\n]{1,120}[^\n.!?:,;…])\n\n")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def part_title(span: Span, head: str, title: str, characters: int) -> str:
    """The title of a document's part ``span``."""
    if len(span) >= WHOLE * characters and title:
        return shorten(" ".join(title.split()), LONGEST_TITLE)
    return short_title(head)


def short_title(text: str) -> str:
    """A short title for ``text``: its heading line, the words before a colon or its sentence."""
    heading = _HEADING.match(text.lstrip())
    if heading:
        return shorten(" ".join(heading["line"].split()), LONGEST_TITLE)
    line = " ".join(text.split())
    colon = line.find(": ")
    sentence = _SENTENCE_END.search(line)
    end = sentence.start() if sentence else len(line)
    lead = line[:colon] if 0 < colon <= min(end, LONGEST_LEAD) else line[:end]
    return shorten(lead, LONGEST_TITLE).rstrip(" ,;:.")


def shorten(line: str, most: int) -> str:
    """Cut ``line`` at a space, with an ellipsis, if it is longer than ``most`` characters."""
    if len(line) <= most:
        return line
    cut = line.rfind(" ", most // 2, most)
    return line[: cut if cut > 0 else most - 1].rstrip(" ,;:–—-") + "…"
