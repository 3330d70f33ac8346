"""From pairs to batches of numbers, in the same way as the reader is asked when it is used."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from training.model import MOST_SENTENCES
from training.pairs import Pair
from wellread.models.word_pieces import CLS, SEP, word_pieces

MOST_TOKENS = 224
MOST_ASKED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A pair as word pieces, and which sentence of the text each of them belongs to (from 1)."""

    ids: np.ndarray
    sentence: np.ndarray
    pair: Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some pairs, padded to the longest; tensors of shape ``(pairs, tokens)`` or ``(pairs,)``."""

    ids: Tensor
    sentence: Tensor
    mask: Tensor
    pairs: Sequence[Pair]


def encoded(pair: Pair) -> Encoded:
    """``[CLS] asked [SEP] text [SEP]``; a text that is too long loses its end."""
    asked, *told = word_pieces([pair.asked, *pair.sentences[:MOST_SENTENCES]], MOST_TOKENS)
    asked = asked[:MOST_ASKED]
    ids = [np.array([CLS]), asked, np.array([SEP])]
    sentence = [np.zeros(len(asked) + 2, dtype=np.int64)]
    room = MOST_TOKENS - len(asked) - 3
    for number, pieces in enumerate(told, 1):
        fit = pieces[:room]
        ids.append(fit)
        sentence.append(np.full(len(fit), number))
        room -= len(fit)
    ids.append(np.array([SEP]))
    sentence.append(np.array([min(len(told), MOST_SENTENCES)]))
    return Encoded(ids=np.concatenate(ids), sentence=np.concatenate(sentence), pair=pair)


def batches(rows: Sequence[Encoded], tokens: int, rng: random.Random) -> Iterator[Batch]:
    """All ``rows`` once, in runs of like length of at most ``tokens`` with padding, shuffled.

    The pairs of one group stay together.
    """
    units = _units(rows)
    rng.shuffle(units)
    runs: list[list[Encoded]] = []
    for start in range(0, len(units), 2048):
        run: list[Encoded] = []
        for unit in sorted(units[start : start + 2048], key=_longest):
            if run and (len(run) + len(unit)) * _longest(unit) > tokens:
                runs.append(run)
                run = []
            run = [*run, *unit]
        runs.append(run)
    rng.shuffle(runs)
    for run in runs:
        yield batch(run)


def _units(rows: Sequence[Encoded]) -> list[list[Encoded]]:
    groups: dict[int, list[Encoded]] = {}
    units: list[list[Encoded]] = []
    for row in rows:
        if row.pair.group is None:
            units.append([row])
        elif row.pair.group in groups:
            groups[row.pair.group].append(row)
        else:
            units.append(groups.setdefault(row.pair.group, [row]))
    return units


def _longest(unit: Sequence[Encoded]) -> int:
    return max(len(row.ids) for row in unit)


def batch(rows: Sequence[Encoded]) -> Batch:
    """``rows`` side by side."""
    shape = (len(rows), max(len(row.ids) for row in rows))
    ids, sentence, mask = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
        sentence[number, : len(row.ids)] = row.sentence
        mask[number, : len(row.ids)] = 1
    ids_, sentence_, mask_ = (torch.from_numpy(one) for one in (ids, sentence, mask))
    return Batch(ids=ids_, sentence=sentence_, mask=mask_, pairs=[row.pair for row in rows])
