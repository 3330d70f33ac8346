"""Keys for comparing names and web addresses, and English plurals and acronyms.

``key_of`` is strict (it ignores case, Unicode forms, white space and a leading article);
``loose_key`` also ignores hyphens, spaces and a plural of the last word. Addresses are compared
without scheme, ``www.`` and trailing slash.
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
    """The strict key of ``name``; see the module."""
    plain = name.lower() if name.isascii() else _casefolded(name)
    plain = " ".join(plain.split())
    for article in _ARTICLES:
        if plain.startswith(article):
            return plain[len(article) :]
    return plain


def loose_key(name: str) -> str:
    """The loose key of ``name``; see the module."""
    words = _WORD.findall(key_of(name).replace("'s ", " ").removesuffix("'s"))
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

    LN is not a name of ``Gossip (LN)``: it only says which gossip.
    """
    match = _BRACKETED.fullmatch(name.strip())
    if match:
        yield match["outside"]
        short = match["inside"].strip()
        if is_acronym(short) and _is_short_for(short.removesuffix("s"), match["outside"]):
            yield short


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
    bare, mark, place = unquote(_SCHEME.sub("", address.strip(), count=1)).partition("#")
    bare = _PAGE.sub("", bare.casefold().removeprefix("www."))
    return f"{bare}{mark}{place}"


def _is_short_for(acronym: str, name: str) -> bool:
    """Whether ``name`` contains the letters in this order and begins with the first one."""
    letters = iter(name.casefold())
    return name[:1].casefold() == acronym[:1].casefold() and all(
        letter in letters for letter in acronym.casefold()
    )


def _casefolded(name: str) -> str:
    composed = unicodedata.normalize("NFKC", name).translate(_QUOTES)
    return unicodedata.normalize("NFKC", composed.casefold())
