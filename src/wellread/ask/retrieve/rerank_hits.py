"""A second look at the best hits: a reader takes each with the question and joins in the order.

A pure step between a search and what is chosen of it. A reader that fails changes nothing but
the note that says so.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.reader import Excerpt, Ranking, Scores
from wellread.types import Hit, ListRank

logger = logging.getLogger(__name__)

RERANK = "rerank"
MAX_CHARACTERS = 2_000
"""Of one hit, with its title and headings: a passage is some 1,000, a joined one more."""


def reranked(
    reader: Ranking, query: str, hits: Sequence[Hit], depth: int, weight: float
) -> tuple[list[Hit], str]:
    """``hits`` (best first) with the first ``depth`` in a new order, and a note on a failure.

    The joined score is ``weight`` times the reader's plus the rest times the search's, each
    scaled to 0-1 over these hits. It is then mapped onto the range that the search's scores of
    them had, so that scores still fall from the first hit to the last and mean what they meant.
    Each of these hits gets the reader's own rank and score as one more list. Equal hits keep
    their order.

    Args:
        depth: hits that the reader reads; fewer than two are not worth a call.
        weight: the reader's share, 0-1.

    Returns:
        The hits, and the empty string, or what went wrong when the order is the old one.
    """
    head, rest = list(hits[:depth]), list(hits[depth:])
    if len(head) < 2:
        return [*head, *rest], ""
    try:
        scores = _checked(
            reader.relevance(query, [_shown(hit) for hit in head]), len(head), reader.identity
        )
    except ModelError as error:
        logger.warning("the reader failed, keeping the order of the search: %s", error)
        return [*head, *rest], f"the reader failed, so the order is the search's own: {error}"
    own = np.asarray([hit.score for hit in head], dtype=np.float64)
    joined = weight * _scaled(scores) + (1 - weight) * _scaled(own)
    mapped = own.min() + _scaled(joined) * (own.max() - own.min())
    places = _places(scores)
    moved = [
        replace(
            hit,
            score=float(mapped[at]),
            ranks=(
                *(place for place in hit.ranks if place.name != RERANK),
                ListRank(name=RERANK, rank=places[at], score=float(scores[at])),
            ),
        )
        for at, hit in enumerate(head)
    ]
    return [*(moved[at] for at in _best_first(joined)), *rest], ""


def _shown(hit: Hit) -> Excerpt:
    """What the reader reads of a hit: title and headings, then the text."""
    passage = hit.passage
    # The context of a passage begins with its title wherever it has one.
    heading = passage.context or hit.document.title
    return Excerpt(text=f"{heading}\n{passage.text}".strip()[:MAX_CHARACTERS])


def _checked(scores: Scores, count: int, identity: str) -> NDArray[np.float64]:
    """The scores, once they are one finite number for each hit.

    Raises:
        ModelError: they are not; a reader of somebody else's may do anything.
    """
    if scores.shape != (count,) or not np.isfinite(scores).all():
        raise ModelError(
            f"{identity} gave scores of shape {scores.shape} for {count} passages, or one that is "
            "not finite"
        )
    return scores.astype(np.float64)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``values`` from 0 to 1; equal ones are all 1."""
    low, high = values.min(), values.max()
    if not high > low:
        return np.ones_like(values)
    scaled: NDArray[np.float64] = (values - low) / (high - low)
    return scaled


def _best_first(values: NDArray[np.float64]) -> list[int]:
    return [int(at) for at in np.argsort(-values, kind="stable")]


def _places(scores: NDArray[np.float64]) -> list[int]:
    """The rank of each score, from 1."""
    ranks = [0] * len(scores)
    for rank, at in enumerate(_best_first(scores), 1):
        ranks[at] = rank
    return ranks
