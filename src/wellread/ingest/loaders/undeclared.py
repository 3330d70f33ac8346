"""Text in Windows-1252 that does not say so, as old programs of Western Europe write it.

Nearly any bytes can be read as Windows-1252, so it is believed only of a text that then looks
like one: few letters beyond ASCII, none of them a sign in the middle of a word, no control
characters. Whatever else the bytes may be is refused as before. A report says when it was done.
"""

from __future__ import annotations

import re
import unicodedata

from charset_normalizer import from_bytes

NAME = "Windows-1252"
NOTE = f"read as {NAME}, which it does not declare: if letters look wrong, save it as UTF-8"
MOST_BEYOND = 0.3  # share of letters beyond ASCII; French has 4 %, another alphabet nearly all
LOOKED_AT = 100_000  # bytes, by the library that knows many languages

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# A sign that ends a long word or stands inside one was a letter in another encoding: 'by³' is
# Polish. Dashes, apostrophes, dots and the soft hyphen do stand there.
_INSIDE = re.compile(r"[^\W\d_]{2}([^\w\s\x00-\x7f]|[²³¹ºª])(?=[^\W\d_])|[^\W\d_]{3}[²³¹]")
_CAPITAL = re.compile(r"[a-zß-ÿ][À-ÖØ-ÞŠŒŽŸ]")  # 'cafŽ' is a Macintosh's café
_JOINS = frozenset("’‘–—·\u00ad\u00a0…")


def windows_1252(data: bytes) -> str:
    """The text, when ``data`` is such a text; empty when it is something else."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes stand for nothing
        return ""
    beyond = _BEYOND_ASCII.findall(text)
    letters = sum(map(str.isalpha, text))
    foreign = sum(map(str.isalpha, beyond))
    if not beyond or _CONTROLS.search(text) or foreign > MOST_BEYOND * max(letters, 1):
        return ""
    # 0x8D and its like, and marks that stand above other letters.
    if any(unicodedata.category(sign) in ("Cc", "Lm", "Sk") for sign in set(beyond)):
        return ""
    if _CAPITAL.search(text):
        return ""
    if any(found[1] not in _JOINS for found in _INSIDE.finditer(text)):
        return ""
    return text if _is_likely(data) else ""


def _is_likely(data: bytes) -> bool:
    """Whether it is among the encodings that make words of the bytes."""
    matches = list(from_bytes(data[:LOOKED_AT]))
    return not matches or any("cp1252" in one.could_be_from_charset for one in matches)
