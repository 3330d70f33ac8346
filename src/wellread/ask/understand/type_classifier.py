"""The type of a question by its meaning, where no sure pattern of words tells it.

A softmax regression over the question's embedding, which retrieval needs anyway, and over the
short phrases that it is asked with. ``benchmarks/train_question_type.py`` writes its numbers; they
belong to one embedder, and with any other the sure patterns decide alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wellread.models.base import Embedder
from wellread.questions import QuestionType
from wellread.text.tokens import tokens_of

FILE = "question_types.npz"
PLAIN: QuestionType = "factual"
HEAD_START = 1.0  # of the plain type, in log odds: the others are told only by a clear voice
VECTOR_SHARE, PHRASE_SHARE = 3.0, 2.0  # how long the two parts of the features are
UNASKED, LISTED = "no question mark", "colon"

Guess = Callable[[str, str], QuestionType]  # from a question, and what is searched for it
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeModel:
    """What was learned.

    Attributes:
        embedder: the name of the model whose vectors it reads.
        phrases: each phrase to its place among the features.
        weights: one row per number of the vector, per phrase, and one for the bias.
    """

    embedder: str
    types: tuple[QuestionType, ...]
    phrases: Mapping[str, int]
    weights: Floats


def guesser(embedder: Embedder) -> Guess | None:
    """What tells the type of a question; None where nothing was learned for the embedder."""
    model = learned()
    if model_name(embedder) != model.embedder:
        return None

    def guess(question: str, searched: str) -> QuestionType:
        vector = embedder.embed([searched], "query")
        odds = (features([question], vector, model.phrases) @ model.weights)[0]
        odds[model.types.index(PLAIN)] += HEAD_START
        return model.types[int(odds.argmax())]

    return guess


def model_name(embedder: Embedder) -> str:
    """What its variants (precision, longest text) have in common."""
    return embedder.identity.partition("/")[0]


def phrases_of(question: str) -> frozenset[str]:
    """The words and pairs of words of a question, numbers as one, and how it begins and ends."""
    words = ["#" if token.plain.isdigit() else token.plain for token in tokens_of(question)]
    pairs = {" ".join(pair) for pair in zip(["^", *words], [*words, "$"], strict=True)}
    marks = set() if question.rstrip().endswith("?") else {UNASKED}
    return frozenset({*words, *pairs, *marks, *({LISTED} if ":" in question else ())})


def features(questions: Sequence[str], vectors: Floats, phrases: Mapping[str, int]) -> Floats:
    """One row per question."""
    held = np.zeros((len(questions), len(phrases)), np.float32)
    for row, question in enumerate(questions):
        held[row, [phrases[one] for one in phrases_of(question) if one in phrases]] = 1.0
    held *= PHRASE_SHARE / np.sqrt(np.maximum(held.sum(axis=1, keepdims=True), 1.0))
    bias = np.ones((len(questions), 1), np.float32)
    return np.hstack([VECTOR_SHARE * vectors, held, bias]).astype(np.float32)


@cache
def learned() -> TypeModel:
    """The model that ships."""
    with (resources.files(__package__) / FILE).open("rb") as file, np.load(file) as kept:
        return TypeModel(
            embedder=str(kept["embedder"]),
            types=cast("tuple[QuestionType, ...]", tuple(map(str, kept["types"]))),
            phrases={str(phrase): place for place, phrase in enumerate(kept["phrases"])},
            weights=kept["weights"].astype(np.float32),
        )
