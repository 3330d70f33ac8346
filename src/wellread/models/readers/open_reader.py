"""From settings to a reader: who ranks passages, and who reads them for the answer.

Each may be a plug-in, an entry point ``wellread.readers``: a function that takes the settings of
the section ``reader`` and the head that it is wanted for, and gives a ``Ranking`` for relevance, a
``PassageReader`` for answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wellread.config import ReaderSettings
from wellread.errors import SettingsError
from wellread.models.base import Closeable, Preparable
from wellread.models.reader import Excerpt, Head, PassageReader, Ranking, Scores
from wellread.models.readers.lexical import LexicalReader
from wellread.plugins import find

GROUP = "wellread.readers"
LEXICAL = "lexical"
TRAINED = "trained"
Factory = Callable[[ReaderSettings, Head], object]


class ReaderByHead:
    """A reader that asks whoever the settings name.

    Attributes:
        passages: reads whole passages for a question; None where words and cosines do.
        reranks: as ``Reader``.
    """

    def __init__(self, relevance: Ranking, passages: PassageReader | None) -> None:
        self._relevance, self.passages = relevance, passages
        self._parts: tuple[object, ...] = tuple(dict.fromkeys((relevance, passages)))
        self.reranks = relevance.identity != LEXICAL
        names = (relevance.identity, passages.identity if passages else LEXICAL)
        self.identity = " ".join(dict.fromkeys(names))

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """As ``Ranking``."""
        return self._relevance.relevance(question, texts)

    def prepare(self) -> None:
        """As ``Preparable``."""
        for part in self._parts:
            if isinstance(part, Preparable):
                part.prepare()

    def close(self) -> None:
        """Let go of connections, where a part holds any."""
        for part in self._parts:
            if isinstance(part, Closeable):
                part.close()


def open_reader(settings: ReaderSettings) -> ReaderByHead:
    """The reader that the settings ask for.

    Only the libraries of what is named are imported.

    Raises:
        SettingsError: there is no such back end, or it does not read what it is named for.
    """
    relevance = _opened(settings, "relevance")
    if not isinstance(relevance, Ranking):
        raise _unfit(settings.relevance, "relevance")
    if settings.answers == LEXICAL:
        return ReaderByHead(relevance, None)
    same = settings.answers == settings.relevance
    passages = relevance if same else _opened(settings, "answers")
    if not isinstance(passages, PassageReader):
        raise _unfit(settings.answers, "answers")
    return ReaderByHead(relevance, passages)


def _opened(settings: ReaderSettings, head: Head) -> object:
    name = getattr(settings, head)
    return find(GROUP, name, BUILT_IN, f"reader.{head}")(settings, head)


def _unfit(name: str, head: Head) -> SettingsError:
    return SettingsError(
        f"the reader {name!r} has no method for reader.{head}",
        hint=f"set reader.{head} to trained or lexical",
    )


def _lexical(settings: ReaderSettings, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    return LexicalReader()


def _trained(settings: ReaderSettings, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    from wellread.models.readers.trained_model import TrainedModel  # noqa: PLC0415
    from wellread.models.readers.trained_reader import TrainedReader  # noqa: PLC0415

    return TrainedReader(TrainedModel(threads=settings.threads))


BUILT_IN: Mapping[str, Callable[[], Factory]] = {
    LEXICAL: lambda: _lexical,
    TRAINED: lambda: _trained,
}
