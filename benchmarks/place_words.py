"""What every check of a place shares: bare letters, the beginning of a quotation, the outcome.

Texts are compared as bare letters and digits (NFKC, lower case), so that white space, hyphens at
line ends and markup signs do not count.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from wellread.types import Locator

BEGINNING = 30  # letters and digits of a quotation that must stand at the place
TIME_SLACK = 0.6  # seconds

Cue = tuple[float, str, str]  # start in seconds, speaker (empty: not named), words
Found = Mapping[str, str]  # "page", "box", "minute", "speaker", "heading", "line", "entry"
# Every check takes the file, the quotation, its locator and the document's address, and returns for
# each fact of the place that can be checked what is wrong with it, or an empty string.
Check = Callable[[Path, str, Locator, str], Found]


def bare(text: str) -> str:
    """Letters and digits alone, NFKC, lower case."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKC", text).lower()
        if character.isalnum()
    )


def beginning(quote: str) -> str:
    """The first letters and digits of ``quote``."""
    return bare(quote)[:BEGINNING]


def strings(value: object) -> Iterator[str]:
    """Every string inside a parsed JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
