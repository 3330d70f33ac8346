"""Let a network keep its numbers under int8: large inputs are shrunk, their weights grow.

A few places of a layer's input are many times larger than the rest, and one scale for all of them
leaves the rest with few steps. Each input is divided by a factor of its own and the column of the
weights multiplied by it, which changes nothing before rounding (Xiao et al. 2023, "SmoothQuant",
arXiv 2211.10438). The factors come from the inputs that some texts written for training give.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from training.encode import Batch, batch, encoded
from training.model import Layer, Reader
from training.pairs import Pair
from training.written import Passage, passages

PARTS = ("qkv", "out", "up", "down")
STRENGTH = 0.85  # how much of the range goes to the weights: 0 none, 1 all (docs/decisions/038)
PASSAGES, QUESTIONS = 100, 2
LEAST = 1e-4

Factors = Mapping[str, Tensor]


def example_batches(count: int = PASSAGES, *, start: int = 0) -> Iterator[Batch]:
    """Questions with passages written for training, from the ``start``-th of a fixed order."""
    found = passages()
    random.Random(5).shuffle(found)
    rows = [encoded(one) for one in _pairs(found[start : start + count])]
    rows.sort(key=lambda row: len(row.ids))
    for at in range(0, len(rows), 16):
        yield batch(rows[at : at + 16])


def smooth(reader: Reader) -> list[Factors]:
    """Change the weights of ``reader``; of each layer, what the inputs of its parts are times.

    The reader then gives its own numbers only where its inputs are multiplied by them.
    """
    peaks = _peaks(reader)
    found = []
    for number, layer in enumerate(reader.layers):
        factors = {}
        for part in PARTS:
            weight = getattr(layer, part).weight
            most = peaks[number, part].clamp(min=LEAST) ** STRENGTH
            factor = most / weight.detach().abs().amax(0).clamp(min=LEAST) ** (1 - STRENGTH)
            weight.data = weight.data * factor
            factors[part] = 1 / factor
        found.append(factors)
    return found


def _peaks(reader: Reader) -> dict[tuple[int, str], Tensor]:
    """The largest size of each place of the inputs, of every part of every layer."""
    found: dict[tuple[int, str], Tensor] = {}

    def seen(key: tuple[int, str], _part: nn.Module, given: tuple[Tensor, ...]) -> None:
        most = given[0].detach().abs().flatten(0, -2).amax(0)
        found[key] = torch.maximum(found[key], most) if key in found else most

    layers: Sequence[Layer] = list(reader.layers)
    hooks = [
        getattr(layer, part).register_forward_pre_hook(partial(seen, (number, part)))
        for number, layer in enumerate(layers)
        for part in PARTS
    ]
    with torch.no_grad():
        for one in example_batches():
            reader(one.ids, one.sentence, one.mask)
    for hook in hooks:
        hook.remove()
    return found


def _pairs(found: Sequence[Passage]) -> list[Pair]:
    return [
        Pair(task="qa", asked=asked.text, sentences=passage.sentences, label=0)
        for passage in found
        for asked in passage.asked[:QUESTIONS]
    ]
