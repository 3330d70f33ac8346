"""The network that comes with the package: reads two texts together (``docs/models.md``).

A cross-encoder of 28 million numbers, int8, made by ``training/``. It says whether a text answers
a question, and which of its sentences does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from wellread.errors import ModelError
from wellread.models.onnx_runtime import RUN_ERRORS, batches, open_session
from wellread.models.opened_once import opened_once
from wellread.models.reader import Scores
from wellread.models.readers.pair_encoding import encode_pair, padded

FILE = "reader.onnx"
NETWORK = "5ee00eb85e4ddf30f95e545cae9f7b9b5570f6e65796e98734fe055a5b4000a1"  # its SHA-256
INPUTS = ("ids", "sentence", "mask")
OUTPUTS = ("answers", "chosen")
NO_SENTENCE = -5e3
"""Log odds below this stand where a text has no such sentence, or it was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReading:
    """What the network says of one pair.

    Attributes:
        answers: log odds that the text answers the question.
        chosen: log probability of each sentence to be the one that does, together 1; minus
            infinity for one that was cut off. Shape ``(sentences,)``.
    """

    answers: float
    chosen: Scores


class TrainedModel:
    """The network in memory, opened at its first use. Safe to call from several threads.

    Attributes:
        path: its file.
    """

    def __init__(self, path: Path | None = None, *, threads: int = 0) -> None:
        """Prepare; ``path`` is another file of the same kind, ``threads`` 0 takes all cores."""
        own = Path(str(resources.files("wellread.models.readers").joinpath(FILE)))
        self.path = path or own
        self._threads = threads

    def prepare(self) -> None:
        """As ``Preparable``."""
        _ = self._session

    def read(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[PairReading]:
        """Read each question together with the sentences of a text, in order.

        Raises:
            ModelError: the network or its tokenizer cannot be opened or run.
        """
        encoded = [encode_pair(asked, sentences) for asked, sentences in pairs]
        found: dict[int, PairReading] = {}
        for batch in batches([len(pair.ids) for pair in encoded]):
            feeds = dict(zip(INPUTS, padded([encoded[at] for at in batch]), strict=True))
            answers, chosen = self._run(feeds)
            for row, at in enumerate(batch):
                found[at] = PairReading(
                    answers=float(answers[row]),
                    chosen=_shares(chosen[row], len(pairs[at][1])),
                )
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
