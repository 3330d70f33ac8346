"""From settings to a reader: who ranks passages, and who reads them for the answer.

Each may be a plug-in, an entry point ``wellread.readers``: a function that takes an ``Opening`` and
the head that it is wanted for, and gives a ``Ranking`` for relevance, a ``PassageReader`` for
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from wellread.ask_settings import ReaderSettings
from wellread.calls import RERANK
from wellread.errors import ModelError, SettingsError
from wellread.models.base import Closeable, LanguageModel, Preparable
from wellread.models.reader import Excerpt, Head, PassageReader, Ranking, Scores
from wellread.models.readers.lexical import LexicalReader
from wellread.models.recording import Record, RecordedRanking
from wellread.plugins import find

GROUP = "wellread.readers"
LEXICAL = "lexical"
TRAINED = "trained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a back end may need to open itself.

    Attributes:
        lexical: the reader by words, for what another leaves to it.
        model: gives the configured language model, for calls of that purpose.
        record: is told every call that costs something.
        environ: where keys are.
    """

    settings: ReaderSettings
    lexical: LexicalReader
    model: Callable[[str], LanguageModel | None]
    record: Record
    environ: Mapping[str, str]


Factory = Callable[[Opening, Head], object]


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


def open_reader(opening: Opening) -> ReaderByHead:
    """The reader that the settings ask for.

    Only the libraries of what is named are imported. No server is called yet.

    Raises:
        SettingsError: there is no such back end, it does not read what it is named for, or a
            setting that it needs is empty.
        ModelError: the extra ``rerank`` is not installed, or a model cannot be opened.
    """
    named = opening.settings
    relevance = _opened(opening, "relevance")
    if not isinstance(relevance, Ranking):
        raise _unfit(named.relevance, "relevance")
    if named.answers == LEXICAL:
        return ReaderByHead(relevance, None)
    same = named.answers == named.relevance
    passages = relevance if same else _opened(opening, "answers")
    if not isinstance(passages, PassageReader):
        raise _unfit(named.answers, "answers")
    return ReaderByHead(relevance, passages)


def _opened(opening: Opening, head: Head) -> object:
    name = getattr(opening.settings, head)
    return find(GROUP, name, BUILT_IN, f"reader.{head}")(opening, head)


def _unfit(name: str, head: Head) -> SettingsError:
    return SettingsError(
        f"the reader {name!r} has no method for reader.{head}",
        hint=f"set reader.{head} to trained or lexical",
    )


def _lexical(opening: Opening, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    return opening.lexical


def _trained(opening: Opening, head: Head) -> Ranking:  # noqa: ARG001 - as all factories
    from wellread.models.readers.trained_model import TrainedModel  # noqa: PLC0415
    from wellread.models.readers.trained_reader import TrainedReader  # noqa: PLC0415

    return TrainedReader(TrainedModel(threads=opening.settings.threads))


def _onnx(opening: Opening, head: Head) -> Ranking:
    settings = opening.settings
    path = _needed(opening, head, "model_path")
    try:
        from wellread.models.readers.onnx_reader import OnnxRanking  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(
            f"reader.{head} 'onnx' needs the extra 'rerank', which cannot be imported: {error}",
            hint='pip install "wellread[rerank]"',
        ) from error
    return OnnxRanking(path, threads=settings.threads, timeout=settings.timeout)


def _http(opening: Opening, head: Head) -> Ranking:
    from wellread.models.readers.http_reader import HttpReranking  # noqa: PLC0415

    settings = opening.settings
    url = _needed(opening, head, "url")
    key = opening.environ.get(settings.api_key_env, "") if settings.api_key_env else ""
    host = urlsplit(url).netloc.rpartition("@")[2]
    if settings.format == "jina":
        _needed(opening, head, "model")
    return RecordedRanking(
        HttpReranking(
            url,
            model=settings.model,
            wire=settings.format,
            api_key=key,
            timeout=settings.timeout,
        ),
        opening.record,
        purpose=RERANK,
        provider=host,
        model=settings.model,
    )


def _llm(opening: Opening, head: Head) -> Ranking:
    from wellread.models.readers.llm_reader import LlmReader  # noqa: PLC0415

    model = opening.model(RERANK)
    if model is None:
        raise _missing(opening, head, "generation.model")
    return LlmReader(model, timeout=opening.settings.timeout)


BUILT_IN: Mapping[str, Callable[[], Factory]] = {
    LEXICAL: lambda: _lexical,
    TRAINED: lambda: _trained,
    "onnx": lambda: _onnx,
    "http": lambda: _http,
    "llm": lambda: _llm,
}


def _needed(opening: Opening, head: Head, name: str) -> str:
    """The value of a setting that must not be empty."""
    value = str(getattr(opening.settings, name))
    if not value:
        raise _missing(opening, head, f"reader.{name}")
    return value


def _missing(opening: Opening, head: Head, name: str) -> SettingsError:
    return SettingsError(
        f"reader.{head} is {getattr(opening.settings, head)}, but {name} is not set",
        hint=f"set {name} or WELLREAD_{name.replace('.', '_').upper()}",
    )
