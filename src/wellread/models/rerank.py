"""The seam to rerankers: models that read a query and a text together and say how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Reranker(Protocol):
    """Scores texts against a query.

    Larger is better. Scores are comparable within one call and have no fixed scale: logits,
    probabilities and grades all serve. A text's score hangs on the query and on that text; the
    order of the texts and what else is in the call move it little, or not at all. Long texts are
    cut, never refused, and a text without a word gets a score too. Calls may come from several
    threads; they are sync and may take as long as the model does, so async callers go through a
    worker thread.
    """

    @property
    def identity(self) -> str:
        """Kind, model and where it runs, as shown to the reader ("http:bge@localhost:8080")."""
        ...

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One finite score for each of ``texts``, in order, shape ``(len(texts),)``.

        No texts give shape ``(0,)``, and no model is asked.

        Raises:
            ModelTimeoutError: the model took longer than its time limit.
            ModelError: it could not be run or reached, or its reply cannot be used.
        """
        ...
