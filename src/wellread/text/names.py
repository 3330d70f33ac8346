"""Names as they are compared: what two spellings of one name have in common.

``key_of`` is strict (case, Unicode forms, white space and a leading article do not count);
``loose_key`` also takes hyphens, compounds and plurals of the last word as the same. Addresses
are compared without scheme, ``www.`` and trailing slash.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

_ARTICLES = ("the ", "a ", "an ")
_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_WORD = re.compile(r"[^\W_]+[+#]*")
_BRACKETED = re.compile(r"(?P<outside>[^()]*\S)\s*\((?P<inside>[^()]+)\)")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]{1,5}s?")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_FILE = re.compile(r"\w\.[A-Za-z]{2,5}(?:#|$)")
_PAGE = re.compile(r"/(?:index\.(?:html?|md))?$")


def key_of(name: str) -> str:
    """``name`` without what does not count when two names are compared."""
    plain = name.lower() if name.isascii() else _folded(name)
    plain = " ".join(plain.split())
    for article in _ARTICLES:
        if plain.startswith(article):
            return plain[len(article) :]
    return plain


def loose_key(name: str) -> str:
    """``key_of`` with hyphens, spaces between words and a plural at the end left out."""
    words = _WORD.findall(key_of(name).replace("'s ", " ").removesuffix("'s"))
    if not words:
        return ""
    return "".join([*words[:-1], singular(words[-1]) or words[-1]])


def singular(word: str) -> str:
    """The singular of what looks like an English plural; empty when it does not."""
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
    """Whether ``name`` is 2 to 6 capitals or digits, a plural ``s`` after them included."""
    return _ACRONYM.fullmatch(name) is not None


def bracketed_forms(name: str) -> Iterator[str]:
    """The names in ``Name (ABC)``: what is outside, and what is inside when it is short for it.

    ``Gossip (LN)`` is not called LN: that only says which gossip.
    """
    found = _BRACKETED.fullmatch(name.strip())
    if found:
        yield found["outside"]
        short = found["inside"].strip()
        if is_acronym(short) and _is_short_for(short.removesuffix("s"), found["outside"]):
            yield short


def looks_like_address(name: str) -> bool:
    """Whether ``name`` is a web address, a path or the name of a page's file."""
    return " " not in name and ("/" in name or _FILE.search(name) is not None)


def address_keys(address: str) -> tuple[str, ...]:
    """Keys under which a document with this address is found: with its host, and its path alone."""
    if not address:
        return ()
    whole = address_key(address)
    host, slash, path = whole.partition("/")
    return (whole, slash + path) if host and path and _SCHEME.match(address) else (whole,)


def address_key(address: str) -> str:
    """An address without scheme, ``www.``, the name of an index page and the slash at the end."""
    bare, mark, place = unquote(_SCHEME.sub("", address.strip(), count=1)).partition("#")
    bare = _PAGE.sub("", bare.casefold().removeprefix("www."))
    return f"{bare}{mark}{place}"


def _is_short_for(acronym: str, name: str) -> bool:
    """Whether the letters stand in ``name`` in this order, the first one as its initial."""
    letters = iter(name.casefold())
    return name[:1].casefold() == acronym[:1].casefold() and all(
        letter in letters for letter in acronym.casefold()
    )


def _folded(name: str) -> str:
    composed = unicodedata.normalize("NFKC", name).translate(_QUOTES)
    return unicodedata.normalize("NFKC", composed.casefold())
