"""From settings to a reader: each of its heads by a back end of its own, also by a plug-in.

A plug-in is an entry point ``wellread.readers``: a function that takes an ``Opening`` and the head
that it is wanted for, and gives an object with the methods of that head.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from wellread.ask_settings import ReaderSettings
from wellread.calls import FACT_CHECKER, JUDGE, RERANK
from wellread.errors import ModelError, SettingsError
from wellread.models.base import Closeable, LanguageModel, Preparable
from wellread.models.reader import (
    HEADS,
    Case,
    Checking,
    Entailment,
    Excerpt,
    Head,
    PassageReader,
    Ranking,
    Scores,
)
from wellread.models.readers.lexical import LexicalReader
from wellread.models.recording import Record, RecordedChecking, RecordedRanking
from wellread.plugins import find

logger = logging.getLogger(__name__)

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


Back = Ranking | Checking
Factory = Callable[[Opening, Head], Back]


class ReaderByHead:
    """A reader that asks for each relation whoever the settings name.

    Attributes:
        passages: reads whole passages for a question; None where the reader of answers cannot.
        checker: takes the first look at every claim; built in, so that it costs no call.
    """

    def __init__(
        self, relevance: Ranking, answers: Ranking, entails: Checking, lexical: LexicalReader
    ) -> None:
        self._relevance, self._answers, self._entails = relevance, answers, entails
        self._lexical = lexical
        names = (relevance.identity, answers.identity, entails.identity)
        own = [name.partition(":")[0] in (LEXICAL, TRAINED) for name in names]
        own[0] = names[0] == LEXICAL  # a search has counted words already, and read nothing
        self.heads: frozenset[Head] = frozenset(
            head for head, built_in in zip(HEADS, own, strict=True) if not built_in
        )
        self.identity = " ".join(dict.fromkeys(names))
        self.passages = answers if isinstance(answers, PassageReader) else None
        self.checker = entails if own[-1] else lexical

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """As ``Reader``."""
        return self._relevance.relevance(question, texts)

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """As ``Reader``; by words where the one that the settings name fails."""
        try:
            return self._answers.answers(question, sentences)
        except ModelError as error:
            if self._answers is self._lexical:
                raise
            logger.warning("sentences are chosen by words, since the reader failed: %s", error)
            return self._lexical.answers(question, sentences)

    def entails(self, cases: Sequence[Case]) -> Sequence[Entailment]:
        """As ``Reader``."""
        return self._entails.entails(cases)

    def prepare(self) -> None:
        """As ``Preparable``."""
        for part in dict.fromkeys((self._relevance, self._answers, self._entails)):
            if isinstance(part, Preparable):
                part.prepare()

    def close(self) -> None:
        """Let go of connections, where a part holds any."""
        for part in (self._relevance, self._answers, self._entails):
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
    relevance = _ranking(opening, "relevance")
    same = named.answers == named.relevance
    answers = relevance if same else _ranking(opening, "answers")
    shared = named.entails == named.answers == TRAINED  # one network in memory
    entails = answers if shared else _opened(opening, "entails")
    if not isinstance(entails, Checking):
        raise _unfit("entails", named.entails)
    return ReaderByHead(relevance, answers, entails, opening.lexical)


def _ranking(opening: Opening, head: Head) -> Ranking:
    opened = _opened(opening, head)
    if not isinstance(opened, Ranking):
        raise _unfit(head, getattr(opening.settings, head))
    return opened


def _opened(opening: Opening, head: Head) -> Back:
    name = getattr(opening.settings, head)
    return find(GROUP, name, BUILT_IN, f"reader.{head}")(opening, head)


def _lexical(opening: Opening, head: Head) -> Back:  # noqa: ARG001 - as all factories
    return opening.lexical


def _trained(opening: Opening, head: Head) -> Back:  # noqa: ARG001 - as all factories
    from wellread.models.readers.trained_model import TrainedModel  # noqa: PLC0415
    from wellread.models.readers.trained_reader import TrainedReader  # noqa: PLC0415

    return TrainedReader(opening.lexical, TrainedModel(threads=opening.settings.threads))


def _onnx(opening: Opening, head: Head) -> Back:
    settings = opening.settings
    path = _needed(opening, head, "entails_path" if head == "entails" else "model_path")
    try:
        from wellread.models.readers.onnx_reader import OnnxChecking, OnnxRanking  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(
            f"reader.{head} 'onnx' needs the extra 'rerank', which cannot be imported: {error}",
            hint='pip install "wellread[rerank]"',
        ) from error
    kind = OnnxChecking if head == "entails" else OnnxRanking
    return kind(path, threads=settings.threads, timeout=settings.timeout)


def _http(opening: Opening, head: Head) -> Back:
    from wellread.models.readers.http_reader import HttpChecking, HttpReranking  # noqa: PLC0415

    settings = opening.settings
    checks = head == "entails"
    url = _needed(opening, head, "entails_url" if checks else "url")
    variable = settings.entails_key_env if checks else settings.api_key_env
    key = opening.environ.get(variable, "") if variable else ""
    host = urlsplit(url).netloc.rpartition("@")[2]
    if checks:
        return RecordedChecking(
            HttpChecking(url, api_key=key, timeout=settings.timeout),
            opening.record,
            purpose=JUDGE,
            provider=host,
            model=FACT_CHECKER,
        )
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


def _llm(opening: Opening, head: Head) -> Back:
    from wellread.models.readers.llm_reader import LlmReader  # noqa: PLC0415

    model = opening.model(JUDGE if head == "entails" else RERANK)
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


def _unfit(head: Head, name: str) -> SettingsError:
    return SettingsError(f"the reader {name!r} has no method for reader.{head}")
