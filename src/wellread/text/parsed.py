"""Analyses a text, with a cache: words, stems, sentences, names, numbers and quantities.

``parse`` returns the same :class:`Text` for the same content, so a question or passage is analysed
only once. Each property is computed on first use.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import Stemmer

from wellread.text.characters import with_words
from wellread.text.english import (
    ASKING,
    NEGATIONS,
    NUMBER_WORDS,
    REQUESTS,
    SCALES,
    STOP_WORDS,
    UNITS,
)
from wellread.text.languages import ENGLISH, UNNAMED, code_of, stemmer_of, words_of
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import Phrase, Token, phrases_of, tokens_of
from wellread.types import Span

# Vowels of Indian scripts are marks on letters, which Python counts to no word.
_LETTERS = r"(?:[^\W_]|[\u0900-\u0963\u0966-\u0dff])+"
_WORD = re.compile(rf"{_LETTERS}(?:['’\-_.]{_LETTERS})*")
_JOINT = re.compile(r"[-_.]")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?(?!\w)|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(st|nd|rd|th)$")
# Letters followed by digits, also after a hyphen ("mid-1990s" is a year), or digits and capitals.
_IN_NAME = re.compile(
    r"\b[^\W\d_]+(?:-(?!(?:1[5-9]|20)\d\ds?\b))?\d[\w.]*(?:-\w+)*|\b\d+[A-Z]{1,}[A-Za-z]*\b"
)
_NAME = re.compile(
    r"\b[A-Z][\w’'&.-]*(?:\s+(?:(?:of|the|de|van|von|for|&)\s+)?[A-Z0-9][\w’'&.-]*)*"
)
_QUOTED = re.compile(r"[\"“«`]([^\"”»`]{2,80})[\"”»`]")
# First words of a question, which are not part of a name ("Compare the Kittiwake ...").
_OPENERS = STOP_WORDS | REQUESTS


# Digits in groups of three: 2,900; 2.900; 2 900; 2'900.
_GROUPED = re.compile(r"(?<![\w.,'’])\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3})+(?!\w)")
_LONG_NUMBER = re.compile(r"(?<![\w.,])(?!(?:1[5-9]|20)\d\d(?!\d))[1-9]\d{3,11}(?!\w)")  # no year

_ANY_LONG = re.compile(f"{_GROUPED.pattern}|{_LONG_NUMBER.pattern}")


def ungrouped(text: str) -> str:
    """``text`` with the digits of each long number together; after a space also as written."""
    return _GROUPED.sub(_ungroup, text)


def _ungroup(match: re.Match[str]) -> str:
    number = match.group()
    digits = "".join(filter(str.isdigit, number))
    return f"{number} {digits}" if " " in number else digits


def number_forms(query: str) -> str:
    """``query`` with other ways to write its long numbers, for an index that knows only words."""
    joined = ungrouped(query)
    extra = [joined] if joined != query else []
    for number in _LONG_NUMBER.findall(joined):
        extra += [f"{int(number):,}".replace(",", sign) for sign in ",. "]
    return " ".join([query, *dict.fromkeys(extra)])


def numbers_as_in(question: str, texts: Sequence[str]) -> str:
    """``question`` with each long number written as ``texts`` write it, if they have it."""
    written: dict[str, str] = {}
    for match in _ANY_LONG.finditer("\n".join(texts)):
        written.setdefault("".join(filter(str.isdigit, match.group())), match.group())

    def respelt(match: re.Match[str]) -> str:
        return written.get("".join(filter(str.isdigit, match.group())), match.group())

    return _ANY_LONG.sub(respelt, question) if written else question


def words_in(text: str) -> list[str]:
    """All words of ``text`` as written, in order; pairs of letters of scripts without spaces."""
    return _WORD.findall(with_words(text))


def lowercase(word: str) -> str:
    """``word`` in lower case with a straight apostrophe."""
    return word.lower().replace("’", "'")


def index_text(text: str, languages: Iterable[str]) -> str:
    """``text`` as an index that knows English stems alone has it, and as it is searched.

    Where nothing parts words, groups of letters are words; stems of the other languages follow.
    """
    stems = [
        form
        for language in languages
        if code_of(language) not in UNNAMED and stemmer_of(language)
        for word in words_in(text)
        if (form := stem(word, language)) != unaccented(lowercase(word))
    ]
    return " ".join([with_words(text), *stems])


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of ``text`` in normal form: ``1,250`` becomes ``1250``, and six ``6``."""
    numbers = {_plain_number(match) for match in _NUMBER.findall(text)}
    numbers |= {
        NUMBER_WORDS[word.lower()] for word in words_in(text) if word.lower() in NUMBER_WORDS
    }
    return frozenset(number for number in numbers if number)


def _plain_number(text: str) -> str:
    number = _ORDINAL.sub("", text.replace(",", "")).lstrip("+-")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def _has_inner_capital(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word[1:])


LETTER_SCALES = {"k": 1e3, "mn": 1e6, "bn": 1e9}
_SCALES = SCALES | LETTER_SCALES
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
    """A number in a text, with its unit if a known one is next to it."""

    said: str
    value: float
    unit: str


def quantities_in(text: str) -> Iterator[Quantity]:
    """The numbers of ``text`` in order, each with its unit (empty if unknown)."""
    for match in _QUANTITY.finditer(text):
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        unit = next((name for n, name in enumerate(_NAMES) if match[f"u{n}"]), "")
        digits = match["digits"].lower()
        if digits == "one":  # "one day" is rarely an amount
            unit = ""
        yield Quantity(
            said=" ".join(match.group().split()),
            value=float(NUMBER_WORDS.get(digits, digits).replace(",", "")) * scale,
            unit=unit or _SIGNS.get(match["sign"] or "", ""),
        )


