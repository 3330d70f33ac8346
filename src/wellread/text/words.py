"""The words, names and numbers of a text, as pure functions; ``parsed.py`` keeps what they find."""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import Stemmer

from wellread.text.english import NEGATIONS, NUMBER_WORDS, REQUESTS, SCALES, STOP_WORDS, UNITS

_WORD = re.compile(r"[^\W_]+(?:['’\-_.][^\W_]+)*")
_JOINT = re.compile(r"[-_.]")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?(?!\w)|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(st|nd|rd|th)$")
# Letters with digits after them, be it behind a hyphen ("mid-1990s" is a year), or before capitals.
_IN_NAME = re.compile(
    r"\b[^\W\d_]+(?:-(?!(?:1[5-9]|20)\d\ds?\b))?\d[\w.]*(?:-\w+)*|\b\d+[A-Z]{1,}[A-Za-z]*\b"
)
_NAME = re.compile(
    r"\b[A-Z][\w’'&.-]*(?:\s+(?:(?:of|the|de|van|von|for|&)\s+)?[A-Z0-9][\w’'&.-]*)*"
)
_QUOTED = re.compile(r"[\"“«`]([^\"”»`]{2,80})[\"”»`]")
# Controls but for tab and line break, spaces of no width, marks and overrides of direction,
# Unicode tags and the second set of variation selectors, in which whole sentences can be hidden.
# Joiners (U+200C, U+200D) stay: some scripts and emoji need them.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# The first word of a question that is no part of a name after it ("Compare the Kittiwake ...").
_OPENERS = STOP_WORDS | REQUESTS


def visible(text: str) -> str:
    """``text`` without characters that only a model reads; its line breaks are ``\\n``."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


# What a terminal obeys, and what turns the order of letters on a screen; joiners stay.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xE0000, 0xE0080),
    )
    if chr(code) not in "\n\t"
}
_CONTROL = re.compile(f"[{''.join(map(re.escape, map(chr, _CONTROLS)))}]")


_BREAK = re.compile("[\n\t\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")


def harmless(text: str) -> str:
    """``text`` with control, direction and hidden characters replaced, one for one."""
    return text.translate(_CONTROLS) if _CONTROL.search(text) else text


def harmless_line(text: str) -> str:
    """``text``, made harmless, without anything that begins another line or column."""
    return harmless(_BREAK.sub("\N{REPLACEMENT CHARACTER}", text))


def escaped_json(told: str) -> str:
    """JSON in which whatever would drive a terminal is written as an escape; its value stays."""
    return _CONTROL.sub(lambda one: _escape(one.group()), told)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"


def words_in(text: str) -> list[str]:
    """All words of ``text`` as written, in order."""
    return _WORD.findall(text)


def plain(word: str) -> str:
    """``word`` in lower case with a straight apostrophe."""
    return word.lower().replace("’", "'")


def stems_in(text: str) -> list[str]:
    """The stems of the content words of ``text``, in order, with repeats.

    A compound with hyphens or points gives its parts too ("tool-library": tool, library).
    """
    found: list[str] = []
    for word in words_in(text):
        if plain(word) in STOP_WORDS:
            continue
        found.append(stem(word))
        parts = _JOINT.split(word)
        if len(parts) > 1:
            found += [stem(part) for part in parts if part and part.lower() not in STOP_WORDS]
    return found


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of ``text`` in one form: ``1,250`` and ``1250`` are one, so are six and 6."""
    found = {_plain_number(match) for match in _NUMBER.findall(text)}
    found |= {NUMBER_WORDS[one.lower()] for one in words_in(text) if one.lower() in NUMBER_WORDS}
    return frozenset(number for number in found if number)


def amounts_in(text: str) -> frozenset[str]:
    """The numbers of ``text`` but for those inside names: COVID-19, B12, 3DES."""
    return numbers_in(_IN_NAME.sub(" ", text))


def names_in(text: str) -> tuple[str, ...]:
    """Capitalised names inside sentences, quoted phrases, and words with digits, as written.

    The first word of the text counts as a name only when it is not an ordinary capital:
    inside capitals, a digit, or a second capitalised word after it.
    """
    found = [match.group(1) for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        name = match.group().rstrip(".,;:'’")
        first, *rest = name.split()
        if first.lower() in _OPENERS and match.start() == _first_letter(text):
            while rest and rest[0].lower() in STOP_WORDS:
                rest = rest[1:]
            name = " ".join(rest)
        elif match.start() == _first_letter(text) and not rest and not _odd_case(first):
            continue
        if name and name.lower() not in STOP_WORDS:
            found.append(name)
    return tuple(dict.fromkeys(found))


def negations_in(text: str) -> int:
    """How many words of ``text`` deny."""
    found = [plain(word) for word in words_in(text)]
    return sum(word in NEGATIONS or word.endswith("n't") for word in found)


def _plain_number(text: str) -> str:
    number = _ORDINAL.sub("", text.replace(",", "")).lstrip("+-")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def _first_letter(text: str) -> int:
    return len(text) - len(text.lstrip(" \t\n\"'“‘(*_-"))


def _odd_case(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word[1:])


LETTERS = {"k": 1e3, "mn": 1e6, "bn": 1e9}
_SCALES = SCALES | LETTERS
_SIGNS = {"$": "dollar", "€": "euro", "£": "pound"}
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?P<sign>[$€£])?(?P<digits>\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(NUMBER_WORDS)})\b)"
    rf"(?:[\s-]?(?P<scale>{'|'.join(_SCALES)})\b)?"
    rf"(?:[\s-]?(?:{'|'.join(f'(?P<u{n}>{form})' for n, form in enumerate(UNITS.values()))})"
    r"(?!\w))?",
    re.IGNORECASE,
)
_NAMES = tuple(UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in a text, with its unit where one of the known ones stands beside it."""

    said: str
    value: float
    unit: str


def quantities_in(text: str) -> Iterator[Quantity]:
    """The numbers of ``text`` in order, each with its unit; empty: none that is known."""
    for match in _QUANTITY.finditer(text):
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        named = next((name for n, name in enumerate(_NAMES) if match[f"u{n}"]), "")
        if match["digits"].lower() == "one":  # "one day" is seldom an amount
            named = ""
        yield Quantity(
            said=" ".join(match.group().split()),
            value=_number(match["digits"]) * scale,
            unit=named or _SIGNS.get(match["sign"] or "", ""),
        )


def _number(digits: str) -> float:
    return float(NUMBER_WORDS.get(digits.lower(), digits).replace(",", ""))


# --- stems: the part that the forms of a word share ("lending", "lends": "lend") ---

# A Snowball stemmer keeps the word at hand in itself, so each thread has its own: one that several
# use at a time fails, or gives the stem of another's word, which a cache would keep for good.
LANGUAGE = "english"
MOST_WORDS = 100_000  # whose stems are kept

_of_thread = threading.local()


@lru_cache(maxsize=MOST_WORDS)
def snowball_stem(word: str) -> str:
    """The stem of one word in lower case (Snowball English; Porter, 2001)."""
    stemmer = getattr(_of_thread, "stemmer", None)
    if stemmer is None:
        # Kept words are kept here already, for all threads.
        stemmer = _of_thread.stemmer = Stemmer.Stemmer(LANGUAGE, 0)
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=MOST_WORDS)
def stem(word: str) -> str:
    """The stem of one word as written: without case, accents and a possessive."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    return snowball_stem(plain if plain.isascii() else unaccented(plain))


def unaccented(word: str) -> str:
    """``word`` without accents: "cafe" and "café" are one word to those who ask."""
    parts = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not "\u0300" <= c <= "\u036f"))
