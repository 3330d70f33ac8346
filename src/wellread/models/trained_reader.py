"""Reads texts with a small trained network that finds answers in them (``docs/models.md``).

A cross-encoder of 28 million int8 weights, trained by ``training/``, which uses this module to
encode pairs of texts. It scores whether a text answers a question, and which sentence does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Excerpt, Reading, Scores, opened_once, probability
from wellread.models.onnx_runtime import RUN_ERRORS, batches, open_session
from wellread.models.word_pieces import CLS, SEP, word_pieces
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

MAX_TOKENS = 224  # word pieces of question and text together
MAX_QUESTION_TOKENS = 64
MAX_SENTENCES = 24

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPair:
    """The word pieces of a question and a text, and the number of each one's sentence.

    Both have the shape ``(tokens,)``. The question has the number 0, the sentences count from 1.
    """

    ids: Ids
    sentence_numbers: Ids


def encode_pair(question: str, sentences: Sequence[str]) -> EncodedPair:
    """Encode ``[CLS] question [SEP] text [SEP]``, truncated to ``MAX_TOKENS``."""
    pieces, *sentence_pieces = word_pieces([question, *sentences[:MAX_SENTENCES]], MAX_TOKENS)
    pieces = pieces[:MAX_QUESTION_TOKENS]
    ids = [np.array([CLS]), pieces, np.array([SEP])]
    numbers = [np.zeros(len(pieces) + 2, dtype=np.int64)]
    room = MAX_TOKENS - len(pieces) - 3
    for number, sentence_ids in enumerate(sentence_pieces, 1):
        kept_ids = sentence_ids[:room]
        ids.append(kept_ids)
        numbers.append(np.full(len(kept_ids), number, dtype=np.int64))
        room -= len(kept_ids)
    ids.append(np.array([SEP]))
    numbers.append(np.array([len(sentence_pieces)]))
    token_ids = np.concatenate(ids).astype(np.int64)
    return EncodedPair(ids=token_ids, sentence_numbers=np.concatenate(numbers))


def pad_batch(pairs: Sequence[EncodedPair]) -> tuple[Ids, Ids, Ids]:
    """Return ids, sentence numbers and mask of ``pairs``, each of shape ``(pairs, longest)``."""
    shape = (len(pairs), max(len(pair.ids) for pair in pairs))
    ids, numbers, mask = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = pair.ids
        numbers[row, : len(pair.ids)] = pair.sentence_numbers
        mask[row, : len(pair.ids)] = 1
    return ids, numbers, mask


FILE = "reader.onnx"
NETWORK = "5ee00eb85e4ddf30f95e545cae9f7b9b5570f6e65796e98734fe055a5b4000a1"  # its SHA-256
INPUTS = ("ids", "sentence", "mask")
OUTPUTS = ("answers", "chosen")  # log odds that the text answers, and of each sentence
NO_SENTENCE = -5e3
"""Log odds below this mark a sentence that does not exist or was cut off."""


class TrainedModel:
    """The network, loaded on first use. Thread-safe."""

    def __init__(self, path: Path | None = None, *, threads: int = 0) -> None:
        """``path``: another network file; ``threads``: 0 uses all cores."""
        built_in = Path(str(resources.files("wellread.models").joinpath(FILE)))
        self.path = path or built_in
        self._threads = threads

    def prepare(self) -> None:
        """See ``Preparable.prepare``."""
        _ = self._session

    def read(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[Reading]:
        """Return a reading of each question with the sentences of a text, in order."""
        encoded = [encode_pair(question, sentences) for question, sentences in pairs]
        readings: dict[int, Reading] = {}
        for batch in batches([len(pair.ids) for pair in encoded]):
            feeds = dict(zip(INPUTS, pad_batch([encoded[index] for index in batch]), strict=True))
            answers, chosen = self._run(feeds)
            for row, index in enumerate(batch):
                sentences = _log_probabilities(chosen[row], len(pairs[index][1]))
                readings[index] = Reading(answers=float(answers[row]), sentences=sentences)
        return [readings[index] for index in range(len(pairs))]

    @opened_once
    def _session(self) -> Any:
        if not self.path.is_file():
            raise ModelError(
                f"the reader's network {self.path} does not exist",
                hint="install wellread again, or set reader.answers to lexical",
            )
        return open_session(self.path, self._threads)

    def _run(self, feeds: dict[str, Any]) -> Any:
        try:
            return self._session.run(OUTPUTS, feeds)
        except RUN_ERRORS as error:
            raise ModelError(
                f"the reader's network failed on {len(feeds['ids'])} texts: {error}",
                hint="free some memory, or set reader.answers to lexical",
            ) from error


def _log_probabilities(odds: Scores, count: int) -> Scores:
    """Return log probabilities of the first ``count`` sentences; minus infinity if not read."""
    log_probabilities = np.full(count, -np.inf)
    read_odds = odds[:count].astype(np.float64)
    exists = read_odds > NO_SENTENCE
    if exists.any():
        log_probabilities[: len(read_odds)][exists] = _log_softmax(read_odds[exists])
    return log_probabilities


def _log_softmax(odds: Scores) -> Scores:
    shifted = odds - odds.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


WINDOW_WORDS = 80  # words read at once, as in training
MAX_WINDOWS = 3  # windows read per text: those that share the most words with the question


class TrainedReader:
    """Ranks and reads passages with the trained network."""

    def __init__(self, model: TrainedModel) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """The kind and the start of the built-in network's SHA-256; alternatives do not count."""
        return f"trained:{NETWORK[:8]}"

    def prepare(self) -> None:
        """See ``Preparable.prepare``."""
        self._model.prepare()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """Return the probability that each of ``texts`` answers, by its best window."""
        question_stems = parse(question).stem_set
        pairs = [
            (index, (question, [*([excerpt.title] if excerpt.title else []), *sentences]))
            for index, excerpt in enumerate(texts)
            for sentences in sorted(
                windows(excerpt.text) or [[""]],
                key=lambda window: -len(question_stems & parse(" ".join(window)).stem_set),
            )[:MAX_WINDOWS]
        ]
        best = np.full(len(texts), -np.inf)
        readings = self._model.read([pair for _, pair in pairs])
        for (index, _), reading in zip(pairs, readings, strict=True):
            best[index] = max(best[index], reading.answers)
        return probability(best)

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> list[Reading]:
        """Return a reading of each text; a text is a list of its sentences."""
        return self._model.read([(question, text) for text in texts])


def windows(text: str) -> list[list[str]]:
    """Split ``text`` into lists of sentences with at most about ``WINDOW_WORDS`` words."""
    sentence_lists: list[list[str]] = []
    size = 0
    for span in sentence_spans(text):
        words = len(span.of(text).split())
        if not sentence_lists or size + words > WINDOW_WORDS:
            sentence_lists.append([])
            size = 0
        sentence_lists[-1].append(span.of(text))
        size += words
    return sentence_lists
