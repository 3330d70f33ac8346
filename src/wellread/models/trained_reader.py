"""The reader that comes with the package: a small trained network (``docs/models.md``).

A cross-encoder of 28 million numbers, int8, made by ``training/``, which encodes pairs of texts by
this module too. It says whether a text answers a question, and which of its sentences does.
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
from wellread.models.base import Excerpt, Reading, Scores, chance, opened_once
from wellread.models.onnx_runtime import RUN_ERRORS, batches, open_session
from wellread.models.word_pieces import CLS, SEP, word_pieces
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

MOST_TOKENS = 224  # of both texts together
MOST_ASKED = 64
MOST_SENTENCES = 24

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPair:
    """A pair as word pieces, shape ``(tokens,)``."""

    ids: Ids
    sentence: Ids


def encode_pair(asked: str, sentences: Sequence[str]) -> EncodedPair:
    """``[CLS] asked [SEP] text [SEP]``; what is too long loses its end."""
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


FILE = "reader.onnx"
NETWORK = "5ee00eb85e4ddf30f95e545cae9f7b9b5570f6e65796e98734fe055a5b4000a1"  # its SHA-256
INPUTS = ("ids", "sentence", "mask")
OUTPUTS = ("answers", "chosen")
NO_SENTENCE = -5e3
"""Log odds below this stand where a text has no such sentence, or it was cut off."""


class TrainedModel:
    """The network in memory, opened at its first use. Safe to call from several threads."""

    def __init__(self, path: Path | None = None, *, threads: int = 0) -> None:
        """Prepare; ``path`` is another file of the same kind, ``threads`` 0 takes all cores."""
        own = Path(str(resources.files("wellread.models").joinpath(FILE)))
        self.path = path or own
        self._threads = threads

    def prepare(self) -> None:
        """As ``Preparable``."""
        _ = self._session

    def read(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[Reading]:
        """Read each question together with the sentences of a text, in order."""
        encoded = [encode_pair(asked, sentences) for asked, sentences in pairs]
        found: dict[int, Reading] = {}
        for batch in batches([len(pair.ids) for pair in encoded]):
            feeds = dict(zip(INPUTS, padded([encoded[at] for at in batch]), strict=True))
            answers, chosen = self._run(feeds)
            for row, at in enumerate(batch):
                sentences = _shares(chosen[row], len(pairs[at][1]))
                found[at] = Reading(answers=float(answers[row]), sentences=sentences)
        return [found[at] for at in range(len(pairs))]

    @opened_once
    def _session(self) -> Any:
        if not self.path.is_file():
            raise ModelError(
                f"the reader's network {self.path} is not there",
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


def _shares(odds: Scores, count: int) -> Scores:
    """Log probabilities of the first ``count`` sentences, as far as the network read them."""
    found = np.full(count, -np.inf)
    own = odds[:count].astype(np.float64)
    live = own > NO_SENTENCE
    if live.any():
        found[: len(own)][live] = _log_softmax(own[live])
    return found


def _log_softmax(odds: Scores) -> Scores:
    shifted = odds - odds.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


WINDOW = 80  # words that are read at once, as in training
WINDOWS = 3  # of one text, read with one question: those that share most words with it


class TrainedReader:
    """Answers by the network.

    What it says of a passage's relevance serves to put the best hits in order once more.
    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """Kind and the start of the network's SHA-256."""
        return f"trained:{NETWORK[:8]}"

    def prepare(self) -> None:
        """As ``Preparable``."""
        self._model.prepare()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The probability that each of ``texts`` answers: that of its best run of sentences."""
        asked = parse(question).stem_set
        pairs = [
            (place, (question, [*([each.title] if each.title else []), *run]))
            for place, each in enumerate(texts)
            for run in sorted(
                windows(each.text) or [[""]],
                key=lambda run: -len(asked & parse(" ".join(run)).stem_set),
            )[:WINDOWS]
        ]
        best = np.full(len(texts), -np.inf)
        read = self._model.read([pair for _, pair in pairs])
        for (place, _), one in zip(pairs, read, strict=True):
            best[place] = max(best[place], one.answers)
        return chance(best)

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> list[Reading]:
        """Whether each text, given as its sentences, answers, and which of the sentences does."""
        return self._model.read([(question, text) for text in texts])


def windows(text: str) -> list[list[str]]:
    """Runs of whole sentences of about ``WINDOW`` words."""
    found: list[list[str]] = []
    size = 0
    for span in sentence_spans(text):
        words = len(span.of(text).split())
        if not found or size + words > WINDOW:
            found.append([])
            size = 0
        found[-1].append(span.of(text))
        size += words
    return found
