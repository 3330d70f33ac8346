"""A fact-checking model from a folder on this machine: a cross-encoder of document and sentence.

Needs the extra ``rerank`` and is imported by ``open.open_judge`` only when it is asked for. One
output is taken as log odds, two as "not" and "supported"; for more, or another order, the names in
``config.json`` (``id2label``) say which output speaks for the claim.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.judge import Case, Ruling, ruling_of
from wellread.models.onnx_runtime import batches
from wellread.models.readers.cross_encoder import CrossEncoder
from wellread.text.sentences import sentence_spans

HINT = (
    "verification.model_path names a folder with the ONNX file of a fact-checking model and its "
    "tokenizer.json"
)
CONFIG_FILE = "config.json"
WINDOW = 1_500  # characters of a document that are read at once, some 350 tokens

_FOR = re.compile(
    r"entail(?:ment|s|ed)?|support(?:s|ed)?|consistent|factual|true|yes", re.IGNORECASE
)


class LocalJudge:
    """Rules by a model's probability. Safe to call from several threads.

    A document that is longer than the model reads is cut into windows of whole sentences; the one
    that speaks for the claim most decides. A document is cut before the claim is.
    """

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            timeout: seconds that one call may take, looked at after each few windows.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        self._timeout = timeout
        self._encoder = CrossEncoder(model_path, threads=threads, hint=HINT, cut="only_first")
        self._speaking_for = _speaking_for(self._encoder.folder / CONFIG_FILE)

    @property
    def identity(self) -> str:
        """The folder's name, the hash of the model's file, the longest input."""
        return self._encoder.identity

    def __call__(self, cases: Sequence[Case]) -> list[Ruling]:
        """A ruling for each of ``cases``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the output cannot be read as a probability.
        """
        deadline = time.monotonic() + self._timeout
        owners: list[int] = []
        texts: list[tuple[str, str]] = []
        for place, case in enumerate(cases):
            for window in windows("\n".join(case.passages)):
                owners.append(place)
                texts.append((window, case.claim))
        pairs = self._encoder.encoded(texts)
        best = np.zeros(len(cases), dtype=np.float64)
        for batch in batches([len(pair.ids) for pair in pairs]):
            if time.monotonic() > deadline:
                raise ModelTimeoutError(
                    f"{self._encoder.path} did not check {len(cases)} claims within "
                    f"{self._timeout:g} s",
                    hint="lower verification.most, raise verification.timeout, or take a smaller "
                    "model",
                )
            found = self._probabilities(self._encoder.run([pairs[each] for each in batch]))
            for each, probability in zip(batch, found, strict=True):
                best[owners[each]] = max(best[owners[each]], probability)
        return [ruling_of(float(probability)) for probability in best]

    def _probabilities(self, numbers: NDArray[np.float32]) -> NDArray[np.float64]:
        if not np.isfinite(numbers).all():
            raise ModelError(
                f"{self._encoder.path} gave a number that is not finite",
                hint="use the model's export in 32 bits",
            )
        odds = numbers.astype(np.float64)
        count = odds.shape[1]
        if count == 1:
            return np.asarray(1 / (1 + np.exp(-np.clip(odds[:, 0], -50, 50))))
        column = 1 if count == 2 and self._speaking_for is None else self._speaking_for
        if column is None or column >= count:
            raise ModelError(
                f"{self._encoder.path} gives {count} numbers, and it is not known which of them "
                "speaks for a claim",
                hint=f"put the model's {CONFIG_FILE} with id2label beside it",
            )
        grown = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(grown[:, column] / grown.sum(axis=1))


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


def _speaking_for(path: Path) -> int | None:
    """Which output speaks for a claim, by the model's settings; None when they do not say.

    Raises:
        ModelError: the settings cannot be read.
    """
    if not path.is_file():
        return None
    try:
        labels = json.loads(path.read_text(encoding="utf-8")).get("id2label") or {}
        named = {int(place): str(label) for place, label in labels.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{path} cannot be read: {error}", hint=HINT) from error
    found = [place for place, label in sorted(named.items()) if _FOR.fullmatch(label)]
    return found[0] if len(found) == 1 else None
