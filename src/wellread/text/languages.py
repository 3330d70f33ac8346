"""Names the language of a text, and loads the words of each language that has a file.

A language with words of its own is one file, ``data/<code>/words.toml``; every other one has stems
(Snowball), if there is an algorithm for it. English is told by its stop words, so a base in
English rarely loads the model (py3langid: 0.8 s and 80 MB), and its questions never do.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import Stemmer

ENGLISH = "en"
UNNAMED = frozenset({"", ENGLISH})
MIN_BYTES = 20  # of a document's words; fewer tell too little (a Chinese character is three)
MAX_CHARS = 4_000  # of a text that are read
# The share of English stop words of three letters or more: 0.25 in English prose, and below 0.1 in
# languages that share some of them. Below this the model is asked.
MIN_ENGLISH = 0.13
MIN_PROBABILITY = 0.5  # of the best of 140 languages; lists of names have less
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of a language. ``in_english`` has its words of asking, and those of English."""

    months: tuple[str, ...]
    abbreviations: tuple[str, ...]
    before_ordinal: tuple[str, ...]
    function_words: frozenset[str]
    stop_words: frozenset[str]
    in_english: Mapping[str, str]


@cache
def word_lists(language: str) -> dict[str, Any]:
    """The lists and tables in the file of a language."""
    file = resources.files(__package__) / "data" / language / "words.toml"
    return tomllib.loads(file.read_text("utf-8"))


@cache
def languages() -> dict[str, Words]:
    """The words by code of every language that has a file."""
    folders = sorted(folder.name for folder in (resources.files(__package__) / "data").iterdir())
    return {code: _words(word_lists(code)) for code in folders}


def _words(lists: Mapping[str, Any]) -> Words:
    function_words = frozenset(lists["FUNCTION_WORDS"].split())
    return Words(
        months=tuple(lists["MONTHS"].split()),
        abbreviations=tuple(lists["ABBREVIATIONS"].split()),
        before_ordinal=tuple(lists["BEFORE_ORDINAL"].split()),
        function_words=function_words,
        stop_words=function_words | frozenset(lists["QUESTION_FILLERS"].split()),
        in_english=lists.get("IN_ENGLISH", {}),
    )


def words_of(language: str) -> Words:
    """The words of a language; those of English for one without a file."""
    return languages().get(code_of(language)) or languages()[ENGLISH]


def code_of(language: str) -> str:
    """The code without region or script: "de" of "de-AT"."""
    return re.split(r"[-_]", language.lower(), maxsplit=1)[0]


@cache
def stemmer_of(language: str) -> str:
    """The name of the Snowball algorithm for a language; empty without one."""
    names = word_lists(ENGLISH)["LANGUAGES"].items()
    named = (name for name, code in names if code == code_of(language))
    return next((name for name in named if name in Stemmer.algorithms()), "")


def language_of(text: str, among: Iterable[str]) -> str:
    """The language of a question: English or one of ``among``, the languages of the material."""
    codes = {code_of(language) for language in among}
    if codes <= UNNAMED:
        return ENGLISH
    ranked = (code for code, _ in _identifier().rank(text) if code == ENGLISH or code in codes)
    return next(ranked, ENGLISH)


def document_language(text: str) -> str:
    """The code of the language that ``text`` is written in; empty when too little of it tells."""
    text = text[:MAX_CHARS]
    words = [word.lower() for word in WORD.findall(text)]
    if sum(len(word.encode()) for word in words) < MIN_BYTES:
        return ""
    english = words_of(ENGLISH).stop_words
    if sum(len(word) > 2 and word in english for word in words) >= MIN_ENGLISH * len(words):
        return ENGLISH
    code, probability = _identifier().classify(text)
    return str(code) if probability >= MIN_PROBABILITY and len(code) == 2 else ""


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - see above

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _asking(language: str) -> re.Pattern[str] | None:
    forms = sorted(words_of(language).in_english, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, forms))})\b") if forms else None


def in_english(question: str, language: str) -> str:
    """``question`` with its words of asking in English, for rules that know English."""
    pattern, english = _asking(language), words_of(language).in_english
    return pattern.sub(lambda m: english[m.group()], question.lower()) if pattern else question
