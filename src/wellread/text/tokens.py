"""Splits text into words and noun phrases, and makes keys for comparing names and addresses.

``key_of`` ignores gaps, accents and plurals; ``strict_key`` only case, Unicode forms, white space
and a leading article; ``loose_key`` also hyphens and a plural of the last word.

A noun phrase is a run of content words after an article, a preposition, a form of "be" or an
auxiliary, without the verb that follows an auxiliary's subject.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from wellread.text.english import (
    AUXILIARIES,
    BE,
    DETERMINERS,
    EMPTY_HEADS,
    PARTICIPLES,
    PREPOSITIONS,
    STOP_WORDS,
)
from wellread.types import Span

_ARTICLES = ("the ", "a ", "an ")
_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_NAME_WORD = re.compile(r"[^\W_]+[+#]*")
_BRACKETED = re.compile(r"(?P<outside>[^()]*\S)\s*\((?P<inside>[^()]+)\)")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]{1,5}s?")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FILE = re.compile(r"\w\.[A-Za-z]{2,5}(?:#|$)")
_PAGE = re.compile(r"/(?:index\.(?:html?|md))?$")


def strict_key(name: str) -> str:
    """The strict key of ``name``; see the module."""
    plain = name.lower() if name.isascii() else _casefolded(name)
    plain = " ".join(plain.split())
    for article in _ARTICLES:
        if plain.startswith(article):
            return plain[len(article) :]
    return plain


def loose_key(name: str) -> str:
    """The loose key of ``name``; see the module."""
    words = _NAME_WORD.findall(strict_key(name).replace("'s ", " ").removesuffix("'s"))
    if not words:
        return ""
    return "".join([*words[:-1], singular(words[-1]) or words[-1]])


def singular(word: str) -> str:
    """The singular of an apparent English plural; empty if ``word`` does not look like one."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return ""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]


def plural(word: str) -> str:
    """The regular English plural of ``word``."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def is_acronym(name: str) -> bool:
    """Whether ``name`` is 2 to 6 capitals or digits, optionally with a plural ``s``."""
    return _ACRONYM.fullmatch(name) is not None


def bracketed_forms(name: str) -> Iterator[str]:
    """The names in ``Name (ABC)``: the part outside, and the part inside if it abbreviates it.

    "LN" is no name of "Gossip (LN)", as it does not abbreviate "Gossip".
    """
    match = _BRACKETED.fullmatch(name.strip())
    if match:
        yield match["outside"]
        short_form = match["inside"].strip()
        if is_acronym(short_form) and _is_short_for(short_form.removesuffix("s"), match["outside"]):
            yield short_form


def looks_like_address(name: str) -> bool:
    """Whether ``name`` is a web address, a path or a file name."""
    return " " not in name and ("/" in name or _FILE.search(name) is not None)


def address_keys(address: str) -> tuple[str, ...]:
    """The look-up keys of an address: with its host, and its path alone."""
    if not address:
        return ()
    full_key = address_key(address)
    host, slash, path = full_key.partition("/")
    return (full_key, slash + path) if host and path and _SCHEME.match(address) else (full_key,)


def address_key(address: str) -> str:
    """``address`` without scheme, ``www.``, index page and trailing slash."""
    path, mark, fragment = unquote(_SCHEME.sub("", address.strip(), count=1)).partition("#")
    path = _PAGE.sub("", path.casefold().removeprefix("www."))
    return f"{path}{mark}{fragment}"


def _is_short_for(acronym: str, name: str) -> bool:
    """Whether ``name`` contains the letters in this order and begins with the first one."""
    letters = iter(name.casefold())
    return name[:1].casefold() == acronym[:1].casefold() and all(
        letter in letters for letter in acronym.casefold()
    )


def _casefolded(name: str) -> str:
    composed = unicodedata.normalize("NFKC", name).translate(_QUOTES)
    return unicodedata.normalize("NFKC", composed.casefold())


_WORD = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*[+#]*")
_POSSESSIVE = re.compile(r"['’ʼ]s$", re.IGNORECASE)
_APOSTROPHE = re.compile(r"['’ʼ]")
# Allowed between two words of a name: "co-create", "OP_CAT", "newsletter #80".
_GAP_IN_NAME = re.compile(r"[\s\-‐‑–_#/&:.()'’\"“”]{0,3}")
_SENTENCE_END = re.compile(r"[.:]\s")
_BRITISH = re.compile(r"(?<=\w{3})is(e[drs]?|ers|ing|ations?)$")
ARTICLES = frozenset({"the", "a", "an"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word as written; ``plain`` is its form for comparison (no accents, no possessive)."""

    start: int
    end: int
    written: str
    plain: str
    joined: bool  # only spaces or punctuation inside names separate it from the previous word


