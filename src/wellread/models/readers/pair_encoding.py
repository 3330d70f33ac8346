"""What the trained reader is given: a question or claim and a text's sentences, as word pieces.

Training (``training/encode.py``) and use encode alike, by this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wellread.models.word_pieces import CLS, SEP, word_pieces

MOST_TOKENS = 224  # of both texts together
MOST_ASKED = 64
MOST_SENTENCES = 24

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPair:
    """A pair as word pieces, shape ``(tokens,)``.

    Attributes:
        sentence: which sentence of the text each piece belongs to, from 1; 0 for what is asked.
    """

    ids: Ids
    sentence: Ids


def encode_pair(asked: str, sentences: Sequence[str]) -> EncodedPair:
    """``[CLS] asked [SEP] text [SEP]``; what is too long loses its end.

    Raises:
        ModelError: the tokenizer could not be loaded.
    """
    pieces, *told = word_pieces([asked, *sentences[:MOST_SENTENCES]], MOST_TOKENS)
    pieces = pieces[:MOST_ASKED]
    ids = [np.array([CLS]), pieces, np.array([SEP])]
    sentence = [np.zeros(len(pieces) + 2, dtype=np.int64)]
    room = MOST_TOKENS - len(pieces) - 3
    for number, each in enumerate(told, 1):
        fit = each[:room]
        ids.append(fit)
        sentence.append(np.full(len(fit), number, dtype=np.int64))
        room -= len(fit)
    ids.append(np.array([SEP]))
    sentence.append(np.array([len(told)]))
    return EncodedPair(ids=np.concatenate(ids).astype(np.int64), sentence=np.concatenate(sentence))


def padded(pairs: Sequence[EncodedPair]) -> tuple[Ids, Ids, Ids]:
    """Ids, sentence numbers and mask of ``pairs`` side by side, shape ``(pairs, longest)`` each."""
    shape = (len(pairs), max(len(pair.ids) for pair in pairs))
    ids, sentence, mask = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = pair.ids
        sentence[row, : len(pair.ids)] = pair.sentence
        mask[row, : len(pair.ids)] = 1
    return ids, sentence, mask