# --- stems: the common part of a word's forms ("lending", "lends": "lend") ---

# A Snowball stemmer is stateful and not thread-safe, so each thread has its own: sharing one could
# return the stem of another thread's word, which the cache would then keep.
MAX_CACHED_STEMS = 100_000

_thread_state = threading.local()


@lru_cache(maxsize=MAX_CACHED_STEMS)
def snowball_stem(word: str, algorithm: str = "english") -> str:
    """The stem of one word in lower case (Snowball; Porter, 2001)."""
    stemmers = _thread_state.__dict__
    if algorithm not in stemmers:
        # 0: no cache of its own, as the cache here serves all threads.
        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
    return str(stemmers[algorithm].stemWord(word))


@lru_cache(maxsize=MAX_CACHED_STEMS)
def stem(word: str, language: str = ENGLISH) -> str:
    """The stem of one word as written; case, accents and a possessive are ignored."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    if language != ENGLISH and (algorithm := stemmer_of(language)):
        return unaccented(snowball_stem(plain, algorithm))  # its rules need the accents
    return snowball_stem(plain if plain.isascii() else unaccented(plain))


def unaccented(word: str) -> str:
    """``word`` without accents, since people type "cafe" for "café"."""
    parts = unicodedata.normalize("NFKD", word)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not "\u0300" <= c <= "\u036f"))


MAX_CACHED_TEXTS = 4_000  # a question needs a few hundred
MAX_CACHED_CHARS = 20_000  # longer texts are not cached


class Text:
    """A text with its analysis in a language; texts with the same content are equal."""

    def __init__(self, content: str, language: str = ENGLISH) -> None:
        self.content = content
        self.language = language

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and other.content == self.content

    def __hash__(self) -> int:
        return hash(self.content)

    def __repr__(self) -> str:
        return f"Text({self.content!r})"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words as written, in order."""
        return tuple(words_in(self.content))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words with their offsets and normalised forms."""
        return tuple(tokens_of(self.content))

    @cached_property
    def phrases(self) -> tuple[Phrase, ...]:
        """The noun phrases in reading order; they do not overlap."""
        return tuple(phrases_of(self.tokens))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The content words in lower case, in order, without repeats."""
        unique_words = dict.fromkeys(map(lowercase, self.words))
        stop_words = words_of(self.language).stop_words
        return tuple(word for word in unique_words if word not in stop_words)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of the content words, in order, with repeats.

        A compound with hyphens or points also gives the stems of its parts ("tool-library").
        """
        stems: list[str] = []
        language, stop_words = self.language, words_of(self.language).stop_words
        for word in words_in(ungrouped(self.content)):
            if lowercase(word) in stop_words:
                continue
            stems.append(stem(word, language))
            parts = [part for part in _JOINT.split(word) if part]
            if len(parts) > 1:
                stems += [stem(part, language) for part in parts if part.lower() not in stop_words]
        return tuple(stems)

    @cached_property
    def stem_set(self) -> frozenset[str]:
        """The stems, each once."""
        return frozenset(self.stems)

    @cached_property
    def topic_stems(self) -> tuple[str, ...]:
        """The stems without words of asking ("the latest news on ..."); all if none are left."""
        return tuple(stem for stem in self.stems if stem not in _asking_stems()) or self.stems

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences in order; they do not overlap and cover every letter."""
        return tuple(
            Sentence(span=span, text=parse(span.of(self.content), self.language))
            for span in sentence_spans(self.content)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Capitalised names inside sentences, quoted phrases, and words with digits, as written.

        The first word of the text counts only if it has inner capitals or a digit, or if another
        capitalised word follows.
        """
        begin = len(self.content) - len(self.content.lstrip(" \t\n\"'“‘(*_-"))
        names = [match.group(1) for match in _QUOTED.finditer(self.content)]
        for match in _NAME.finditer(self.content):
            name = match.group().rstrip(".,;:'’")
            first, *rest = name.split()
            if first.lower() in _OPENERS and match.start() == begin:
                while rest and rest[0].lower() in STOP_WORDS:
                    rest = rest[1:]
                name = " ".join(rest)
            elif match.start() == begin and not rest and not _has_inner_capital(first):
                continue
            if name and name.lower() not in STOP_WORDS:
                names.append(name)
        return tuple(dict.fromkeys(names))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in normal form; see ``numbers_in``."""
        return numbers_in(self.content)

    @cached_property
    def amounts(self) -> frozenset[str]:
        """The numbers except those inside names: COVID-19, B12, 3DES."""
        return numbers_in(_IN_NAME.sub(" ", self.content))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers in order, with their units if known."""
        return tuple(quantities_in(self.content))

    @cached_property
    def negations(self) -> int:
        """The number of negations."""
        words = map(lowercase, self.words)
        return sum(word in NEGATIONS or word.endswith("n't") for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a text: its span, and its own analysis."""

    span: Span
    text: Text


def parse(content: str, language: str = ENGLISH) -> Text:
    """The analysis of ``content``, cached unless it is very long."""
    if len(content) <= MAX_CACHED_CHARS:
        return _cached(content, language)
    return Text(content, language)


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _cached(content: str, language: str) -> Text:
    return Text(content, language)


@cache
def _asking_stems() -> frozenset[str]:
    return frozenset(map(stem, ASKING))
