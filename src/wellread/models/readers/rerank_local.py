"""A cross-encoder from a folder on this machine as a reranker, on the CPU.

Needs the extra ``rerank`` and is imported by ``open.open_reranker`` only when it is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.onnx_runtime import batches
from wellread.models.readers.cross_encoder import CrossEncoder

HINT = (
    "rerank.model_path names a folder with the ONNX file of a cross-encoder and its tokenizer.json"
)


class LocalReranker:
    """Scores by a cross-encoder with one output (relevance). Safe to call from several threads.

    Of query and text the longer is cut first. Scores are the model's own numbers.
    """

    def __init__(self, model_path: str, *, threads: int = 0, timeout: float = 20.0) -> None:
        """Open the model.

        Args:
            model_path: folder of the model, or its ``.onnx`` file with the tokenizer beside it.
            threads: threads to compute with; 0 takes all cores.
            timeout: seconds that one ``rerank`` may take, looked at after each few texts.

        Raises:
            ModelError: a file is missing or damaged, or the model is not a cross-encoder.
        """
        self._timeout = timeout
        self._encoder = CrossEncoder(model_path, threads=threads, hint=HINT, cut="longest_first")

    @property
    def identity(self) -> str:
        """The folder's name, the hash of the model's file, the longest input."""
        return self._encoder.identity

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """The model's scores of ``texts``, in order.

        Raises:
            ModelTimeoutError: no end within the time limit.
            ModelError: onnxruntime failed, or the model's output is not one number for each pair.
        """
        deadline = time.monotonic() + self._timeout
        pairs = self._encoder.encoded([(query, text) for text in texts])
        scores = np.empty(len(texts), dtype=np.float32)
        for batch in batches([len(pair.ids) for pair in pairs]):
            if time.monotonic() > deadline:
                raise ModelTimeoutError(
                    f"{self._encoder.path} did not score {len(texts)} texts within "
                    f"{self._timeout:g} s",
                    hint="lower rerank.depth, raise rerank.timeout, or take a smaller model",
                )
            numbers = self._encoder.run([pairs[position] for position in batch])
            if numbers.shape[1] != 1:
                raise ModelError(
                    f"{self._encoder.path} gave numbers of shape {numbers.shape} for {len(batch)} "
                    "texts; a cross-encoder for reranking gives one for each",
                    hint=HINT,
                )
            scores[batch] = numbers[:, 0]
        if not np.isfinite(scores).all():
            raise ModelError(
                f"{self._encoder.path} gave a score that is not finite",
                hint="use the model's export in 32 bits",
            )
        return scores
