"""What was learned from example questions: which reading a question to the catalogue has.

A question comes with all that could be looked up masked: "How many {noun} mention {topic}?". A
linear model over its words, pairs and triples of words tells the reading; one of the readings is
that the texts are asked, and not the catalogue. ``benchmarks/train_catalogue.py`` writes its
numbers, from examples that stand there as plain lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

FILE = "catalogue_model.npz"
TEXTS = "passages"  # the reading of questions about what texts say
NAMING = "naming"  # beside a reading: documents have to name the topic
TOPIC = "{topic}"
FIRST, LAST = "^", "$"
LOOKING = frozenset(("count", "mentions", "list", "exists"))  # name their topics alike

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueModel:
    """What was learned.

    Attributes:
        readings: the columns of the weights, ``NAMING`` among them.
        weights: a row for each feature.
        words: those that examples of questions to the catalogue consist of.
        around: pairs of words between which a topic stood, by reading; what begins a question is
            ``FIRST``.
        leading: words before a topic that ends a question.
    """

    readings: tuple[str, ...]
    weights: Mapping[str, Floats]
    words: frozenset[str]
    around: Mapping[str, frozenset[tuple[str, str]]]
    leading: frozenset[str]

    def scores(self, masked: Sequence[str]) -> dict[str, float]:
        """How well each reading fits a question."""
        names = features(masked)
        rows = [self.weights[name] for name in names if name in self.weights]
        total = np.sum(rows, axis=0) if rows else np.zeros(len(self.readings), np.float32)
        scaled = total / np.sqrt(len(names))
        return dict(zip(self.readings, map(float, scaled), strict=True))

    def frames(self, reading: str, before: str, after: str) -> bool:
        """Whether a topic may stand between two words: both were seen beside one.

        At an end of the question the two must have been seen together.
        """
        alike = LOOKING if reading in LOOKING else (reading,)
        pairs = [pair for name in alike for pair in self.around.get(name, ())]
        if before == FIRST or after == LAST:
            return (before, after) in pairs
        return any(before == one for one, _ in pairs) and any(after == one for _, one in pairs)


def features(masked: Sequence[str]) -> list[str]:
    """The words, pairs and triples of words of a masked question, each once."""
    ends = [FIRST, *masked, LAST]
    pairs = (" ".join(pair) for pair in itertools.pairwise(ends))
    triples = (" ".join(three) for three in zip(ends, ends[1:], ends[2:], strict=False))
    return list(dict.fromkeys((*masked, *pairs, *triples)))


@cache
def learned() -> CatalogueModel:
    """The model that ships."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as kept:
        around: dict[str, set[tuple[str, str]]] = {}
        for line in kept["around"]:
            reading, before, after = str(line).split(" ")
            around.setdefault(reading, set()).add((before, after))
        weights = kept["weights"].astype(np.float32)
        return CatalogueModel(
            readings=tuple(map(str, kept["readings"])),
            weights=dict(zip(map(str, kept["features"]), weights, strict=True)),
            words=frozenset(map(str, kept["words"])),
            around={name: frozenset(pairs) for name, pairs in around.items()},
            leading=frozenset(
                before for pairs in around.values() for before, after in pairs if after == LAST
            ),
        )
