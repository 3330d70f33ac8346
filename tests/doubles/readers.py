"""Asks readers with plain texts, and opens them as a home does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wellread.ask_settings import ReaderSettings
from wellread.models.base import LanguageModel
from wellread.models.reader import Ranking, Scores, excerpts
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.open_reader import Opening, ReaderByHead, open_reader


def relevance(reader: Ranking, question: str, texts: Sequence[str]) -> Scores:
    """The scores of texts that nothing stands above."""
    return reader.relevance(question, excerpts(*texts))


def opened(
    asked: Callable[[], LanguageModel | None] = lambda: None,
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> ReaderByHead:
    """The reader that the settings of the section ``reader`` ask for."""
    return open_reader(
        Opening(
            settings=ReaderSettings(**settings),
            lexical=LexicalReader(),
            model=lambda _: asked(),
            record=lambda _: None,
            environ=environ or {},
        )
    )
