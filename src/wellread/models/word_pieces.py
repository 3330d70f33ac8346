"""Tokenises text into BERT (uncased) word pieces with blingfire.

blingfire's last release was in 2021, so only this module may call it for word pieces, to keep it
replaceable. Its ids equal those of the model's own tokenizer, except that a word of more than 100
letters is split here where the original gives one ``[UNK]``.

Every function takes any Python string. Lone surrogates are dropped, as BERT drops characters it
cannot read; blingfire would refuse the whole text.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError

CLS = 101
SEP = 102
UNKNOWN = 100
VOCABULARY = 30_522
VOCABULARY_FILE = "bert_base_tok.bin"
MAX_SECTION_CHARS = 32_768
"""Length of the text passed to blingfire at once: beyond some megabytes the cost of its buffers
grows faster than the text."""
MIN_SECTION_CHARS = 512
"""Characters: longer than any real word, so that a section ends at white space."""
CHARACTERS_PER_PIECE = 8
"""A generous estimate of the text that gives a number of pieces (English has 4 to 5)."""

_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
)
_LOADING = threading.Lock()


def word_pieces(texts: Sequence[str], max_length: int) -> list[NDArray[np.int32]]:
    """Return the first ``max_length`` ids of each text, without ``[CLS]`` and ``[SEP]``.

    Thread-safe. A text without a word gives an empty array.
    """
    return [_first_pieces(text, max_length) for text in texts]


SPELT = 0.8  # of a word's letters: with as many pieces it is spelt, not read


def reads(text: str) -> bool:
    """Whether the vocabulary has words for most of the text.

    Other scripts are spelt letter by letter, or unknown: their vectors tell no text from another.
    """
    lost = 0
    for word in text.split():
        letters = "" if word.isascii() else "".join(filter(str.isalpha, word))
        if len(letters) > 1:
            (pieces,) = word_pieces([letters], MIN_SECTION_CHARS)
            spelt = UNKNOWN in pieces or len(pieces) >= SPELT * len(letters)
            lost += len(letters) if spelt else 0
    return 2 * lost <= sum(map(str.isalpha, text))


def count_tokens(text: str) -> int:
    """Return the number of word pieces of ``text``, without ``[CLS]`` and ``[SEP]``."""
    return sum(len(_pieces(section)) for section in _sections(text, MAX_SECTION_CHARS))


def _first_pieces(text: str, max_length: int) -> NDArray[np.int32]:
    guess = max_length * CHARACTERS_PER_PIECE
    size = min(max(guess, MIN_SECTION_CHARS), MAX_SECTION_CHARS)
    if len(text) <= size:
        return _pieces(text)[:max_length]
    parts: list[NDArray[np.int32]] = []
    missing = max_length
    for section in _sections(text, size):
        pieces = _pieces(section)[:missing]
        parts.append(pieces)
        missing -= len(pieces)
        if missing <= 0:
            break
    return np.concatenate(parts)


def _sections(text: str, size: int) -> Iterator[str]:
    """Split ``text`` into sections of at most ``size`` characters, at white space if possible.

    No word piece spans white space, so splitting does not change the pieces.
    """
    start = 0
    while len(text) - start > size:
        cut = max(text.rfind(space, start, start + size) for space in " \n\t")
        end = cut + 1 if cut > start else start + size
        yield text[start:end]
        start = end
    yield text[start:]


def _pieces(text: str) -> NDArray[np.int32]:
    data = text.encode("utf-8", "ignore")
    # Every piece comes from at least one byte, so the buffer is always large enough.
    buffer = np.empty(len(data) + 1, dtype=np.int32)
    count = _text_to_ids()(data, len(data), buffer.ctypes.data, len(buffer))
    return buffer[:count]


def _text_to_ids() -> Callable[[bytes, int, int, int], int]:
    with _LOADING:
        return _load()


@cache
def _load() -> Callable[[bytes, int, int, int], int]:
    try:
        package: Any = import_module("blingfire")
    except (ImportError, OSError) as error:
        raise ModelError(
            f"the tokenizer blingfire could not be loaded: {error}",
            hint="install it again: pip install --force-reinstall blingfire",
        ) from error
    path = Path(str(package.__file__)).parent / VOCABULARY_FILE
    handle = package.load_model(str(path))
    if not handle:
        raise ModelError(
            f"the tokenizer's vocabulary {path} could not be loaded",
            hint="install it again: pip install --force-reinstall blingfire",
        )
    # A separate prototype: argtypes on the shared function would change it for other callers.
    text_to_ids = _PROTOTYPE(("TextToIds", package.blingfire))

    def call(data: bytes, size: int, buffer: int, capacity: int) -> int:
        return int(text_to_ids(handle, data, size, buffer, capacity, UNKNOWN))

    return call
