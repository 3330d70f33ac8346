"""A very fast embedder that sums fixed word-piece vectors, distilled from the default model.

Every word piece is embedded once by the default model as a text of its own. Principal components
reduce these vectors to 256 dimensions and scale each dimension to the same variance (whitening),
and a piece counts the less the more common it is (smooth inverse frequency: Arora, Liang and Ma,
"A simple but tough-to-beat baseline for sentence embeddings", 2017). A text's vector is the
normalised sum over its pieces: no word order and no context, but about a hundred times faster than
the model. The idea of distilling a sentence encoder like this is that of Model2Vec.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Purpose
from wellread.models.model_files import MODEL, SHORT, Artefact
from wellread.models.word_pieces import VOCABULARY, reads, word_pieces

DIMENSIONS = 256
REVISION = 1
FIRST_PIECE = 999
"""Ids below are ``[PAD]``, ``[UNK]``, ``[unused…]``: nothing to learn there."""
FIRST_WORD = 1996
"""Ids from here on are in order of frequency, "the" first; smaller ids are single characters."""
CHARACTER_RANK = 10
"""Single characters (marks, digits, "a", "s") are assumed to be as common as the tenth word."""
SMOOTHING = 3e-4
"""The relative frequency at which a piece has half the weight."""
RANK_SHIFT = 10
"""Shift in Zipf's law (relative frequency ~ 1 / (rank + shift)) for very common words."""
MAX_PIECES = 8_192
BLOCK_PIECES = 8_192
"""Pieces summed at once, which bounds the memory of a call to about 8 MB."""
DISTIL_PIECES = 4_096
MIN_NORM = 1e-6

logger = logging.getLogger(__name__)


class StaticEmbedder:
    """Embeds English text as the sum of fixed word-piece vectors, 256 dimensions. Thread-safe.

    Reads the first 8,192 word pieces of a text. A text without a known piece gets one fixed unit
    vector. Queries and passages are treated alike.
    """

    def __init__(
        self, home: Path, *, model_path: str = "", threads: int = 0, vocabulary: int = VOCABULARY
    ) -> None:
        """Load the vectors, and distil them under ``home`` (about 20 s) when they are missing."""
        if not FIRST_WORD + DIMENSIONS <= vocabulary <= VOCABULARY:
            raise ModelError(
                f"a vocabulary of {vocabulary} word pieces is out of range: "
                f"{FIRST_WORD + DIMENSIONS} to {VOCABULARY}"
            )
        stem = f"{MODEL}-static.{SHORT}.{vocabulary}.r{REVISION}"
        artefact = Artefact(folder=home / "models", stem=stem, suffix=".npy")
        path = artefact.ensure(lambda: _build(home, model_path, threads, vocabulary))
        self._table = np.load(path).astype(np.float32)
        self._vocabulary = vocabulary

    @property
    def identity(self) -> str:
        """Source model, hash of its file, vocabulary size, dimensions and method."""
        return f"{MODEL}-static/{SHORT}/{self._vocabulary}/{DIMENSIONS}/r{REVISION}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: 256."""
        return DIMENSIONS

    def reads(self, text: str) -> bool:
        """Whether the vector of ``text`` tells what it is about: not of a script that is spelt."""
        return reads(text)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Return unit vectors of ``texts``, in order, shape ``(len(texts), 256)``."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        start = 0
        for block in _blocks(word_pieces(texts, MAX_PIECES)):
            vectors[start : start + len(block)] = self._sums(block)
            start += len(block)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        empty = norms[:, 0] < MIN_NORM
        # The last dimension is the least informative, so nothing is similar to an empty text.
        vectors[empty] = np.eye(1, DIMENSIONS, DIMENSIONS - 1, dtype=np.float32)
        norms[empty] = 1.0
        unit: NDArray[np.float32] = vectors / norms
        return unit

    def _sums(self, pieces: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        ids = np.concatenate(pieces)
        ids[ids >= self._vocabulary] = 0  # row 0 is [PAD]: all zeros
        ends = np.cumsum([len(part) for part in pieces])
        starts = np.concatenate(([0], ends[:-1]))
        filled = starts < ends
        sums = np.zeros((len(pieces), DIMENSIONS), dtype=np.float32)
        if filled.any():
            # reduceat gives a wrong row for an empty range, hence only the filled ones.
            sums[filled] = np.add.reduceat(self._table[ids], starts[filled], axis=0)
        return sums


def _blocks(pieces: Sequence[NDArray[np.int32]]) -> Iterator[Sequence[NDArray[np.int32]]]:
    """Split ``pieces`` into runs of at most ``BLOCK_PIECES`` in total, or of a single text."""
    start = total = 0
    for index, part in enumerate(pieces):
        if index > start and total + len(part) > BLOCK_PIECES:
            yield pieces[start:index]
            start, total = index, 0
        total += len(part)
    if start < len(pieces):
        yield pieces[start:]


def _build(home: Path, model_path: str, threads: int, vocabulary: int) -> bytes:
    # onnxruntime is slow to import and needed only for distilling.
    from wellread.models.embedders.local_embedder import LocalEmbedder  # noqa: PLC0415

    model = LocalEmbedder(home, model_path=model_path, threads=threads)
    ids = np.arange(FIRST_PIECE, vocabulary, dtype=np.int32)
    parts = []
    for start in range(0, len(ids), DISTIL_PIECES):
        parts.append(model.embed_pieces(list(ids[start : start + DISTIL_PIECES].reshape(-1, 1))))
        done = min(start + DISTIL_PIECES, len(ids))
        logger.info("distilling static vectors: %d of %d word pieces", done, len(ids))
    table = np.zeros((vocabulary, DIMENSIONS), dtype=np.float16)
    weights = piece_weights(vocabulary)[FIRST_PIECE:, None]
    table[FIRST_PIECE:] = whitened(np.concatenate(parts)) * weights
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    return buffer.getvalue()


def whitened(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the first 256 principal components of the rows, scaled to variance 1.

    A component's sign is arbitrary; its largest weight is made positive, so that every machine
    gets the same result.
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    variances, axes = variances[::-1][:DIMENSIONS], axes[:, ::-1][:, :DIMENSIONS]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(DIMENSIONS)])
    scaled: NDArray[np.float64] = centred @ (axes / np.sqrt(variances))
    return scaled


def piece_weights(vocabulary: int) -> NDArray[np.float64]:
    """Return the weight (0 to 1) of each word piece by its rank in the vocabulary."""
    all_ranks = np.arange(VOCABULARY - FIRST_WORD)
    total = (1.0 / (all_ranks + RANK_SHIFT)).sum()
    ranks = np.arange(vocabulary) - FIRST_WORD
    ranks[:FIRST_WORD] = CHARACTER_RANK
    frequency = 1.0 / ((ranks + RANK_SHIFT) * total)
    weights: NDArray[np.float64] = SMOOTHING / (SMOOTHING + frequency)
    return weights