def tokens_of(text: str) -> list[Token]:
    """The words of ``text`` in order."""
    tokens: list[Token] = []
    for match in _WORD.finditer(text):
        written = _POSSESSIVE.sub("", match.group())
        gap = text[tokens[-1].end : match.start()] if tokens else "?"
        tokens.append(
            Token(
                start=match.start(),
                end=match.end(),
                written=written,
                plain=normalise(written),
                joined=_GAP_IN_NAME.fullmatch(gap) is not None and not _SENTENCE_END.search(gap),
            )
        )
    return tokens


def plain_at(tokens: Sequence[Token], index: int) -> str:
    """The plain word at ``index``; empty outside the text."""
    return tokens[index].plain if 0 <= index < len(tokens) else ""


def normalise(word: str) -> str:
    """``word`` in lower case without accents and apostrophes; "organise" becomes "organize"."""
    if word.isascii():
        folded = word.lower()
    else:
        decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
        folded = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _BRITISH.sub(r"iz\1", _APOSTROPHE.sub("", folded))


def key_of(name: str) -> str:
    """A key for comparing names: without case, accents, gaps, leading article and plural."""
    words = [token.plain for token in tokens_of(name)]
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return key_of_words(words)


def key_of_words(words: list[str]) -> str:
    """``key_of`` for words that are plain already and have no article."""
    return "".join([*words[:-1], singular(words[-1]) or words[-1]]) if words else ""


# --- noun phrases ---

MAX_PHRASE_WORDS = 5
_ADVERB = re.compile(r"\w{3,}ly$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun phrase; ``span`` includes its article, ``bare`` does not."""

    span: Span
    bare: Span
    head: str  # its last word, plain
    definite: bool


def phrases_of(tokens: Sequence[Token]) -> list[Phrase]:
    """The noun phrases of a text in reading order, without overlaps."""
    phrases: list[Phrase] = []
    index = 0
    while index < len(tokens):
        end, phrase = _phrase_at(tokens, index)
        if phrase is not None:
            phrases.append(phrase)
        index = max(end, index + 1)
    return phrases


def _phrase_at(tokens: Sequence[Token], index: int) -> tuple[int, Phrase | None]:
    """The next index to look at, and the phrase that the word at ``index`` introduces, if any."""
    word = tokens[index].plain
    start = index + 1
    if word in DETERMINERS:
        opener = tokens[index - 1].plain if index else ""
    elif word in PREPOSITIONS or word in BE or word in AUXILIARIES or word in ("what", "which"):
        if start < len(tokens) and tokens[start].plain in DETERMINERS:
            return index + 1, None  # the article will introduce it
        opener = word
    else:
        return index + 1, None
    run = list(_content_words(tokens, start))
    following = tokens[start + len(run)].plain if start + len(run) < len(tokens) else ""
    if run and _ends_in_verb(tokens, opener, len(run), following, at_start=index <= 1):
        has_object = tokens[run[-1]].plain.endswith("s") and len(run) > 2 and opener in AUXILIARIES
        run = run[: -2 if has_object else -1]  # drop "identify bots" or "identify"
    if word in ("what", "which") and len(run) > 1:  # "which libraries lend tools"
        plurals = [n for n, at in enumerate(run) if tokens[at].plain.endswith("s")]
        run = run[: plurals[0] + 1] if plurals else run
    if not run or (len(run) == 1 and tokens[run[0]].plain in EMPTY_HEADS):
        return index + 1, None
    first, last = tokens[run[0]], tokens[run[-1]]
    bare = Span(start=first.start, end=last.start + len(last.written))
    begin = tokens[index].start if word in DETERMINERS else bare.start
    return run[-1] + 1, Phrase(
        span=Span(start=begin, end=bare.end),
        bare=bare,
        head=last.plain,
        definite=word == "the",
    )


def _content_words(tokens: Sequence[Token], start: int) -> Iterator[int]:
    for index in range(start, min(len(tokens), start + MAX_PHRASE_WORDS)):
        token = tokens[index]
        if index > start and not token.joined:
            return
        if token.plain in STOP_WORDS or token.plain in PREPOSITIONS:
            return
        if index == start and token.plain.endswith("ed") and tokens[index - 1].plain in BE:
            return
        is_verb = token.plain.endswith("ed") and len(token.plain) > 4 and token.written[0].islower()
        if index > start and (is_verb or token.plain in PARTICIPLES or _ADVERB.match(token.plain)):
            return
        yield index


def _ends_in_verb(
    tokens: Sequence[Token], opener: str, length: int, following: str, *, at_start: bool
) -> bool:
    """Whether the last word of a run of content words is the main verb of the auxiliary."""
    if opener in AUXILIARIES:
        if following in PARTICIPLES or following.endswith("ed"):
            return False
        return following not in ("have", "be", "get", "make", "do", "give", "need", "know")
    return opener in BE and at_start and length > 1 and tokens[0].plain in BE
