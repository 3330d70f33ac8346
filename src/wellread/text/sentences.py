"""Sentence borders, with exact character spans.

A line break is always a border (loaders join the lines of a paragraph), inside a line the
blingfire sentence breaker decides; it knows abbreviations, initials and decimal points of English,
and of German what is hidden from it here.
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

import blingfire

from wellread.types import Span

# Lone surrogates have no UTF-8 form and NUL ends a C string; one character stands in for each,
# so that offsets stay.
_UNSPEAKABLE = dict.fromkeys([0, *range(0xD800, 0xE000)], " ")
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_LEAD = re.compile(r"\s*(?:[-*•‣▪]\s+|\d{1,3}[.)]\s+(?=\S))?")
# Full stops that the breaker would take for a sentence's end: of abbreviations, and of ordinals,
# which German writes as "am 3. März" and "der 2. Vorsitzende" ("I am 12." is no such).
_SHORT = (
    "Dr Mr Mrs Ms Prof Rev Gen Col Capt Lt Sgt Hon Fig Figs Eq Eqs Sec cf vs e.g i.e "
    "Abs Bd Mio Mrd Nr Str Tsd bzgl bzw ca evtl geb ggf inkl"
).split()
_BEFORE_ORDINAL = "der die das dem den des am im zum zur vom beim seit ab bis".split()
_GERMAN_MONTHS = (  # babel takes 20 ms to tell them
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
).split()
_NO_END = re.compile(
    rf"(?<![\w.])(?:{'|'.join(map(re.escape, _SHORT))})\."
    rf"|(?<!\bI )\b(?i:{'|'.join(_BEFORE_ORDINAL)})\s\d{{1,3}}\.(?=\s\w)"
    rf"|\b\d{{1,2}}\.(?=\s(?:{'|'.join(_GERMAN_MONTHS)})\b)"
)
LONGEST_LINE = 20_000
LONGEST_KEPT, MOST_KEPT = 8_000, 512  # characters of a text whose sentences are remembered; texts
QUOTED = 400  # characters of a document's beginning that a quotation is taken from
SENTENCE_WORDS = 4  # at least, of what is quoted as a sentence


def sentence_spans(text: str) -> list[Span]:
    """The sentences of ``text``, in order, without the white space and bullets around them.

    Spans do not overlap, are never empty, and together cover every letter of ``text``.
    """
    return list(_kept(text) if len(text) <= LONGEST_KEPT else _spans(text))


@lru_cache(maxsize=MOST_KEPT)
def _kept(text: str) -> tuple[Span, ...]:
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
    piece = text[start:end].translate(_UNSPEAKABLE)
    piece = _NO_END.sub(lambda found: f"{found.group()[:-1]},", piece)
    if not piece.strip():
        return []
    found: list[Span] = []
    place = start
    # Only the starts are trusted: a sentence reaches to the next one, so nothing falls between.
    borders = [start + begin for begin in _begins(piece)[1:]] + [end]
    for border in borders:
        if not place < border <= end:
            continue
        span = _trim(text, place, border)
        if span:
            found.append(span)
        place = border
    return found


def _begins(piece: str) -> list[int]:
    """Where the sentences of a line begin, as the breaker sees them.

    Its library is asked itself: the package around it looks for the places byte by byte in
    Python, which took longer than all other work on a passage.
    """
    given = piece.encode()
    room = 1 << (2 * len(given)).bit_length()  # of few sizes, as each is a type of its own
    said = ctypes.create_string_buffer(room)
    begins, ends = (ctypes.c_int32 * room)(), (ctypes.c_int32 * room)()
    blingfire.blingfire.TextToSentencesWithOffsets(given, len(given), said, begins, ends, room)
    places = begins[: said.value.count(b"\n") + 1]
    if len(given) == len(piece):
        return places
    return [len(given[:place].decode(errors="ignore")) for place in places]


def _trim(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start=start, end=end) if start < end else None


def first_sentence(text: str, place: Span) -> Span:
    """The first whole sentence of ``text``, which stands at ``place`` of its document.

    A heading says less than the sentence after it, so it is taken only where nothing follows.
    """
    spans = sentence_spans(text) or [Span(start=0, end=len(text))]
    first = next((span for span in spans if is_sentence(span.of(text))), spans[0])
    return Span(start=place.start + first.start, end=place.start + first.end)


def is_sentence(text: str) -> bool:
    """Whether ``text`` is long enough and ends as a sentence does, unlike a heading."""
    return len(text.split()) >= SENTENCE_WORDS and text.rstrip("\"'”’)").endswith((".", "!", "…"))


HEAD = 300  # characters of a part that are enough to name it
LONGEST_TITLE = 90  # characters
LONGEST_LEAD = 140  # characters: a colon after more than this does not end a title
WHOLE = 0.95  # of a document's text: a part that holds this share is the document

_HEADING = re.compile(r"(?P<line>[^\n]{1,120}[^\n.!?:,;…])\n\n")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def headline(span: Span, head: str, title: str, characters: int) -> str:
    """What the part ``span`` of a document is called.

    Args:
        head: the first ``HEAD`` characters of the part.
        title: that of the document, which stands for a part that is nearly all of it.
        characters: length of the document's text.
    """
    if len(span) >= WHOLE * characters and title:
        return shortened(" ".join(title.split()), LONGEST_TITLE)
    return lead_of(head)


def lead_of(text: str) -> str:
    """A heading line on top, else the words before the first colon, else the first sentence.

    One line of at most ``LONGEST_TITLE`` characters.
    """
    heading = _HEADING.match(text.lstrip())
    if heading:
        return shortened(" ".join(heading["line"].split()), LONGEST_TITLE)
    line = " ".join(text.split())
    colon = line.find(": ")
    sentence = _SENTENCE_END.search(line)
    end = sentence.start() if sentence else len(line)
    lead = line[:colon] if 0 < colon <= min(end, LONGEST_LEAD) else line[:end]
    return shortened(lead, LONGEST_TITLE).rstrip(" ,;:.")


def shortened(line: str, most: int) -> str:
    """``line``, cut at a space with an ellipsis when it is longer than ``most`` characters."""
    if len(line) <= most:
        return line
    cut = line.rfind(" ", most // 2, most)
    return line[: cut if cut > 0 else most - 1].rstrip(" ,;:–—-") + "…"
