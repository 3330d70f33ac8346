"""Texts that look as if they answered a question: the nearest stretches, by cosine, that do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from training.written import Asked, Passage
from wellread.models.embedders.local_embedder import LocalEmbedder

WORDS = 100  # of a stretch, unless one sentence has more
NEAREST = 3  # one of so many is taken
MOST = 60  # so many are looked at: farther ones are easily told


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Sentences ``first`` up to ``last``, exclusive, of one passage."""

    passage: int
    first: int
    last: int


class Neighbours:
    """The stretches of some passages, found by the questions that are asked of them."""

    def __init__(self, found: Sequence[Passage]) -> None:
        self._found = found
        self._stretches = [
            one for number, passage in enumerate(found) for one in stretches(passage, number)
        ]
        embedder = LocalEmbedder(Path(gettempdir()) / "wellread-training")
        self._vectors = embedder.embed(
            [" ".join(self._text(one)) for one in self._stretches], "passage"
        )
        questions = {one.text for passage in found for one in passage.asked if one.sign == "?"}
        order = sorted(questions)
        self._asked = dict(zip(order, embedder.embed(order, "query"), strict=True))

    def beside(self, number: int, one: Asked, rng: random.Random) -> Sequence[Sequence[str]]:
        """Texts near the question ``one`` of passage ``number`` that do not answer it.

        Of its own passage and of others: which of a document's stretches answers is what has to be
        told apart, and which of all documents'.
        """
        odds = self._vectors @ self._asked[one.text]
        near: dict[bool, list[Stretch]] = {True: [], False: []}
        for place in np.argsort(-odds)[:MOST]:
            stretch = self._stretches[place]
            own = stretch.passage == number
            held = own and any(stretch.first <= at < stretch.last for at in one.held)
            if not held and len(near[own]) < NEAREST:
                near[own].append(stretch)
        return [self._text(rng.choice(found)) for found in near.values() if found]

    def _text(self, one: Stretch) -> Sequence[str]:
        return self._found[one.passage].sentences[one.first : one.last]


def stretches(passage: Passage, number: int) -> list[Stretch]:
    """The whole of ``passage`` in stretches of about ``WORDS`` words, one after another."""
    cut: list[Stretch] = []
    first = size = 0
    for at, sentence in enumerate(passage.sentences):
        words = len(sentence.split())
        if at > first and size + words > WORDS:
            cut.append(Stretch(passage=number, first=first, last=at))
            first, size = at, 0
        size += words
    cut.append(Stretch(passage=number, first=first, last=len(passage.sentences)))
    return cut
