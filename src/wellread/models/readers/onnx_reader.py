"""Cross-encoders from folders on this machine, on the CPU: one that ranks, one that checks facts.

Needs the extra ``rerank`` and is imported only when a setting asks for it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.onnx_runtime import batches
from wellread.models.reader import Case, Entailment, Excerpt, Scores, by_probability
from wellread.models.readers.cross_encoder import CrossEncoder, Cut
from wellread.text.sentences import sentence_spans

HINT = (
    "reader.model_path names a folder with the ONNX file of a cross-encoder and its tokenizer.json"
)
CHECKING_HINT = (
    "reader.entails_path names a folder with the ONNX file of a fact-checking model and its "
    "tokenizer.json"
)
CONFIG_FILE = "config.json"
WINDOW = 1_500  # characters of a document that are read at once, some 350 tokens

_FOR = re.compile(
    r"entail(?:ment|s|ed)?|support(?:s|ed)?|consistent|factual|true|yes", re.IGNORECASE
)
_AGAINST = re.compile(r"contradict(?:ion|s|ed)?|refut(?:es|ed|e)|false|no", re.IGNORECASE)


class _Encoding:
    """A cross-encoder that reads pairs of texts within a time limit."""

    def __init__(
        self, model_path: str, *, threads: int, timeout: float, hint: str, cut: Cut
    ) -> None:
        self._timeout = timeout
        self._encoder = CrossEncoder(model_path, threads=threads, hint=hint, cut=cut)

    @property
    def identity(self) -> str:
        """The folder's name, the hash of the model's file, the longest input."""
        return self._encoder.identity

    def _read(
        self, texts: Sequence[tuple[str, str]], what: str, hint: str
    ) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
        """The places of some pairs and the model's numbers for them, until all have come."""
        deadline = time.monotonic() + self._timeout
        pairs = self._encoder.encoded(texts)
        for batch in batches([len(pair.ids) for pair in pairs]):
            if time.monotonic() > deadline:
                raise ModelTimeoutError(
                    f"{self._encoder.path} did not {what} within {self._timeout:g} s", hint=hint
                )
            numbers = self._encoder.run([pairs[place] for place in batch])
            if not np.isfinite(numbers).all():
                raise ModelError(
                    f"{self._encoder.path} gave a number that is not finite",
                    hint="use the model's export in 32 bits",
                )
            yield batch, numbers.astype(np.float64)


class OnnxRanking(_Encoding):
    """Scores by a cross-encoder with one output (relevance). Safe to call from several threads.

    Of question and text the longer is cut first. Scores are the model's own numbers.
    """

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            timeout: seconds that one call may take, looked at after each few texts.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        super().__init__(
            model_path, threads=threads, timeout=timeout, hint=HINT, cut="longest_first"
        )

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The model's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the model's output is not one number for each pair.
        """
        scores = np.empty(len(texts), dtype=np.float64)
        hint = "lower reader.depth, raise reader.timeout, or take a smaller model"
        pairs = [(question, each.shown) for each in texts]
        for batch, numbers in self._read(pairs, f"score {len(texts)} texts", hint):
            if numbers.shape[1] != 1:
                raise ModelError(
                    f"{self._encoder.path} gave numbers of shape {numbers.shape} for {len(batch)} "
                    "texts; a cross-encoder for ranking gives one for each",
                    hint=HINT,
                )
            scores[batch] = numbers[:, 0]
        return scores

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """How likely each of ``sentences`` is relevant: the scores as log odds."""
        return np.asarray(_chance(self.relevance(question, sentences)))


class OnnxChecking(_Encoding):
    """Rules on claims by a model's probability. Safe to call from several threads.

    A document that is longer than the model reads is cut into windows of whole sentences; the one
    that speaks for the claim most decides. A document is cut before the claim is. One output is
    taken as log odds, two as "not" and "supported"; for more, or another order, the names in
    ``config.json`` (``id2label``) say which output speaks for the claim, and which against it.
    """

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        super().__init__(
            model_path, threads=threads, timeout=timeout, hint=CHECKING_HINT, cut="only_first"
        )
        labels = _labels(self._encoder.folder / CONFIG_FILE)
        self._for, self._against = _column(labels, _FOR), _column(labels, _AGAINST)

    def entails(self, cases: Sequence[Case]) -> list[Entailment]:
        """What the model says of each of ``cases``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the output cannot be read as a probability.
        """
        owners: list[int] = []
        texts: list[tuple[str, str]] = []
        for place, case in enumerate(cases):
            for window in windows("\n".join(each.text for each in case.passages)):
                owners.append(place)
                texts.append((window, case.claim))
        best = np.zeros((len(cases), 2), dtype=np.float64)
        hint = "lower reader.most, raise reader.timeout, or take a smaller model"
        for batch, numbers in self._read(texts, f"check {len(cases)} claims", hint):
            for each, (supports, contradicts) in zip(batch, self._chances(numbers), strict=True):
                if supports >= best[owners[each], 0]:
                    best[owners[each]] = supports, contradicts
        return [by_probability(float(one), float(other)) for one, other in best]

    def _chances(self, odds: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each row, how likely the claim is borne out, and contradicted where that is told."""
        count = odds.shape[1]
        if count == 1:
            supports = _chance(odds[:, 0])
            return np.stack([supports, np.zeros_like(supports)], axis=1)
        column = 1 if count == 2 and self._for is None else self._for
        if column is None or column >= count:
            raise ModelError(
                f"{self._encoder.path} gives {count} numbers, and it is not known which of them "
                "speaks for a claim",
                hint=f"put the model's {CONFIG_FILE} with id2label beside it",
            )
        grown = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares = grown / grown.sum(axis=1, keepdims=True)
        told = self._against is not None and self._against < count
        against = shares[:, self._against] if told else np.zeros(len(shares))
        return np.stack([shares[:, column], against], axis=1)


def _chance(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))


def windows(document: str) -> list[str]:
    """``document`` in runs of whole sentences of at most ``WINDOW`` characters; at least one.

    A sentence that is longer is a window of its own.
    """
    found: list[str] = []
    start = end = 0
    for span in sentence_spans(document):
        if end > start and span.end - start > WINDOW:
            found.append(document[start:end])
            start = span.start
        end = span.end
    return [*found, document[start:end] if end > start else document]


def _labels(path: Path) -> dict[int, str]:
    """What the model's outputs are called by its settings; none where they do not say.

    Raises:
        ModelError: the settings cannot be read.
    """
    if not path.is_file():
        return {}
    try:
        labels = json.loads(path.read_text(encoding="utf-8")).get("id2label") or {}
        return {int(place): str(label) for place, label in labels.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=CHECKING_HINT) from error


def _column(labels: dict[int, str], wanted: re.Pattern[str]) -> int | None:
    """Which output is the one that ``wanted`` names; None where none or several are."""
    found = [place for place, label in sorted(labels.items()) if wanted.fullmatch(label)]
    return found[0] if len(found) == 1 else None
