"""Asks readers with plain texts."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.models.base import Ranking, Scores, excerpts


def relevance(reader: Ranking, question: str, texts: Sequence[str]) -> Scores:
    """The scores of texts that nothing stands above."""
    return reader.relevance(question, excerpts(*texts))
