"""The reader that comes with the package: a small trained network beside words and cosines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from wellread.models.reader import Case, Entailment, Excerpt, Head, Reading, Scores, chance
from wellread.models.readers.lexical import LexicalReader, entailment_of
from wellread.models.readers.support_score import Weights, support, weigh
from wellread.models.readers.trained_model import PairReading, TrainedModel
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

WEIGHTS = "trained_weights.json"
ENTAILS = "entailed"
MOST_ODDS = 6.0
BORNE_OUT = -0.5  # log odds, from which words that seem opposed or denied are taken for misread
WINDOW = 80  # words that are read at once, as in training
WINDOWS = 3  # of one text, read with one question or claim: those that share most words with it
ENTAILED = 0  # its place among the network's three relations


class TrainedReader:
    """Answers by the network; claims by the network together with words, numbers and meaning.

    What it says of a passage's relevance serves to put the best hits in order once more.
    """

    heads: frozenset[Head] = frozenset()

    def __init__(self, lexical: LexicalReader, model: TrainedModel) -> None:
        self._lexical, self._model = lexical, model

    @property
    def identity(self) -> str:
        """Kind and the start of the network's SHA-256."""
        return f"trained:{network()[:8]}"

    def prepare(self) -> None:
        """As ``Preparable``."""
        self._model.prepare()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The probability that each of ``texts`` answers: that of its best run of sentences.

        Raises:
            ModelError: the network cannot be opened or run.
        """
        asked = parse(question).stem_set
        pairs = [
            (place, (question, [*([each.title] if each.title else []), *run]))
            for place, each in enumerate(texts)
            for run in _nearest(asked, windows(each.text, lapping=False) or [[""]])
        ]
        best = np.full(len(texts), -np.inf)
        read = self._model.read([pair for _, pair in pairs])
        for (place, _), one in zip(pairs, read, strict=True):
            best[place] = max(best[place], one.answers)
        return chance(best)

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """The probability that each of ``sentences`` answers by itself.

        Raises:
            ModelError: the network cannot be opened or run.
        """
        found = self._model.read([(question, [each.shown]) for each in sentences])
        return chance(np.array([each.answers for each in found], dtype=np.float64))

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> list[Reading]:
        """Whether each text, given as its sentences, answers ``question``, and which of them does.

        Raises:
            ModelError: the network cannot be opened or run.
        """
        found = self._model.read([(question, text) for text in texts])
        return [Reading(answers=each.answers, sentences=each.chosen) for each in found]

    def entails(self, cases: Sequence[Case]) -> list[Entailment]:
        """How far each claim is borne out.

        Raises:
            ModelError: the network or the embedder cannot be opened or run.
        """
        asked = [network_pairs(case) for case in cases]
        read = iter(self._model.read([pair for pairs in asked for pair in pairs]))
        return [
            self._weighed(case, list(itertools.islice(read, len(pairs))))
            for case, pairs in zip(cases, asked, strict=True)
        ]

    def _weighed(self, case: Case, read: Sequence[PairReading]) -> Entailment:
        found = support(case.claim, case.passages, self._lexical.embedder)
        if found.source is None or not read:
            return entailment_of(found, found.score, learned())
        known = with_relations(found.readings, read)
        score = weigh(known, learned())
        return entailment_of(replace(found, readings=known), score, learned())


def with_relations(readings: Mapping[str, float], read: Sequence[PairReading]) -> dict[str, float]:
    """What words say of a claim with what the network says; words that only seem to deny go."""
    known = {**readings, **relations(read)}
    if known[ENTAILS] > BORNE_OUT:
        known |= {"denied": 0.0, "opposed": 0.0}
    return known


def relations(read: Sequence[PairReading]) -> dict[str, float]:
    """The log odds that a claim is entailed by one of some texts, the one that does most."""
    best = max(read, key=lambda each: each.entails[ENTAILED]).entails
    others = float(np.logaddexp.reduce(np.delete(best, ENTAILED)))
    return {ENTAILS: min(MOST_ODDS, max(-MOST_ODDS, float(best[ENTAILED]) - others))}


def network_pairs(case: Case) -> list[tuple[str, list[str]]]:
    """The claim with each run of sentences that shares most words with it, a few at most."""
    wanted = parse(case.claim).stem_set
    found = [window for each in case.passages for window in windows(each.text)]
    return [(case.claim, window) for window in _nearest(wanted, found)]


def _nearest(wanted: frozenset[str], found: Sequence[list[str]]) -> list[list[str]]:
    return sorted(found, key=lambda one: -len(wanted & parse(" ".join(one)).stem_set))[:WINDOWS]


def windows(text: str, *, lapping: bool = True) -> list[list[str]]:
    """Runs of whole sentences of about ``WINDOW`` words.

    Args:
        lapping: each begins in the middle of the last, and not after it.
    """
    whole = [span.of(text) for span in sentence_spans(text)]
    sizes = [len(one.split()) for one in whole]
    found: list[list[str]] = []
    start = 0
    while start < len(whole):
        end, size = start, 0
        while end < len(whole) and (end == start or size + sizes[end] <= WINDOW):
            size += sizes[end]
            end += 1
        found.append(whole[start:end])
        if end == len(whole):
            break
        start = start + max(1, (end - start) // 2) if lapping else end
    return found


@cache
def _file() -> dict[str, Any]:
    text = resources.files("wellread.models.readers").joinpath(WEIGHTS).read_text(encoding="utf-8")
    return dict(json.loads(text))


def network() -> str:
    """The SHA-256 of the network that the weights were learned with."""
    return str(_file()["network"])


@cache
def learned() -> Weights:
    """The numbers that come with the package; ``benchmarks/train_support.py`` writes them."""
    read = _file()
    return Weights(
        bias=float(read["bias"]),
        readings={name: float(value) for name, value in read["readings"].items()},
        supported=float(read["supported"]),
        partial=float(read["partial"]),
    )
