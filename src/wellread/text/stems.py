"""Word stems: the part that the forms of a word share ("lending", "lends": "lend").

A Snowball stemmer keeps the word at hand in itself, so one that several threads use at a time
fails, or gives the stem of another thread's word, which a cache would keep for good. Each thread
has its own.
"""

from __future__ import annotations

import threading
import unicodedata
from functools import lru_cache

import Stemmer

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
