"""The words of a question with their places, and the key under which spellings are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.text.names import singular

_WORD = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*[+#]*")
_POSSESSIVE = re.compile(r"['’ʼ]s$", re.IGNORECASE)
_APOSTROPHE = re.compile(r"['’ʼ]")
# What may stand between two words of one name: "co-create", "OP_CAT", "newsletter #80".
_INSIDE = re.compile(r"[\s\-‐‑–_#/&:.()'’\"“”]{0,3}")
_SENTENCE_END = re.compile(r"[.:]\s")
_BRITISH = re.compile(r"(?<=\w{3})is(e[drs]?|ers|ing|ations?)$")
ARTICLES = frozenset({"the", "a", "an"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word as written; ``plain`` is what it is compared by (no accents, no possessive)."""

    start: int
    end: int
    written: str
    plain: str
    joined: bool  # whether nothing but a space or a hyphen divides it from the word before


def tokens_of(text: str) -> list[Token]:
    """The words of ``text`` in order."""
    found: list[Token] = []
    for match in _WORD.finditer(text):
        written = _POSSESSIVE.sub("", match.group())
        gap = text[found[-1].end : match.start()] if found else "?"
        found.append(
            Token(
                start=match.start(),
                end=match.end(),
                written=written,
                plain=plain(written),
                joined=_INSIDE.fullmatch(gap) is not None and not _SENTENCE_END.search(gap),
            )
        )
    return found


def plain_at(tokens: Sequence[Token], place: int) -> str:
    """The plain word at ``place``; empty before the first and after the last."""
    return tokens[place].plain if 0 <= place < len(tokens) else ""


def plain(word: str) -> str:
    """``word`` in lower case without accents and apostrophes; "organise" is "organize"."""
    if word.isascii():
        bare = word.lower()
    else:
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
        bare = "".join(char for char in apart if not unicodedata.combining(char))
    return _BRITISH.sub(r"iz\1", _APOSTROPHE.sub("", bare))


def key_of(name: str) -> str:
    """What two spellings of a name have in common: no case, accents, gaps, article, plural."""
    words = [token.plain for token in tokens_of(name)]
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return key_of_words(words)


def key_of_words(words: list[str]) -> str:
    """``key_of`` for words that are plain already; the article is not looked for."""
    return "".join([*words[:-1], singular(words[-1]) or words[-1]]) if words else ""
